"""The morning report: what the night came to, as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime

from harness.core.diffs import Diff
from harness.core.model import Acknowledgement, Outcome, RunRecord
from harness.core.tiers import Proposal

TAKE_STOCK = "take stock of the allow rules: harness audit"
URGENCY = (
    Outcome.BYPASSED,
    Outcome.HELD,
    Outcome.ERRORED,
    Outcome.REFUSED,
    Outcome.UNTOUCHED,
)
"""Outcomes in the order in which the morning shows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningRun:
    """A run that has no verdict yet."""

    run_id: str
    job: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinding:
    """A finding with the run it belongs to."""

    run_id: str
    job: str
    id: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would change, or did: shown below the first screen.

    Attributes:
        title: the proposal or path, in words.
        base_moved: the key has another version now than when an open proposal was made.
        new_key: nothing stands there yet.
    """

    title: str
    diff: Diff
    base_moved: bool = False
    new_key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MorningReport:
    """What `harness report` knows; its fields are the keys of `--json`.

    Attributes:
        counts: runs by outcome, every outcome named.
        pending: open proposals: waiting, quarantined, or of a run still on.
        notes: what the reader must know of the report itself, such as a read-only store.
        acknowledged: what a person said about bypasses of this night, in the order of the runs.
        earlier_bypasses: bypassed runs of earlier nights that nobody has acknowledged.
    """

    since: datetime
    until: datetime
    counts: Mapping[Outcome, int]
    running: tuple[RunningRun, ...] = ()
    runs: tuple[RunRecord, ...] = ()
    pending: tuple[Proposal, ...] = ()
    expired: tuple[Proposal, ...] = ()
    findings: tuple[RunFinding, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    acknowledged: tuple[Acknowledgement, ...] = ()
    earlier_bypasses: tuple[RunRecord, ...] = ()

    @property
    def open_bypasses(self) -> list[RunRecord]:
        """Return the bypassed runs that nobody has acknowledged, newest first."""
        known = {word.run_id for word in self.acknowledged}
        return [
            run for run in self.runs if run.outcome is Outcome.BYPASSED and run.run_id not in known
        ]


def compose(  # noqa: PLR0913 - each is an independent fact of the night
    *,
    since: datetime,
    until: datetime,
    running: Sequence[RunningRun],
    runs: Sequence[RunRecord],
    pending: Sequence[Proposal],
    expired: Sequence[Proposal],
    notes: Sequence[str] = (),
    acknowledged: Sequence[Acknowledgement] = (),
    earlier_bypasses: Sequence[RunRecord] = (),
) -> MorningReport:
    """Return the report of a night from what the store holds; counts and advice are derived."""
    counts = dict.fromkeys(Outcome, 0)
    for run in runs:
        counts[run.outcome] += 1
    return MorningReport(
        since=since,
        until=until,
        counts=counts,
        running=tuple(running),
        runs=tuple(runs),
        pending=tuple(pending),
        expired=tuple(expired),
        findings=tuple(
            RunFinding(run_id=run.run_id, job=run.job, id=finding.id, detail=finding.detail)
            for run in runs
            for finding in run.findings
        ),
        advice=_advice(runs, {word.run_id for word in acknowledged}),
        notes=tuple(notes),
        acknowledged=tuple(acknowledged),
        earlier_bypasses=tuple(earlier_bypasses),
    )


def _advice(runs: Sequence[RunRecord], acknowledged: AbstractSet[str]) -> tuple[str, ...]:
    """Return what to do, the most urgent first; nothing more about an acknowledged bypass."""
    lines = dict.fromkeys(
        f"{run.job}: {run.advice}"
        for run in _urgent(runs)
        if run.advice and run.run_id not in acknowledged
    )
    fourth_row = (Outcome.UNTOUCHED, Outcome.BYPASSED)
    if any(run.outcome in fourth_row for run in runs):
        lines[TAKE_STOCK] = None
    return tuple(lines)


def _urgent(runs: Sequence[RunRecord]) -> list[RunRecord]:
    return sorted(runs, key=lambda run: URGENCY.index(run.outcome))
