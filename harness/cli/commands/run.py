"""`harness run`: one job, once."""

from __future__ import annotations

from contextlib import ExitStack

import click

from harness.cli.context import Options, common_options, utc_now
from harness.cli.event_log import event_log
from harness.cli.house import open_house
from harness.cli.render import emit
from harness.cli.render_progress import Reporter
from harness.cli.render_runs import run_text
from harness.core.model import Outcome, Reason
from harness.errors import StoreProblem
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

    Exit status: 0 held or untouched, 3 errored, 4 bypassed, 5 refused, 75 already running.
    """
    log = event_log(options.log_format)
    reporter = Reporter(job)
    with ExitStack() as stack:
        try:
            house = stack.enter_context(open_house(options))
        except StoreProblem as problem:
            answer = unreachable(job, problem, utc_now())
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
    emit(record, as_json=options.as_json, text=run_text(record))
    if not answer.recorded and record.reason is Reason.ALREADY_RUNNING:
        return EXIT_ALREADY_RUNNING
    return EXIT_STATUS[record.outcome]


def _dry_run(house: House, options: Options, job: str, *, unattended: bool) -> int:
    from harness.services.dry_run import dry_run

    plan = dry_run(house, job, unattended=unattended)
    emit(plan, as_json=options.as_json, text=plan.text())
    return 0 if plan.ready else EXIT_STATUS[Outcome.REFUSED]
