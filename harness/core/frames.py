"""The language of the agent's door: one bounded JSON line asks, one answers.

Nothing in a request names a run, a job or an agent: who asks is known by the socket it came in on.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

import msgspec

from harness.core.tiers import VALUE_LIMIT, JournalEntry, Tier

# a value of control characters grows sixfold as JSON; key, reason and framing fit the rest
FRAME_LIMIT = 6 * VALUE_LIMIT + 256 * 1024


class GateWrite(
    msgspec.Struct, frozen=True, tag="gate.write", tag_field="op", forbid_unknown_fields=True
):
    """Ask for a write: canonical ones are held, the others land at once."""

    key: str
    tier: Tier
    value: str
    reason: str


class JournalAppend(
    msgspec.Struct, frozen=True, tag="journal.append", tag_field="op", forbid_unknown_fields=True
):
    """Ask to note one entry in the asking agent's journal."""

    scope: str
    entry: str
    decision: str | None = None


class JournalList(
    msgspec.Struct, frozen=True, tag="journal.list", tag_field="op", forbid_unknown_fields=True
):
    """Ask for the asking agent's journal, newest first."""

    scope: str | None = None
    limit: int = 50


class CanonicalGet(
    msgspec.Struct, frozen=True, tag="canonical.get", tag_field="op", forbid_unknown_fields=True
):
    """Ask for the present value of a canonical key."""

    key: str


Request = GateWrite | JournalAppend | JournalList | CanonicalGet


class WriteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a write; `applied` false means held, never done.

    Attributes:
        pending_id: the proposal that waits for a person; None where the write landed.
        expires_at: when the proposal or the journal entry ends.
        id: the journal entry that was written.
    """

    applied: bool
    pending_id: str | None = None
    expires_at: datetime | None = None
    id: str | None = None


class JournalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Entries of a journal, newest first."""

    entries: tuple[JournalEntry, ...]


class ValueAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The newest version of a canonical key; value None and version 0 where there is none."""

    key: str
    value: str | None
    version: int
    sha256: str | None
    updated_at: datetime | None
    target: str = "sqlite"


Answer = WriteAnswer | JournalAnswer | ValueAnswer


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The request was not carried out; nothing was stored."""

    error: str
    hint: str = ""


_NOTHING = msgspec.Raw(b"null")


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line back: exactly one of the two is there."""

    result: msgspec.Raw = _NOTHING
    refused: Refused | None = None


A = TypeVar("A")

_REQUEST = msgspec.json.Decoder(Request)
_REPLY = msgspec.json.Decoder(Reply)


def encode_request(request: Request) -> bytes:
    """Return a request as one line."""
    return msgspec.json.encode(request) + b"\n"


def decode_request(line: bytes) -> Request | Refused:
    """Return what a line asks for, or why it asks for nothing. Never raises."""
    try:
        return _REQUEST.decode(line)
    except RecursionError:
        return Refused(error="not a request of this door: it is nested too deeply")
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        return Refused(error=f"not a request of this door: {str(problem)[:200]}")


def encode_reply(answer: Answer | Refused) -> bytes:
    """Return an answer as one line."""
    if isinstance(answer, Refused):
        return msgspec.json.encode(Reply(refused=answer)) + b"\n"
    return msgspec.json.encode(Reply(result=msgspec.Raw(msgspec.json.encode(answer)))) + b"\n"


def decode_reply(line: bytes, kind: type[A]) -> A | Refused:
    """Return the answer in a line. Raises `msgspec.DecodeError` where it is none."""
    reply = _REPLY.decode(line)
    if reply.refused is not None:
        return reply.refused
    if bytes(reply.result) == b"null":
        message = "a reply without result and refusal"
        raise msgspec.DecodeError(message)
    return msgspec.json.decode(reply.result, type=kind)
