"""`harness reject`: decide against proposals, and say why."""

from __future__ import annotations

import click

from harness.cli.context import Options, common_options
from harness.cli.house import open_house
from harness.cli.render_decisions import show_decisions
from harness.services.decisions import decide
from harness.services.gate import reject


@click.command(name="reject")
@click.argument("ids", metavar="ID…", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why; it is kept.")
@common_options
def command(options: Options, ids: tuple[str, ...], reason: str) -> int:
    """Decide against the proposals called ID; nothing is written."""
    with open_house(options) as house:
        results = decide(
            house,
            ids,
            lambda proposal_id: reject(house.state, proposal_id, actor=house.actor, reason=reason),
        )
        return show_decisions(results, as_json=options.as_json)
