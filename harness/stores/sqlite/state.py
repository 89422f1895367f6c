"""The local backend: every store on one connection, sharing its transactions."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from harness.stores.protocols import (
    BeforeWrite,
    Canonical,
    Events,
    Guards,
    Journal,
    Proposals,
    Runs,
    Switches,
    ignore_write,
)
from harness.stores.sqlite.canonical import SqliteCanonical
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import SqliteEvents
from harness.stores.sqlite.guards import SqliteGuards
from harness.stores.sqlite.journal import SqliteJournal
from harness.stores.sqlite.opening import open_database
from harness.stores.sqlite.proposals import SqliteProposals
from harness.stores.sqlite.runs import SqliteRuns
from harness.stores.sqlite.switches import SqliteSwitches
from harness.stores.sqlite.times import Clock


class SqliteState:
    """The durable state in one SQLite file; belongs to the thread that opened it."""

    runs: Runs
    proposals: Proposals
    canonical: Canonical
    journal: Journal
    events: Events
    switches: Switches
    guards: Guards

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self._events = SqliteEvents(database, clock)
        proposals = SqliteProposals(database, self._events)
        self.events = self._events
        self.proposals = proposals
        self.runs = SqliteRuns(database, self._events, proposals)
        self.canonical = SqliteCanonical(database, self._events)
        self.journal = SqliteJournal(database, self._events)
        self.switches = SqliteSwitches(database, self._events)
        self._guards = SqliteGuards(database, self._events)
        self.guards = self._guards

    def now(self) -> datetime:
        """Return the later of the clock and the last stored time, to the millisecond."""
        return self._events.now()

    def clock_lag_s(self) -> float:
        """Return by how many seconds the clock is behind the last stored time; 0 if it is not."""
        return self._events.clock_lag_s()

    def transaction(self) -> AbstractContextManager[None]:
        """Join several writes into one commit; nests."""
        return self.database.write()

    def check(self) -> list[str]:
        """Return every contradiction found: damage, broken chain, digests that do not match."""
        from harness.stores.sqlite.check import contradictions

        return contradictions(self.database, self._events, self._guards)

    def close(self) -> None:
        """Give the connection back; again is no harm."""
        self.database.close()


def open_state(
    path: Path,
    *,
    clock: Clock,
    before_write: BeforeWrite = ignore_write,
    read_only: bool = False,
) -> SqliteState:
    """Open the state in a database file, creating or migrating it as needed.

    Args:
        path: the file; its folder is created too.
        clock: returns the time as an aware datetime.
        before_write: called with a short name before each statement that writes and each commit.
        read_only: never write, not even to create or migrate; for media that cannot be written.

    Raises:
        NewerSchema: a newer harness wrote it.
        StoreDamaged: the file is not a database of the harness.
        StoreProblem: it cannot be created, opened, locked or migrated.
    """
    database = open_database(path, before_write=before_write, read_only=read_only)
    return SqliteState(database, clock)
