"""`harness pending`: the canonical writes that wait for a person."""

from __future__ import annotations

import click

from harness.cli.context import CommandGroup, Options, common_options
from harness.cli.house import open_house
from harness.cli.render import emit
from harness.cli.render_changes import pending_text, proposal_text
from harness.core.tiers import OPEN_STATES
from harness.errors import UnknownName
from harness.services.gate import find
from harness.services.morning import change_of


@click.group(cls=CommandGroup, name="pending")
def command() -> None:
    """List and show canonical writes that wait for a person."""


@command.command(name="list")
@click.option("--all", "every", is_flag=True, help="Also what was decided, expired or superseded.")
@common_options
def list_pending(options: Options, *, every: bool) -> None:
    """List open proposals, the most urgent first."""
    with open_house(options) as house:
        states = None if every else OPEN_STATES
        found = house.state.proposals.listed(states)
        text = pending_text(found, house.state.now())
        emit(found, as_json=options.as_json, text=text)


@command.command(name="show")
@click.argument("id", metavar="ID")
@common_options
def show(options: Options, id: str) -> None:  # noqa: A002
    """Show one proposal with the difference that it would make now."""
    with open_house(options) as house:
        proposal = house.state.proposals.get(find(house.state, id))
        if proposal is None:
            raise UnknownName(f"no proposal is called {id!r}")
        run = house.state.runs.get(proposal.run_id) if proposal.run_id else None
        change = change_of(house.state, proposal)
        text = proposal_text(proposal, change, house.state.now(), run)
        emit(proposal, as_json=options.as_json, text=text)
