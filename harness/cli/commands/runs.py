"""`harness runs`: what ran, what it printed, putting files back, taking note of a bypass."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.context import Options, common_options
from harness.cli.house import open_house
from harness.cli.render import emit, note, pass_through
from harness.cli.render_runs import run_text, runs_text
from harness.core.model import Outcome
from harness.errors import GateRefused, HostProblem, StoreDamaged

_STREAMS = ("stdout", "stderr", "log", "prompt")


@click.group(name="runs")
def command() -> None:
    """List, show and acknowledge runs."""


@command.command(name="list")
@click.option("--job", help="Only runs of this job.")
@click.option(
    "--outcome", type=click.Choice([each.value for each in Outcome]), help="Only this outcome."
)
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100_000))
@common_options
def list_runs(options: Options, job: str | None, outcome: str | None, limit: int) -> None:
    """List runs, newest first."""
    with open_house(options) as house:
        wanted = Outcome(outcome) if outcome else None
        records = house.state.runs.recent(job=job, outcome=wanted, limit=limit)
        running = [] if wanted else house.state.runs.unfinished()
        shown = [run for run in running if job in (None, run.job)]
        emit(records, as_json=options.as_json, text=runs_text(records, shown))


@command.command(name="show")
@click.argument("run")
@common_options
def show(options: Options, run: str) -> None:
    """Show one run: its verdict, its evidence, and the difference it made to guarded files."""
    from harness.cli.render_changes import diff_text
    from harness.services.history import changes_of, find_run

    with open_house(options) as house:
        record = find_run(house.state, run)
        if options.as_json:
            emit(record, as_json=True)
            return
        parts = [run_text(record)]
        try:
            parts += [diff_text(change.diff) for change in changes_of(house, record)]
        except (HostProblem, StoreDamaged) as problem:
            note(f"the difference it made cannot be shown: {problem}")
        emit(record, as_json=False, text="\n\n".join(parts))


@command.command(name="log")
@click.argument("run")
@click.option(
    "--stream", type=click.Choice(_STREAMS), default="log", show_default=True, help="Which file."
)
@common_options
def log(options: Options, run: str, stream: str) -> None:
    """Print what a run's process wrote, control characters shown as escapes."""
    from harness.services.history import find_run
    from harness.services.run_files import files_of

    with open_house(options) as house:
        record = find_run(house.state, run)
        files = files_of(house.home, record.run_id)
        path = {
            "stdout": files.stdout,
            "stderr": files.stderr,
            "log": files.log,
            "prompt": files.prompt,
        }[stream]
        pass_through(Path(path), as_json=options.as_json)


@command.command(name="restore")
@click.argument("run")
@click.option("--force", is_flag=True, help="Also paths that somebody has changed since the run.")
@common_options
def restore(options: Options, run: str, *, force: bool) -> int:
    """Put guarded files back to what stood before RUN; what the run added is moved aside."""
    from harness.cli.render_changes import restore_text
    from harness.services.history import find_run, restore_run

    with open_house(options) as house:
        result = restore_run(house, find_run(house.state, run), force=force)
        emit(result, as_json=options.as_json, text=restore_text(result))
        return 0 if result.complete else 1


@command.command(name="ack")
@click.argument("run")
@click.option("--reason", required=True, help="What you found and did; it is kept.")
@common_options
def ack(options: Options, run: str, reason: str) -> None:
    """Take note of a bypassed RUN, so that its job may propose canonical writes again."""
    if not reason.strip():
        raise GateRefused("a reason is required: say what you found and did")
    from harness.services.history import acknowledge, find_run

    with open_house(options) as house:
        record = find_run(house.state, run)
        noted = acknowledge(house, record, reason)
        text = f"{record.run_id} acknowledged; {record.job} may propose canonical writes again"
        emit(noted, as_json=options.as_json, text=text)
