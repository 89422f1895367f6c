"""What an earlier crash left: open runs without a process, half-applied writes, survivors.

Every command that opens the store settles first. Settling twice, or from two commands at once,
does no harm: it happens under the home's lock, and only for runs whose owner is dead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.agy.host import is_alive
from harness.agy.tree import end_survivors
from harness.core.evidence import FileDigest
from harness.core.model import Finding, OutputReport, RunRecord
from harness.core.output import TurnReader
from harness.core.tiers import ProposalState
from harness.errors import StoreDamaged
from harness.services.conclude import Aftermath, conclude, write_record
from harness.services.gate import DecisionResult, settle_applying
from harness.services.house import House
from harness.services.plan import RunFiles, RunPlan, files_of, load_plan, tails_of
from harness.stores.files import make_private_folder
from harness.stores.protocols import OpenRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What settling did."""

    runs: tuple[RunRecord, ...] = ()
    applies: tuple[DecisionResult, ...] = ()


def settle(house: House) -> Settled:
    """Write down what expired, close runs whose harness died, finish interrupted applies."""
    house.state.proposals.sweep()
    if not _needed(house):
        return Settled()
    with house.lock():
        runs = tuple(
            _settle_run(house, run)
            for run in house.state.runs.unfinished()
            if not is_alive(run.owner)
        )
        applies = tuple(settle_applying(house.state))
        _mend_last_record(house)
    return Settled(runs=runs, applies=applies)


def _needed(house: House) -> bool:
    """Return whether there is anything to settle; a quiet look, without the lock."""
    state = house.state
    return (
        any(not is_alive(run.owner) for run in state.runs.unfinished())
        or bool(state.proposals.listed([ProposalState.APPLYING]))
        or _last_without_record(house) is not None
    )


def _settle_run(house: House, run: OpenRun) -> RunRecord:
    killed = end_survivors(run.run_id, run.child)
    files = files_of(house.home, run.run_id)
    make_private_folder(Path(files.folder))
    plan, before = _plan_of(house, run, files)
    aftermath = Aftermath(report=_read(files, plan), harness_crashed=True, survivors_killed=killed)
    return conclude(house, run, plan, before, files, aftermath)


def _plan_of(
    house: House, run: OpenRun, files: RunFiles
) -> tuple[RunPlan, Mapping[str, FileDigest]]:
    """Return the plan of a crashed run; where none can be had, one that claims nothing."""
    findings: tuple[Finding, ...] = ()
    try:
        loaded = load_plan(files)
        if loaded is not None:
            return loaded
    except StoreDamaged as problem:
        findings = (Finding(id="plan_unreadable", detail=f"no evidence from before: {problem}"),)
    plan = RunPlan(
        run_id=run.run_id,
        job=run.job,
        agent_id=run.agent_id,
        workspace=run.workspace,
        findings=findings,
        heads=house.state.canonical.heads(),
        last_event=house.state.events.head()[0],
    )
    return plan, {}


def _read(files: RunFiles, plan: RunPlan) -> OutputReport:
    reader = TurnReader(output_format=plan.output_format)
    with contextlib.closing(tails_of(files, plan, make=False)) as tails:
        tails.drain(reader)
        tails.sync()
    return reader.finish()


def _last_without_record(house: House) -> tuple[RunRecord, RunFiles] | None:
    """Return the newest closed run whose derived file a crash kept from being written."""
    for record in house.state.runs.recent(limit=1):
        files = files_of(house.home, record.run_id)
        if Path(files.folder).is_dir() and not Path(files.record).exists():
            return record, files
    return None


def _mend_last_record(house: House) -> None:
    found = _last_without_record(house)
    if found is not None:
        write_record(house, *found)
