"""What the store knows of a night, gathered for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo

from harness.core.diffs import Diff, LineKind, text_diff
from harness.core.model import Outcome
from harness.core.report import Change, MorningReport, RunningRun, compose
from harness.core.tiers import OPEN_STATES, Proposal
from harness.services.switches import paused
from harness.stores.protocols import State

_EVENING = time(18, 0)


def last_evening(now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the last local 18:00 before a time, by the clock that was on the wall then."""
    return last_time(_EVENING, now, zone)


def last_time(of_day: time, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return when the local clock last showed a time of day.

    The offset is looked up for that very moment: it may be another than now.
    """
    today = now.astimezone(zone).date()
    for day in (today, today - timedelta(days=1)):
        naive = datetime.combine(day, of_day)
        found = naive.astimezone() if zone is None else naive.replace(tzinfo=zone)
        if found.astimezone(UTC) <= now:  # in UTC: one zone's times are compared by the wall
            return found
    raise AssertionError("yesterday at any time of day is past")


def gather(state: State, *, since: datetime, notes: Sequence[str] = ()) -> MorningReport:
    """Return the report of all that ended since a time, and of what is open now."""
    running = [
        RunningRun(run_id=run.run_id, job=run.job, started_at=run.started_at)
        for run in state.runs.unfinished()
    ]
    runs = state.runs.ended_since(since)
    words = [
        state.runs.acknowledgement(run.run_id) for run in runs if run.outcome is Outcome.BYPASSED
    ]
    shown = {run.run_id for run in runs}
    return compose(
        since=since,
        until=state.now(),
        running=running,
        runs=runs,
        pending=state.proposals.listed(OPEN_STATES),
        expired=state.proposals.expired_since(since),
        notes=[*_pause_notes(state), *notes],
        acknowledged=[word for word in words if word is not None],
        earlier_bypasses=[
            run for run in state.runs.unacknowledged_bypasses() if run.run_id not in shown
        ],
    )


def _pause_notes(state: State) -> list[str]:
    pause = paused(state)
    if pause is None:
        return []
    why = f": {pause.detail}" if pause.detail else ""
    return [f"no job starts, paused by {pause.actor}{why}; to go on: harness resume"]


def change_of(state: State, proposal: Proposal) -> Change:
    """Return what a proposal would change, against the value that stands now."""
    current = state.canonical.read(proposal.key)
    version = current.version if current else 0
    diff = text_diff(current.value if current else "", proposal.value, label=proposal.key)
    return Change(
        title=f"{proposal.id}  {proposal.key}",
        diff=diff if current else _without_emptiness(diff),
        base_moved=proposal.state in OPEN_STATES and version != proposal.base_version,
        new_key=current is None,
    )


def _without_emptiness(diff: Diff) -> Diff:
    """Leave out the empty line that a value takes away where there was none."""
    kept = tuple(line for line in diff.lines if line.kind is not LineKind.REMOVED)
    return replace(diff, lines=kept)
