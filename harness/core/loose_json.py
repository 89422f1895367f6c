"""JSON that is not quite JSON: objects in noise, broken strings, fields of the wrong type.

Nothing here builds a tree of what was not asked for: the fields that a Struct declares are
cut out of the text and decoded one by one, so that memory stays near the size of the input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_args

import msgspec

S = TypeVar("S", bound=msgspec.Struct)

#: A string is decoded up to this many bytes of JSON, several times what is kept of any.
STRING_LIMIT = 512 * 1024
_NUMBER_LIMIT = 64
_LONGEST_ESCAPE = 12
#: Numbers are cut to this, so that they fit where they are stored.
BIGGEST_NUMBER = 10**15

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

_BREAKS = re.compile(rb"[\t\n\r]+")
_NO_CONTROLS = bytes(
    ord(" ") if code < ord(" ") and code not in b"\t\n\r" else code for code in range(256)
)
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def repair(data: bytes) -> bytes:
    """Return an object with what JSON forbids inside strings made harmless.

    Raw line breaks and tabs are escaped, other control characters become spaces, and lone
    surrogates U+FFFD.
    """
    if _SURROGATE.search(data):
        data = _SURROGATES.sub(lambda m: rb"\ufffd" if m["lone"] else m[0], data)
    data = data.translate(_NO_CONTROLS)
    if not _BREAKS.search(data):
        return data
    fixed, inside, position = bytearray(), False, 0
    for match in _BREAKS.finditer(data):
        segment = data[position : match.start()]
        fixed += segment
        unescaped = _ESCAPE.sub(b"", segment) if b"\\" in segment else segment
        inside ^= unescaped.count(b'"') % 2 == 1
        fixed += _escaped(match[0]) if inside else b" "
        position = match.end()
    fixed += data[position:]
    return bytes(fixed)


def _escaped(breaks: bytes) -> bytes:
    return breaks.replace(b"\n", rb"\n").replace(b"\r", rb"\r").replace(b"\t", rb"\t")


def decode_utf8(data: bytes) -> str:
    """Return bytes as text; what is no UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def _string(raw: bytes) -> str | None:
    if len(raw) > STRING_LIMIT:
        raw = raw[:STRING_LIMIT]
        endings = [raw[: len(raw) - cut] + b'"' for cut in range(_LONGEST_ESCAPE)]
    else:
        endings = [raw]
    for whole in endings:
        for attempt in (whole, decode_utf8(whole).encode()):
            try:
                return msgspec.json.decode(attempt, type=str)
            except UNREADABLE:
                continue
    return None


def _integer(raw: bytes) -> int | None:
    if len(raw) > _NUMBER_LIMIT:
        return None
    try:
        number = msgspec.json.decode(raw.strip(b'"'), type=float)
    except UNREADABLE:
        return None
    return int(max(-BIGGEST_NUMBER, min(BIGGEST_NUMBER, number)))


def _boolean(raw: bytes) -> bool | None:
    return {b"true": True, b"false": False}.get(raw)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to read a Struct field by field: a twin of raw fields, and what each shall become."""

    decoder: msgspec.json.Decoder[Any]
    kinds: dict[str, Any]


@cache
def _plan(struct: type[msgspec.Struct]) -> _Plan:
    fields = msgspec.structs.fields(struct)
    twin = msgspec.defstruct(
        f"Raw{struct.__name__}",
        [(field.name, msgspec.Raw, msgspec.Raw()) for field in fields],
    )
    kinds = {field.name: (get_args(field.type) or (field.type,))[0] for field in fields}
    return _Plan(decoder=msgspec.json.Decoder(twin), kinds=kinds)


def _value(raw: msgspec.Raw, kind: Any) -> Any:
    if kind is msgspec.Raw:
        return raw
    if issubclass(kind, msgspec.Struct):
        return decode_fields(raw, kind)
    text = bytes(memoryview(raw)[: STRING_LIMIT + 1])
    if kind is int:
        return _integer(text)
    if kind is bool:
        return _boolean(text)
    found = _string(text)
    return found if found is None or kind is str else kind(found)


def decode_fields(data: bytes | msgspec.Raw, struct: type[S]) -> S | None:
    """Return an object with each declared field that can be read.

    None where the text as a whole is no object. A field of a wrong type keeps its default;
    strings longer than `STRING_LIMIT` are cut, and what is no UTF-8 in them is replaced.
    """
    plan = _plan(struct)
    try:
        twin = plan.decoder.decode(data)
    except UNREADABLE:
        return None
    values = {}
    for name, kind in plan.kinds.items():
        raw = getattr(twin, name)
        if len(memoryview(raw)) > 0 and (value := _value(raw, kind)) is not None:
            values[name] = value
    return struct(**values)


def decode_loosely(data: bytes, struct: type[S]) -> S | None:
    """Return the same as `decode_fields`, from a text that may need a repair first."""
    found = decode_fields(data, struct)
    return decode_fields(repair(data), struct) if found is None else found
