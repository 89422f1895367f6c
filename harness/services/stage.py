"""A stage for the demonstration: home, workspace and stand-in CLI in one throw-away folder."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from harness.stores.homes import Home, make_home
from harness.stores.shipped import shipped_folder

JOBS = ("ad-floors", "release-notes", "dead-links", "price-list")
PRICES = '{"pro": 4.99, "team": 9.00}\n'


def environment_of(folder: Path, path: str) -> dict[str, str]:
    """Return what a process needs to play there; `path` is the PATH to stand before."""
    user = folder / "user"
    return {
        "HOME": str(user),
        "XDG_CONFIG_HOME": str(user / ".config"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "PATH": f"{folder / 'bin'}:{path}",
        "HARNESS_HOME": str(folder / "home"),
    }


def set_up(folder: Path) -> Home:
    """Build the stage in an empty folder, by a process that has `environment_of` it."""
    user, binaries = folder / "user", folder / "bin"
    workspace = user / "apps"
    for each in (binaries, workspace / "data", folder / "run"):
        each.mkdir(parents=True, mode=0o700)
    (workspace / "data" / "prices.json").write_text(PRICES, encoding="utf-8")
    for name, module in (("agy", "harness.testing.fake_agy"), ("harness", "harness.cli")):
        _program(binaries / name, module)
    home = make_home(folder / "home").home
    shipped = shipped_folder("nightly")
    for job in JOBS:
        shutil.copyfile(shipped / f"{job}.toml", home.nightly / f"{job}.toml")
    shutil.copyfile(shipped / "stand-in" / "fake-agy.toml", user / "fake-agy.toml")
    return home


def look_around(folder: Path) -> Path:
    """Write a program that gives any command of the harness on this stage; returns its path."""
    program = folder / "harness"
    named = environment_of(folder, "")
    path = named.pop("PATH").removesuffix(":")
    lines = [f"export {name}={shlex.quote(value)}" for name, value in named.items()]
    lines.append(f'export PATH={shlex.quote(path)}:"$PATH"')
    lines.append(f'exec {shlex.quote(str(folder / "bin" / "harness"))} "$@"')
    program.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    program.chmod(0o755)
    return program


def _program(path: Path, module: str) -> None:
    """Write a program that starts a module with this very interpreter."""
    root = Path(__file__).resolve().parents[2]
    path.write_text(
        f"#!/bin/sh\nexport PYTHONPATH='{root}'\n"
        f"exec '{sys.executable}' -c 'from {module} import main; main()' \"$@\"\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
