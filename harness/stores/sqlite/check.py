"""Every contradiction that can be found inside the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from harness.errors import StoreProblem
from harness.stores.sqlite.check_decisions import CONTRADICTIONS as OF_DECISIONS
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import SqliteEvents
from harness.stores.sqlite.guards import SqliteGuards
from harness.stores.sqlite.schema import INDEXES, TABLES, TRIGGERS

_SCHEMA = """SELECT name, type, sql FROM sqlite_master
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name"""

# Each finds rows that contradict another row, or their own digest; the first column names one.
_CONTRADICTIONS = {
    "canonical {}: its value does not match its digest": """
        SELECT key || ' version ' || version FROM canonical
        WHERE digest(CAST(value AS BLOB)) IS NOT sha256""",
    "canonical {}: no link of the audit trail put it there": """
        SELECT key || ' version ' || version FROM canonical
        WHERE NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.subject = canonical.key AND event.kind = 'canonical.applied'
                AND json_extract(event.facts, '$.version') = CAST(canonical.version AS TEXT)
                AND json_extract(event.facts, '$.sha256') = canonical.sha256
        )""",
    "canonical {}: the audit trail names it, but it is not there": """
        SELECT event.subject || ' version ' || json_extract(event.facts, '$.version')
        FROM events AS event
        WHERE event.kind = 'canonical.applied' AND NOT EXISTS (
            SELECT 1 FROM canonical
            WHERE canonical.key = event.subject
                AND CAST(canonical.version AS TEXT) = json_extract(event.facts, '$.version')
        )""",
    "proposal {}: its value does not match its digest": """
        SELECT id FROM proposals WHERE digest(CAST(value AS BLOB)) IS NOT value_sha256""",
    "proposal {}: no link of the audit trail records it": """
        SELECT id FROM proposals
        WHERE NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.subject = proposals.id AND event.kind = 'proposal.proposed'
                AND json_extract(event.facts, '$.value_sha256') = proposals.value_sha256
        )""",
    "proposal {}: approved, but the audit trail does not say so": """
        SELECT id FROM proposals
        WHERE state = 'approved' AND NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.subject = proposals.id AND event.kind = 'proposal.approved'
        )""",
    "run {}: its record does not match the audit trail": """
        SELECT run_id FROM runs
        WHERE ended_at IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.subject = runs.run_id AND event.kind IN ('run.closed', 'run.refused')
                AND json_extract(event.facts, '$.outcome') = runs.outcome
                AND json_extract(event.facts, '$.record_sha256')
                    = digest(CAST(runs.record AS BLOB))
        )""",
}
_MOST_NAMED = 20


def contradictions(database: Database, events: SqliteEvents, guards: SqliteGuards) -> list[str]:
    """Return every contradiction found, one sentence each; empty for a sound database.

    A part that cannot even be read is a finding, not an error.
    """
    found = _collected(lambda: _integrity(database))
    found += _collected(lambda: _schema(database))
    found += _collected(lambda: _chain(events))
    found += _collected(guards.check)
    for sentence, query in (*_CONTRADICTIONS.items(), *OF_DECISIONS.items()):
        found += _collected(lambda: _named(sentence, database.rows(query)))  # noqa: B023 - called at once
    return list(dict.fromkeys(found))


def _collected(part: Callable[[], list[str]]) -> list[str]:
    try:
        return part()
    except StoreProblem as problem:
        return [str(problem)]


def _integrity(database: Database) -> list[str]:
    said = [str(row[0]) for row in database.rows("PRAGMA integrity_check(20)")]
    problems = [] if said == ["ok"] else [f"{database.path}: {line}" for line in said]
    orphans = database.rows("PRAGMA foreign_key_check")
    problems += [f"a row of {row['table']} names nothing in {row['parent']}" for row in orphans]
    return problems


def _schema(database: Database) -> list[str]:
    """What holds the rules must be there as it was written: an altered trigger holds nothing."""
    expected = _expected()
    present = {row["name"]: row["sql"] for row in database.rows(_SCHEMA)}
    problems = [f"{name} is missing from the schema" for name in expected if name not in present]
    for name, sql in present.items():
        if name not in expected:
            problems.append(f"{name} in the schema is not of the harness")
        elif sql != expected[name]:
            problems.append(f"{name} in the schema was altered")
    return problems


def _expected() -> dict[str, str]:
    """Return the statement that made each table, index and trigger, by name."""
    words = ((statement.split(), statement) for statement in (*TABLES, *INDEXES))
    made = {text[3] if text[1] == "UNIQUE" else text[2]: statement for text, statement in words}
    return made | TRIGGERS


def _chain(events: SqliteEvents) -> list[str]:
    problem = events.verify()
    return [] if problem is None else [problem]


def _named(sentence: str, rows: list[sqlite3.Row]) -> list[str]:
    found = [sentence.format(row[0]) for row in rows[:_MOST_NAMED]]
    if len(rows) > _MOST_NAMED:
        found.append(f"{sentence.format('…')} ({len(rows) - _MOST_NAMED} more)")
    return found
