"""The `AGY_ERROR: {...}` line of stderr: what it says, and what kind of failure it is."""

from __future__ import annotations

import re

from harness.core.bounded import clip, fold
from harness.core.events import ErrorObject
from harness.core.loose_json import decode_loosely, decode_utf8
from harness.core.model import AgyError, ErrorKind
from harness.core.objects import ObjectScanner

MARKER = b"AGY_ERROR:"
RAW_LIMIT = 4096
_TEXT_LIMIT = 64 * 1024
_WORD_LIMIT = 200

#: Words that tell the kind, in the order in which they are looked for.
_WORDS: tuple[tuple[ErrorKind, tuple[str, ...]], ...] = (
    (ErrorKind.QUOTA, ("quota reached", "current quota", "credits", "depleted", "spend cap")),
    (
        ErrorKind.AUTH,
        (
            "api key not valid",
            "api_key_invalid",
            "api key invalid",
            "invalid api key",
            "authentication expired",
            "eligibility check failed",
        ),
    ),
    (
        ErrorKind.TRANSIENT,
        (
            "overloaded",
            "high traffic",
            "no capacity",
            "capacity_exhausted",
            "network issue",
            "network error",
            "network is unreachable",
            "forcibly closed",
            "no route to host",
            "empty response",
        ),
    ),
    (ErrorKind.CONTENT_FILTER, ("content safety filter",)),
    (ErrorKind.CONFIG, ("not found in registry",)),
)
_HTTP_CODES = {
    400: ErrorKind.INVALID_ARGUMENT,
    402: ErrorKind.QUOTA,
    429: ErrorKind.QUOTA,
    503: ErrorKind.TRANSIENT,
}
_CODE_IN_TEXT = re.compile(r"\b(?:code|error) (\d{3})\b")
_STATUSES = {
    "RESOURCE_EXHAUSTED": ErrorKind.QUOTA,
    "UNAUTHENTICATED": ErrorKind.AUTH,
    "UNAVAILABLE": ErrorKind.TRANSIENT,
    "INVALID_ARGUMENT": ErrorKind.INVALID_ARGUMENT,
}

_DURATION = r"(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|us|µs|ns|s))"
_RESETS = re.compile(rf'(?:resets in |retryDelay:\s?"?)({_DURATION}{{1,6}})', re.IGNORECASE)
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def parse_agy_error(line: bytes | str) -> AgyError | None:
    """Return what an AGY_ERROR line says, or None where the line is no such line.

    The marker counts at the very start of the line only. What follows the object is ignored;
    a line without a whole object is an error of kind `other`. Never raises.
    """
    data = line.encode("utf-8", "replace") if isinstance(line, str) else line
    if not data.startswith(MARKER):
        return None
    data = data.rstrip(b"\r\n")
    raw = clip(decode_utf8(data[:RAW_LIMIT]), RAW_LIMIT)
    found = _object(data[len(MARKER) :].lstrip())
    if found is None:
        return AgyError(raw=raw)
    text = clip(found.short_error or "", _TEXT_LIMIT)
    return AgyError(
        short_error=clip(text, RAW_LIMIT),
        status=_word(found.status),
        error_code=found.error_code,
        code_kind=_word(found.code_kind),
        retryable=found.retryable,
        error_id=_word(found.error_id),
        kind=_kind(fold(text).casefold(), found),
        resets_in_s=resets_in_s(text),
        raw=raw,
    )


def resets_in_s(text: str) -> float | None:
    """Return the seconds of `Resets in 148h43m22s` or `retryDelay:40s` in a text, or None."""
    match = _RESETS.search(text)
    if match is None:
        return None
    parts = _DURATION_PART.findall(match[1].lower())
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _object(data: bytes) -> ErrorObject | None:
    if not data.startswith(b"{"):
        return None
    end = ObjectScanner().scan(data, 0)
    return None if end is None else decode_loosely(data[:end], ErrorObject)


def _word(text: str | None) -> str | None:
    return None if text is None else clip(text, _WORD_LIMIT)


def _kind(text: str, found: ErrorObject) -> ErrorKind:
    for kind, words in _WORDS:
        if any(word in text for word in words):
            return kind
    quoted = _CODE_IN_TEXT.search(text)
    code = int(quoted[1]) if found.error_code is None and quoted else found.error_code
    if found.code_kind != "grpc" and code in _HTTP_CODES:
        return _HTTP_CODES[code]
    return _STATUSES.get(found.status or "", ErrorKind.OTHER)
