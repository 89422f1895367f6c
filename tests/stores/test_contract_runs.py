"""Every backend: claiming, closing and finding runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from harness.core.model import (
    AgyError,
    CliIdentity,
    Denial,
    ErrorKind,
    Evidence,
    Finding,
    Killed,
    McpCall,
    Outcome,
    Peak,
    Reason,
    RunRecord,
    Usage,
    Verdict,
)
from harness.core.process import ProcessIdentity
from harness.core.tiers import ProposalState
from harness.errors import StoreProblem, UnknownName, UsageProblem
from harness.stores.protocols import Busy, Claimed, State
from tests.helpers.states import (
    OWNER,
    START,
    HandClock,
    claimed,
    kinds,
    pending,
    present,
    proposed,
    quarantined,
    ran,
    record,
    request,
)


def test_a_claim_opens_a_run(state: State) -> None:
    """A claimed run is unfinished, starts at the store's time, and is not a closed one."""
    made = state.runs.claim(request("r1", agent_id="robot", attempt=2, retry_of="r0"))
    assert made == Claimed(run_id="r1", started_at=START)
    [found] = state.runs.unfinished()
    assert (found.run_id, found.job, found.agent_id) == ("r1", "deps", "robot")
    assert (found.attempt, found.retry_of, found.workspace) == (2, "r0", "/srv/deps")
    assert (found.started_at, found.owner, found.child) == (START, OWNER, None)
    assert state.runs.get("r1") is None
    assert kinds(state) == ["run.claimed"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"job": "site"}, "job site"),
        ({"workspace": "/srv/site"}, "workspace /srv/site"),
        ({"workspace": "/srv/site/"}, "workspace /srv/site"),
        ({"workspace": "/srv"}, "workspace /srv/site"),
        ({"workspace": "/"}, "workspace /srv/site"),
        ({"workspace": "/srv/site/blog/.."}, "workspace /srv/site"),
        ({"workspace": "/srv/site/blog"}, "workspace /srv/site"),
        ({"guards": ("/data/app.json",)}, "guarded path /data/app.json"),
        ({"guards": ("/data",)}, "guarded path /data/app.json"),
        ({"guards": ("/x", "/data/app.json/part")}, "guarded path /data/app.json"),
        ({"workspace": "/data"}, "guarded path /data/app.json"),
        ({"guards": ("/srv/site/index.html",)}, "guarded path /srv/site/index.html"),
    ],
)
def test_what_two_open_runs_may_not_share(state: State, changes: dict[str, Any], what: str) -> None:
    """A claim that shares job, workspace or guarded path with an open run is told which."""
    claimed(state, "r1", "site", guards=("/data/app.json",))
    wanted = replace(request("r2", "other"), **changes)
    assert state.runs.claim(wanted) == Busy(run_id="r1", job="site", what=what)
    assert len(state.runs.unfinished()) == 1
    assert kinds(state) == ["run.claimed"]


@pytest.mark.parametrize("workspace", ["/srv/site2", "/srv/si", "/other/srv/site", "/srv/sit/e"])
def test_neighbours_are_no_obstacle(state: State, workspace: str) -> None:
    """A folder that merely begins with the same letters is another folder."""
    claimed(state, "r1", "site", guards=("/data/app",))
    claimed(state, "r2", "other", workspace=workspace, guards=("/data/app2",))
    assert [run.run_id for run in state.runs.unfinished()] == ["r1", "r2"]


def test_a_closed_run_makes_room(state: State) -> None:
    """The same job can be claimed again when its run is closed."""
    ran(state, "r1")
    claimed(state, "r2")


def test_a_run_id_is_used_once(state: State) -> None:
    """A second claim with the id of a known run is an error, and opens nothing."""
    ran(state, "r1")
    with pytest.raises(StoreProblem):
        state.runs.claim(request("r1"))
    assert state.runs.unfinished() == []


def test_the_child_is_noted(state: State) -> None:
    """The process of the CLI stands with the open run; the latest one counts."""
    claimed(state, "r1")
    for pid in (77, 78):
        state.runs.record_child("r1", ProcessIdentity(pid=pid, started=5.5, boot_id="b"))
    [found] = state.runs.unfinished()
    assert found.child == ProcessIdentity(pid=78, started=5.5, boot_id="b")
    assert kinds(state) == ["run.claimed", "run.spawned", "run.spawned"]


def test_a_child_of_a_closed_run_is_refused(state: State) -> None:
    """A process cannot be noted for a run that is closed or unknown."""
    ran(state, "r1")
    for run_id in ("r1", "nobody"):
        with pytest.raises(StoreProblem, match="not open"):
            state.runs.record_child(run_id, OWNER)


def full_record(state: State) -> RunRecord:
    """A record in which every field says something."""
    verdict = Verdict(outcome=Outcome.HELD, reason=Reason.PENDING, rule="held", table_row=1)
    return record(
        state,
        "r1",
        outcome=Outcome.BYPASSED,
        attempt=2,
        retry_of="r0",
        table_row=4,
        masked=verdict,
        exit_code=3,
        signal=9,
        killed=Killed.IDLE,
        cli=CliIdentity(path="/usr/bin/agy", version="1.2.10", sha256="ab", known=True),
        model="gemini",
        isolation="bubblewrap",
        agy_errors=(AgyError(short_error="quota “reached”", error_code=429, kind=ErrorKind.QUOTA),),
        denied=(Denial(action="command", target="rm -rf /", source="log"),),
        evidence=Evidence(canonical_changed=True, changed_paths=("canonical:a",), exit_hang=True),
        mcp_calls=(McpCall(tool="gate", step_index=3),),
        boundaries=("write-back",),
        findings=(Finding(id="x", detail="y\u0000z"),),
        usage=Usage(input_tokens=10**12, tool_calls=4),
        peak=Peak(rss_bytes=2**40),
        cpu_s=0.1,
        response="äöü\u2014\U0001f600\n" * 50,
        conversation_ids=("c1", "c2"),
        log_tail="tail",
        detail="detail",
        ended_at=state.now() + timedelta(microseconds=123_456),
        duration_s=1 / 3,
        advice="look",
    )


def test_a_record_comes_back_as_it_went_in(state: State, reopen: Callable[..., State]) -> None:
    """What close returned is what another connection reads."""
    claimed(state, "r1")
    given = full_record(state)
    assert state.runs.close(given) == given
    assert reopen().runs.get("r1") == given


def test_text_that_utf8_cannot_hold_costs_no_run(state: State) -> None:
    """A lone surrogate or a number that is none, from an agent's output, is replaced."""
    claimed(state, "r1")
    error = AgyError(short_error="a\ud800b", resets_in_s=float("inf"))
    given = record(state, "r1", response="x\udfffy", agy_errors=(error,), cpu_s=float("nan"))
    closed = state.runs.close(given)
    assert closed.response == "x?y"
    assert closed.agy_errors[0].short_error == "a?b"
    assert closed.cpu_s == 0.0
    assert state.runs.get("r1") == closed
    assert state.check() == []


def test_a_held_run_releases_its_proposals(state: State, clock: HandClock) -> None:
    """Held: the run's proposals wait for a person, from the moment of the verdict."""
    claimed(state, "r1")
    made = [proposed(state, "r1", key) for key in ("b", "a")]
    clock.forward(minutes=20)
    closed = state.runs.close(record(state, "r1"))
    assert closed.pending == tuple(proposal.id for proposal in made)
    assert closed.quarantined == ()
    for proposal in state.proposals.of_run("r1"):
        assert proposal.state is ProposalState.PENDING
        assert proposal.released_at == clock.at
        assert proposal.created_at == START


@pytest.mark.parametrize(
    "outcome", [Outcome.ERRORED, Outcome.UNTOUCHED, Outcome.BYPASSED, Outcome.REFUSED]
)
def test_any_other_run_quarantines_its_proposals(state: State, outcome: Outcome) -> None:
    """Whatever did not end held is set aside, not offered."""
    claimed(state, "r1")
    made = proposed(state, "r1")
    closed = state.runs.close(record(state, "r1", outcome=outcome, pending=("made", "up")))
    assert (closed.pending, closed.quarantined) == ((), (made.id,))
    assert present(state, made.id).state is ProposalState.QUARANTINED
    assert kinds(state)[-2:] == ["proposal.quarantined", "run.closed"]


def test_a_held_run_supersedes_what_the_job_left(state: State) -> None:
    """Older open proposals of the same job and key, and all its quarantined ones, make way."""
    same_key = pending(state, "r1", "a", "old")
    other_key = pending(state, "r2", "b", "old")
    other_job = pending(state, "r3", "a", "old", job="site")
    aside = quarantined(state, "r4", "c")
    new = pending(state, "r5", "a", "new")
    states = {proposal.id: proposal.state for proposal in state.proposals.listed()}
    assert states == {
        same_key.id: ProposalState.SUPERSEDED,
        other_key.id: ProposalState.PENDING,
        other_job.id: ProposalState.PENDING,
        aside.id: ProposalState.SUPERSEDED,
        new.id: ProposalState.PENDING,
    }


def test_a_run_that_fails_leaves_older_proposals_alone(state: State) -> None:
    """An errored run neither supersedes nor releases anything."""
    older = pending(state, "r1", "a", "old")
    aside = quarantined(state, "r2", "b")
    quarantined(state, "r3", "a", "newer")
    assert present(state, older.id).state is ProposalState.PENDING
    assert present(state, aside.id).state is ProposalState.QUARANTINED


def test_a_proposal_that_expired_during_the_run_is_not_released(
    state: State, clock: HandClock
) -> None:
    """A run of more than three days has let its first proposals expire."""
    claimed(state, "r1")
    old = proposed(state, "r1", "a")
    clock.forward(days=2)
    young = proposed(state, "r1", "b")
    clock.forward(days=1)
    closed = state.runs.close(record(state, "r1"))
    assert closed.pending == (young.id,)
    assert present(state, old.id).state is ProposalState.EXPIRED


def test_a_proposal_rejected_during_the_run_stays_rejected(state: State) -> None:
    """What a person has already decided is not offered again."""
    claimed(state, "r1")
    made = proposed(state, "r1")
    state.proposals.reject(made.id, reason="no", actor="ada@cli")
    assert state.runs.close(record(state, "r1")).pending == ()
    assert present(state, made.id).state is ProposalState.REJECTED


def test_a_run_is_closed_once(state: State) -> None:
    """Closing a closed or unknown run, or one of another job, is an error and changes nothing."""
    first = ran(state, "r1")
    claimed(state, "r2")
    for wrong in (
        record(state, "r1", outcome=Outcome.BYPASSED),
        record(state, "nobody"),
        record(state, "r2", job="site"),
    ):
        with pytest.raises(StoreProblem, match="not open"):
            state.runs.close(wrong)
    assert state.runs.get("r1") == first
    assert [run.run_id for run in state.runs.unfinished()] == ["r2"]


def test_a_refused_run_is_stored(state: State) -> None:
    """A job that never started stands beside the others, without a claim."""
    claimed(state, "r1")
    given = record(state, "r2", outcome=Outcome.REFUSED)
    state.runs.record_refused(given)
    assert state.runs.get("r2") == given
    assert kinds(state)[-1] == "run.refused"
    with pytest.raises(StoreProblem):
        state.runs.record_refused(given)


def test_only_refused_runs_skip_the_claim(state: State) -> None:
    """A run with any other outcome must have been claimed."""
    with pytest.raises(StoreProblem, match="not refused"):
        state.runs.record_refused(record(state, "r1", outcome=Outcome.UNTOUCHED))


def test_history_is_newest_first(state: State, clock: HandClock) -> None:
    """Questions about the past answer newest first, by job, outcome, both, and count."""
    outcomes = [Outcome.UNTOUCHED, Outcome.ERRORED, Outcome.UNTOUCHED, Outcome.BYPASSED]
    for number, outcome in enumerate(outcomes):
        for job in ("deps", "site"):
            ran(state, f"{number}-{job}", job, outcome)
        clock.forward(hours=1)
    claimed(state, "open")

    def ids(runs: list[RunRecord]) -> list[str]:
        return [run.run_id for run in runs]

    assert ids(state.runs.recent(limit=3)) == ["3-site", "3-deps", "2-site"]
    assert ids(state.runs.recent(job="deps")) == ["3-deps", "2-deps", "1-deps", "0-deps"]
    assert ids(state.runs.recent(outcome=Outcome.ERRORED)) == ["1-site", "1-deps"]
    assert ids(state.runs.recent(job="site", outcome=Outcome.UNTOUCHED)) == ["2-site", "0-site"]
    assert state.runs.recent(limit=0) == []
    since = START + timedelta(hours=2)
    assert ids(state.runs.ended_since(since)) == ["3-site", "3-deps", "2-site", "2-deps"]
    assert ids(state.runs.ended_since(since + timedelta(milliseconds=1))) == ["3-site", "3-deps"]
    assert ids(state.runs.recent(job="deps", limit=1)) == ["3-deps"]
    assert state.runs.recent(job="nobody") == []


def test_ids_are_found_by_prefix(state: State, clock: HandClock) -> None:
    """A prefix finds open and closed runs, newest first, ten at most, and nothing by pattern."""
    for number in range(12):
        ran(state, f"20261130T02{number:02}-deps-0000")
        clock.forward(minutes=1)
    claimed(state, "20261130T0300-deps-ffff")
    found = list(state.runs.matching("20261130"))
    assert found[:2] == ["20261130T0300-deps-ffff", "20261130T0211-deps-0000"]
    assert len(found) == 10
    assert list(state.runs.matching("20261130T0205")) == ["20261130T0205-deps-0000"]
    assert list(state.runs.matching("%")) == []
    assert list(state.runs.matching("2026113_")) == []


def test_a_bypass_is_acknowledged_once(state: State, clock: HandClock) -> None:
    """The first word of a person stands; the run is then no longer open business."""
    ran(state, "r1", outcome=Outcome.BYPASSED)
    ran(state, "r2", outcome=Outcome.UNTOUCHED)
    clock.forward(hours=1)
    ran(state, "r3", outcome=Outcome.BYPASSED)
    assert [run.run_id for run in state.runs.unacknowledged_bypasses()] == ["r3", "r1"]
    first = state.runs.acknowledge("r1", reason="I did that", actor="ada@cli")
    clock.forward(hours=1)
    assert state.runs.acknowledge("r1", reason="again", actor="bob@cli") == first
    assert (first.actor, first.reason, first.at) == (
        "ada@cli",
        "I did that",
        START + timedelta(hours=1),
    )
    assert [run.run_id for run in state.runs.unacknowledged_bypasses()] == ["r3"]
    assert kinds(state).count("run.acknowledged") == 1


def test_only_a_bypass_is_acknowledged(state: State) -> None:
    """An unknown or open run, or one that bypassed nothing, cannot be acknowledged."""
    ran(state, "r1")
    claimed(state, "r2")
    with pytest.raises(UsageProblem, match="untouched"):
        state.runs.acknowledge("r1", reason="", actor="ada@cli")
    for run_id in ("r2", "nobody"):
        with pytest.raises(UnknownName):
            state.runs.acknowledge(run_id, reason="", actor="ada@cli")


def test_a_guard_inside_the_own_workspace_is_usual(state: State) -> None:
    """Guards inside a run's own workspace get in nobody's way."""
    claimed(state, "r1", "site", guards=("/srv/site/data",))
    claimed(state, "r2", "deps", guards=("/srv/deps/data",))
    assert len(state.runs.unfinished()) == 2
