"""Whether what people and runs decided stands as the audit trail says: each row, its last event.

A row that an attacker rewrites takes a decision that nobody made: a job that was never accepted,
a bypass that nobody looked at, a proposal that waits again. The trail cannot be rewritten with
it, so the two must agree.
"""

# ruff: noqa: S608 - each part of a query is a constant of this module

from __future__ import annotations

# The last event of a kind on a row's subject; `events_subject` finds it at once.
_LAST = """SELECT MAX(id) FROM events WHERE subject = {subject} AND kind {kinds}"""
_LAST_SWITCH = _LAST.format(subject="switches.name", kinds="= 'switch.set'")
_LAST_MOVE = _LAST.format(subject="proposals.id", kinds="LIKE 'proposal.%'")
_LAST_WORD = _LAST.format(
    subject="proposals.id", kinds="IN ('proposal.approving', 'proposal.rejected')"
)

#: A row's time and its event's are taken one after the other, and a clock may be set between.
_SLACK_DAYS = "0.05"
_SAME_TIME = "ABS(julianday(event.at) - julianday({time})) < " + _SLACK_DAYS
_LIFETIME = "ABS(julianday(expires_at) - julianday(created_at) - {days}) < 0.0001"

CONTRADICTIONS = {
    "acknowledgement of run {}: the audit trail does not say so": """
        SELECT run_id FROM acknowledgements
        WHERE NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.subject = acknowledgements.run_id AND event.kind = 'run.acknowledged'
                AND event.actor = acknowledgements.actor
                AND json_extract(event.facts, '$.reason_sha256')
                    = digest(CAST(acknowledgements.reason AS BLOB))
        )""",
    "acknowledgement of run {}: the audit trail names it, but it is not there": """
        SELECT DISTINCT subject FROM events
        WHERE kind = 'run.acknowledged' AND NOT EXISTS (
            SELECT 1 FROM acknowledgements WHERE run_id = events.subject
        )""",
    "switch {}: it does not stand as the audit trail says": f"""
        SELECT name FROM switches
        WHERE NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.id = ({_LAST_SWITCH})
                AND event.actor = switches.actor
                AND json_extract(event.facts, '$.on')
                    = CASE switches.is_on WHEN 1 THEN 'true' WHEN 0 THEN 'false' END
                AND json_extract(event.facts, '$.detail_sha256')
                    = digest(CAST(switches.detail AS BLOB))
        )""",
    "switch {}: the audit trail names it, but it is not there": """
        SELECT DISTINCT subject FROM events
        WHERE kind = 'switch.set' AND NOT EXISTS (
            SELECT 1 FROM switches WHERE name = events.subject
        )""",
    "journal entry {}: it does not match the audit trail": f"""
        SELECT id FROM journal
        WHERE NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.subject = journal.id AND event.kind = 'journal.appended'
                AND json_extract(event.facts, '$.agent_id') = journal.agent_id
                AND json_extract(event.facts, '$.run_id') IS journal.run_id
                AND json_extract(event.facts, '$.sha256') = digest(CAST(journal.entry AS BLOB))
                AND json_extract(event.facts, '$.scope_sha256')
                    = digest(CAST(journal.scope AS BLOB))
                AND json_extract(event.facts, '$.decision_sha256')
                    = digest(CAST(COALESCE(journal.decision, '') AS BLOB))
                AND {_SAME_TIME.format(time="journal.created_at")}
        ) OR NOT {_LIFETIME.format(days=30)}""",
    # What is left of its 30 days by the trail's own time: entries go when their time is over.
    "journal entry {}: the audit trail names it, but it is not there": f"""
        SELECT subject FROM events
        WHERE kind = 'journal.appended'
            AND julianday(at) + 30 - {_SLACK_DAYS} > (SELECT julianday(MAX(at)) FROM events)
            AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.id = events.subject)""",
    "proposal {}: its state is not the one that the audit trail gives it": f"""
        SELECT id FROM proposals
        WHERE NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.id = ({_LAST_MOVE}) AND CASE event.kind
                WHEN 'proposal.proposed'
                    THEN state = CASE WHEN run_id IS NULL THEN 'pending' ELSE 'proposed' END
                WHEN 'proposal.released' THEN state = 'pending'
                WHEN 'proposal.returned'
                    THEN state = CASE WHEN released_at IS NULL THEN 'quarantined'
                        ELSE 'pending' END
                WHEN 'proposal.approving' THEN state = 'applying'
                WHEN 'proposal.approved' THEN state = 'approved'
                    AND json_extract(event.facts, '$.version') = CAST(applied_version AS TEXT)
                WHEN 'proposal.rejected' THEN state = 'rejected'
                    AND json_extract(event.facts, '$.reason_sha256')
                        = digest(CAST(COALESCE(decision_reason, '') AS BLOB))
                ELSE event.kind = 'proposal.' || state
            END
        )""",
    "proposal {}: who decided is not who the audit trail names": f"""
        SELECT id FROM proposals
        WHERE decided_by IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.id = ({_LAST_WORD}) AND event.actor = proposals.decided_by
        )""",
    "proposal {}: key, run, base or times are not those that the audit trail gives it": f"""
        SELECT id FROM proposals
        WHERE NOT EXISTS (
            SELECT 1 FROM events AS event
            WHERE event.subject = proposals.id AND event.kind = 'proposal.proposed'
                AND json_extract(event.facts, '$.run_id') IS proposals.run_id
                AND json_extract(event.facts, '$.key_sha256')
                    = digest(CAST(proposals.key AS BLOB))
                AND json_extract(event.facts, '$.base_version') = CAST(base_version AS TEXT)
                AND {_SAME_TIME.format(time="proposals.created_at")}
        ) OR NOT {_LIFETIME.format(days=3)}""",
    "proposal {}: the audit trail names it, but it is not there": """
        SELECT DISTINCT subject FROM events
        WHERE kind = 'proposal.proposed' AND NOT EXISTS (
            SELECT 1 FROM proposals WHERE proposals.id = events.subject
        )""",
    "run {}: the audit trail names it, but it is not there": """
        SELECT DISTINCT subject FROM events
        WHERE kind IN ('run.claimed', 'run.closed', 'run.refused') AND NOT EXISTS (
            SELECT 1 FROM runs WHERE runs.run_id = events.subject
        )""",
    "run {}: it is open, but the audit trail says that it was closed": """
        SELECT run_id FROM runs
        WHERE ended_at IS NULL AND EXISTS (
            SELECT 1 FROM events
            WHERE events.subject = runs.run_id AND events.kind IN ('run.closed', 'run.refused')
        )""",
}
"""Sentence → the query for the rows that it is true of; their first column names one."""
