"""From the end of a process to the closed run: read, compare, judge, record.

The one way for a run that ended under our eyes and for one that a crash left behind.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.agy.artefacts import missing, stand
from harness.agy.guards import TooLarge, snapshot
from harness.agy.watch import Ending
from harness.core.advice import advise
from harness.core.evidence import (
    FileDigest,
    PathKind,
    below,
    changed_keys,
    changed_paths,
    outside_paths,
    unexplained,
    unreadable_paths,
)
from harness.core.findings import of_run
from harness.core.model import (
    Evidence,
    Finding,
    Observation,
    OutputReport,
    Peak,
    RunRecord,
    Verdict,
)
from harness.core.outcomes import classify, exit_hang
from harness.core.output import OutputFormat
from harness.core.text import bounded, one_line
from harness.core.tiers import ProposalState
from harness.core.versions import parse_version
from harness.errors import HostProblem
from harness.services.house import House
from harness.services.plan import RunPlan, save_plan
from harness.services.run_files import RunFiles
from harness.services.tidy import reclaim
from harness.stores.protocols import OpenRun
from harness.stores.snapshots import save_snapshot

_DETAIL_LIMIT = 300
_TAIL_BYTES = 4096


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """Evidence, and what `remember` and `restore` need of it."""

    evidence: Evidence
    after: Mapping[str, FileDigest]
    watched_changes: tuple[str, ...]
    changed: Mapping[str, FileDigest]

    @property
    def guard_changes(self) -> bool:
        return bool(self.changed)


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
    compared = _compare(house, plan, before, aftermath)
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
        wrong_workspace=_is_elsewhere(aftermath.report.cwd, plan.workspace),
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
            survivors_left=ending.survivors_left if ending else 0,
            sync_problem=ending.sync_problem if ending else "",
            has_events=plan.output_format is not OutputFormat.TEXT,
        ),
        *_keep_changes(house, plan, before, compared, files),
    )
    record = replace(record, findings=findings, detail=_detail(record, aftermath, files))
    record = replace(record, advice=advise(record))
    return _close(house, record, plan, compared)


def _keep_changes(
    house: House,
    plan: RunPlan,
    before: Mapping[str, FileDigest],
    compared: _Comparison,
    files: RunFiles,
) -> tuple[Finding, ...]:
    """Keep what it takes to show and undo the changes; the verdict stands without it.

    Plan and digests of before are written again, for the run's agent may have reached them.
    """
    if not compared.guard_changes:
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


def _close(house: House, record: RunRecord, plan: RunPlan, compared: _Comparison) -> RunRecord:
    with house.state.transaction():
        record = house.state.runs.close(record)
        if compared.after:
            house.state.guards.remember((*plan.guard_roots, *plan.watched_roots), compared.after)
    return record


def _compare(
    house: House, plan: RunPlan, before: Mapping[str, FileDigest], aftermath: Aftermath
) -> _Comparison:
    roots = (*plan.guard_roots, *plan.watched_roots)
    after = snapshot(roots, before)
    if isinstance(after, TooLarge):  # it fitted before the run: what is there now is not known
        unread = FileDigest(kind=PathKind.UNREADABLE)
        after = dict.fromkeys(roots, unread)
    heads = house.state.canonical.heads()
    changes = changed_paths(before, after)
    guard_changes = [change for change in changes if below(change.path, plan.guard_roots)]
    found = unexplained(
        guard_changes,
        changed_keys(plan.heads, heads),
        heads,
        house.state.canonical.approved_since(plan.last_event),
    )
    unreadable = [path for path in unreadable_paths(after) if below(path, plan.guard_roots)]
    guarded = [path for path in after if below(path, plan.guard_roots)]
    ending = aftermath.ending
    evidence = Evidence(
        canonical_changed=bool(found),
        changed_paths=tuple(found),
        outside_paths=tuple(outside_paths(aftermath.report.written_paths, plan.workspace)),
        missing_artefacts=missing(plan.artefacts, stand(plan.artefacts)),
        survivors_killed=aftermath.survivors_killed + (ending.survivors_killed if ending else 0),
        changed_between_runs=plan.changed_between_runs,
        unreadable=tuple(unreadable),
        watched=not plan.guard_roots or len(unreadable) < len(guarded),
    )
    watched = [change.path for change in changes if not below(change.path, plan.guard_roots)]
    return _Comparison(
        evidence=evidence,
        after=after,
        watched_changes=tuple(watched),
        changed={
            change.path: change.after or FileDigest(kind=PathKind.ABSENT)
            for change in guard_changes
        },
    )


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


def _is_elsewhere(cwd: str | None, workspace: str) -> bool:
    """Return whether the CLI said that its tools work outside the job's workspace."""
    if cwd is None:
        return False
    return not below(os.path.realpath(cwd), [workspace])


def _detail(record: RunRecord, aftermath: Aftermath, files: RunFiles) -> str:
    """Return the cause in one bounded line, as far as one is known."""
    if aftermath.spawn_problem:
        return aftermath.spawn_problem
    if record.evidence.changed_paths:
        text = "changed: " + ", ".join(record.evidence.changed_paths)
    elif record.agy_errors:
        text = record.agy_errors[-1].short_error or record.agy_errors[-1].raw
    elif record.denied:
        text = "denied: " + ", ".join(
            f"{denial.action}({denial.target or ''})" for denial in record.denied
        )
    elif record.evidence.missing_artefacts:
        text = "missing: " + ", ".join(record.evidence.missing_artefacts)
    elif record.table_row in (2, 3):
        text = _last_line(files.stderr)
    else:
        text = ""
    return bounded(one_line(text), _DETAIL_LIMIT)


def _last_line(path: str) -> str:
    """Return the last words of a file; '' where the agent put something else in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        data = os.pread(descriptor, _TAIL_BYTES, max(0, found.st_size - _TAIL_BYTES))
    finally:
        os.close(descriptor)
    lines = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
