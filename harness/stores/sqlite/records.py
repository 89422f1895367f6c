"""Run records as JSON text, and texts of agents made safe to store."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

import msgspec

from harness.core.model import RunRecord
from harness.stores.sqlite.faults import damaged

_DECODER = msgspec.json.Decoder(RunRecord)
_Value = TypeVar("_Value")


def encode_record(record: RunRecord) -> str:
    """Return a record as JSON; what JSON cannot hold is replaced, never a reason to lose a run."""
    return msgspec.json.encode(storable(record)).decode()


def decode_record(text: str) -> RunRecord:
    """Return the record of a JSON text; keys of a newer harness are ignored.

    Raises `StoreDamaged` where the text is not a record.
    """
    try:
        return _DECODER.decode(text)
    except msgspec.DecodeError as error:
        raise damaged("a run's record", error) from error


def storable(value: _Value) -> _Value:
    """Return the value with lone surrogates as `?` and numbers without a value as 0.

    Walks strings, tuples and frozen dataclasses, which is what records are made of.
    """
    made: object = value
    if isinstance(value, str):
        made = clean(value)
    elif isinstance(value, float) and not math.isfinite(value):
        made = 0.0
    elif isinstance(value, tuple):
        made = tuple(storable(item) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for field in fields(value):
            old = getattr(value, field.name)
            new = storable(old)
            if new is not old:
                changed[field.name] = new
        made = replace(value, **changed) if changed else value
    return made  # type: ignore[return-value]  # every branch keeps the type


def clean(text: str) -> str:
    """Return text that UTF-8 can hold: a lone surrogate becomes `?`."""
    # Almost every text passes as it is; encoding is the quickest way to know.
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def encode_canonical(value: object) -> str:
    """Return canonical JSON: sorted keys, no white space, UTF-8."""
    return msgspec.json.encode(value, order="sorted").decode()
