"""A run whose harness died: what is left of it ended, what it wrote read, and a verdict given.

Apart from `settle`, which every command calls and which seldom finds one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from harness.agy.tree import end_survivors
from harness.core.evidence import FileDigest
from harness.core.model import Finding, OutputReport, RunRecord
from harness.core.output import TurnReader
from harness.errors import StoreDamaged
from harness.services.conclude import Aftermath, conclude
from harness.services.house import House
from harness.services.plan import RunPlan, load_plan, tails_of
from harness.services.prepare import plan_of_nothing
from harness.services.run_files import RunFiles, files_of
from harness.services.tidy import reclaim, remove_prompt_file, tidy
from harness.stores.protocols import OpenRun


def settle_run(house: House, run: OpenRun) -> RunRecord:
    """End what is left of a run whose harness is dead, judge it and close it.

    The caller holds the home's lock.
    """
    killed = end_survivors(run.run_id, run.child)
    remove_prompt_file(run.workspace, run.run_id)
    files = files_of(house.home, run.run_id)
    reclaim(files)
    plan, before = _plan_of(house, run, files)
    aftermath = Aftermath(report=_read(files, plan), harness_crashed=True, survivors_killed=killed)
    record = conclude(house, run, plan, before, files, aftermath)
    tidy(house, record, files)
    return record


def _plan_of(
    house: House, run: OpenRun, files: RunFiles
) -> tuple[RunPlan, Mapping[str, FileDigest]]:
    """Return the plan of a crashed run; where none can be had, one that claims nothing."""
    try:
        loaded = load_plan(files)
    except StoreDamaged as problem:
        return plan_of_nothing(house, run, (_no_evidence(str(problem)),)), {}
    if loaded is not None:
        return loaded
    # It is written before the spawn: where the CLI ran, somebody took it away.
    findings = (_no_evidence(f"{files.plan} is gone"),) if run.child is not None else ()
    return plan_of_nothing(house, run, findings), {}


def _no_evidence(why: str) -> Finding:
    return Finding(id="plan_unreadable", detail=f"no evidence from before: {why}")


def _read(files: RunFiles, plan: RunPlan) -> OutputReport:
    reader = TurnReader(output_format=plan.output_format)
    with contextlib.closing(tails_of(files, plan, make=False)) as tails:
        tails.drain(reader)
        tails.sync()
    return reader.finish()
