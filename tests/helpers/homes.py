"""A home and jobs for tests, written as a person would write them."""

from __future__ import annotations

import json
from pathlib import Path

from harness.stores.homes import Home, make_home


def new_home(folder: Path) -> Home:
    """Make a home, as `harness init` does."""
    return make_home(folder).home


def write_job(home: Home, name: str, /, **keys: object) -> Path:
    """Write `nightly/<name>.toml`; a value of None leaves a key out.

    By default the job has a prompt and a workspace of its own beside the home.
    """
    workspace = home.root.parent / "workspace"
    workspace.mkdir(exist_ok=True)
    given: dict[str, object] = {"workspace": str(workspace), "prompt": "Say hello."}
    given.update(keys)
    lines = [f"{key} = {toml_value(value)}" for key, value in given.items() if value is not None]
    path = home.nightly / f"{name}.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def toml_value(value: object) -> str:
    """Return a value as TOML writes it: JSON covers texts, numbers, booleans and lists of them."""
    return json.dumps(value, ensure_ascii=True)
