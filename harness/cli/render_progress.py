"""A sign of life of a long run on stderr: a line that renews itself, or one line a minute."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from harness.agy.watch import Progress
from harness.cli.render import tell
from harness.core.text import bounded, one_line

_EVERY_S = 60.0
_CLEAR_LINE = "\r\x1b[2K"


@dataclass(slots=True)
class Reporter:
    """Told about once a second how far a run is; says so as the place allows.

    Attributes:
        shown: a renewing line stands on the terminal and must be cleared.
    """

    job: str
    last_line_at: float | None = None
    shown: bool = False

    def __call__(self, progress: Progress) -> None:
        """Take note of how far the run is."""
        event = bounded(one_line(progress.last_event or ""), 40) or "no event yet"
        text = f"{self.job}  {progress.elapsed_s:.0f} s  {event}  {progress.total_tokens} tokens"
        if sys.stderr.isatty():
            tell(f"{_CLEAR_LINE}{text}")
            self.shown = True
            return
        now = time.monotonic()
        if self.last_line_at is None:
            self.last_line_at = now
        elif now - self.last_line_at >= _EVERY_S:
            self.last_line_at = now
            tell(f"{text}\n")

    def clear(self) -> None:
        """Take the renewing line away, for what comes next on the terminal."""
        if self.shown:
            tell(_CLEAR_LINE)
            self.shown = False
