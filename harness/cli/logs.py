"""Logs: events on stderr, JSON lines under systemd, key and value for a person; no secrets.

Imported by commands that log, and by nothing else: structlog is slow to load.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

import structlog

from harness.core.text import neutralise

MASK = "***"
_SHORTEST_SECRET = 8
_SECRET_NAME = re.compile(r"TOKEN|SECRET|KEY|PASSWORD", re.IGNORECASE)
_SECRET_SHAPE = re.compile(
    r"""
      AIza[0-9A-Za-z_-]{20,}                    # Google API keys
    | ya29\.[0-9A-Za-z._-]{20,}                 # Google access tokens
    | gh[opsur]_[0-9A-Za-z]{20,} | github_pat_[0-9A-Za-z_]{20,}
    | xox[abeprs]-[0-9A-Za-z-]{10,} | xapp-[0-9A-Za-z-]{10,}
    | sk-[0-9A-Za-z_-]{16,}
    | A[KS]IA[0-9A-Z]{16}
    | eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*   # JSON web tokens
    | (?<=[Bb]earer\ )[0-9A-Za-z._~+/=-]{8,}
    | -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z0-9 ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)

Event = MutableMapping[str, Any]
Processor = Callable[[Any, str, Event], Event]


def configure_logs(log_format: str | None, environment: Mapping[str, str] = os.environ) -> Any:
    """Set logging up for this process and return the logger.

    Events are dotted past-tense names such as `run.finished`, with facts as keywords.

    Args:
        log_format: `json` or `text`; None for JSON under systemd and text elsewhere.
        environment: tells systemd, the level (`HARNESS_DEBUG`), and which values are secrets.
    """
    renderer: Any
    if (log_format or format_for(environment)) == "json":
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.processors.KeyValueRenderer(
            key_order=["timestamp", "level", "event"], repr_native_str=False
        )
    level = "debug" if environment.get("HARNESS_DEBUG") else "info"
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            masking(secrets_of(environment)),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    return structlog.get_logger()


def format_for(environment: Mapping[str, str]) -> str:
    """Return `json` where systemd reads stderr, else `text`."""
    under_systemd = "INVOCATION_ID" in environment or "JOURNAL_STREAM" in environment
    return "json" if under_systemd else "text"


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that must not be logged, by the names they go under; longest first.

    Short values are left alone: masking `1` everywhere would hide the log itself.
    """
    values = {
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }
    return tuple(sorted(values, key=len, reverse=True))


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text with every known secret, and all that has the shape of one, as `***`."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _SECRET_SHAPE.sub(MASK, text)


def masking(secrets: tuple[str, ...]) -> Processor:
    """Return the step that masks secrets and shows hidden characters in every text of an event."""

    def clean(value: Any) -> Any:
        match value:
            case str():
                return neutralise(mask(value, secrets))
            case bytes():
                return clean(value.decode(errors="backslashreplace"))
            case bool() | int() | float() | None:
                return value
            case Mapping():
                return {clean(str(key)): clean(entry) for key, entry in value.items()}
            case list() | tuple() | set() | frozenset():
                return [clean(entry) for entry in value]
            case _:
                return clean(str(value))

    def process(logger: Any, name: str, event: Event) -> Event:
        del logger, name
        return {key: clean(value) for key, value in event.items()}

    return process
