"""What the first screen is made of: pieces with a meaning, rows, sections that can give up rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from harness.core.tiers import Proposal


class Style(StrEnum):
    """What a piece of a line means; the renderer chooses how that looks."""

    PLAIN = "plain"
    TITLE = "title"
    DIM = "dim"
    COMMAND = "command"
    BYPASSED = "bypassed"
    HELD = "held"
    ERRORED = "errored"
    REFUSED = "refused"
    UNTOUCHED = "untouched"


Segment = tuple[Style, str]
Line = tuple[Segment, ...]


Row = tuple[Line, ...]
"""What belongs together: the line that must be seen, and lines that may be left out."""


@dataclass(slots=True)
class Section:
    """A part of the screen; rows beyond `shown` are counted in one line.

    Attributes:
        brief: only the first line of each row is shown.
    """

    title: Line
    rows: Sequence[Row]
    more: str
    shown: int = 0
    brief: bool = False

    @property
    def height(self) -> int:
        """Return how many lines the section takes now."""
        return len(self.lines())

    def lines(self) -> list[Line]:
        """Return the title, the rows that are shown, and how many are not."""
        result = [self.title]
        for row in self.rows[: self.shown]:
            result += row[:1] if self.brief else row
        hidden = len(self.rows) - self.shown
        if hidden:
            result.append(((Style.DIM, f"  … and {hidden} more: "), (Style.COMMAND, self.more)))
        return result


def time_left(proposal: Proposal, now: datetime) -> str:
    """Return how long a proposal still waits, such as `2d 23h` or `41m`."""
    return span(max(proposal.expires_at - now, timedelta(0)))


def span(length: timedelta) -> str:
    """Return a duration in its two largest units."""
    seconds = int(length.total_seconds())
    for unit, size, smaller, fraction in (
        ("d", 86_400, "h", 3_600),
        ("h", 3_600, "m", 60),
        ("m", 60, "s", 1),
    ):
        if seconds >= size:
            rest = seconds % size // fraction
            return (
                f"{seconds // size}{unit} {rest}{smaller}" if rest else f"{seconds // size}{unit}"
            )
    return f"{seconds}s"
