"""`harness state`: look after the stored state."""

from __future__ import annotations

import click

from harness.cli.context import CommandGroup, Options, common_options
from harness.cli.house import open_house
from harness.cli.render_checks import show_checks
from harness.errors import StoreProblem
from harness.services.doctor import Check, report_of, store_checks


@click.group(cls=CommandGroup, name="state")
def command() -> None:
    """Check and look after the stored state."""


@command.command(name="check")
@common_options
def check(options: Options) -> int:
    """Verify the database, the audit trail's chain, and every digest."""
    try:
        with open_house(options) as house:
            return show_checks(report_of(store_checks(house)), as_json=options.as_json)
    except StoreProblem as problem:
        if not options.as_json:
            raise
        found = Check(name="store", ok=False, detail=str(problem), hint=problem.hint)
        return show_checks(report_of([found]), as_json=True)
