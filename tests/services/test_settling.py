"""Runs whose harness may be dead: which of them are, and what becomes of those."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harness.agy.host import own_identity
from harness.core.evidence import FileDigest
from harness.core.model import Outcome, Reason, RunRecord
from harness.services.house import House
from harness.services.owner import hold, is_dead, release
from harness.services.prepare import Party
from harness.services.run_files import files_of
from harness.services.settle import settle
from tests.helpers.houses import dead, open_run, opened, prepared
from tests.helpers.night import Night


def test_a_run_whose_lock_is_held_is_alive_whatever_its_process(night: Night) -> None:
    """A process of another container has no pid here: its lock tells."""
    with opened(night, identity=dead(own_identity())) as house:
        run = open_run(house, "ads")
        files = files_of(house.home, run.run_id)
        owner = hold(files)
        assert owner is not None
        assert not is_dead(run, files)
        assert settle(house).runs == ()
        release(owner)
        assert is_dead(run, files)
        (record,) = settle(house).runs
        assert record.reason is Reason.HARNESS_CRASHED
        assert not Path(files.owner).exists()


def test_a_free_lock_alone_makes_no_run_dead(night: Night) -> None:
    """The process of the owner lives on: nobody settles beside it."""
    with opened(night) as house:
        run = open_run(house, "ads")
        files = files_of(house.home, run.run_id)
        release(hold(files))
        assert not is_dead(run, files)


@pytest.mark.parametrize("wrong", ["none", "folder", "link"])
def test_without_a_lock_the_process_tells(night: Night, wrong: str) -> None:
    """Where the file is not there yet, or an agent put something else there, the pid decides."""
    with opened(night, identity=dead(own_identity())) as house:
        run = open_run(house, "ads")
        files = files_of(house.home, run.run_id)
        Path(files.folder).mkdir()
        if wrong == "folder":
            Path(files.owner).mkdir()
        elif wrong == "link":
            Path(files.owner).symlink_to("/etc/passwd")
        assert is_dead(run, files)


def test_a_hidden_process_without_a_lock_is_alive(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`hidepid` keeps an undumpable process out of the table, not out of the world."""
    with opened(night) as house:
        run = open_run(house, "ads")
        monkeypatch.setattr("harness.agy.host.read_row", lambda _pid: None)
        assert not is_dead(run, files_of(house.home, run.run_id))


def test_a_lock_that_cannot_be_made_is_none(night: Night) -> None:
    """The run goes on; its process alone tells whether it lives."""
    with opened(night) as house:
        files = files_of(house.home, "r1")
        Path(files.folder).mkdir()
        Path(files.owner).symlink_to("elsewhere")
        assert hold(files) is None
        release(None)


def settled(night: Night, spoil: object) -> RunRecord:
    """Let a run die after its spawn, spoil what it left, and return how it was settled."""
    with opened(night, identity=dead(own_identity())) as house:
        party = prepared(house, "ads")
        house.state.runs.record_child(party.run.run_id, house.identity)
        spoil(house, party)  # type: ignore[operator]
        (record,) = settle(house).runs
        assert house.state.runs.unfinished() == []
        return record


def remember(house: House, party: Party) -> None:
    """Make the store know what stands at the guards."""
    plan = party.plan
    known = {
        path: digest for path, digest in party.before.items() if path.startswith(plan.guard_roots)
    }
    house.state.guards.remember(plan.guard_roots, known)


@pytest.mark.parametrize("path", ["relative", "/w\0/x", ""])
@pytest.mark.parametrize("key", ["guard_roots", "watched_roots", "artefacts", "gemini_root"])
def test_a_plan_with_wrong_paths_is_not_followed(night: Night, key: str, path: str) -> None:
    """An agent that reaches the plan cannot make settling fail."""

    def spoil(_house: House, party: Party) -> None:
        plan = json.loads(Path(party.files.plan).read_text())
        if key == "gemini_root":
            plan[key] = "/w\0/x"
        else:
            plan[key] = {path: None} if key == "artefacts" else [path]
        Path(party.files.plan).write_text(json.dumps(plan))

    record = settled(night, spoil)
    assert record.reason is Reason.HARNESS_CRASHED
    assert [each.id for each in record.findings] == ["plan_unreadable"]
    assert not record.evidence.watched


def test_a_lost_plan_is_made_up_for_by_what_the_store_knows(night: Night) -> None:
    """A guard that differs from the last known digest is a bypass, though nobody saw before."""

    def spoil(house: House, party: Party) -> None:
        remember(house, party)
        Path(party.files.plan).unlink()
        (night.workspace / "data" / "prices").write_text("after")

    record = settled(night, spoil)
    assert record.outcome is Outcome.BYPASSED
    assert record.evidence.changed_paths == (os.path.realpath(night.workspace / "data" / "prices"),)
    assert not record.evidence.watched


def test_what_cannot_be_judged_is_closed_and_stops_nobody(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One poisoned run is closed as such; the next command works."""

    def broken(*_args: object) -> dict[str, FileDigest]:
        raise ValueError("embedded null byte")

    def spoil(_house: House, party: Party) -> None:
        Path(party.files.plan).unlink()
        monkeypatch.setattr("harness.stores.sqlite.guards.SqliteGuards.known", broken)

    record = settled(night, spoil)
    assert (record.outcome, record.reason) == (Outcome.ERRORED, Reason.HARNESS_CRASHED)
    (finding,) = record.findings
    assert finding.id == "not_judged"
    assert "embedded null byte" in finding.detail
    assert not record.evidence.watched
    assert record.detail.startswith("the harness was killed")


def test_a_crash_before_the_spawn_says_that_nothing_was_started(night: Night) -> None:
    """The cause tells what is known."""
    with opened(night, identity=dead(own_identity())) as house:
        open_run(house, "ads")
        (record,) = settle(house).runs
        assert record.detail == "the harness was killed; the CLI had not been started"
        assert record.evidence.watched
