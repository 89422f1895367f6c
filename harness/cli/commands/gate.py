"""`harness gate`: write through the gate, from inside a run or from a person's shell."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from harness.cli.context import Options, common_options
from harness.cli.render import emit
from harness.core.frames import GateWrite, WriteAnswer
from harness.core.tiers import VALUE_LIMIT, Tier
from harness.errors import UsageProblem


@click.group(name="gate")
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
    if value_file is None:
        data = sys.stdin.buffer.read(VALUE_LIMIT + 1)
        return _decoded(data, "standard input")
    try:
        with Path(value_file).open("rb") as file:
            data = file.read(VALUE_LIMIT + 1)
    except OSError as problem:
        raise UsageProblem(f"{value_file}: cannot be read: {problem.strerror}") from problem
    return _decoded(data, value_file)


def _decoded(data: bytes, where: str) -> str:
    if len(data) > VALUE_LIMIT:
        raise UsageProblem(f"{where}: a value is at most {VALUE_LIMIT} bytes, this is longer")
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise UsageProblem(
            f"{where}: a value is UTF-8 text; byte {problem.start} is none"
        ) from problem


def _said(key: str, answer: WriteAnswer) -> str:
    if answer.applied:
        return f"{key}: written"
    return (
        f"{key}: held as {answer.pending_id}, not applied; a person decides until "
        f"{answer.expires_at:%Y-%m-%dT%H:%M:%SZ}"
    )
