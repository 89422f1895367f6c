"""The homes that this user trusts: one file in the platform's configuration directory.

A folder with a `harness.toml` decides what runs and where; one that merely lies above the
current folder, where an agent may have put it, must not.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from harness.errors import ConfigurationProblem, HostProblem
from harness.stores.files import atomic_write, make_private_folder, read_bounded

REGISTRY_LIMIT = 1024 * 1024
_REGISTRY_NAME = "homes.json"
_APPLICATION = "harness"


def default_home_folder() -> Path:
    """Return the platform's configuration directory for this program; it may not exist."""
    import platformdirs

    return platformdirs.user_config_path(_APPLICATION)


def registry_file() -> Path:
    """Return the file that names the homes that this user trusts."""
    return default_home_folder() / _REGISTRY_NAME


def registered_homes() -> list[Path]:
    """Return the homes that `init` or `home trust` registered, in that order.

    Raises:
        ConfigurationProblem: the registry cannot be read or others may write it.
    """
    path = registry_file()
    try:
        found = path.stat()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise ConfigurationProblem(f"{path}: cannot be read: {problem.strerror}") from problem
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigurationProblem(
            f"{path}: expected a file that only you may write",
            hint=f"look at it, then: chown {os.geteuid()} {path} && chmod 600 {path}",
        )
    try:
        names = json.loads(read_bounded(path, REGISTRY_LIMIT))["homes"]
        return [Path(os.fsdecode(name)) for name in names]
    except HostProblem as problem:
        raise ConfigurationProblem(str(problem)) from problem
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise ConfigurationProblem(
            f'{path}: expected {{"homes": ["/absolute/path", …]}}',
            hint="move it away and register your homes again: harness home trust DIR",
        ) from problem


def register(root: Path) -> bool:
    """Trust a home from now on; returns False where it was registered already.

    Args:
        root: the home's folder, absolute and without links.

    Raises:
        ConfigurationProblem: the registry that is there cannot be used.
        HostProblem: it cannot be written.
    """
    known = registered_homes()
    if root in known:
        return False
    path = registry_file()
    make_private_folder(path.parent)
    names = [str(folder) for folder in (*known, root)]
    atomic_write(path, json.dumps({"homes": names}, indent=1).encode() + b"\n")
    return True
