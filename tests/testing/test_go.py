"""The manners of Go: durations there and back, JSON that reads as what was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.go import GoProblem, format_duration, marshal, parse_duration
from harness.testing.voice import CONTROL, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("25s", 25, "25s"),
        ("20m", 1200, "20m0s"),
        ("1h30m", 5400, "1h30m0s"),
        ("500ms", 0.5, "500ms"),
        ("1.5s", 1.5, "1.5s"),
        ("0", 0, "0s"),
        ("-3s", -3, "-3s"),
        ("+2us", 2e-6, "0.002ms"),
    ],
)
def test_durations(text: str, seconds: float, shown: str) -> None:
    """A duration is read and shown as Go does."""
    assert parse_duration(text) == pytest.approx(seconds)
    assert format_duration(seconds) == shown


@pytest.mark.parametrize("text", ["", "-", "s", ".s", "3", "1h3", "5 s", "5days", "abc"])
def test_what_is_no_duration(text: str) -> None:
    """Everything else is refused with the text in quotes."""
    with pytest.raises(GoProblem, match="duration"):
        parse_duration(text)


@given(st.integers(min_value=1, max_value=10**6))
def test_durations_there_and_back(seconds: int) -> None:
    """What is shown reads as what it was."""
    assert parse_duration(format_duration(float(seconds))) == pytest.approx(seconds)


@given(JSON)
def test_json_reads_as_what_was_written(value: object) -> None:
    """The JSON is valid, has no HTML in it, and loses nothing; raw controls neither."""
    text = marshal(value)
    assert json.loads(text) == value
    assert not {"<", ">", "&"} & set(text)
    assert json.loads(marshal(value, raw=CONTROL), strict=False) == value


def test_stray_bytes_come_back() -> None:
    """Bytes that are no UTF-8 survive as they were."""
    assert encode(b"a\xff".decode(errors="surrogateescape")) == b"a\xff"
