"""Files of a run made durable before anything about the run is acknowledged."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def sync_outputs(paths: Iterable[str]) -> str:
    """Make regular files and their folders' entries durable; returns what failed, or ''.

    A path where nothing, or no regular file, stands is passed over.
    """
    problems = []
    names = list(paths)
    for path in names:
        try:
            file = os.open(path, _OPEN_FLAGS)
        except OSError:
            continue
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                full_sync(file)
        except OSError as error:
            problems.append(f"{path}: {error.strerror}")
        finally:
            os.close(file)
    return "; ".join([*problems, *sync_folders(names)])


def sync_folders(paths: Iterable[str]) -> list[str]:
    """Make the entries of files in their folders durable; returns what failed."""
    problems = []
    for folder in sorted({str(Path(path).parent) for path in paths}):
        try:
            file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{folder}: {error.strerror}")
    return problems


def full_sync(file: int) -> None:
    """Make a file durable; on macOS past the disk's own cache, which fsync stops at."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(file)
    else:
        fcntl.fcntl(file, full)
