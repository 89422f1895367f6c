"""The agents' memory: entries that are gone after 30 days."""

from __future__ import annotations

import secrets
import sqlite3

from harness.core.tiers import JOURNAL_LIFETIME, JournalEntry, sha256_of, value_problem
from harness.errors import GateRefused
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import HARNESS, SqliteEvents
from harness.stores.sqlite.faults import damaged
from harness.stores.sqlite.records import clean
from harness.stores.sqlite.times import to_text, to_time

INSERT = """INSERT INTO journal (
        id, agent_id, scope, entry, decision, run_id, created_at, expires_at
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
FORGET = "DELETE FROM journal WHERE expires_at <= ?"
OVERDUE = "SELECT 1 FROM journal WHERE expires_at <= ? LIMIT 1"
# `+expires_at`: nearly every entry is in time, so an index on the order serves, not that one.
LISTED = """SELECT * FROM journal WHERE +expires_at > ?
    ORDER BY seq DESC LIMIT ?"""
LISTED_OF_AGENT = """SELECT * FROM journal WHERE agent_id = ? AND +expires_at > ?
    ORDER BY seq DESC LIMIT ?"""
LISTED_OF_SCOPE = """SELECT * FROM journal WHERE scope = ? AND +expires_at > ?
    ORDER BY seq DESC LIMIT ?"""
LISTED_OF_AGENT_AND_SCOPE = """SELECT * FROM journal
    WHERE agent_id = ? AND scope = ? AND +expires_at > ? ORDER BY seq DESC LIMIT ?"""
COUNT_OF_RUN = """SELECT COUNT(*) AS entries,
        COALESCE(SUM(LENGTH(CAST(entry AS BLOB))), 0) AS bytes
    FROM journal WHERE run_id = ?"""


class SqliteJournal:
    """The agents' memory in the table `journal`."""

    def __init__(self, database: Database, events: SqliteEvents) -> None:
        self._database = database
        self._events = events

    def append(
        self, *, agent_id: str, scope: str, entry: str, decision: str | None, run_id: str | None
    ) -> JournalEntry:
        """Store one entry, and forget those whose time is over."""
        for name, text in (("entry", entry), ("decision", decision or "")):
            problem = value_problem(text)
            if problem is not None:
                raise GateRefused(f"journal {name}: {problem}", hint="nothing was stored")
        with self._database.write():
            now = self._events.now()
            self._forget(to_text(now))
            made = JournalEntry(
                id=secrets.token_hex(6),
                agent_id=agent_id,
                scope=clean(scope),
                entry=entry,
                decision=decision,
                run_id=run_id,
                created_at=now,
                expires_at=now + JOURNAL_LIFETIME,
            )
            times = (to_text(made.created_at), to_text(made.expires_at))
            row = (made.id, agent_id, made.scope, entry, decision, run_id, *times)
            self._database.change("journal.append", INSERT, row)
            facts = {
                "agent_id": agent_id,
                "sha256": sha256_of(entry),
                "scope_sha256": sha256_of(made.scope),
                "decision_sha256": sha256_of(decision or ""),
            }
            if run_id is not None:
                facts["run_id"] = run_id
            self._events.append("journal.appended", actor=HARNESS, subject=made.id, facts=facts)
        return made

    def listed(
        self, *, agent_id: str | None = None, scope: str | None = None, limit: int = 50
    ) -> list[JournalEntry]:
        """Return unexpired entries, newest first; None means every agent or scope."""
        rest = (to_text(self._events.now()), max(0, limit))
        if agent_id is not None and scope is not None:
            rows = self._database.rows(LISTED_OF_AGENT_AND_SCOPE, (agent_id, scope, *rest))
        elif agent_id is not None:
            rows = self._database.rows(LISTED_OF_AGENT, (agent_id, *rest))
        elif scope is not None:
            rows = self._database.rows(LISTED_OF_SCOPE, (scope, *rest))
        else:
            rows = self._database.rows(LISTED, rest)
        return [_entry(row) for row in rows]

    def count_of_run(self, run_id: str) -> tuple[int, int]:
        """Return how many entries a run wrote, and how many bytes of UTF-8 they hold."""
        row = self._database.rows(COUNT_OF_RUN, (run_id,))[0]
        return (row["entries"], row["bytes"])

    def _forget(self, now: str) -> None:
        if self._database.row(OVERDUE, (now,)) is not None:
            self._database.change("journal.forget", FORGET, (now,))


def _entry(row: sqlite3.Row) -> JournalEntry:
    try:
        return JournalEntry(
            id=row["id"],
            agent_id=row["agent_id"],
            scope=row["scope"],
            entry=row["entry"],
            decision=row["decision"],
            run_id=row["run_id"],
            created_at=to_time(row["created_at"]),
            expires_at=to_time(row["expires_at"]),
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"journal entry {row['id']}", error) from error
