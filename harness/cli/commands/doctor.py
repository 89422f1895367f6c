"""`harness doctor`: what a night needs."""

from __future__ import annotations

import os

import click

from harness.cli.context import Options, common_options, open_home, utc_now
from harness.cli.house import open_house
from harness.cli.render_checks import show_checks
from harness.errors import ConfigurationProblem, HostProblem, StoreProblem
from harness.services.doctor import CheckReport, examine, examine_closed, lock_check
from harness.stores.homes import Home
from harness.stores.protocols import State
from harness.stores.sqlite import open_state


@click.command(name="doctor")
@common_options
def command(options: Options) -> int:
    """Check what a night needs: CLI, home, store, lock, disk, jobs."""
    return show_checks(_examined(options, open_home(options)), as_json=options.as_json)


def _examined(options: Options, home: Home) -> CheckReport:
    """Return all checks; a home that cannot be opened, or only after waiting, is looked at shut."""

    def closed_state() -> State:
        return open_state(home.database, clock=utc_now, read_only=True)

    try:
        home.prepare_state()
        if not lock_check(home).ok:  # whoever opens the house may have to wait for it
            return examine_closed(home, os.environ, closed_state, agy=options.agy)
        with open_house(options) as house:
            return examine(house)
    except (ConfigurationProblem, StoreProblem, HostProblem) as problem:
        return examine_closed(home, os.environ, closed_state, agy=options.agy, problem=problem)
