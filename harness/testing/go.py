"""The manners of a program written in Go: durations, quoted text, JSON."""

from __future__ import annotations

import json
import re

_PART = re.compile(r"([0-9]*(?:\.[0-9]*)?)([^0-9.]*)")
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)")
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
TRUE = ("1", "t", "T", "true", "TRUE", "True")
FALSE = ("0", "f", "F", "false", "FALSE", "False")


class GoProblem(Exception):
    """A value that Go refuses, in Go's own words."""


def quote(text: str) -> str:
    """Return text as Go's `%q` shows it."""
    return json.dumps(text, ensure_ascii=False)


def parse_duration(text: str) -> float:
    """Return the seconds of a Go duration; raise `GoProblem` in the words of Go's parser."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0.0
    invalid = GoProblem(f"time: invalid duration {quote(text)}")
    if not rest:
        raise invalid
    seconds = 0.0
    while rest:
        match = _PART.match(rest)
        if match is None or match[1] in ("", "."):
            raise invalid
        number, unit = match[1], match[2]
        if not unit:
            raise GoProblem(f"time: missing unit in duration {quote(text)}")
        if unit not in _SECONDS:
            raise GoProblem(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
        seconds += float(number) * _SECONDS[unit]
        rest = rest[match.end() :]
    return -seconds if text.startswith("-") else seconds


def format_duration(seconds: float) -> str:
    """Return seconds the way Go prints a duration: `25s`, `20m0s`, `1h30m0s`, `500ms`."""
    if seconds <= 0:
        return "0s" if seconds == 0 else f"-{format_duration(-seconds)}"
    if seconds < 1:
        return f"{seconds * 1000:.6g}ms"
    minutes, rest = divmod(round(seconds, 6), 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:.6f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def marshal(value: object, *, raw: str = "") -> str:
    """Return compact JSON as Go writes it.

    Args:
        value: anything that JSON can hold.
        raw: control characters that are left unescaped inside strings, as faulty versions do.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character, escaped in _HTML.items():
        if character in text:
            text = text.replace(character, escaped)
    if not raw:
        return text
    unescaped = {json.dumps(character)[2:-1]: character for character in raw}
    return _ESCAPE.sub(lambda match: unescaped.get(match[1], match[0]), text)
