"""The audit trail, and the time that every store of this backend writes."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from datetime import datetime

import msgspec

from harness.stores.protocols import Event
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.faults import damaged
from harness.stores.sqlite.records import clean, encode_canonical
from harness.stores.sqlite.times import Clock, to_millisecond, to_text, to_time

HARNESS = "harness"
"""The actor of what the harness does by itself."""

_LAST = "SELECT id, at, hash FROM events ORDER BY id DESC LIMIT 1"
_AFTER = "SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?"
_INSERT = """INSERT INTO events (id, at, kind, actor, subject, facts, previous, hash)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_PAGE = 1000


class SqliteEvents:
    """The audit trail in the table `events`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def now(self) -> datetime:
        """Return the later of the clock and the last event's time, to the millisecond."""
        clock = to_millisecond(self._clock())
        return max(clock, self._last_time() or clock)

    def clock_lag_s(self) -> float:
        """Return by how many seconds the clock is behind the last event; 0 if it is not."""
        clock = to_millisecond(self._clock())
        return max(0.0, ((self._last_time() or clock) - clock).total_seconds())

    def append(
        self, kind: str, *, actor: str, subject: str, facts: Mapping[str, str] | None = None
    ) -> Event:
        """Add one link."""
        with self._database.write():
            number, previous = self.head()
            at = self.now()
            stored = encode_canonical({name: clean(fact) for name, fact in (facts or {}).items()})
            content = (number + 1, to_text(at), kind, clean(actor), clean(subject), stored)
            link = link_hash(previous, content)
            self._database.change("event", _INSERT, (*content, previous, link))
        return Event(
            id=number + 1,
            at=at,
            kind=kind,
            actor=content[3],
            subject=content[4],
            facts=msgspec.json.decode(stored, type=dict[str, str]),
            previous=previous,
            hash=link,
        )

    def head(self) -> tuple[int, str]:
        """Return the id and hash of the last link; (0, '') for an empty trail."""
        row = self._database.row(_LAST)
        return (0, "") if row is None else (row["id"], row["hash"])

    def listed(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return links in order."""
        return [_event(row) for row in self._database.rows(_AFTER, (after, max(0, limit)))]

    def verify(self) -> str | None:
        """Return what is wrong with the chain, or None."""
        number, previous = 0, ""
        while page := self._database.rows(_AFTER, (number, _PAGE)):
            for row in page:
                problem = _link_problem(row, number + 1, previous)
                if problem is not None:
                    return problem
                number, previous = row["id"], row["hash"]
        return None

    def _last_time(self) -> datetime | None:
        row = self._database.row(_LAST)
        if row is None:
            return None
        try:
            return to_time(row["at"])
        except (TypeError, ValueError) as error:
            raise damaged(f"the time of link {row['id']} of the audit trail", error) from error


def link_hash(previous: str, content: tuple[int, str, str, str, str, str]) -> str:
    """Return the hash of a link: SHA-256 over the previous hash and the content.

    The content is the canonical JSON of `[id, at, kind, actor, subject, facts]`, with `at` and
    `facts` as the text that is stored, so that the chain can be checked without the harness.
    """
    return hashlib.sha256((previous + encode_canonical(content)).encode()).hexdigest()


def _link_problem(row: sqlite3.Row, number: int, previous: str) -> str | None:
    if row["id"] != number:
        return f"link {number} of the audit trail is missing"
    if row["previous"] != previous:
        return f"link {number} of the audit trail does not follow the one before it"
    content = (number, row["at"], row["kind"], row["actor"], row["subject"], row["facts"])
    if row["hash"] != link_hash(previous, content):
        return f"link {number} of the audit trail was altered"
    return None


def _event(row: sqlite3.Row) -> Event:
    try:
        return Event(
            id=row["id"],
            at=to_time(row["at"]),
            kind=row["kind"],
            actor=row["actor"],
            subject=row["subject"],
            facts=msgspec.json.decode(row["facts"], type=dict[str, str]),
            previous=row["previous"],
            hash=row["hash"],
        )
    except (TypeError, ValueError, msgspec.DecodeError) as error:
        raise damaged(f"link {row['id']} of the audit trail", error) from error
