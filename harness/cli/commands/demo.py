"""`harness demo`: a whole night in a minute, against the stand-in CLI."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
from pathlib import Path

import click

from harness.cli import run_arguments
from harness.cli.context import Options, common_options
from harness.cli.house import open_house
from harness.cli.render import emit, note
from harness.core.model import Outcome
from harness.core.tiers import ProposalState
from harness.errors import HarnessError
from harness.services.stage import JOBS, environment_of, look_around, set_up

_EXPECTED = {
    "ad-floors": Outcome.HELD,
    "release-notes": Outcome.ERRORED,
    "dead-links": Outcome.UNTOUCHED,
    "price-list": Outcome.BYPASSED,
}


@click.command(name="demo")
@click.option(
    "--dir", "folder", metavar="DIR", help="Where to play; default: a new folder in TMPDIR."
)
@common_options
def command(options: Options, folder: str | None) -> int:
    """Show a whole night in a minute: four jobs, the report, one approval. No real CLI is used.

    Everything happens in one throw-away folder, which stays for a look around.
    """
    place = Path(folder) if folder else Path(tempfile.mkdtemp(prefix="harness-demo-"))
    if folder and place.exists() and any(place.iterdir()):
        raise HarnessError(f"{place}: expected an empty folder", hint="name another with --dir")
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = place.resolve()
    os.environ.pop("HARNESS_AGY", None)
    os.environ.update(environment_of(place, os.environ.get("PATH", os.defpath)))
    set_up(place)
    with contextlib.ExitStack() as stack:
        if options.as_json:  # stdout is for the one result alone
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        outcomes, waiting = _play(place)
    played = outcomes == _EXPECTED and waiting == 1
    if options.as_json:
        emit({"ok": played, "folder": str(place), "outcomes": outcomes}, as_json=True)
    note("" if played else "error: the night did not come out as it should")
    note(f"look around: {shlex.quote(str(look_around(place)))} runs list")
    note(f"throw away:  rm -r {shlex.quote(str(place))}")
    return 0 if played else 1


def _play(place: Path) -> tuple[dict[str, Outcome], int]:
    """Play the night; returns what each job came to, and how many writes waited for a person."""
    note(f"the stage: {place} (four jobs, a price list, a stand-in for the CLI)")
    _say("canonical", "enable", "--yes")
    for job in JOBS:
        _say("run", job)
    _say("report", "--no-pager")
    with open_house(Options()) as house:
        waiting = house.state.proposals.listed([ProposalState.PENDING])
        outcomes = {run.job: run.outcome for run in house.state.runs.recent()}
    for proposal in waiting:
        _say("approve", proposal.id, "--sha256", proposal.value_sha256)
        _say("canonical", "get", proposal.key)
    return outcomes, len(waiting)


def _say(*words: str) -> None:
    """Show a command as a person would type it, and give it."""
    note(f"\n$ harness {shlex.join(words)}")
    run_arguments(words)
