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
from harness.services.conclude import Aftermath, conclude
from harness.services.gate import DecisionResult, settle_applying
from harness.services.house import House
from harness.services.plan import RunFiles, RunPlan, files_of, load_plan, tails_of
from harness.services.prepare import plan_of_nothing
from harness.services.tidy import remove_prompt_file, tidy
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
        for record, files in _without_record(house):
            tidy(house, record, files)
    return Settled(runs=runs, applies=applies)


def _needed(house: House) -> bool:
    """Return whether there is anything to settle; a quiet look, without the lock."""
    state = house.state
    return (
        any(not is_alive(run.owner) for run in state.runs.unfinished())
        or bool(state.proposals.listed([ProposalState.APPLYING]))
        or bool(_without_record(house))
    )


def _settle_run(house: House, run: OpenRun) -> RunRecord:
    killed = end_survivors(run.run_id, run.child)
    remove_prompt_file(run.workspace, run.run_id)
    files = files_of(house.home, run.run_id)
    make_private_folder(Path(files.folder))
    plan, before = _plan_of(house, run, files)
    aftermath = Aftermath(report=_read(files, plan), harness_crashed=True, survivors_killed=killed)
    record = conclude(house, run, plan, before, files, aftermath)
    tidy(house, record, files)
    return record


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
    return plan_of_nothing(house, run, findings), {}


def _read(files: RunFiles, plan: RunPlan) -> OutputReport:
    reader = TurnReader(output_format=plan.output_format)
    with contextlib.closing(tails_of(files, plan, make=False)) as tails:
        tails.drain(reader)
        tails.sync()
    return reader.finish()


def _without_record(house: House) -> list[tuple[RunRecord, RunFiles]]:
    """Return the newest closed runs whose folder a crash kept from being tidied.

    A few are looked at, for another run may have ended beside one that crashed.
    """
    found = []
    for run_id in house.state.runs.matching(""):
        files = files_of(house.home, run_id)
        if Path(files.folder).is_dir() and not Path(files.record).exists():
            record = house.state.runs.get(run_id)
            if record is not None:  # one that is on has no record yet
                found.append((record, files))
    return found
