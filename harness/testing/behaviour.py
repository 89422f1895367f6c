"""What a version of the CLI does: one table, from the version on which each thing changed.

This table belongs to the stand-in alone. The harness has its own; where the two disagree, a
test of the harness fails, which is what a stand-in is for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

Number = tuple[int, int, int]
_NUMBER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
NEWEST: Number = (1, 3, 3)


class Trait(StrEnum):
    """One thing that some versions of the CLI do and others do not."""

    TELLS_SERVER_ERRORS = "tells_server_errors"
    LEAVES_STDIN_ALONE = "leaves_stdin_alone"
    SOFT_DENIES = "soft_denies"
    HARD_DENIES = "hard_denies"
    FORMATS = "formats"
    DISABLE_SLASH = "disable_slash"
    ANSWERS_USAGE = "answers_usage"
    ANSWERS_HOOKS = "answers_hooks"
    STREAM_INPUT = "stream_input"
    ESCAPES_NEWLINES = "escapes_newlines"
    PROMPT_NEEDS_VALUE = "prompt_needs_value"
    DENIED_ACTIONS = "denied_actions"
    TIMEOUT_IS_PARTIAL = "timeout_is_partial"
    ERROR_MARKER = "error_marker"
    AGY_ERROR = "agy_error"
    ENDS_DAEMONS = "ends_daemons"
    PARTIAL_FAILS = "partial_fails"
    QUOTA_STOPS_AT_ONCE = "quota_stops_at_once"
    GEMINI_DIR = "gemini_dir"
    TEXT_HIDES_DENIAL = "text_hides_denial"
    WORKS_WHERE_STARTED = "works_where_started"


_SINCE: dict[Trait, Number] = {
    Trait.TELLS_SERVER_ERRORS: (1, 1, 1),
    Trait.LEAVES_STDIN_ALONE: (1, 1, 1),
    Trait.SOFT_DENIES: (1, 1, 3),
    Trait.FORMATS: (1, 1, 8),
    Trait.DISABLE_SLASH: (1, 1, 9),
    Trait.ANSWERS_USAGE: (1, 1, 11),
    Trait.ANSWERS_HOOKS: (1, 1, 12),
    Trait.HARD_DENIES: (1, 1, 13),
    Trait.STREAM_INPUT: (1, 1, 15),
    Trait.ESCAPES_NEWLINES: (1, 1, 18),
    Trait.PROMPT_NEEDS_VALUE: (1, 1, 18),
    Trait.DENIED_ACTIONS: (1, 1, 27),
    Trait.TIMEOUT_IS_PARTIAL: (1, 1, 28),
    Trait.ERROR_MARKER: (1, 1, 28),
    Trait.AGY_ERROR: (1, 2, 6),
    Trait.ENDS_DAEMONS: (1, 2, 9),
    Trait.PARTIAL_FAILS: (1, 2, 10),
    Trait.QUOTA_STOPS_AT_ONCE: (1, 2, 13),
    Trait.GEMINI_DIR: (1, 2, 15),
    Trait.TEXT_HIDES_DENIAL: (1, 2, 15),
    Trait.WORKS_WHERE_STARTED: (1, 3, 0),
}
_UNTIL: dict[Trait, Number] = {Trait.HARD_DENIES: (1, 1, 20)}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The habits of one version.

    Attributes:
        version: as `--version` prints it; any text is allowed.
        number: what the habits are looked up by; the newest known where the text has none.
    """

    version: str
    number: Number

    def has(self, trait: Trait) -> bool:
        """Return whether this version does it."""
        until = _UNTIL.get(trait)
        return self.number >= _SINCE[trait] and (until is None or self.number < until)

    def failure(self, text: str) -> str:
        """Return a fatal error's line, in the words of this version."""
        return f"error: {text}" if self.has(Trait.ERROR_MARKER) else f"Error: {text}"


def behaviour_of(version: str) -> Behaviour:
    """Return the habits of a version; one that is no number behaves as the newest known."""
    match = _NUMBER.match(version)
    if match is None:
        return Behaviour(version, NEWEST)
    return Behaviour(version, (int(match[1]), int(match[2]), int(match[3])))
