"""Which version of the CLI does what: one table, and one value that answers for a binary."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from packaging.version import InvalidVersion, Version

_LONGEST_VERSION = 64
_FEWEST_COMPONENTS = 2


class Feature(StrEnum):
    """A behaviour of the CLI that a caller must know of."""

    SERVER_ERRORS_SHOWN = "server_errors_shown"  #: no longer silent with exit 0
    STDIN_LEFT_ALONE = "stdin_left_alone"  #: not read when a prompt flag is given
    SOFT_DENIAL = "soft_denial"  #: what would have asked is denied, and the run goes on or ends
    HONOURS_SETTINGS = "honours_settings"  #: `-p` obeys settings.json
    OUTPUT_FORMAT = "output_format"  #: json and stream-json, with usage
    DISABLE_SLASH_COMMANDS = "disable_slash_commands"
    PRINT_MODE_SLASH = "print_mode_slash"  #: `/usage`, `/permissions` answered without a turn
    MODE_HEADLESS = "mode_headless"  #: `--mode` has an effect
    API_KEY = "api_key"  #: works with GEMINI_API_KEY instead of a login
    STREAM_INPUT = "stream_input"  #: `--input-format stream-json`
    CLEAN_JSON = "clean_json"  #: no raw newlines inside JSON strings
    EMPTY_PROMPT_REFUSED = "empty_prompt_refused"  #: a prompt flag without value is an error
    DENIALS_EXIT_ZERO = "denials_exit_zero"  #: denials and tool errors no longer change the exit
    DENIED_ACTIONS = "denied_actions"  #: listed in the JSON result
    TIMEOUT_EXIT_ZERO = "timeout_exit_zero"  #: print-timeout gives partial output and exit 0
    AGY_ERROR_LINE = "agy_error_line"  #: `AGY_ERROR:` and exit 3 for failures of model and API
    UNLIMITED_PRINT_TIMEOUT = "unlimited_print_timeout"  #: the default, and what 0 means
    DAEMONS_END = "daemons_end"  #: end with the run; background tasks are waited for
    PARTIAL_ERROR_EXIT_THREE = "partial_error_exit_three"  #: partial text, then an error
    QUOTA_STOPS_AT_ONCE = "quota_stops_at_once"  #: no minutes of silent retries


#: The first version that has a feature.
FIRST_VERSION: dict[Feature, Version] = {
    Feature.SERVER_ERRORS_SHOWN: Version("1.1.1"),
    Feature.STDIN_LEFT_ALONE: Version("1.1.1"),
    Feature.SOFT_DENIAL: Version("1.1.3"),
    Feature.HONOURS_SETTINGS: Version("1.1.4"),
    Feature.OUTPUT_FORMAT: Version("1.1.8"),
    Feature.DISABLE_SLASH_COMMANDS: Version("1.1.9"),
    Feature.PRINT_MODE_SLASH: Version("1.1.11"),
    Feature.MODE_HEADLESS: Version("1.1.12"),
    Feature.API_KEY: Version("1.1.13"),
    Feature.STREAM_INPUT: Version("1.1.15"),
    Feature.CLEAN_JSON: Version("1.1.18"),
    Feature.EMPTY_PROMPT_REFUSED: Version("1.1.18"),
    Feature.DENIALS_EXIT_ZERO: Version("1.1.20"),
    Feature.DENIED_ACTIONS: Version("1.1.27"),
    Feature.TIMEOUT_EXIT_ZERO: Version("1.1.28"),
    Feature.AGY_ERROR_LINE: Version("1.2.6"),
    Feature.UNLIMITED_PRINT_TIMEOUT: Version("1.2.6"),
    Feature.DAEMONS_END: Version("1.2.9"),
    Feature.PARTIAL_ERROR_EXIT_THREE: Version("1.2.10"),
    Feature.QUOTA_STOPS_AT_ONCE: Version("1.2.13"),
}

#: Below this, tools that needed a confirmation hung or were approved in silence.
MINIMUM = Version("1.1.3")

#: The last version whose behaviour the table describes.
NEWEST_KNOWN = Version("1.3.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What one binary can do, by what it says of its version.

    Attributes:
        raw: what `--version` printed, stripped, cut to 64 characters.
        parsed: the version; None where the text is none.
    """

    raw: str
    parsed: Version | None

    @property
    def unparsable(self) -> bool:
        """True where the text is no version: nothing is known of the binary."""
        return self.parsed is None

    @property
    def newer(self) -> bool:
        """True where the version is newer than the table; it counts as the newest known."""
        return self.parsed is not None and self.parsed > NEWEST_KNOWN

    @property
    def known(self) -> bool:
        """True where the table covers this version."""
        return not self.unparsable and not self.newer

    def has(self, feature: Feature) -> bool:
        """Return whether this version has a feature; False for all of an unparsable one."""
        return self.parsed is not None and self.parsed >= FIRST_VERSION[feature]


def parse_version(text: str | bytes) -> Features:
    """Return what is known of a binary that printed this text for `--version`.

    The text comes from a process and may be anything. Only a lone version number counts: words
    around it, a second line, an epoch or a single number make it unparsable.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    stripped = text.strip()
    raw = stripped[:_LONGEST_VERSION]
    if raw != stripped:
        return Features(raw=raw, parsed=None)
    try:
        parsed = Version(raw)
    except InvalidVersion:
        return Features(raw=raw, parsed=None)
    if parsed.epoch or len(parsed.release) < _FEWEST_COMPONENTS:
        return Features(raw=raw, parsed=None)
    return Features(raw=raw, parsed=parsed)
