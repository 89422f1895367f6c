"""`harness init`: make a home."""

from __future__ import annotations

import os
from pathlib import Path

import click

from harness.cli.context import Options, common_options
from harness.cli.render import emit


@click.command()
@click.argument("folder", required=False, metavar="[DIR]")
@common_options
def command(options: Options, folder: str | None) -> None:
    """Make a home in DIR: settings, rules, a folder for jobs, and the state.

    Without DIR it is --home, else $HARNESS_HOME, else the platform's configuration directory.
    What is there already stays as it is, so that it does no harm to do it again.
    """
    from harness.stores.homes import make_home
    from harness.stores.registry import default_home_folder

    named = folder or options.home or os.environ.get("HARNESS_HOME")
    made = make_home(Path(named).expanduser() if named else default_home_folder())
    root = made.home.root
    result = {"home": str(root), "created": list(made.created), "kept": list(made.kept)}
    lines = [f"home: {root}"]
    lines += [f"  made  {name}" for name in made.created]
    lines += [f"  kept  {name}" for name in made.kept]
    lines.append(f"Jobs go into {made.home.nightly}, a TOML file each.")
    emit(result, as_json=options.as_json, text="\n".join(lines))
