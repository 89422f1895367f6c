"""The tables, indexes and triggers of schema 1, written out.

Times are text as in `times.py`, digests are hex SHA-256. A row's `seq` gives the order of
arrival; it ends every "newest first", since two rows may carry the same millisecond.
"""

from __future__ import annotations

APPLICATION_ID = 0x48524E53
"""Marks the file as one of the harness."""

TABLES = (
    # A run: columns for questions, `record` for the answer. Open while `ended_at` is null.
    """CREATE TABLE runs (
        seq INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        job TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        retry_of TEXT,
        workspace TEXT NOT NULL,
        guards TEXT NOT NULL,
        owner_pid INTEGER,
        owner_started REAL,
        owner_boot TEXT,
        child_pid INTEGER,
        child_started REAL,
        child_boot TEXT,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        outcome TEXT,
        record TEXT,
        CHECK ((ended_at IS NULL) = (record IS NULL) AND (ended_at IS NULL) = (outcome IS NULL))
    )""",
    """CREATE TABLE acknowledgements (
        run_id TEXT PRIMARY KEY REFERENCES runs (run_id) ON DELETE CASCADE,
        at TEXT NOT NULL,
        actor TEXT NOT NULL,
        reason TEXT NOT NULL
    )""",
    """CREATE TABLE proposals (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT,
        job TEXT,
        key TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        value TEXT NOT NULL,
        value_sha256 TEXT NOT NULL,
        base_version INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL,
        released_at TEXT,
        decided_at TEXT,
        decided_by TEXT,
        decision_reason TEXT,
        applied_version INTEGER
    )""",
    # The head of a key is its largest version: there is no second place that could disagree.
    """CREATE TABLE canonical (
        seq INTEGER PRIMARY KEY,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        value TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        operation_key TEXT NOT NULL UNIQUE,
        run_id TEXT,
        actor TEXT NOT NULL,
        UNIQUE (key, version)
    )""",
    """CREATE TABLE journal (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        agent_id TEXT NOT NULL,
        scope TEXT NOT NULL,
        entry TEXT NOT NULL,
        decision TEXT,
        run_id TEXT,
        created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL
    )""",
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        actor TEXT NOT NULL,
        subject TEXT NOT NULL,
        facts TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    )""",
    """CREATE TABLE switches (
        name TEXT PRIMARY KEY,
        is_on INTEGER NOT NULL,
        at TEXT NOT NULL,
        actor TEXT NOT NULL,
        detail TEXT NOT NULL
    )""",
    # Paths are bytes: a file name need not be text.
    """CREATE TABLE guard_digests (
        path BLOB PRIMARY KEY,
        digest TEXT NOT NULL
    ) WITHOUT ROWID""",
)

INDEXES = (
    "CREATE UNIQUE INDEX runs_open ON runs (job) WHERE ended_at IS NULL",
    "CREATE INDEX runs_job_started ON runs (job, started_at)",
    "CREATE INDEX runs_ended ON runs (ended_at)",
    "CREATE INDEX runs_outcome_ended ON runs (outcome, ended_at)",
    "CREATE INDEX proposals_state ON proposals (state, expires_at)",
    "CREATE INDEX proposals_run_key ON proposals (run_id, key)",
    "CREATE INDEX proposals_job_key ON proposals (job, key)",
    "CREATE INDEX journal_agent_scope ON journal (agent_id, scope)",
    "CREATE INDEX journal_agent ON journal (agent_id)",
    "CREATE INDEX journal_scope ON journal (scope)",
    "CREATE INDEX journal_run ON journal (run_id)",
    "CREATE INDEX journal_expires ON journal (expires_at)",
    "CREATE INDEX events_subject ON events (subject, kind)",
)

# What must never change is held by the database itself, against every program that opens it.
# The insert triggers also stop INSERT OR REPLACE, which deletes without a delete trigger.
TRIGGERS = {
    "events_no_update": """CREATE TRIGGER events_no_update BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    "events_no_delete": """CREATE TRIGGER events_no_delete BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    "events_in_order": """CREATE TRIGGER events_in_order BEFORE INSERT ON events
        WHEN NEW.id <> (SELECT COALESCE(MAX(id), 0) + 1 FROM events)
        BEGIN SELECT RAISE(ABORT, 'the audit trail has no holes'); END""",
    "canonical_no_update": """CREATE TRIGGER canonical_no_update BEFORE UPDATE ON canonical
        BEGIN SELECT RAISE(ABORT, 'canonical history is append-only'); END""",
    "canonical_no_delete": """CREATE TRIGGER canonical_no_delete BEFORE DELETE ON canonical
        BEGIN SELECT RAISE(ABORT, 'canonical history is append-only'); END""",
    "canonical_in_order": """CREATE TRIGGER canonical_in_order BEFORE INSERT ON canonical
        WHEN NEW.version <> (
                SELECT COALESCE(MAX(version), 0) + 1 FROM canonical WHERE key = NEW.key
            )
            OR EXISTS (SELECT 1 FROM canonical WHERE operation_key = NEW.operation_key)
            OR EXISTS (SELECT 1 FROM canonical WHERE seq = NEW.seq)
        BEGIN SELECT RAISE(ABORT, 'canonical versions count by one'); END""",
    "runs_closed_once": """CREATE TRIGGER runs_closed_once BEFORE UPDATE ON runs
        WHEN OLD.ended_at IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'a closed run never changes'); END""",
}
