"""Whether the harness that owns a run still lives: a lock that the kernel frees when it dies.

A pid alone does not tell: it may be hidden from us, or mean another process in another container
that shares the home. The lock is held on a file in the run's folder, which both can see.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path

from harness.agy.host import is_alive, may_be_alive
from harness.errors import HostProblem
from harness.services.run_files import RunFiles
from harness.stores.files import make_private_folder
from harness.stores.protocols import OpenRun

_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ATTEMPTS = 50
_PAUSE_S = 0.02


def hold(files: RunFiles) -> int | None:
    """Make a run's folder and hold its lock; returns what `release` gives back.

    None where the machine does not let us: the run's process alone tells then.
    """
    try:
        make_private_folder(Path(files.folder))
        descriptor = os.open(files.owner, _FLAGS | os.O_CREAT, 0o600)
    except (HostProblem, OSError):
        return None
    for _ in range(_ATTEMPTS):  # somebody may be looking whether we are alive
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
        except OSError:
            break  # a file system without locks
        else:
            return descriptor
    os.close(descriptor)
    with contextlib.suppress(OSError):
        Path(files.owner).unlink()
    return None


def release(descriptor: int | None) -> None:
    """Let go of a run's lock: nobody works on it any more."""
    if descriptor is not None:
        os.close(descriptor)


def is_dead(run: OpenRun, files: RunFiles) -> bool:
    """Return whether nobody works on an open run any more; False where that cannot be told."""
    held = _is_held(files.owner)
    if held is None:
        return not may_be_alive(run.owner)
    return not held and not is_alive(run.owner)


def _is_held(path: str) -> bool | None:
    """Return whether somebody holds a lock; None where there is no such lock to ask."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False
