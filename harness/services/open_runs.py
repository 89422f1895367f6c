"""Runs by name, those that are still on included, and what there is to read of one."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from harness.core.model import RunRecord
from harness.errors import UnknownName
from harness.services.history import find_run
from harness.stores.protocols import OpenRun, State


def find_any_run(state: State, prefix: str) -> RunRecord | OpenRun:
    """Return the run that an id or its unique beginning names, closed or still on.

    Raises:
        UnknownName: no run, or more than one.
    """
    try:
        return find_run(state, prefix)
    except UnknownName:
        named = state.runs.matching(prefix) if prefix else ()
        found = [run for run in state.runs.unfinished() if [run.run_id] == list(named)]
        if not found:
            raise
        return found[0]


def written_stream(paths: Mapping[str, str]) -> str:
    """Return the name of the first file that something was written into, else the first name.

    Args:
        paths: names and where their files stand, the preferred one first.
    """
    for name, path in paths.items():
        try:
            found = os.lstat(path)
        except OSError:
            continue
        if not stat.S_ISREG(found.st_mode) or found.st_size:  # what is no file is told when read
            return name
    return next(iter(paths))
