"""Files of a run made durable before anything about the run is acknowledged."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

_NO_FULL_SYNC = (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY)


def sync_folders(paths: Iterable[str]) -> list[str]:
    """Make the entries of files in their folders durable; returns what failed."""
    problems = []
    for folder in sorted({str(Path(path).parent) for path in paths}):
        try:
            file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                full_sync(file)
            finally:
                os.close(file)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{folder}: {error.strerror}")
    return problems


def full_sync(descriptor: int) -> None:
    """Make a file durable; on macOS past the disk's own cache, which fsync stops at.

    `stores.files` has the same: the two floors do not know each other.

    Raises `OSError`. A file system that has no full sync, such as a share's, gets fsync.
    """
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
        except OSError as problem:
            if problem.errno not in _NO_FULL_SYNC:
                raise
        else:
            return
    os.fsync(descriptor)
