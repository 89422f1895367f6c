"""`harness resume`: let jobs start again."""

from __future__ import annotations

import click

from harness.cli.context import Options, common_options
from harness.cli.house import open_house
from harness.cli.render import emit
from harness.services.switches import PAUSED


@click.command(name="resume")
@common_options
def command(options: Options) -> None:
    """Let jobs start again after a pause."""
    with open_house(options) as house:
        switch = house.state.switches.set(PAUSED, on=False, actor=house.actor)
        emit(switch, as_json=options.as_json, text="jobs may start again")
