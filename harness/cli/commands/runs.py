"""`harness runs`: what ran, what it printed, putting files back, taking note of a bypass."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.context import CommandGroup, Options, common_options
from harness.cli.house import open_house
from harness.cli.render import emit, note, pass_through, prose
from harness.cli.render_runs import run_text, runs_text
from harness.core.model import Outcome
from harness.errors import HostProblem, StoreDamaged
from harness.services.house import House
from harness.stores.protocols import OpenRun

_STREAMS = ("stdout", "stderr", "log", "prompt")


@click.group(cls=CommandGroup, name="runs")
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
        text = runs_text(records, shown, filtered=bool(job or outcome))
        emit(records, as_json=options.as_json, text=text)


@command.command(name="show")
@click.argument("run")
@common_options
def show(options: Options, run: str) -> None:
    """Show one run: its verdict, its evidence, and the difference it made to guarded files."""
    from harness.cli.render_changes import diff_text
    from harness.services.history import changes_of
    from harness.services.open_runs import find_any_run

    with open_house(options) as house:
        record = find_any_run(house.state, run)
        if isinstance(record, OpenRun):
            _show_open(house, record, as_json=options.as_json)
            return
        if options.as_json:
            emit(record, as_json=True)
            return
        word = house.state.runs.acknowledgement(record.run_id)
        said_by = f"harness runs show {record.run_id}"
        parts = [run_text(record, acknowledged=word, said_by=said_by)]
        try:
            parts += [diff_text(change.diff) for change in changes_of(house, record)]
        except (HostProblem, StoreDamaged) as problem:
            note(f"the difference it made cannot be shown: {problem}")
        emit(record, as_json=False, text="\n\n".join(parts))


def _show_open(house: House, run: OpenRun, *, as_json: bool) -> None:
    from harness.cli.render_runs import open_run_text
    from harness.services.run_files import files_of

    files = files_of(house.home, run.run_id)
    result = {
        "run_id": run.run_id,
        "job": run.job,
        "outcome": None,
        "started_at": run.started_at,
        "workspace": run.workspace,
        "files": {"stdout": files.stdout, "stderr": files.stderr, "log": files.log},
    }
    emit(result, as_json=as_json, text=open_run_text(run, files, house.state.now()))


@command.command(name="log")
@click.argument("run")
@click.option(
    "--stream",
    type=click.Choice(_STREAMS),
    help="Which file.  [default: log; where it was never written stderr, then stdout]",
)
@common_options
def log(options: Options, run: str, stream: str | None) -> None:
    """Print what a run's process wrote, control characters shown as escapes."""
    from harness.services.open_runs import find_any_run, written_stream
    from harness.services.run_files import files_of

    with open_house(options) as house:
        found = find_any_run(house.state, run)
        files = files_of(house.home, found.run_id)
        written = {"log": files.log, "stderr": files.stderr, "stdout": files.stdout}
        chosen = stream or written_stream(written)
        if stream is None and chosen != "log":
            note(f"the CLI's own log was never written; this is its {chosen}:")
        path = {**written, "prompt": files.prompt}[chosen]
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
    from harness.services.history import acknowledge, find_run

    with open_house(options) as house:
        record = find_run(house.state, run)
        noted = acknowledge(house, record, reason)
        text = f"{record.run_id} acknowledged; {record.job} may propose canonical writes again"
        emit(noted, as_json=options.as_json, text=prose(text))
