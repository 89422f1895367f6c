"""`harness approve`: the only way from a proposal to canonical data."""

from __future__ import annotations

import click

from harness.cli.context import Options, common_options
from harness.cli.house import open_house
from harness.cli.render_decisions import show_decisions
from harness.errors import UsageProblem
from harness.services.decisions import decide
from harness.services.gate import approve


@click.command(name="approve")
@click.argument("ids", metavar="ID…", nargs=-1, required=True)
@click.option(
    "--sha256", "digest", metavar="H", help="Apply only a value with this digest (one ID only)."
)
@click.option("--quarantined", is_flag=True, help="Also a proposal of a run that did not end well.")
@common_options
def command(
    options: Options, ids: tuple[str, ...], digest: str | None, *, quarantined: bool
) -> int:
    """Apply the proposals called ID, each once, where its base still stands."""
    if digest is not None and len(ids) != 1:
        raise UsageProblem("--sha256 goes with exactly one ID")
    with open_house(options) as house:
        results = decide(
            house,
            ids,
            lambda proposal_id: approve(
                house.state,
                proposal_id,
                actor=house.actor,
                value_sha256=digest,
                quarantined=quarantined,
            ),
        )
        return show_decisions(results, as_json=options.as_json)
