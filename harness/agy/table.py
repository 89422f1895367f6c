"""What the kernel says of the processes of this machine, read at the lowest cost.

On Linux `/proc` is read directly: every command of the harness asks for its ancestors, and
a run asks for the whole table every second. Elsewhere psutil answers.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

LINUX = sys.platform == "linux"
SAME_START_S = 0.02
"""Two start times of one process differ by less than this; the kernel counts in 0.01 s."""

_ENVIRONMENT_LIMIT = 4 * 1024 * 1024
_PIECE = 16 * 1024
_ONE_PIECE = 1
_CHILDREN_LIMIT = 1024 * 1024
_STAT_FIELDS = 22
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One line of the process table.

    Attributes:
        born: the start on the kernel's own scale, which no setting of the clock moves:
            seconds since the boot on Linux, since the epoch elsewhere.
        zombie: it has ended and waits for its parent to ask how.
        rss_bytes: resident memory, shared pages included.
        cpu_s: user and system time of the process and of the children it has waited for.
    """

    pid: int
    parent: int
    group: int
    session: int
    zombie: bool
    born: float
    rss_bytes: int
    cpu_s: float

    @property
    def key(self) -> tuple[int, float]:
        """What stays true of this process and of no other in this boot."""
        return (self.pid, self.born)


def read_row(pid: int) -> ProcessRow | None:
    """Return what is known of one process, or None where there is none."""
    return _linux_row(pid) if LINUX else psutil_row(pid)


def read_table() -> dict[int, ProcessRow]:
    """Return every process that can be seen, by pid; it is no atomic picture."""
    rows = ((pid, read_row(pid)) for pid in (_linux_pids() if LINUX else psutil_pids()))
    return {pid: row for pid, row in rows if row is not None}


def is_childless(pid: int) -> bool:
    """Return whether a process surely has no child now; False where the kernel does not say.

    A list that is not empty may lack a child, as another one ends while it is read; an empty
    one lacks none.
    """
    if not LINUX:
        return False
    try:
        with os.scandir(f"/proc/{pid}/task") as threads:
            paths = [f"{thread.path}/children" for thread in threads]
    except OSError:
        return False
    lists = (_read_file(path, _ONE_PIECE) for path in paths)
    return all(children == b"" for children in lists)


def child_pids(pid: int) -> list[int]:
    """Return the pids of a process's children at the cost of one small read.

    It may miss some, and finds none where the kernel has no such list: good for being fast,
    not for being sure.
    """
    path = f"/proc/{pid}/task/{pid}/children"
    text = _read_file(path, _CHILDREN_LIMIT) if LINUX else None
    return [int(number) for number in (text or b"").split()]


def read_environment(pid: int) -> bytes | None:
    """Return the environment a process was started with, as NUL-ended entries.

    None where it cannot be read: the process is gone, another user's, or undumpable.
    """
    if not LINUX:
        return psutil_environment(pid)
    return _read_file(f"/proc/{pid}/environ", _ENVIRONMENT_LIMIT)


def read_name(pid: int) -> str | None:
    """Return the name that a process goes by; None where there is none, or no Linux to ask."""
    name = _read_file(f"/proc/{pid}/comm", _PIECE) if LINUX else None
    return None if name is None else os.fsdecode(name.removesuffix(b"\n"))


def holds_entry(environment: bytes, entry: bytes) -> bool:
    """Return whether an environment block holds this very `NAME=value`."""
    return environment.startswith(entry + b"\0") or b"\0" + entry + b"\0" in environment


def _linux_pids() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def _read_file(path: str, limit: int) -> bytes | None:
    """Return what a file of `/proc` holds, up to the piece that reaches the limit."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(file, _PIECE)
        while content and len(content) < limit and (piece := os.read(file, _PIECE)):
            content += piece
    except OSError:
        return None  # it ended while it was looked at
    finally:
        os.close(file)
    return content


def _linux_row(pid: int) -> ProcessRow | None:
    # The kernel gives the one line in one piece, so that a second read would only say so.
    text = _read_file(f"/proc/{pid}/stat", _ONE_PIECE)
    if text is None:
        return None
    # The name in parentheses may hold anything, parentheses and blanks included.
    fields = text[text.rfind(b")") + 2 :].split(None, _STAT_FIELDS)
    if len(fields) < _STAT_FIELDS:
        return None
    return ProcessRow(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        zombie=fields[0] in (b"Z", b"X"),
        born=int(fields[19]) / _TICKS,
        rss_bytes=int(fields[21]) * _PAGE,
        cpu_s=sum(map(int, fields[11:15])) / _TICKS,
    )


def psutil_boot_time() -> float:
    """Return when the machine was started, in seconds since the epoch, by psutil."""
    import psutil

    return float(psutil.boot_time())


def psutil_pids() -> list[int]:
    """Return every pid, by psutil, on systems without `/proc`."""
    import psutil

    return list(psutil.pids())


def psutil_row(pid: int) -> ProcessRow | None:
    """Return one line of the process table by psutil, on systems without `/proc`."""
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            parent, born, status = process.ppid(), process.create_time(), process.status()
    except psutil.Error:
        return None
    zombie = status in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    rss, cpu = 0, 0.0
    try:
        rss, times = process.memory_info().rss, process.cpu_times()
        cpu = times.user + times.system
        group, session = os.getpgid(pid), os.getsid(pid)
    except (psutil.Error, OSError):
        group = session = 0  # another user's process: of no group that is ours
    return ProcessRow(pid, parent, group, session, zombie, born, rss, cpu)


def psutil_environment(pid: int) -> bytes | None:
    """Return a process's environment by psutil, on systems without `/proc`."""
    import psutil

    try:
        entries = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return None
    return b"".join(f"{name}={value}\0".encode(errors="replace") for name, value in entries.items())
