"""`harness pause`: let no job start."""

from __future__ import annotations

import click

from harness.cli.context import Options, common_options
from harness.cli.house import open_house
from harness.cli.render import emit
from harness.services.switches import PAUSED


@click.command(name="pause")
@click.option("--reason", default="", help="Why; it is shown with each refusal.")
@common_options
def command(options: Options, reason: str) -> None:
    """Let no job start until resume; runs that are on go on."""
    with open_house(options) as house:
        switch = house.state.switches.set(PAUSED, on=True, actor=house.actor, detail=reason)
        emit(switch, as_json=options.as_json, text="paused; to go on: harness resume")
