"""Canonical data: append-only versions by key."""

from __future__ import annotations

import sqlite3

import msgspec

from harness.core.evidence import CANONICAL_PREFIX, ApprovedChange, Head
from harness.core.tiers import CanonicalValue, key_problem, sha256_of, value_problem
from harness.errors import GateRefused, StoreProblem
from harness.stores.protocols import Applied, Conflict
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import SqliteEvents
from harness.stores.sqlite.faults import damaged
from harness.stores.sqlite.records import clean
from harness.stores.sqlite.times import to_text, to_time

READ = "SELECT * FROM canonical WHERE key = ? ORDER BY version DESC LIMIT 1"
HISTORY = "SELECT * FROM canonical WHERE key = ? ORDER BY version DESC"
OPERATION = "SELECT key, version, sha256 FROM canonical WHERE operation_key = ?"
NEWEST = "SELECT COALESCE(MAX(version), 0) AS version FROM canonical WHERE key = ?"
HEADS = """SELECT key, version, digest(CAST(value AS BLOB)) AS sha256 FROM canonical AS one
    WHERE version = (SELECT MAX(version) FROM canonical WHERE key = one.key)"""
APPLIED_SINCE = """SELECT id, subject, facts FROM events
    WHERE id > ? AND kind = 'canonical.applied' ORDER BY id"""
STANDS = """SELECT 1 FROM canonical
    WHERE key = ? AND version = ? AND digest(CAST(value AS BLOB)) = ?"""
INSERT = """INSERT INTO canonical (
        key, version, value, sha256, updated_at, operation_key, run_id, actor
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""


class _AppliedFacts(msgspec.Struct):
    version: str
    sha256: str


class SqliteCanonical:
    """Canonical data in the table `canonical`."""

    def __init__(self, database: Database, events: SqliteEvents) -> None:
        self._database = database
        self._events = events

    def read(self, key: str) -> CanonicalValue | None:
        """Return the newest version of a key."""
        row = self._database.row(READ, (key,))
        return None if row is None else _value(row)

    def history(self, key: str) -> list[CanonicalValue]:
        """Return all versions of a key, newest first."""
        return [_value(row) for row in self._database.rows(HISTORY, (key,))]

    def apply(
        self,
        key: str,
        value: str,
        *,
        operation_key: str,
        expected_version: int,
        actor: str,
        run_id: str | None,
    ) -> Applied | Conflict:
        """Write the next version if the key still has the expected one; once per operation."""
        problem = key_problem(key) or value_problem(value)
        if problem is not None:
            raise GateRefused(f"{key[:80]!r}: {problem}", hint="nothing was stored")
        digest = sha256_of(value)
        with self._database.write():
            done = self._database.row(OPERATION, (operation_key,))
            if done is not None:
                return _same_write(done, key, digest, operation_key)
            newest = int(self._database.rows(NEWEST, (key,))[0]["version"])
            if newest != expected_version:
                return Conflict(version=newest)
            version, now = newest + 1, to_text(self._events.now())
            row = (key, version, value, digest, now, operation_key, run_id, clean(actor))
            self._database.change("canonical.apply", INSERT, row)
            facts = {"version": str(version), "sha256": digest, "operation_key": operation_key}
            if run_id is not None:
                facts["run_id"] = run_id
            self._events.append("canonical.applied", actor=actor, subject=key, facts=facts)
        return Applied(version=version)

    def operation(self, operation_key: str) -> Applied | None:
        """Return what an operation did, or None where it did nothing."""
        done = self._database.row(OPERATION, (operation_key,))
        return None if done is None else Applied(version=done["version"])

    def heads(self) -> dict[str, Head]:
        """Return the head of every key, its digest computed from the value itself."""
        return {
            row["key"]: Head(version=row["version"], sha256=row["sha256"])
            for row in self._database.rows(HEADS)
        }

    def approved_since(self, event_id: int) -> list[ApprovedChange]:
        """Return the writes that the audit trail records after an event, and that do stand."""
        approved = []
        for row in self._database.rows(APPLIED_SINCE, (event_id,)):
            facts = _applied_facts(row)
            where = (row["subject"], facts.version, facts.sha256)
            if self._database.row(STANDS, where) is not None:
                location = CANONICAL_PREFIX + row["subject"]
                approved.append(ApprovedChange(location=location, sha256=facts.sha256))
        return approved


def _same_write(done: sqlite3.Row, key: str, digest: str, operation_key: str) -> Applied:
    """An operation that was done before is done, unless its key now stands for another write."""
    if (done["key"], done["sha256"]) != (key, digest):
        raise StoreProblem(
            f"operation {operation_key} has already written another value, nothing was stored",
            hint="give every write an operation key of its own",
        )
    return Applied(version=done["version"])


def _applied_facts(row: sqlite3.Row) -> _AppliedFacts:
    try:
        return msgspec.json.decode(row["facts"], type=_AppliedFacts)
    except (TypeError, msgspec.DecodeError) as error:
        raise damaged(f"link {row['id']} of the audit trail", error) from error


def _value(row: sqlite3.Row) -> CanonicalValue:
    """Return a version with the digest of the value that really stands there."""
    try:
        return CanonicalValue(
            key=row["key"],
            value=row["value"],
            version=row["version"],
            sha256=sha256_of(row["value"]),
            updated_at=to_time(row["updated_at"]),
            operation_key=row["operation_key"],
            run_id=row["run_id"],
            actor=row["actor"],
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise damaged(f"canonical {row['key']}", error) from error
