"""The three tiers: keys, bounds, lifetimes, and the states a proposal goes through."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

PROPOSAL_LIFETIME = timedelta(seconds=259_200)
JOURNAL_LIFETIME = timedelta(days=30)
VALUE_LIMIT = 1024 * 1024
_KEY = re.compile(r"[A-Za-z0-9._:/-]{1,512}")


class Tier(StrEnum):
    """Where a piece of state lives, by what its loss would cost."""

    EPHEMERAL = "ephemeral"
    JOURNAL = "journal"
    CANONICAL = "canonical"


class ProposalState(StrEnum):
    """Where a canonical write stands between an agent's wish and the data."""

    PROPOSED = "proposed"  #: its run has no verdict yet
    PENDING = "pending"  #: waits for a person
    QUARANTINED = "quarantined"  #: its run did not end well
    APPLYING = "applying"  #: approved, being written
    APPROVED = "approved"  #: written, once
    CONFLICT = "conflict"  #: the base moved; nothing was written
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


OPEN_STATES = (ProposalState.PROPOSED, ProposalState.PENDING, ProposalState.QUARANTINED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One canonical write that waits for a person, or has been decided.

    Attributes:
        id: what `approve` and `reject` take.
        run_id: the run that proposed it; None for a write from a person's shell.
        job: the job of that run; None likewise.
        base_version: the version that the key had when it was proposed; 0 for none.
        value_sha256: hex digest over the value's UTF-8 bytes.
        decided_by: operating-system user and channel, such as `ada@cli`.
        decision_reason: what the person gave as the reason.
        applied_version: the version that the approved write made.
    """

    id: str
    run_id: str | None
    job: str | None
    key: str
    state: ProposalState
    reason: str
    value: str
    base_version: int
    value_sha256: str
    created_at: datetime
    expires_at: datetime
    released_at: datetime | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    decision_reason: str | None = None
    applied_version: int | None = None
    tier: Tier = Tier.CANONICAL


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalValue:
    """One version of one canonical key; `version` counts from 1."""

    key: str
    value: str
    version: int
    sha256: str
    updated_at: datetime
    operation_key: str
    run_id: str | None = None
    actor: str | None = None
    target: str = "sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One line of an agent's memory; gone 30 days after it was written."""

    id: str
    agent_id: str
    scope: str
    entry: str
    decision: str | None
    run_id: str | None
    created_at: datetime
    expires_at: datetime


def key_problem(key: str) -> str | None:
    """Return what is wrong with a key, in words for a person, or None."""
    if not _KEY.fullmatch(key):
        return "a key is 1 to 512 of A-Z a-z 0-9 . _ : / -"
    if key.startswith("/"):
        return "a key must not begin with /"
    if ".." in key:
        return "a key must not hold .."
    return None


def value_problem(value: str) -> str | None:
    """Return what is wrong with a value, in words for a person, or None."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "a value is UTF-8 text; this one holds a lone surrogate"
    if size > VALUE_LIMIT:
        return f"a value is at most {VALUE_LIMIT} bytes of UTF-8; this one has {size}"
    return None


def sha256_of(value: str) -> str:
    """Return the hex SHA-256 over the UTF-8 bytes of a value."""
    import hashlib  # the door's client, which an agent calls often, never needs it

    return hashlib.sha256(value.encode()).hexdigest()
