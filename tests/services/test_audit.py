"""The audit of a home, as other services ask for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from harness.cli.context import Options
from harness.cli.house import open_house
from harness.core.audit.model import AuditVerdict
from harness.core.permissions import Decision
from harness.core.versions import parse_version
from harness.services.audit import Surroundings, audit, audit_would, surroundings_of
from harness.stores.configuration import load_job
from harness.stores.homes import Home
from tests.helpers.gemini import Gemini
from tests.helpers.homes import new_home, write_job

VERSION = parse_version("1.3.3")


@pytest.fixture(name="place")
def place_outside_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a user's home where the CLI grants no write by default."""
    folder = Path(tempfile.mkdtemp(prefix="harness-audit-", dir="/var/tmp")).resolve()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(name="home")
def home_of(place: Path) -> Home:
    """Return a home of the harness with one canonical job."""
    home = new_home(place / "harness")
    write_job(home, "prices", tiers=["canonical"], guard=["data/p.json", "."])
    return home


def around(home: Home | None, **variables: str) -> Surroundings:
    """Return the surroundings of a home, with a version that is known."""
    return Surroundings(
        home=home,
        environ={**os.environ, **variables},
        features=VERSION,
        today=date(2026, 12, 1),
    )


def test_a_house_has_all_that_an_audit_needs(home: Home) -> None:
    """What a command has opened is enough: home, environment, and the day of its clock."""
    with open_house(Options(home=str(home.root))) as house:
        found = surroundings_of(house, VERSION)
        assert found.today == house.clock().astimezone().date()
        report = audit(found, load_job(home, "prices")).report
    assert report.verdict is AuditVerdict.WARN
    assert report.version == "1.3.3"


def test_the_fingerprint_is_that_of_the_rules(home: Home, place: Path) -> None:
    """It stays while the CLI rewrites its files, and moves with the first rule."""
    gemini = Gemini(place / ".gemini")
    before = audit(around(home)).report.fingerprint
    gemini.settings()
    assert audit(around(home)).report.fingerprint == before
    gemini.settings(allow=["command(ls)"])
    assert audit(around(home)).report.fingerprint != before


def test_isolation_clears_what_rides_on_prefix_rules(home: Home, place: Path) -> None:
    """The same rules, seen by a run that is isolated."""
    Gemini(place / ".gemini").settings(allow=["command(ls)"])
    loose = audit(around(home)).report
    isolated = Surroundings(
        home=home, environ=os.environ, features=VERSION, today=date(2026, 12, 1), isolated=True
    )
    assert "ENV_PREFIX" in {each.id for each in loose.findings}
    assert "ENV_PREFIX" not in {each.id for each in audit(isolated).report.findings}


def test_what_must_be_denied_can_be_asked(home: Home, place: Path) -> None:
    """Each canonical job answers for itself, in its own workspace."""
    Gemini(place / ".gemini").settings(allow=["command(git)"])
    (answer,) = audit_would(around(home), "command(git push)")
    assert (answer.job, answer.answer.decision) == ("prices", Decision.ALLOW)
    assert answer.answer.by[0].rule == "command(git)"


def test_the_whole_workspace_as_a_guard(home: Home) -> None:
    """A guard of everything is the workspace itself, however it is written."""
    (subject,) = audit(around(home)).subjects
    assert subject.workspace in subject.guards
    assert f"{subject.workspace}/data/p.json" in subject.guards


def test_a_home_in_a_shared_place_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness's own home in /tmp can be written by every agent, by default."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        home = new_home(Path(folder) / "home")
        audited = audit(around(home, HOME="/nonexistent"))
    assert "DEFAULT_PROTECTED_WRITE" in {each.id for each in audited.report.findings}
    assert audited.exit_status == 1


def test_a_person_without_a_home_variable(home: Home) -> None:
    """Where the environment names no home, the system's own word counts."""
    environ = {name: value for name, value in os.environ.items() if name != "HOME"}
    bare = Surroundings(home=home, environ=environ, features=VERSION, today=date(2026, 12, 1))
    (subject,) = audit(bare).subjects
    assert subject.home.startswith("/")
