"""Before the spawn: the claim, and all that the judgement will need, written down durably."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from harness.agy.artefacts import artefact_paths, stand
from harness.agy.guards import TooLarge, snapshot
from harness.agy.roots import guard_roots, watched_roots
from harness.agy.stop import Stop
from harness.core.advice import advise
from harness.core.command import Command, build, prompt_file_in
from harness.core.environment import environment
from harness.core.evidence import FileDigest, below, changed_paths, special_paths
from harness.core.findings import changed_configuration, unwatched_configuration
from harness.core.job import JobSpec, fill_date
from harness.core.model import Finding, Outcome, Reason, RunRecord
from harness.core.text import bounded, one_line
from harness.errors import HostProblem
from harness.services.compare import CONFIGURATION_S
from harness.services.house import House
from harness.services.plan import RunPlan, save_plan
from harness.services.preflight import NotReady, Ready
from harness.services.run_files import RunFiles, files_of
from harness.stores.files import atomic_write, make_private_folder
from harness.stores.protocols import Busy, ClaimRequest, OpenRun

_ID_ATTEMPTS = 8
_NAME_LIMIT = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """What belongs to one run from its claim to its verdict."""

    ready: Ready
    run: OpenRun
    files: RunFiles
    plan: RunPlan
    before: Mapping[str, FileDigest]
    command: Command


def new_run_id(job: str, at: datetime) -> str:
    """Return an id that sorts by time, can be read aloud, and is safe as the name of a folder."""
    name = _UNSAFE.sub("-", job)[:_NAME_LIMIT]
    return f"{at:%Y%m%dT%H%M}-{name}-{secrets.token_hex(2)}"


def refused_record(run_id: str, job: str, checked: NotReady, at: datetime) -> RunRecord:
    """Return the record of a run that never started."""
    record = RunRecord(
        run_id=run_id,
        job=bounded(one_line(job), _NAME_LIMIT),
        outcome=Outcome.REFUSED,
        reason=checked.reason,
        rule="refused",
        cli=checked.cli,
        detail=checked.detail,
        started_at=at,
        ended_at=at,
        duration_s=0.0,
    )
    return replace(record, advice=advise(record))


def claim(house: House, job: JobSpec) -> OpenRun | Busy:
    """Open a run of a job, or say which open one is in the way."""
    workspace = os.path.realpath(job.workspace)
    request = ClaimRequest(
        run_id=free_run_id(house, job.name),
        job=job.name,
        agent_id=job.agent_id,
        attempt=1,
        retry_of=None,
        workspace=workspace,
        guards=guard_roots(workspace, job.guard),
        owner=house.identity,
    )
    claimed = house.state.runs.claim(request)
    if isinstance(claimed, Busy):
        return claimed
    return OpenRun(
        run_id=request.run_id,
        job=request.job,
        agent_id=request.agent_id,
        attempt=request.attempt,
        retry_of=request.retry_of,
        workspace=workspace,
        started_at=claimed.started_at,
        owner=house.identity,
        child=None,
        guards=request.guards,
    )


def free_run_id(house: House, job: str) -> str:
    """Return an id that no run has. Raises `HostProblem` where chance gives none."""
    for _ in range(_ID_ATTEMPTS):
        run_id = new_run_id(job, house.state.now())
        if not house.state.runs.matching(run_id):
            return run_id
    raise HostProblem(f"no free run id was found for {job} in this minute; try again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The harness was told to stop while it prepared a run; nothing was started."""


def prepare(
    house: House, ready: Ready, run: OpenRun, *, gate: str, stop: Stop
) -> Party | NotReady | Stopped:
    """Digest and copy what is guarded, build the command, and write the plan durably.

    `gate` is the path of the run's socket.
    """
    files = files_of(house.home, run.run_id)
    make_private_folder(Path(files.folder))
    ready = dated(ready, run.started_at)
    # Before all that is looked at: what is approved from here on explains what differs later.
    last_event = house.state.events.head()[0]
    looked = _look(house, ready, run, stop)
    if not isinstance(looked, _Before):
        return looked
    command = command_of(house, ready, run.run_id, run.workspace, gate=gate)
    plan = _plan(house, ready, run, command, looked, last_event)
    plan = replace(plan, findings=(*plan.findings, *_keep_copies(house, looked)))
    before = looked.digests
    _write_inputs(house, files, command, ready.job)
    save_plan(files, plan, before, before_write=house.before_write)
    return Party(ready=ready, run=run, files=files, plan=plan, before=before, command=command)


def dated(ready: Ready, at: datetime) -> Ready:
    """Return a job whose prompt names the day: local, as the person names their files."""
    job = ready.job
    prompt = None if job.prompt is None else fill_date(job.prompt, at.astimezone().date())
    return replace(ready, job=replace(job, prompt=prompt))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What stands at the roots before the spawn."""

    guards: tuple[str, ...]
    watched: tuple[str, ...]
    digests: Mapping[str, FileDigest]
    changed_between_runs: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def _look(house: House, ready: Ready, run: OpenRun, stop: Stop) -> _Before | NotReady | Stopped:
    """Digest guards and the agents' configuration, each within bounds of its own."""

    def stopped() -> bool:
        return stop.requested is not None

    def refuse(detail: str) -> NotReady:
        return NotReady(
            reason=Reason.BAD_JOB, detail=f"guard: {detail}", job=ready.job, cli=ready.cli
        )

    guards, watched = guard_roots(run.workspace, ready.job.guard), watched_roots(run.workspace)
    known = house.state.guards.known((*guards, *watched))
    before = snapshot(guards, known, stopped=stopped)
    seen = snapshot(watched, known, limit_s=CONFIGURATION_S, stopped=stopped)
    if stopped():
        return Stopped()
    if isinstance(before, TooLarge):
        return refuse(
            f"too much to digest ({before.count} entries seen, stopped by {before.what}); "
            "guard fewer files"
        )
    if special := special_paths(before):
        return refuse(f"{special[0]} is a pipe, a socket or a device; guard files and folders")
    findings: tuple[Finding, ...] = ()
    if isinstance(seen, TooLarge):
        findings = (unwatched_configuration(watched, seen.count, seen.what),)
        watched, seen = (), {}
    elif altered := _changed_meanwhile(known, seen, watched):
        findings = (changed_configuration(altered),)
    return _Before(
        guards=guards,
        watched=watched,
        digests={**seen, **before},
        changed_between_runs=tuple(_changed_meanwhile(known, before, guards)),
        findings=findings,
    )


def command_of(house: House, ready: Ready, run_id: str, workspace: str, *, gate: str) -> Command:
    """Return the command of one run of a job."""
    return build(
        ready.job,
        ready.features,
        binary=ready.cli.path or "",
        log_file=files_of(house.home, run_id).log,
        prompt_file=prompt_file_in(workspace, run_id),
        run_environment=environment(
            house.environment, names=ready.job.env, run_id=run_id, job=ready.job.name, gate=gate
        ),
    )


def _plan(
    house: House,
    ready: Ready,
    run: OpenRun,
    command: Command,
    before: _Before,
    last_event: int,
) -> RunPlan:
    job = ready.job
    date = run.started_at.astimezone().date()  # local: as the person names their files
    artefacts = artefact_paths(run.workspace, [fill_date(each, date) for each in job.produces])
    home = house.environment.get("HOME", "")
    return RunPlan(
        run_id=run.run_id,
        job=job.name,
        agent_id=job.agent_id,
        attempt=run.attempt,
        retry_of=run.retry_of,
        workspace=run.workspace,
        guard_roots=before.guards,
        watched_roots=before.watched,
        artefacts=stand(artefacts),
        may_touch_canonical=job.may_touch_canonical,
        cli=ready.cli,
        output_format=command.output_format,
        model_asked=job.model,
        isolation=ready.isolation,
        gemini_root=job.gemini_dir or f"{home}/.gemini",
        findings=(*ready.findings, *command.findings, *before.findings),
        changed_between_runs=before.changed_between_runs,
        heads=house.state.canonical.heads(),
        last_event=last_event,
        max_output_bytes=job.max_output_bytes,
    )


def plan_of_nothing(house: House, run: OpenRun, findings: tuple[Finding, ...] = ()) -> RunPlan:
    """Return the plan of a run for which none was written: it claims nothing of before."""
    last_event = house.state.events.head()[0]
    return RunPlan(
        run_id=run.run_id,
        job=run.job,
        agent_id=run.agent_id,
        attempt=run.attempt,
        retry_of=run.retry_of,
        workspace=run.workspace,
        findings=findings,
        heads=house.state.canonical.heads(),
        last_event=last_event,
    )


def _changed_meanwhile(
    known: Mapping[str, FileDigest], before: Mapping[str, FileDigest], roots: Collection[str]
) -> list[str]:
    """Return paths below roots that differ from the last known digest; a new root has none."""
    familiar = [root for root in roots if root in known]
    old = {path: digest for path, digest in known.items() if below(path, roots)}
    return [change.path for change in changed_paths(old, before) if below(change.path, familiar)]


def _keep_copies(house: House, before: _Before) -> list[Finding]:
    if not before.guards:
        return []
    from harness.stores.copies import Copies

    copies = Copies(house.home.archive / "guards", before_write=house.before_write)
    kept = copies.keep(
        {path: each for path, each in before.digests.items() if below(path, before.guards)}
    )
    if not kept.skipped:
        return []
    return [
        Finding(
            id="guard_not_copied",
            detail=f"{len(kept.skipped)} guarded files are not copied (too large, or they could "
            "not be read); a bypass could not be undone there",
        )
    ]


def _write_inputs(house: House, files: RunFiles, command: Command, job: JobSpec) -> None:
    atomic_write(Path(files.prompt), (job.prompt or "").encode(), before_write=house.before_write)
    if command.stdin_text is not None:
        atomic_write(
            Path(files.stdin), command.stdin_text.encode(), before_write=house.before_write
        )
    if command.prompt_file is not None and command.prompt_file_text is not None:
        atomic_write(
            Path(command.prompt_file),
            command.prompt_file_text.encode(),
            before_write=house.before_write,
        )
