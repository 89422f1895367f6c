"""What keeps a job from starting, in the order of the decision table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.core.job import Isolate, JobSpec
from harness.core.model import CliIdentity, Reason
from harness.core.versions import parse_version
from harness.services.binaries import digest_of
from harness.services.enabling import enable_canonical
from harness.services.house import House
from harness.services.preflight import Identified, _cli_refusal, version_findings
from harness.stores.configuration import load_job
from tests.helpers.houses import opened
from tests.helpers.night import Night


def found(version: str, problem: str = "") -> Identified:
    """Return a CLI that gave this answer."""
    features = parse_version(version)
    cli = CliIdentity(path="/bin/agy", version=version, known=features.known)
    return Identified(cli=cli, features=features, problem=problem)


def refusal(house: House, version: str, **changes: Any) -> tuple[Reason, str] | None:
    """Return why the job may not start with this version of the CLI."""
    job: JobSpec = replace(load_job(house.home, "ads"), **changes)
    answer = _cli_refusal(house, job, found(version, "it ended with exit status 3"))
    return None if answer is None else (answer.reason, answer.detail)


@pytest.mark.parametrize(
    ("version", "reason", "word"),
    [
        ("1.1.2", Reason.CLI_TOO_OLD, "exit status 3"),
        ("no version", Reason.CLI_TOO_OLD, "exit status 3"),
        ("1.1.3", Reason.CANONICAL_SUSPENDED, "settings are not honoured"),
        ("1.1.4", None, ""),
    ],
)
def test_canonical_writes_need_a_version_that_honours_settings(
    night: Night, version: str, reason: Reason | None, word: str
) -> None:
    """Below 1.1.3 it is too old; 1.1.3 itself reads no settings; other jobs go on."""
    with opened(night) as house:
        enable_canonical(house)
        answer = refusal(house, version)
        assert (answer and answer[0]) == reason
        assert word in (answer[1] if answer else "")
        assert refusal(house, version, tiers=()) is None


@pytest.mark.parametrize(
    "arg",
    [
        "--dangerously-skip-permissions",
        "-dangerously-skip-permissions",
        "--dangerously-skip-permissions=true",
    ],
)
def test_a_flag_that_allows_all_refuses_a_canonical_job(night: Night, arg: str) -> None:
    """No rule holds what it lets pass."""
    with opened(night) as house:
        enable_canonical(house)
        answer = refusal(house, "1.3.3", args=(arg,))
        assert answer is not None
        assert answer[0] is Reason.RULES_TOO_BROAD
        assert refusal(house, "1.3.3", args=(arg,), tiers=()) is None
        assert refusal(house, "1.3.3", args=("dangerously-skip-permissions",)) is None


def test_isolation_is_what_the_job_says(night: Night) -> None:
    """The home's word is the default that configuration filled in, no second say."""
    with opened(night) as house:
        enable_canonical(house)
        demanding = replace(house, settings=replace(house.settings, isolate=Isolate.BUBBLEWRAP))
        assert refusal(demanding, "1.3.3", isolate=Isolate.AUTO) is None
        answer = refusal(house, "1.3.3", isolate=Isolate.BUBBLEWRAP)
        assert answer is not None
        assert answer[0] is Reason.ISOLATION_UNAVAILABLE


def test_an_answer_that_cannot_be_relied_on_is_a_finding() -> None:
    """How `--version` failed is told, with or without a version beside it."""
    (unknown,) = version_findings(found("", "agy --version printed nothing"))
    assert unknown.id == "cli_version_unknown"
    assert unknown.detail.startswith("agy --version printed nothing")
    (doubtful,) = version_findings(found("1.3.3", "agy --version ended with exit status 1"))
    assert doubtful.id == "cli_version_doubtful"
    assert "exit status 1" in doubtful.detail
    assert version_findings(found("1.3.3")) == []


def test_a_cache_that_cannot_be_written_decides_nothing(night: Night) -> None:
    """The digest of the binary is computed all the same."""
    with opened(night) as house:
        (house.home.state / "binary.json").mkdir()
        assert digest_of(house, night.agy) is not None
