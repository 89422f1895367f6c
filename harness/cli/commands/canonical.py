"""`harness canonical`: read canonical data; switch canonical writes on or off."""

from __future__ import annotations

import os
import sys

import click

from harness.cli.context import CommandGroup, Options, common_options
from harness.cli.render import emit, fields, note, table
from harness.core.frames import CanonicalGet, ValueAnswer
from harness.core.text import one_line
from harness.errors import UsageProblem


@click.group(cls=CommandGroup, name="canonical")
def command() -> None:
    """Read canonical data, and switch canonical writes on or off."""


@command.command(name="get")
@click.argument("key")
@common_options
def get(options: Options, key: str) -> int:
    """Print the present value of KEY; exit status 1 where there is none."""
    answer = _get(options, key)
    emit(answer, as_json=options.as_json, text=answer.value or "")
    return 0 if answer.value is not None else _absent(key)


def _absent(key: str) -> int:
    note(f"error: canonical data has no key {one_line(key)}")
    return 1


def _get(options: Options, key: str) -> ValueAnswer:
    from harness.agy.ancestry import inside

    found = inside(os.environ, os.getpid())
    if found is not None:
        from harness.cli.door import ask, door_path

        return ask(door_path(found, os.environ), CanonicalGet(key=key), ValueAnswer)
    from harness.cli.house import open_house
    from harness.services.gate import canonical_value

    with open_house(options) as house:
        return canonical_value(house.state, key)


@command.command(name="history")
@click.argument("key")
@common_options
def history(options: Options, key: str) -> int:
    """List all versions of KEY, newest first; exit status 1 where there is none."""
    from harness.cli.house import open_house
    from harness.cli.render_runs import local

    with open_house(options) as house:
        versions = house.state.canonical.history(key)
    rows = [
        [str(each.version), local(each.updated_at), each.actor or "", each.run_id or "", each.value]
        for each in versions
    ]
    text = table(["version", "written", "by", "run", "value"], rows) if rows else ""
    emit(versions, as_json=options.as_json, text=text)
    return 0 if versions else _absent(key)


@command.command(name="enable")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def enable(options: Options, *, yes: bool) -> int:
    """Let jobs that declare the canonical tier run, after checking CLI and store."""
    from harness.cli.house import open_house
    from harness.services.enabling import checks, enable_canonical

    with open_house(options) as house:
        found = checks(house)
        in_the_way = [check for check in found if not check.ok]
        if in_the_way:
            text = fields([(check.name, f"{check.detail}; {check.hint}") for check in in_the_way])
            emit({"enabled": False, "checks": found}, as_json=options.as_json, text=text)
            return 1
        if not yes:
            if not sys.stdin.isatty():
                raise UsageProblem("nobody can be asked here; to enable all the same: --yes")
            click.confirm(
                "Agents may then propose canonical writes, each held for your word. Enable?",
                abort=True,
                err=True,
            )
        switch = enable_canonical(house)
        emit(
            {"enabled": switch.on, "checks": found},
            as_json=options.as_json,
            text="canonical writes are enabled: proposals will be held for approval",
        )
        return 0


@command.command(name="disable")
@click.option("--reason", default="", help="Why; it is kept.")
@common_options
def disable(options: Options, reason: str) -> None:
    """Refuse jobs that declare the canonical tier; approving what is held still works."""
    from harness.cli.house import open_house
    from harness.services.switches import CANONICAL

    with open_house(options) as house:
        house.state.switches.set(CANONICAL, on=False, actor=house.actor, detail=reason)
        emit({"enabled": False}, as_json=options.as_json, text="canonical writes are disabled")


@command.command(name="status")
@common_options
def status(options: Options) -> None:
    """Say whether canonical writes are on, and what suspends them for which job."""
    from harness.cli.house import open_house
    from harness.cli.render_runs import local
    from harness.services.enabling import status_of
    from harness.services.switches import CANONICAL

    with open_house(options) as house:
        found = status_of(house)
        pairs = [("canonical writes", "enabled" if found.enabled else "disabled")]
        switch = house.state.switches.get(CANONICAL)
        if switch is not None:
            pairs.append(("switched by", f"{switch.actor} at {local(switch.at)}"))
        pairs += [(each.job, f"{each.why}; {each.clear}") for each in found.suspended]
        emit(found, as_json=options.as_json, text=fields(pairs))
