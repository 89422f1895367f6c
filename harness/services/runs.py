"""One run of one job: preflight, claim, spawn, watch, collect, judge, record."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from harness.agy.ancestry import RUN_NAME
from harness.agy.collect import Tails
from harness.agy.limits import Limits
from harness.agy.process import Child, Launch, SpawnFailure, called, make_undumpable, spawn
from harness.agy.stop import StopSignals
from harness.agy.watch import Ending, Listeners, Progress, no_progress, watch
from harness.core.job import JobSpec
from harness.core.model import Killed, OutputReport, Reason, RunRecord
from harness.core.output import TurnReader
from harness.errors import HostProblem, Interrupted, StoreProblem
from harness.services import census
from harness.services.conclude import Aftermath, conclude
from harness.services.door import Door
from harness.services.gate import Gate, Writer
from harness.services.house import House
from harness.services.owner import hold, release
from harness.services.plan import tails_of
from harness.services.preflight import NotReady, Ready, preflight
from harness.services.prepare import (
    Party,
    Stopped,
    claim,
    free_run_id,
    new_run_id,
    plan_of_nothing,
    prepare,
    refused_record,
)
from harness.services.run_files import files_of
from harness.services.tidy import remove_prompt_file, tidy
from harness.stores.homes import runtime_folder
from harness.stores.protocols import Busy, OpenRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    """What `run` came to; a run that found another one of its job on is not recorded."""

    record: RunRecord
    recorded: bool = True


def run_job(
    house: House,
    name: str,
    *,
    unattended: bool = False,
    progress: Callable[[Progress], None] = no_progress,
) -> RunAnswer:
    """Run a job once and return its closed record, or the record of why it did not start.

    Raises:
        Interrupted: a request to stop came before the claim; there is no trace of a run.
        HarnessError: the harness itself could not go on; the run stays open and the next
            command settles it.
    """
    make_undumpable()
    with StopSignals() as stop:
        try:
            claimed = _check_and_claim(house, name, stop, unattended=unattended)
        except StoreProblem as problem:
            return unreachable(name, problem, house.clock())
        if isinstance(claimed, RunAnswer):
            return claimed
        try:
            record = _see_through(house, claimed.ready, claimed.run, stop, progress)
            with contextlib.suppress(HostProblem), house.lock():  # the verdict stands without it
                tidy(house, record, files_of(house.home, record.run_id))
        finally:
            release(claimed.owner)
        return RunAnswer(record=record)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """An open run that is ours; `owner` holds its lock."""

    ready: Ready
    run: OpenRun
    owner: int | None


def _check_and_claim(
    house: House, name: str, stop: StopSignals, *, unattended: bool
) -> RunAnswer | _Own:
    """Return an open run, or the answer to a job that does not start."""
    checked = preflight(house, name, unattended=unattended, stop=stop)
    if stop.requested is not None:
        raise Interrupted(f"told to stop before the run of {name} began; nothing was started")
    if isinstance(checked, NotReady):
        # Of runs that are on, the preflight looks at those of this very job alone.
        recorded = checked.reason is not Reason.ALREADY_RUNNING
        return _refuse(house, name, checked, recorded=recorded)
    with _lock_where_possible(house):  # nobody settles between the claim and the run's own lock
        claimed = claim(house, checked.job)
        if not isinstance(claimed, Busy):
            owner = hold(files_of(house.home, claimed.run_id))
            return _Own(ready=checked, run=claimed, owner=owner)
    return _busy(house, checked, claimed)


def _busy(house: House, checked: Ready, claimed: Busy) -> RunAnswer:
    detail = f"run {claimed.run_id} of {claimed.job} is on and shares its {claimed.what}"
    busy = NotReady(reason=Reason.ALREADY_RUNNING, detail=detail, job=checked.job, cli=checked.cli)
    return _refuse(house, checked.job.name, busy, recorded=claimed.job != checked.job.name)


@contextlib.contextmanager
def _lock_where_possible(house: House) -> Iterator[None]:
    """Hold the home's lock; where it cannot be opened, the store's own exclusion has to do."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(HostProblem):
            stack.enter_context(house.lock())
        yield


def unreachable(name: str, problem: StoreProblem, at: datetime) -> RunAnswer:
    """Return the answer to a job whose store cannot be used: told, for it cannot be stored."""
    hint = f" ({problem.hint})" if problem.hint else ""
    refused = NotReady(reason=Reason.STORE_UNREACHABLE, detail=f"{problem}{hint}")
    return RunAnswer(record=refused_record(new_run_id(name, at), name, refused, at), recorded=False)


def _see_through(
    house: House,
    ready: Ready,
    run: OpenRun,
    stop: StopSignals,
    progress: Callable[[Progress], None],
) -> RunRecord:
    """Take a claimed run to its end; where the machine lets nothing start, that is its end."""
    try:
        door = _door(house, ready.job, run.run_id)
        prepared = prepare(house, ready, run, gate=door.path, stop=stop)
        if isinstance(prepared, Stopped):
            ending = Ending(exit_code=None, signal=None, killed=Killed.INTERRUPTED)
            aftermath = Aftermath(report=OutputReport(), ending=ending)
            return _close_unstarted(house, ready, run, aftermath)
        if isinstance(prepared, NotReady):
            return house.state.runs.close(
                refused_record(run.run_id, run.job, prepared, run.started_at)
            )
        tails = tails_of(prepared.files, prepared.plan, make=True)
    except HostProblem as problem:
        aftermath = Aftermath(report=OutputReport(), spawn_problem=str(problem))
        return _close_unstarted(house, ready, run, aftermath)
    return _run_prepared(house, prepared, tails, door, stop, progress)


def _close_unstarted(house: House, ready: Ready, run: OpenRun, aftermath: Aftermath) -> RunRecord:
    plan = replace(plan_of_nothing(house, run), cli=ready.cli)
    return conclude(house, run, plan, {}, files_of(house.home, run.run_id), aftermath)


def _run_prepared(
    house: House,
    party: Party,
    tails: Tails,
    door: Door,
    stop: StopSignals,
    progress: Callable[[Progress], None],
) -> RunRecord:
    reader = TurnReader(output_format=party.plan.output_format)
    with selectors.DefaultSelector() as selector, contextlib.closing(tails):
        try:
            with called(RUN_NAME):
                ending = _opened(door, selector) or _spawn_and_watch(
                    house, party, reader, tails, selector, door, stop, progress
                )
        finally:
            door.close()
            if party.command.prompt_file is not None:
                remove_prompt_file(party.run.workspace, party.run.run_id)
    problem = ending.problem if isinstance(ending, SpawnFailure) else None
    aftermath = Aftermath(
        report=reader.finish(),
        ending=None if isinstance(ending, SpawnFailure) else ending,
        spawn_problem=problem,
        refused_peers=door.refused_peers,
    )
    return conclude(house, party.run, party.plan, party.before, party.files, aftermath)


def _spawn_and_watch(
    house: House,
    party: Party,
    reader: TurnReader,
    tails: Tails,
    selector: selectors.BaseSelector,
    door: Door,
    stop: StopSignals,
    progress: Callable[[Progress], None],
) -> Ending | SpawnFailure:
    if stop.requested is not None:
        return Ending(exit_code=None, signal=None, killed=Killed.INTERRUPTED)
    job = party.ready.job
    launch = Launch(
        argv=party.command.argv,
        env=party.command.env,
        cwd=party.command.cwd,
        stdin_path=party.files.stdin if party.command.stdin_text is not None else None,
        stdout_path=party.files.stdout,
        stderr_path=party.files.stderr,
    )
    house.before_write("spawn")
    child = spawn(launch)
    if isinstance(child, SpawnFailure):
        return child
    door.admit(child.identity)
    try:
        house.state.runs.record_child(party.run.run_id, child.identity)
    except BaseException:
        _end_now(child)
        raise
    return watch(
        child,
        reader=reader,
        tails=tails,
        limits=_limits(job),
        selector=selector,
        stop=stop,
        listeners=Listeners(
            tick=door.tick,
            progress=progress,
            census=lambda members: census.note(party.files.census, members),
        ),
    )


def _end_now(child: Child) -> None:
    """End the whole tree of a run that the harness itself cannot go on with."""
    child.tree.end(exited=child.exited, pause=time.sleep, polite_s=0.0)
    child.reap()


def _opened(door: Door, selector: selectors.BaseSelector) -> SpawnFailure | None:
    """Open the door; without one nothing is spawned."""
    try:
        door.open(selector)
    except HostProblem as problem:
        return SpawnFailure(errno=0, problem=str(problem))
    return None


def _limits(job: JobSpec) -> Limits:
    return Limits(
        timeout_s=job.timeout_s,
        idle_timeout_s=job.idle_timeout_s,
        exit_grace_s=job.exit_grace_s,
        memory_bytes=job.memory_bytes,
        max_output_bytes=job.max_output_bytes,
    )


def _door(house: House, job: JobSpec, run_id: str) -> Door:
    gate = Gate(
        house.state,
        house.limits,
        Writer(
            agent_id=job.agent_id,
            tiers=job.tiers,
            run_id=run_id,
            job=job.name,
        ),
    )
    return Door(
        runtime=runtime_folder(house.environment),
        gate=gate,
        state=house.state,
        harness=house.identity,
        user=os.geteuid(),
        monotonic=time.monotonic,
    )


def _refuse(house: House, name: str, checked: NotReady, *, recorded: bool) -> RunAnswer:
    """Say that a job did not start, and record it; a second run of one job is only told."""
    record = refused_record(free_run_id(house, name), name, checked, house.state.now())
    if recorded:
        house.state.runs.record_refused(record)
    return RunAnswer(record=record, recorded=recorded)
