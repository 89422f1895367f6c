"""`harness gate`: write through the gate, from inside a run or from a person's shell."""

from __future__ import annotations

import os

import click

from harness.cli.context import CommandGroup, Options, common_options
from harness.cli.inputs import text_from_file, text_from_stdin
from harness.cli.render import emit
from harness.core.frames import GateWrite, WriteAnswer
from harness.core.tiers import Tier
from harness.errors import UsageProblem


@click.group(cls=CommandGroup, name="gate")
def command() -> None:
    """Write through the gate, from inside a run or a shell."""


@command.command(name="write")
@click.argument("key")
@click.argument("stdin_mark", metavar="[-]", required=False, type=click.Choice(["-"]))
@click.option("--tier", required=True, type=click.Choice([tier.value for tier in Tier]))
@click.option("--value", help="The value itself.")
@click.option("--value-file", metavar="F", help="A file that holds the value as UTF-8.")
@click.option("--reason", required=True, help="Why, in a sentence; it is shown at the review.")
@common_options
def write(
    options: Options,
    key: str,
    stdin_mark: str | None,
    tier: str,
    value: str | None,
    value_file: str | None,
    reason: str,
) -> None:
    """Write KEY; a canonical write is held until a person approves it.

    Give the value by --value, --value-file, or - for standard input.
    """
    text = _value(value, value_file, stdin_mark)
    answer = _write(options, GateWrite(key=key, tier=Tier(tier), value=text, reason=reason))
    emit(answer, as_json=options.as_json, text=_said(key, answer))


def _write(options: Options, request: GateWrite) -> WriteAnswer:
    from harness.agy.ancestry import inside

    found = inside(os.environ, os.getpid())
    if found is not None:
        from harness.cli.door import ask, door_path

        return ask(door_path(found, os.environ), request, WriteAnswer)
    from harness.cli.house import open_house
    from harness.cli.person import person_gate

    with open_house(options) as house:
        return person_gate(house).write(request.key, request.tier, request.value, request.reason)


def _value(value: str | None, value_file: str | None, stdin_mark: str | None) -> str:
    given = [each for each in (value, value_file, stdin_mark) if each is not None]
    if len(given) != 1:
        raise UsageProblem("give the value once: --value V, --value-file F, or - for stdin")
    if value is not None:
        return value
    return text_from_stdin() if value_file is None else text_from_file(value_file)


def _said(key: str, answer: WriteAnswer) -> str:
    if answer.applied:
        return f"{key}: written"
    until = f" until {answer.expires_at.astimezone():%Y-%m-%d %H:%M}" if answer.expires_at else ""
    return f"{key}: held as {answer.pending_id}, not applied; a person decides{until}"
