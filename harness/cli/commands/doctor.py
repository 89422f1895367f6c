"""`harness doctor`: what a night needs."""

from __future__ import annotations

import click

from harness.cli.context import Options, common_options
from harness.cli.house import open_house
from harness.cli.render_checks import show_checks
from harness.services.doctor import examine


@click.command(name="doctor")
@common_options
def command(options: Options) -> int:
    """Check what a night needs: CLI, home, store, lock, disk, jobs."""
    with open_house(options) as house:
        return show_checks(examine(house), as_json=options.as_json)
