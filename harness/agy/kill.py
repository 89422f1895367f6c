"""Signals to the very process that is meant, and to no other that has its pid by now."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from dataclasses import dataclass

from harness.agy.table import LINUX, ProcessRow, read_row

_RSS_UNIT = 1024 if LINUX else 1
"""Bytes of one unit of `ru_maxrss`: KiB on Linux, bytes on macOS."""


def kill_row(row: ProcessRow) -> bool:
    """Send SIGKILL to this very process; False where it was gone or may not be killed."""
    try:
        if not LINUX:
            return _is_still(row) and _kill(row.pid)
        handle = os.pidfd_open(row.pid)
    except (ProcessLookupError, PermissionError):
        return False
    except OSError:
        return _is_still(row) and _kill(row.pid)  # out of descriptors, or an old kernel
    try:
        # From here on the handle means one process; whether it is the right one is asked now.
        if not _is_still(row):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(handle)
    return True


def _is_still(row: ProcessRow) -> bool:
    now = read_row(row.pid)
    return now is not None and now.key == row.key and not now.zombie


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_group(group: int, number: signal.Signals) -> None:
    """Signal a whole process group; one that is empty, or not ours to signal, is left alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """How an adopted process ended; `signal` is None where none ended it, or none is known."""

    cpu_s: float = 0.0
    peak_rss_bytes: int = 0
    signal: int | None = None


def reap(pid: int) -> Dead:
    """Take a dead child's status off the kernel; never waits."""
    try:
        found, status, usage = os.wait4(pid, os.WNOHANG)
    except ChildProcessError:
        return Dead()
    if not found:
        return Dead()
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return Dead(
        cpu_s=usage.ru_utime + usage.ru_stime, peak_rss_bytes=peak_rss_of(usage), signal=number
    )


def peak_rss_of(usage: resource.struct_rusage) -> int:
    """Return the largest memory of a dead process and of what it waited for, in bytes.

    A fork counts as large as the process it came from until it executes something else, so
    that no more than the harness's own peak says nothing of the dead one: 0 then.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage.ru_maxrss * _RSS_UNIT if usage.ru_maxrss > own else 0
