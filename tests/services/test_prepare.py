"""Before the spawn: what is looked at, in which order, and what is refused."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from harness.core.model import OutputReport, Reason
from harness.services.compare import Comparison, compare
from harness.services.house import House
from harness.services.plan import tails_of
from harness.services.preflight import NotReady
from harness.services.prepare import Party, Stopped, prepare
from harness.stores.configuration import load_job
from harness.stores.protocols import NewProposal
from tests.helpers.houses import Told, open_run, opened, prepared, ready
from tests.helpers.night import Night


def compared(house: House, party: Party) -> Comparison:
    """Compare at once what a run changed."""
    return compare(
        house, party.plan, party.before, OutputReport(), survivors_killed=0, hurried=False
    )


class _ApprovedMeanwhile:
    """Canonical data in which a person approves a write right before the heads are read."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._real = house.state.canonical

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def heads(self) -> Any:
        """Approve, then read."""
        proposals = self._house.state.proposals
        made = proposals.propose(
            NewProposal(run_id=None, job=None, key="ads/floor", value="1", reason="why")
        )
        proposals.begin_apply(made.id, value_sha256=None, quarantined=False, actor="ada@cli")
        self._real.apply(
            made.key,
            made.value,
            operation_key=f"proposal:{made.id}",
            expected_version=0,
            actor="ada@cli",
            run_id=None,
        )
        self._house.state.canonical = self._real
        return self._real.heads()


def test_an_approval_while_the_run_is_prepared_is_no_bypass(night: Night) -> None:
    """The end of the trail is read before the heads, so that what lies between is explained."""
    with opened(night) as house:
        house.state.canonical = _ApprovedMeanwhile(house)
        party = prepared(house, "ads")
        assert house.state.canonical.read("ads/floor") is not None
        assert not compared(house, party).evidence.canonical_changed


def test_a_request_to_stop_ends_the_preparation(night: Night) -> None:
    """Nothing is digested to its end for a run that will not start."""
    with opened(night) as house:
        run = open_run(house, "ads")
        told = Told(signal.SIGTERM)
        assert prepare(house, ready(house, "ads"), run, gate="/g", stop=told) == Stopped()


def test_a_pipe_below_a_guard_is_refused(night: Night) -> None:
    """What is no file has no content to digest: the job must name something else."""
    os.mkfifo(night.workspace / "data" / "pipe")
    with opened(night) as house:
        run = open_run(house, "ads")
        found = prepare(house, ready(house, "ads"), run, gate="/g", stop=Told())
        assert isinstance(found, NotReady)
        assert found.reason is Reason.BAD_JOB
        assert "data/pipe is a pipe" in found.detail


def test_the_prompt_names_the_day(night: Night) -> None:
    """`{date}` is the local date of the start, in the command and in the run's folder alike."""
    night.job("daily", "[[steps]]\nsleep = 0\n", prompt="Report on {date}, {not} a {date}.")
    with opened(night) as house:
        party = prepared(house, "daily")
        day = party.run.started_at.astimezone().date().isoformat()
        text = f"Report on {day}, {{not}} a {day}."
        assert Path(party.files.prompt).read_text(encoding="utf-8") == text
        said = [*party.command.argv, party.command.stdin_text or ""]
        assert any(text in each for each in said)
        assert load_job(house.home, "daily").prompt == "Report on {date}, {not} a {date}."


def test_as_much_output_is_read_as_the_job_allows(night: Night) -> None:
    """The plan keeps the limit for whoever settles the run."""
    night.job("loud", "[[steps]]\nsleep = 0\n", max_output="10B")
    with opened(night) as house:
        party = prepared(house, "loud")
        assert party.plan.max_output_bytes == 10
        tails_of(party.files, party.plan, make=True).close()


def test_a_flood_of_configuration_accuses_nobody(night: Night) -> None:
    """100,000 files below `.agents/` are a finding; the same below a guard are a change."""
    with opened(night) as house:
        party = prepared(house, "ads")
        flood = night.workspace / ".agents"
        flood.mkdir()
        for number in range(100_001):
            os.mknod(flood / str(number))
        found = compared(house, party)
        assert not found.evidence.canonical_changed
        assert found.evidence.watched
        assert [each.id for each in found.findings] == ["agent_configuration_unwatched"]
        assert found.seen_roots == party.plan.guard_roots
        flood.rename(night.workspace / "data" / "more")
        found = compared(house, party)
        assert found.evidence.changed_paths == party.plan.guard_roots
        assert found.changed == {}


def test_what_takes_too_long_is_not_watched(night: Night, monkeypatch: Any) -> None:
    """Where the time for the guards runs out, nothing is claimed of them."""
    for number in range(300):
        (night.workspace / "data" / str(number)).touch()
    with opened(night) as house:
        party = prepared(house, "ads")
        monkeypatch.setattr("harness.services.compare.LIMIT_S", -1.0)
        evidence = compared(house, party).evidence
        assert not evidence.canonical_changed
        assert not evidence.watched
        assert evidence.unreadable == party.plan.guard_roots


def test_a_guard_that_names_nothing_is_named(night: Night) -> None:
    """A misspelt guard watches nothing, and the run says so."""
    night.job("typo", "[[steps]]\nsleep = 0\n", guard=["dat"])
    with opened(night) as house:
        party = prepared(house, "typo")
        found = compared(house, party)
        assert found.missing_guards == party.plan.guard_roots
        assert not found.evidence.watched
        (night.workspace / "dat").write_text("new")
        found = compared(house, party)
        assert (found.missing_guards, found.evidence.watched) == ((), True)
