"""`harness run`: one job, once."""

from __future__ import annotations

from contextlib import ExitStack

import click

from harness.cli.context import Options, common_options, utc_now
from harness.cli.event_log import event_log
from harness.cli.house import open_house
from harness.cli.render import emit, fail, let_go
from harness.cli.render_progress import Reporter
from harness.cli.render_runs import dry_run_text, run_text
from harness.core.model import Outcome, Reason, RunRecord
from harness.errors import HostProblem, StoreProblem
from harness.services.house import House
from harness.services.runs import run_job, unreachable

EXIT_STATUS = {
    Outcome.HELD: 0,
    Outcome.UNTOUCHED: 0,
    Outcome.ERRORED: 3,
    Outcome.BYPASSED: 4,
    Outcome.REFUSED: 5,
}
EXIT_ALREADY_RUNNING = 75


@click.command(name="run")
@click.argument("job")
@click.option(
    "--dry-run", is_flag=True, help="Check everything and show the command; start nothing."
)
@click.option(
    "--unattended", is_flag=True, help="As a timer starts it: only a job that was accepted."
)
@common_options
def command(options: Options, job: str, *, dry_run: bool, unattended: bool) -> int:
    """Run JOB once and say what came of it.

    Exit status: 0 held or untouched, 3 errored, 4 bypassed, 5 refused, 75 already running,
    130 told to stop before anything was begun.
    """
    log = event_log(options.log_format)
    reporter = Reporter(job)
    with ExitStack() as stack:
        try:
            house = stack.enter_context(open_house(options))
        except (StoreProblem, HostProblem) as problem:
            answer = unreachable(job, _of_the_store(problem), utc_now())
        else:
            if dry_run:
                return _dry_run(house, options, job, unattended=unattended)
            log("run.requested", job=job, unattended=unattended)
            answer = run_job(house, job, unattended=unattended, progress=reporter)
            reporter.clear()
    record = answer.record
    log(
        "run.finished",
        run_id=record.run_id,
        job=record.job,
        outcome=record.outcome.value,
        reason=record.reason.value,
        duration_s=record.duration_s,
    )
    _tell(record, recorded=answer.recorded, as_json=options.as_json)
    if not answer.recorded and record.reason is Reason.ALREADY_RUNNING:
        return EXIT_ALREADY_RUNNING
    return EXIT_STATUS[record.outcome]


def _of_the_store(problem: StoreProblem | HostProblem) -> StoreProblem:
    """Return what the machine refuses while the state is opened as what it means for the store."""
    if isinstance(problem, StoreProblem):
        return problem
    return StoreProblem(str(problem), hint=problem.hint)


def _tell(record: RunRecord, *, recorded: bool, as_json: bool) -> None:
    """Print the record; that nobody takes it changes nothing of what the run came to."""
    try:
        text = run_text(record, recorded=recorded, said_by=f"harness run {record.job}")
        emit(record, as_json=as_json, text=text)
    except BrokenPipeError:
        let_go(1)
    except HostProblem as problem:
        fail(problem)


def _dry_run(house: House, options: Options, job: str, *, unattended: bool) -> int:
    from harness.services.dry_run import dry_run

    plan = dry_run(house, job, unattended=unattended)
    emit(plan, as_json=options.as_json, text=dry_run_text(plan))
    return 0 if plan.ready else EXIT_STATUS[Outcome.REFUSED]
