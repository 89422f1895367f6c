"""`harness home`: which folders count as homes."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.context import CommandGroup, Options, common_options
from harness.cli.render import emit


@click.group(cls=CommandGroup)
def command() -> None:
    """Say which folders with a harness.toml are homes."""


@command.command()
@click.argument("folder", required=False, metavar="[DIR]")
@common_options
def trust(options: Options, folder: str | None) -> None:
    """Let the home in DIR (default: --home, else here) be found from the folders below it."""
    from harness.stores.homes import trust_home

    home, added = trust_home(Path(folder or options.home or "."))
    emit(
        {"home": str(home.root), "added": added},
        as_json=options.as_json,
        text=f"{home.root} {'is trusted now' if added else 'was trusted already'}",
    )
