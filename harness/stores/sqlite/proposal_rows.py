"""Proposals as rows: the queries, the way back into values, and refusals in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from harness.core.tiers import OPEN_STATES, Proposal, ProposalState
from harness.stores.protocols import Refusal
from harness.stores.sqlite.faults import damaged
from harness.stores.sqlite.times import to_time, to_time_or_none

ONE = "SELECT * FROM proposals WHERE id = ?"
ALL = "SELECT * FROM proposals ORDER BY seq"
MATCHING = "SELECT id FROM proposals WHERE id >= ? AND id < ? ORDER BY seq DESC LIMIT 10"
OF_RUN = "SELECT * FROM proposals WHERE run_id = ? ORDER BY seq"
SAME_IN_RUN = "SELECT * FROM proposals WHERE run_id = ? AND key = ? AND value_sha256 = ?"
JOB_OF_OPEN_RUN = "SELECT job FROM runs WHERE run_id = ? AND ended_at IS NULL"
DUE = """SELECT id FROM proposals
    WHERE state IN ('proposed', 'pending', 'quarantined') AND expires_at <= ? ORDER BY seq"""
RAN_OUT_SINCE = """SELECT * FROM proposals
    WHERE state IN ('expired', 'proposed', 'pending', 'quarantined') AND expires_at >= ?
    ORDER BY seq"""
PROPOSED_OF_RUN = "SELECT id FROM proposals WHERE run_id = ? AND state = 'proposed' ORDER BY seq"
QUARANTINED_OF_JOB = """SELECT id FROM proposals
    WHERE job = ? AND state = 'quarantined' AND run_id IS NOT ? ORDER BY seq"""
OPEN_OF_JOB_KEY = """SELECT id FROM proposals
    WHERE job IS ? AND key = ? AND id <> ? AND state IN ('pending', 'quarantined') ORDER BY seq"""
OPEN_OF_RUN_KEY = """SELECT id FROM proposals
    WHERE run_id = ? AND key = ? AND id <> ? AND state = 'proposed' ORDER BY seq"""
LATER_OF_JOB_KEY = """SELECT later.id FROM proposals AS later, proposals AS this
    WHERE later.job IS ? AND later.key = ? AND this.id = ?
        AND later.seq > this.seq AND later.state = 'pending'
    ORDER BY later.seq DESC LIMIT 1"""

INSERT = """INSERT INTO proposals (
        id, run_id, job, key, state, reason, value, value_sha256,
        base_version, created_at, expires_at, released_at
    ) VALUES (
        ?, ?, ?, ?, ?, ?, ?, ?,
        (SELECT COALESCE(MAX(version), 0) FROM canonical WHERE key = ?), ?, ?, ?
    )"""
REVIVE = "UPDATE proposals SET state = 'proposed' WHERE id = ? AND state = 'superseded'"
RELEASE = """UPDATE proposals SET state = 'pending', released_at = ?
    WHERE id = ? AND state = 'proposed'"""
MOVE = """UPDATE proposals SET state = ?
    WHERE id = ? AND state IN ('proposed', 'pending', 'quarantined')"""
BEGIN_APPLY = """UPDATE proposals SET state = 'applying', decided_at = ?, decided_by = ?
    WHERE id = ? AND expires_at > ?
        AND (state = 'pending' OR (state = 'quarantined' AND ?))
        AND (? IS NULL OR value_sha256 = ?)
        AND digest(CAST(value AS BLOB)) = value_sha256"""
FINISH = "UPDATE proposals SET state = ?, applied_version = ? WHERE id = ? AND state = 'applying'"
GIVE_BACK = """UPDATE proposals SET state = ?, decided_at = NULL, decided_by = NULL
    WHERE id = ? AND state = 'applying'"""
REJECT = """UPDATE proposals
    SET state = 'rejected', decided_at = ?, decided_by = ?, decision_reason = ?
    WHERE id = ? AND expires_at > ? AND state IN ('proposed', 'pending', 'quarantined')"""


def in_states(states: Iterable[ProposalState]) -> tuple[str, tuple[str, ...]]:
    """Return the query for proposals in these states, oldest first, and its parameters."""
    parameters = tuple(sorted(states))
    marks = ", ".join("?" * len(parameters))
    return f"SELECT * FROM proposals WHERE state IN ({marks}) ORDER BY seq", parameters  # noqa: S608 - marks only


def proposal(row: sqlite3.Row, now: datetime) -> Proposal:
    """Return the proposal of a row as it stands at `now`: an open one past its time is expired.

    Raises `StoreDamaged` where the row does not hold one.
    """
    try:
        found = _as_stored(row)
    except (TypeError, ValueError) as error:
        raise damaged(f"proposal {row['id']}", error) from error
    if found.state in OPEN_STATES and found.expires_at <= now:
        return replace(found, state=ProposalState.EXPIRED)
    return found


def _as_stored(row: sqlite3.Row) -> Proposal:
    return Proposal(
        id=row["id"],
        run_id=row["run_id"],
        job=row["job"],
        key=row["key"],
        state=ProposalState(row["state"]),
        reason=row["reason"],
        value=row["value"],
        base_version=row["base_version"],
        value_sha256=row["value_sha256"],
        created_at=to_time(row["created_at"]),
        expires_at=to_time(row["expires_at"]),
        released_at=to_time_or_none(row["released_at"]),
        decided_at=to_time_or_none(row["decided_at"]),
        decided_by=row["decided_by"],
        decision_reason=row["decision_reason"],
        applied_version=row["applied_version"],
    )


def missing_refusal(proposal_id: str) -> Refusal:
    """Return the refusal for an id that stands for nothing."""
    return Refusal(state=None, error=f"there is no proposal {proposal_id}")


def closed_refusal(found: Proposal) -> Refusal:
    """Return the refusal for a proposal that is no longer open."""
    match found.state:
        case ProposalState.EXPIRED:
            words = f"it expired at {found.expires_at:%Y-%m-%d %H:%M:%S} UTC; run the job again"
        case ProposalState.APPLYING:
            words = f"{found.decided_by} is applying it at this moment"
        case ProposalState.APPROVED:
            words = f"{found.decided_by} approved it already, as version {found.applied_version}"
        case ProposalState.REJECTED:
            words = f"{found.decided_by} rejected it already"
        case ProposalState.SUPERSEDED:
            words = "a later proposal has taken its place; see `harness pending list`"
        case _:
            words = "its base has moved, so nothing was written; run the job again"
    return Refusal(state=found.state, error=f"proposal {found.id}: {words}")


def apply_refusal(found: Proposal, shown_sha256: str | None, real_sha256: str) -> Refusal:
    """Return why a proposal was not moved to `applying`."""
    if found.state not in OPEN_STATES:
        return closed_refusal(found)
    if found.state is ProposalState.PROPOSED:
        words = "its run has no verdict yet; approve it when the run has ended"
    elif real_sha256 != found.value_sha256:
        words = "its value was altered in the database; run `harness state check`"
    elif shown_sha256 not in (None, found.value_sha256):
        words = f"its digest is {found.value_sha256}, not {shown_sha256}; look at it again"
    else:
        words = "its run did not end well; look at the run, then approve it with --quarantined"
    return Refusal(state=found.state, error=f"proposal {found.id}: {words}")
