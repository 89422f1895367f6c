"""The machine's boot and the identity of processes on it, across pid reuse and clock changes."""

from __future__ import annotations

import os

from harness.agy.table import LINUX, SAME_START_S, ProcessRow, psutil_boot_time, read_row
from harness.core.process import ProcessIdentity
from harness.errors import HostProblem


def boot_id() -> str:
    """Return the name of this boot, with the clock's present word on when it began.

    The second half follows the clock when somebody sets it; compare with `same_boot`.
    """
    return f"{_boot_name()}@{_boot_time():.2f}"


def same_boot(one: str, other: str) -> bool:
    """Return whether two boot ids name one boot, whatever the clock said then and now."""
    return one.partition("@")[0] == other.partition("@")[0]


def own_identity() -> ProcessIdentity:
    """Return the identity of this process."""
    identity = identity_of(os.getpid())
    if identity is None:
        raise HostProblem("this machine does not say when the harness itself was started")
    return identity


def identity_of(pid: int) -> ProcessIdentity | None:
    """Return the identity of a process, or None where there is none with this pid."""
    row = read_row(pid)
    return None if row is None else identity_of_row(row)


def identity_of_row(row: ProcessRow) -> ProcessIdentity:
    """Return the identity of a process of the table."""
    boot = boot_id()
    return ProcessIdentity(
        pid=row.pid, started=row.born + _offset(boot) if LINUX else row.born, boot_id=boot
    )


def is_alive(identity: ProcessIdentity) -> bool:
    """Return whether this very process still runs; one that only waits to be reaped does not."""
    row = row_of(identity)
    return row is not None and not row.zombie


def may_be_alive(identity: ProcessIdentity) -> bool:
    """Return whether this very process may still run, also where the system hides it.

    Another's process, or one that made itself undumpable, may be kept out of the table
    (`hidepid`); it answers to its number all the same.
    """
    row = read_row(identity.pid)
    if row is not None:
        return is_alive(identity)
    return same_boot(identity.boot_id, _boot_name()) and _answers(identity.pid)


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def row_of(identity: ProcessIdentity) -> ProcessRow | None:
    """Return the table's line for this very process, or None where it is gone."""
    if not same_boot(identity.boot_id, _boot_name()):
        return None
    row = read_row(identity.pid)
    return row if row is not None and is_row_of(row, identity) else None


def is_row_of(row: ProcessRow, identity: ProcessIdentity) -> bool:
    """Return whether a line of the table is this very process, of this boot."""
    return row.pid == identity.pid and abs(row.born - born(identity)) < SAME_START_S


def born(identity: ProcessIdentity) -> float:
    """Return the start of a process on the kernel's own scale (see `ProcessRow.born`)."""
    return identity.started - _offset(identity.boot_id) if LINUX else identity.started


def _offset(boot: str) -> float:
    text = boot.partition("@")[2]
    try:
        return float(text) if text else _boot_time()
    except ValueError:
        return _boot_time()


def _boot_time() -> float:
    if not LINUX:
        return psutil_boot_time()
    from pathlib import Path

    _, found, rest = Path("/proc/stat").read_bytes().partition(b"\nbtime ")
    if found:
        return float(rest.split(maxsplit=1)[0])
    raise HostProblem("/proc/stat does not say when this machine was started")


def _boot_name() -> str:
    if LINUX:
        from pathlib import Path

        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return _darwin_boot_name() or f"boot-{_boot_time():.0f}"


def _darwin_boot_name() -> str:
    """Return macOS's own name of this boot; empty where the system has none."""
    import ctypes

    library = ctypes.CDLL(None)
    if not hasattr(library, "sysctlbyname"):
        return ""
    buffer = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(buffer))
    failed = library.sysctlbyname(
        b"kern.bootsessionuuid", buffer, ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return "" if failed else buffer.value.decode("ascii", "replace")
