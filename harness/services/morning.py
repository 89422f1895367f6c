"""What the store knows of a night, gathered for the report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta, tzinfo

from harness.core.diffs import text_diff
from harness.core.report import Change, MorningReport, RunningRun, compose
from harness.core.tiers import OPEN_STATES, Proposal
from harness.stores.protocols import State

_EVENING = time(18, 0)


def last_evening(now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the last local 18:00 before a time."""
    local = now.astimezone(zone)
    evening = datetime.combine(local.date(), _EVENING, tzinfo=local.tzinfo)
    if evening > local:
        evening = datetime.combine(local.date() - timedelta(days=1), _EVENING, tzinfo=local.tzinfo)
    return evening


def gather(state: State, *, since: datetime, notes: Sequence[str] = ()) -> MorningReport:
    """Return the report of all that ended since a time, and of what is open now."""
    running = [
        RunningRun(run_id=run.run_id, job=run.job, started_at=run.started_at)
        for run in state.runs.unfinished()
    ]
    return compose(
        since=since,
        until=state.now(),
        running=running,
        runs=state.runs.ended_since(since),
        pending=state.proposals.listed(OPEN_STATES),
        expired=state.proposals.expired_since(since),
        notes=notes,
    )


def change_of(state: State, proposal: Proposal) -> Change:
    """Return what a proposal would change, against the value that stands now."""
    current = state.canonical.read(proposal.key)
    version = current.version if current else 0
    return Change(
        title=f"{proposal.id}  {proposal.key}",
        diff=text_diff(current.value if current else "", proposal.value, label=proposal.key),
        base_moved=version != proposal.base_version,
    )
