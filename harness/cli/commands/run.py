"""`harness run`: one job, once."""

from __future__ import annotations

import click

from harness.cli.context import Options, common_options, utc_now
from harness.cli.house import open_house
from harness.cli.logs import configure_logs
from harness.cli.render import emit, note
from harness.cli.render_progress import Reporter
from harness.cli.render_runs import run_text
from harness.core.model import Outcome, Reason, RunRecord
from harness.errors import StoreProblem
from harness.services.dry_run import dry_run as plan_run
from harness.services.preflight import NotReady
from harness.services.prepare import new_run_id, refused_record
from harness.services.runs import RunAnswer, run_job

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

    Exit status: 0 held or untouched, 3 errored, 4 bypassed, 5 refused, 75 already running.
    """
    log = configure_logs(options.log_format)
    try:
        with open_house(options) as house:
            if dry_run:
                plan = plan_run(house, job, unattended=unattended)
                emit(plan, as_json=options.as_json, text=plan.text())
                return 0 if plan.ready else EXIT_STATUS[Outcome.REFUSED]
            log.info("run.requested", job=job, unattended=unattended)
            answer = run_job(house, job, unattended=unattended, progress=Reporter(job))
    except StoreProblem as problem:
        answer = _unreachable(job, problem)
    record = answer.record
    log.info(
        "run.finished",
        run_id=record.run_id,
        job=record.job,
        outcome=record.outcome.value,
        reason=record.reason.value,
        duration_s=record.duration_s,
    )
    emit(record, as_json=options.as_json, text=run_text(record))
    if not answer.recorded and record.reason is Reason.ALREADY_RUNNING:
        return EXIT_ALREADY_RUNNING
    return EXIT_STATUS[record.outcome]


def _unreachable(job: str, problem: StoreProblem) -> RunAnswer:
    """Return the record of a run whose store cannot be used: told, for it cannot be stored."""
    note(f"error: {problem}" + (f" ({problem.hint})" if problem.hint else ""))
    now = utc_now()
    refused = NotReady(reason=Reason.STORE_UNREACHABLE, detail=str(problem))
    record: RunRecord = refused_record(new_run_id(job, now), job, refused, now)
    return RunAnswer(record=record, recorded=False)
