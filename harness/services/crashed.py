"""A run whose harness died: what is left of it ended, what it wrote read, and a verdict given.

Apart from `settle`, which every command calls and which seldom finds one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from harness.agy.tree import end_survivors
from harness.core.advice import advise
from harness.core.evidence import FileDigest
from harness.core.model import Evidence, Finding, Outcome, OutputReport, Reason, RunRecord
from harness.core.output import TurnReader
from harness.core.text import bounded, one_line
from harness.errors import HarnessError, HostProblem, StoreDamaged, StoreProblem
from harness.services.census import noted
from harness.services.conclude import Aftermath, conclude
from harness.services.house import House
from harness.services.plan import RunPlan, load_plan, tails_of
from harness.services.prepare import plan_of_nothing
from harness.services.run_files import RunFiles, files_of
from harness.services.tidy import reclaim, remove_prompt_file, tidy
from harness.stores.protocols import OpenRun

_WHY_LIMIT = 200


def settle_run(house: House, run: OpenRun) -> RunRecord:
    """End what is left of a run whose harness is dead, judge it and close it.

    The caller holds the home's lock. A run that cannot be judged is closed as such, so that it
    stands in nobody's way.

    Raises:
        StoreProblem: the database takes no verdict now; the next command tries again.
    """
    try:
        return _judge(house, run)
    except (HarnessError, OSError, ValueError, msgspec.MsgspecError) as problem:
        if isinstance(problem, StoreProblem) and not isinstance(problem, StoreDamaged):
            raise
        return _close_unjudged(house, run, problem)


def _judge(house: House, run: OpenRun) -> RunRecord:
    files = files_of(house.home, run.run_id)
    killed = end_survivors(run.run_id, run.child, noted(files.census))
    remove_prompt_file(run.workspace, run.run_id)
    reclaim(files)
    plan, before = _plan_of(house, run, files)
    aftermath = Aftermath(report=_read(files, plan), harness_crashed=True, survivors_killed=killed)
    record = conclude(house, run, plan, before, files, aftermath)
    tidy(house, record, files)
    return record


def _close_unjudged(house: House, run: OpenRun, problem: Exception) -> RunRecord:
    judged = house.state.runs.get(run.run_id)
    if judged is not None:  # only what comes after the verdict failed
        return judged
    ended_at = max(house.state.now(), run.started_at)
    why = bounded(one_line(f"{type(problem).__name__}: {problem}"), _WHY_LIMIT)
    record = RunRecord(
        run_id=run.run_id,
        job=run.job,
        attempt=run.attempt,
        retry_of=run.retry_of,
        outcome=Outcome.ERRORED,
        reason=Reason.HARNESS_CRASHED,
        rule="harness",
        table_row=2,
        evidence=Evidence(watched=False),
        findings=(Finding(id="not_judged", detail=f"nothing is known of what it did: {why}"),),
        detail="the harness was killed; what the run left cannot be judged",
        started_at=run.started_at,
        ended_at=ended_at,
        duration_s=round((ended_at - run.started_at).total_seconds(), 3),
    )
    record = house.state.runs.close(replace(record, advice=advise(record)))
    with contextlib.suppress(HostProblem, OSError):
        tidy(house, record, files_of(house.home, run.run_id))
    return record


def _plan_of(
    house: House, run: OpenRun, files: RunFiles
) -> tuple[RunPlan, Mapping[str, FileDigest]]:
    """Return the plan of a crashed run; where none can be had, one that claims nothing."""
    try:
        loaded = load_plan(files)
    except StoreDamaged as problem:
        return _plan_lost(house, run, str(problem))
    if loaded is not None:
        return loaded
    # It is written before the spawn: where the CLI ran, somebody took it away.
    if run.child is not None:
        return _plan_lost(house, run, f"{files.plan} is gone")
    return plan_of_nothing(house, run), {}


def _plan_lost(house: House, run: OpenRun, why: str) -> tuple[RunPlan, Mapping[str, FileDigest]]:
    """Return a plan of what the store knows: digests of the run before, as far as there are any."""
    known = house.state.guards.known(run.guards)
    finding = Finding(
        id="plan_unreadable",
        detail=f"no evidence from right before the run, compared with the last known: {why}",
    )
    plan = replace(
        plan_of_nothing(house, run, (finding,)),
        guard_roots=tuple(root for root in run.guards if root in known),
        may_touch_canonical=True,
        before_known=False,
    )
    return plan, known


def _read(files: RunFiles, plan: RunPlan) -> OutputReport:
    reader = TurnReader(output_format=plan.output_format)
    with contextlib.closing(tails_of(files, plan, make=False)) as tails:
        tails.drain(reader)
        tails.sync()
    return reader.finish()
