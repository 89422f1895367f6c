"""From the end of a process to the closed run: read, compare, judge, record.

The one way for a run that ended under our eyes and for one that a crash left behind.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.agy.watch import Ending
from harness.core.advice import advise
from harness.core.evidence import FileDigest, is_elsewhere
from harness.core.findings import of_run
from harness.core.model import (
    Finding,
    Killed,
    Observation,
    OutputReport,
    Peak,
    RunRecord,
    Verdict,
)
from harness.core.outcomes import classify, exit_hang
from harness.core.output import OutputFormat
from harness.core.tiers import ProposalState
from harness.core.versions import parse_version
from harness.errors import HostProblem
from harness.services.cause import cause_of
from harness.services.compare import Comparison, compare
from harness.services.house import House
from harness.services.plan import RunPlan, save_plan
from harness.services.run_files import RunFiles
from harness.services.tidy import reclaim
from harness.stores.protocols import OpenRun
from harness.stores.snapshots import save_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """How a run came to its end, before anything is compared.

    Attributes:
        ending: how the process ended; None where nothing was spawned or nobody saw it.
        spawn_problem: why the process could not be started.
        harness_crashed: the harness that owned the run died first.
        survivors_killed: processes that a later start had to end.
        refused_peers: processes of others that tried this run's socket.
    """

    report: OutputReport
    ending: Ending | None = None
    spawn_problem: str | None = None
    harness_crashed: bool = False
    survivors_killed: int = 0
    refused_peers: int = 0


def conclude(
    house: House,
    run: OpenRun,
    plan: RunPlan,
    before: Mapping[str, FileDigest],
    files: RunFiles,
    aftermath: Aftermath,
) -> RunRecord:
    """Judge a run whose last process is dead, and close it in one transaction; `tidy` it then."""
    ending = aftermath.ending
    reclaim(files)
    compared = compare(
        house,
        plan,
        before,
        aftermath.report,
        survivors_killed=aftermath.survivors_killed + (ending.survivors_killed if ending else 0),
        hurried=ending is not None and ending.killed is Killed.INTERRUPTED,
    )
    proposals = [
        proposal
        for proposal in house.state.proposals.of_run(run.run_id)
        if proposal.state is ProposalState.PROPOSED
    ]
    observation = Observation(
        spawn_failed=aftermath.spawn_problem is not None,
        harness_crashed=aftermath.harness_crashed,
        killed=ending.killed if ending else None,
        exit_code=ending.exit_code if ending else None,
        signal=ending.signal if ending else None,
        report=aftermath.report,
        evidence=compared.evidence,
        proposals=len(proposals),
        wrong_workspace=is_elsewhere(_real(aftermath.report.cwd), plan.workspace),
        may_touch_canonical=plan.may_touch_canonical,
    )
    features = parse_version(plan.cli.version or "")
    verdict = classify(observation, features)
    record = _record(house, run, plan, aftermath, observation, verdict)
    findings = (
        *plan.findings,
        *of_run(
            observation,
            model_asked=plan.model_asked,
            watched_changes=compared.watched_changes,
            refused_peers=aftermath.refused_peers,
            missing_guards=compared.missing_guards,
            survivors_left=ending.survivors_left if ending else 0,
            sync_problem=ending.sync_problem if ending else "",
            has_events=plan.output_format is not OutputFormat.TEXT,
        ),
        *compared.findings,
        *_keep_changes(house, plan, before, compared, files),
    )
    detail = cause_of(
        record,
        files,
        spawn_problem=aftermath.spawn_problem,
        begun=ending is not None or run.child is not None,
    )
    record = replace(record, findings=findings, detail=detail)
    record = replace(record, advice=advise(record))
    return _close(house, record, compared)


def _keep_changes(
    house: House,
    plan: RunPlan,
    before: Mapping[str, FileDigest],
    compared: Comparison,
    files: RunFiles,
) -> tuple[Finding, ...]:
    """Keep what it takes to show and undo the changes; the verdict stands without it.

    Plan and digests of before are written again, for the run's agent may have reached them.
    """
    if not compared.changed:
        return ()
    from harness.stores.copies import Copies

    try:
        Copies(house.home.archive / "guards", before_write=house.before_write).keep(
            compared.changed
        )
        save_plan(files, plan, before, before_write=house.before_write)
        save_snapshot(Path(files.guards_after), compared.after, before_write=house.before_write)
    except HostProblem as problem:
        return (Finding(id="change_not_kept", detail=f"it cannot be shown or undone: {problem}"),)
    return ()


def _close(house: House, record: RunRecord, compared: Comparison) -> RunRecord:
    with house.state.transaction():
        record = house.state.runs.close(record)
        if compared.seen_roots:
            house.state.guards.remember(compared.seen_roots, compared.after)
    return record


def _record(
    house: House,
    run: OpenRun,
    plan: RunPlan,
    aftermath: Aftermath,
    observation: Observation,
    verdict: Verdict,
) -> RunRecord:
    report, ending = aftermath.report, aftermath.ending
    hung = exit_hang(observation)
    ended_at = max(house.state.now(), run.started_at)
    return RunRecord(
        run_id=run.run_id,
        job=run.job,
        attempt=run.attempt,
        retry_of=run.retry_of,
        outcome=verdict.outcome,
        reason=verdict.reason,
        rule=verdict.rule,
        table_row=verdict.table_row,
        masked=verdict.masked,
        exit_code=observation.exit_code,
        signal=observation.signal,
        killed=observation.killed,
        cli=plan.cli,
        model=report.model or plan.model_asked,
        isolation=plan.isolation,
        agy_errors=report.errors,
        denied=report.denials,
        evidence=replace(observation.evidence, exit_hang=hung),
        mcp_calls=report.mcp_calls,
        usage=report.usage,
        peak=Peak(
            rss_bytes=ending.peak_rss_bytes if ending else 0,
            context_tokens=report.peak_context_tokens,
        ),
        cpu_s=round(ending.cpu_s, 3) if ending else 0.0,
        response=report.answer,
        conversation_ids=report.conversation_ids,
        log_tail=report.log_tail,
        started_at=run.started_at,
        ended_at=ended_at,
        duration_s=round((ended_at - run.started_at).total_seconds(), 3),
    )


def _real(folder: str | None) -> str | None:
    """Return a folder that the CLI named, with links resolved; what is no path stays as it is."""
    if folder is None or "\0" in folder:
        return folder
    return os.path.realpath(folder)
