"""`harness journal`: an agent's memory of 30 days."""

from __future__ import annotations

import os

import click

from harness.agy.ancestry import Inside, inside
from harness.cli.context import CommandGroup, Options, common_options
from harness.cli.door import ask, door_path
from harness.cli.inputs import text_from_stdin
from harness.cli.render import emit, table
from harness.core.frames import JournalAnswer, JournalAppend, JournalList, WriteAnswer
from harness.errors import InsideRefused, UsageProblem
from harness.services.gate import JOURNAL_PAGE_LIMIT


@click.group(cls=CommandGroup, name="journal")
def command() -> None:
    """Append to an agent's memory of 30 days, and list it."""


@command.command(name="append")
@click.argument("entry")
@click.option(
    "--scope", default="general", show_default=True, help="What the entry is about; a key."
)
@click.option("--decision", help="What was chosen, and why.")
@click.option("--agent", metavar="A", help="Whose journal; from a person's shell only.")
@common_options
def append(
    options: Options, entry: str, scope: str, decision: str | None, agent: str | None
) -> None:
    """Note ENTRY (- reads standard input); it is there for 30 days."""
    entry = text_from_stdin() if entry == "-" else entry
    if not entry.strip():
        raise UsageProblem("an empty entry says nothing: give a sentence, or - for standard input")
    found = _inside(agent)
    if found is not None:
        request = JournalAppend(scope=scope, entry=entry, decision=decision)
        answer = ask(door_path(found, os.environ), request, WriteAnswer)
    else:
        from harness.cli.house import open_house
        from harness.cli.person import person_gate

        with open_house(options) as house:
            answer = person_gate(house, agent).append(scope, entry, decision)
    emit(answer, as_json=options.as_json, text=f"{scope}: noted as {answer.id}")


@command.command(name="list")
@click.option("--agent", metavar="A", help="Whose journal; all of them by default.")
@click.option("--scope", metavar="S", help="Only this scope.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, JOURNAL_PAGE_LIMIT))
@common_options
def list_entries(options: Options, agent: str | None, scope: str | None, limit: int) -> None:
    """List entries, newest first; inside a run, those of its own agent."""
    found = _inside(agent)
    if found is not None:
        request = JournalList(scope=scope, limit=limit)
        entries = list(ask(door_path(found, os.environ), request, JournalAnswer).entries)
    else:
        from harness.cli.house import open_house

        with open_house(options) as house:
            entries = house.state.journal.listed(agent_id=agent, scope=scope, limit=limit)
    from harness.cli.render_runs import local

    rows = [[local(each.created_at), each.agent_id, each.scope, each.entry] for each in entries]
    text = table(["written", "agent", "scope", "entry"], rows) if rows else "no entries"
    emit(entries, as_json=options.as_json, text=text)


def _inside(agent: str | None) -> Inside | None:
    found = inside(os.environ, os.getpid())
    if found is not None and agent is not None:
        raise InsideRefused("--agent: a run has its own agent's journal and no other")
    return found
