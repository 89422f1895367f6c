"""The private folder of one run's socket: made for the run, locked while it is on, gone after it.

A harness that is killed cannot take its folder away. The kernel frees its lock, though, by which
a later run knows the folder as nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import time
from pathlib import Path

from harness.errors import HostProblem

_SOCKET_NAME = "gate"
_NAME = re.compile(r"[0-9a-f]{8}")
_OPEN_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FRESH_S = 60.0


class DoorFolder:
    """A name of its own below a runtime folder; nothing stands there before `make`.

    Attributes:
        socket: the path of the run's socket.
    """

    def __init__(self, runtime: Path) -> None:
        self._runtime = runtime
        self._path = runtime / secrets.token_hex(4)
        self._lock: int | None = None
        self.socket = str(self._path / _SOCKET_NAME)

    def make(self) -> None:
        """Make and lock the folder. Raises `HostProblem` where that cannot be."""
        try:
            self._path.mkdir(mode=0o700)
            self._lock = os.open(self._path, _OPEN_FLAGS)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise HostProblem(
                f"the folder of the run's socket {self._path} cannot be made: {problem.strerror}",
                hint="check that the runtime folder is writable",
            ) from problem

    def remove(self) -> None:
        """Take socket and folder away; again is no harm. What somebody else put in stays."""
        _remove(self._path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def sweep(self) -> None:
        """Take away what harnesses that were killed left beside it."""
        with contextlib.suppress(OSError):
            for path in list(self._runtime.iterdir()):
                if _NAME.fullmatch(path.name) and path != self._path:
                    _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    try:
        folder = os.open(path, _OPEN_FLAGS)
    except OSError:
        return
    try:
        # One that is being made at this moment is not locked yet.
        if time.time() - os.fstat(folder).st_mtime > _FRESH_S:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
    except OSError:
        return  # locked: its run is on
    finally:
        os.close(folder)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        (path / _SOCKET_NAME).unlink(missing_ok=True)
        path.rmdir()
