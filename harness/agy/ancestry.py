"""Who is on the other side of a socket, who descends from whom, and whether this is a run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.agy.host import boot_id, is_row_of, same_boot
from harness.agy.table import (
    LINUX,
    SAME_START_S,
    ProcessRow,
    read_environment,
    read_name,
    read_row,
)
from harness.core.environment import CLI_PREFIX, GATE, RUN_ID
from harness.core.process import ProcessIdentity
from harness.errors import DoorProblem

if TYPE_CHECKING:
    import socket

RUN_NAME = "harness:run"
"""The name that a harness carries in the process table while it sees a run through (Linux).

What scrubs its environment and forks twice is adopted by the harness, whose own environment
tells nothing: its name does.
"""

_LONGEST_LINE = 4096
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2  # macOS <sys/un.h>
_XUCRED_BYTES = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The process that connected, as the kernel names it."""

    pid: int
    uid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """This process belongs to a run, or to the CLI's own tools.

    Attributes:
        run_id: the nearest run that is named; None where none is.
        gate: the nearest socket of a run that is named; None where none is.
        variable: the first variable that told; `RUN_NAME` where an ancestor's name did.
        pid: the process that carries it: this one or an ancestor.
    """

    run_id: str | None
    gate: str | None
    variable: str
    pid: int


def peer_of(connection: socket.socket) -> Peer:
    """Return who connected to a Unix socket; raises `DoorProblem` where nobody can tell."""
    import socket
    import struct

    try:
        if LINUX:
            raw = connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
            )
            pid, uid, _ = struct.unpack("3i", raw)
        else:
            raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
            _, uid = struct.unpack_from("2I", raw)
            (pid,) = struct.unpack("i", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
    except (OSError, struct.error) as error:
        raise DoorProblem(f"the machine does not say who connected: {error}") from error
    if pid <= 0:
        raise DoorProblem("the process that connected cannot be seen from here")
    return Peer(pid=pid, uid=uid)


def ancestors(pid: int) -> Iterator[ProcessRow]:
    """Yield a process and its ancestors, nearest first, as far as start times agree.

    A parent that is younger than its child is another process with a pid used again; the
    line ends there.
    """
    row = read_row(pid)
    for _ in range(_LONGEST_LINE):
        if row is None:
            return
        yield row
        if row.parent <= 0:
            return
        parent = read_row(row.parent)
        if parent is not None and parent.born > row.born + SAME_START_S:
            return
        row = parent


def is_descendant(pid: int, of: ProcessIdentity, adopter: ProcessIdentity | None = None) -> bool:
    """Return whether a process is `of` or descends from it.

    A process that descends from `adopter` counts too, which is the harness where it adopts
    what the run orphans; the adopter itself does not.
    """
    if not same_boot(boot_id(), of.boot_id):
        return False
    for row in ancestors(pid):
        if is_row_of(row, of):
            return True
        if adopter is not None and is_row_of(row, adopter):
            return pid != adopter.pid
    return False


def inside(environment: Mapping[str, str], pid: int) -> Inside | None:
    """Return which run this process belongs to, or None where it is a person's or a timer's.

    Args:
        environment: of this process, as it stands now.
        pid: this process. Of its ancestors the environment they were started with is read;
            one that cannot be read is passed over.
    """
    found = _Search()
    found.look(pid, environment)
    for row in ancestors(pid):
        if found.complete:
            break
        if row.pid == pid:
            continue
        if block := read_environment(row.pid):
            found.look(row.pid, _marked(block))
        if read_name(row.pid) == RUN_NAME:
            found.adopted_by(row.pid)
    return found.result()


class _Search:
    """What the walk up the ancestors has found; the nearest value of each name stands."""

    def __init__(self) -> None:
        self._first: tuple[str, int] | None = None
        self._values: dict[str, str] = {}

    @property
    def complete(self) -> bool:
        return len(self._values) == len((RUN_ID, GATE))

    def look(self, pid: int, environment: Mapping[str, str]) -> None:
        for name in (RUN_ID, GATE):
            if name in environment:
                self._first = self._first or (name, pid)
                if environment[name]:
                    self._values.setdefault(name, environment[name])
        if self._first is None:
            cli = next((name for name in environment if name.startswith(CLI_PREFIX)), None)
            self._first = None if cli is None else (cli, pid)

    def adopted_by(self, pid: int) -> None:
        self._first = self._first or (RUN_NAME, pid)

    def result(self) -> Inside | None:
        if self._first is None:
            return None
        variable, pid = self._first
        return Inside(
            run_id=self._values.get(RUN_ID),
            gate=self._values.get(GATE),
            variable=variable,
            pid=pid,
        )


_PREFIXES = tuple(os.fsencode(text) for text in (RUN_ID + "=", GATE + "=", CLI_PREFIX))


def _marked(block: bytes) -> dict[str, str]:
    """Return only the entries of an environment block that tell of a run."""
    if not any(prefix in block for prefix in _PREFIXES):
        return {}
    entries = (entry for entry in block.split(b"\0") if entry.startswith(_PREFIXES))
    pairs = (os.fsdecode(entry).partition("=") for entry in entries)
    return {name: value for name, _, value in pairs}
