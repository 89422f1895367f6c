"""All processes that came of a run, and how they are ended without hitting another.

A run's tree is what descends from the CLI, what the harness adopted as the subreaper, what
shares the CLI's session or group, what was once seen as one of these, and what carries the
run's id in its environment. The harness, its ancestors and its earlier children are never
of it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from harness.agy.ancestry import ancestors
from harness.agy.host import boot_id, born, is_row_of, row_of, same_boot
from harness.agy.kill import kill_group, kill_row, reap
from harness.agy.table import (
    SAME_START_S,
    ProcessRow,
    child_pids,
    holds_entry,
    is_childless,
    read_environment,
    read_row,
    read_table,
)
from harness.core.environment import RUN_ID
from harness.core.process import ProcessIdentity

Pause = Callable[[float], None]
"""Waits about so many seconds, or less, and may do useful work meanwhile."""

POLITE_S = 3.0
"""How long SIGINT, then SIGTERM, are given to work."""
STRAGGLER_GRACE_S = 1.0
"""How long what outlives the CLI may take to leave by itself."""
SWEEP_LIMIT_S = 15.0
"""How long killing goes on where new processes appear as fast as old ones are killed."""

CHASE_S = 0.25
"""How long orphans are chased before the next look at the whole table."""

_POLL_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What had to be killed after the CLI itself was gone.

    Attributes:
        killed: how many distinct processes were killed.
        left: how many were still there when the time for killing was over; 0 is the rule.
    """

    killed: int
    left: int = 0


class Tree:
    """The processes of one run."""

    def __init__(
        self,
        child: ProcessIdentity | None,
        *,
        run_id: str | None,
        before: Iterable[tuple[int, float]] = (),
        adopting: bool = False,
    ) -> None:
        """Describe a run's tree; nothing is looked up yet.

        Args:
            child: the CLI's process, leader of its own session; None where it is not known.
            run_id: what `HARNESS_RUN_ID` is in the run's environment; None for no sweep.
            before: keys of the harness's descendants from before the run, which are not of it.
            adopting: the harness is the subreaper: its other descendants are the run's.
        """
        self._child = child
        self._entry = None if run_id is None else f"{RUN_ID}={run_id}".encode()
        self._before = frozenset(before)
        self._adopting = adopting
        self._own = os.getpid()
        self._protected = {row.key for row in ancestors(self._own)}
        self._seen: set[tuple[int, float]] = set()
        self._reaped = 0
        self._killing = False
        self._killed: set[tuple[int, float]] = set()
        self.reaped_cpu_s = 0.0
        self.reaped_peak_rss_bytes = 0

    def remember(self, seen: Iterable[ProcessIdentity]) -> None:
        """Count processes as the run's that somebody saw in it, where they are still the same."""
        rows = (row_of(identity) for identity in seen)
        self._seen |= {row.key for row in rows if row is not None}

    def members(self, *, sweep: bool = False) -> list[ProcessRow]:
        """Return the living processes of the run.

        Args:
            sweep: also look for the run's id in the environment of every process, which
                costs a read for each of them.
        """
        table = read_table()
        if sweep and self._entry is not None:
            marked = self._marked(table.values(), self._entry)
        else:
            marked = []
        self._reap(table.values())
        found: dict[int, ProcessRow] = {}
        children: dict[int, list[ProcessRow]] = {}
        for row in table.values():
            children.setdefault(row.parent, []).append(row)
        waiting = [row for row in table.values() if self._is_root(row, table)] + marked
        while waiting:
            row = waiting.pop()
            if row.pid in found or row.key in self._protected or row.key in self._before:
                continue
            found[row.pid] = row
            waiting += [
                child
                for child in children.get(row.pid, ())
                if child.born >= row.born - SAME_START_S
            ]
        alive = [row for row in found.values() if not row.zombie]
        self._seen = {row.key for row in alive}
        return alive

    def _is_root(self, row: ProcessRow, table: dict[int, ProcessRow]) -> bool:
        if row.key in self._seen or (self._adopting and row.parent == self._own):
            return True
        # Session 0 is that of processes whose leader cannot be seen: nobody's in particular.
        if self._child is None or self._child.pid not in (row.pid, row.session, row.group):
            return False
        if row.pid == self._child.pid:
            return is_row_of(row, self._child)
        # A number can be a session's again once the first session is empty: it is then
        # another process's, whose start gives it away.
        leader = table.get(self._child.pid)
        if leader is not None and not is_row_of(leader, self._child):
            return False
        return row.born >= born(self._child) - SAME_START_S

    def _marked(self, rows: Iterable[ProcessRow], entry: bytes) -> list[ProcessRow]:
        return [
            row
            for row in rows
            if row.key not in self._protected
            and not row.zombie
            and (block := read_environment(row.pid)) is not None
            and holds_entry(block, entry)
        ]

    def _reap(self, rows: Iterable[ProcessRow]) -> None:
        """Wait for the dead that the harness adopted, each by its pid, never for any child."""
        for row in rows:
            if self._adopting and row.zombie and self._is_adopted(row):
                dead = reap(row.pid)
                self.reaped_cpu_s += dead.cpu_s
                self.reaped_peak_rss_bytes = max(self.reaped_peak_rss_bytes, dead.peak_rss_bytes)
                self._reaped += 1
                if self._killing and dead.signal == signal.SIGKILL:
                    self._killed.add(row.key)

    def end(
        self, *, exited: Callable[[], bool], pause: Pause, polite_s: float | None = None
    ) -> Swept:
        """End the CLI and then all that is left of its tree.

        SIGINT to the CLI's group, then SIGTERM, then SIGKILL, each only where the one before
        did not help; then `finish`. The CLI itself is not reaped here.
        """
        patience_s = POLITE_S if polite_s is None else polite_s
        for number in (signal.SIGINT, signal.SIGTERM):
            if exited():
                break
            self._signal_group(number)
            _wait(exited, patience_s, pause)
        if not exited():
            self._signal_group(signal.SIGKILL)
            self._kill_child()
            _wait(exited, POLITE_S, pause)
        return self.finish(pause=pause)

    def finish(self, *, pause: Pause, grace_s: float | None = None) -> Swept:
        """Kill what outlived the CLI, after a short grace to leave by itself."""
        patience_s = STRAGGLER_GRACE_S if grace_s is None else grace_s
        gone = _wait(lambda: self._look() == [], patience_s, pause)
        return self._kill(pause, SWEEP_LIMIT_S, empty_looks=int(gone))

    def kill(self, *, pause: Pause, limit_s: float = SWEEP_LIMIT_S) -> Swept:
        """Kill every process of the tree until none is left; no grace."""
        return self._kill(pause, limit_s, empty_looks=0)

    def _kill(self, pause: Pause, limit_s: float, *, empty_looks: int) -> Swept:
        """Kill until two looks in a row are empty.

        A process may have forked between the look and the kill, and the table is no atomic
        picture, so that one empty look does not count as none. Before each look the orphans
        are chased, for a chain of short-lived processes outruns the whole table.
        """
        self._killing = True
        deadline = time.monotonic() + limit_s
        while True:
            self._chase()
            rows = self._look()
            empty_looks = empty_looks + 1 if rows == [] else 0
            if empty_looks > 1 or time.monotonic() > deadline:
                left = 1 if rows is None else len(rows)
                return Swept(killed=len(self._killed), left=left)
            fresh = {row.key for row in rows or () if kill_row(row)} - self._killed
            self._killed |= fresh
            if not fresh:
                pause(_POLL_S / 10)

    def _look(self) -> list[ProcessRow] | None:
        """Return the living, or None where none was seen but one had just died.

        What died since the last look may have left a child that this one has missed.
        """
        reaped = self._reaped
        rows = self.members(sweep=True)
        return rows if rows or reaped == self._reaped else None

    def _chase(self) -> None:
        """Kill what the harness has just adopted, whole groups at once, as fast as it comes.

        A chain of processes that fork and exit is always dead when it is looked at, but its
        group lives on, and a signal to a group misses no fork. The group is the run's own as
        long as the one that told it is not reaped, and that is for the harness to do.
        """
        deadline = time.monotonic() + CHASE_S
        while self._adopting and time.monotonic() < deadline:
            rows = [row for pid in child_pids(self._own) if (row := read_row(pid)) is not None]
            rows = [row for row in rows if self._is_adopted(row)]
            for group in {row.group for row in rows} - {0, os.getpgrp()}:
                kill_group(group, signal.SIGKILL)
            self._killed |= {row.key for row in rows if not row.zombie and kill_row(row)}
            self._reap(rows)
            if not rows:
                break

    def _is_adopted(self, row: ProcessRow) -> bool:
        return (
            row.parent == self._own
            and row.pid != (self._child and self._child.pid)
            and row.key not in self._before
        )

    def _kill_child(self) -> None:
        row = None if self._child is None else row_of(self._child)
        if row is not None:
            kill_row(row)

    def _signal_group(self, number: signal.Signals) -> None:
        # The CLI is not reaped yet, so that its pid, and with it the group's, is still its own.
        if self._child is not None:
            kill_group(self._child.pid, number)


def keys_below(pid: int) -> list[tuple[int, float]]:
    """Return the keys of all present descendants of a process."""
    if is_childless(pid):
        return []
    children: dict[int, list[ProcessRow]] = {}
    for row in read_table().values():
        children.setdefault(row.parent, []).append(row)
    keys: dict[int, tuple[int, float]] = {}
    waiting = list(children.get(pid, ()))
    while waiting:
        row = waiting.pop()
        if row.pid not in keys:
            keys[row.pid] = row.key
            waiting += children.get(row.pid, ())
    return list(keys.values())


def end_survivors(
    run_id: str | None, child: ProcessIdentity | None, seen: Iterable[ProcessIdentity] = ()
) -> int:
    """End what is left of a run whose harness died, and return how many processes that were.

    The CLI, where it still runs, counts. Of another boot nothing is left. What left the
    CLI's session, lost its parents and scrubbed the run's id is known only where it is among
    those that were `seen` in the run while its harness lived.
    """
    if child is not None and not same_boot(child.boot_id, boot_id()):
        return 0
    tree = Tree(child, run_id=run_id)
    tree.remember(seen)
    return tree.kill(pause=time.sleep).killed


def _wait(condition: Callable[[], bool], limit_s: float, pause: Pause) -> bool:
    """Wait for a condition; returns whether it came true in time."""
    deadline = time.monotonic() + limit_s
    while not condition():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        pause(min(left, _POLL_S))
    return True
