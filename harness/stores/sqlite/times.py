"""Times as they stand in the database: fixed width, so that text sorts as time does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the time as an aware datetime; what is finer than a millisecond is dropped."""


def to_text(at: datetime) -> str:
    """Return `2026-11-30T02:30:00.123Z`.

    Raises:
        ValueError: for a time without a zone, whose meaning would depend on the machine.
    """
    if at.tzinfo is None:
        raise ValueError(f"a stored time needs a zone, got {at.isoformat()}")
    return at.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def to_time(text: str) -> datetime:
    """Return the aware UTC time of a stored text; raises ValueError where it is none."""
    return datetime.fromisoformat(text).astimezone(UTC)


def to_time_or_none(text: str | None) -> datetime | None:
    """Return the time of a stored text that may be missing."""
    return None if text is None else to_time(text)


def to_millisecond(at: datetime) -> datetime:
    """Return the time as it will be read back."""
    return to_time(to_text(at))
