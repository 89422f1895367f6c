import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.events import Result, Step, StepState, StepType
from harness.core.loose_json import STRING_LIMIT, decode_fields, decode_loosely, repair


class Inner(msgspec.Struct):
    """A nested object."""

    word: str | None = None


class Outer(msgspec.Struct):
    """One field of each kind that is decoded loosely."""

    word: str | None = None
    number: int | None = None
    truth: bool | None = None
    inner: Inner | None = None
    rest: msgspec.Raw = msgspec.Raw()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"word":"x","number":3,"truth":true,"inner":{"word":"y"}}', ("x", 3, True, "y")),
        ('{"word":7,"number":"8","truth":1,"inner":[]}', (None, 8, None, None)),
        ('{"word":null,"number":null,"truth":null,"inner":null}', (None, None, None, None)),
        ('{"number":2.0,"truth":false}', (None, 2, False, None)),
        ('{"number":1e300}', (None, 10**15, None, None)),
        ('{"number":-1e300}', (None, -(10**15), None, None)),
        ('{"number":1e999}', (None, None, None, None)),
        ('{"number":' + "9" * 500 + "}", (None, None, None, None)),
        ('{"word":"a\tb\nc\x01d"}', ("a\tb\nc d", None, None, None)),
        ('{"word":"a\\ud800b","inner":{"word":"\\\\ud800"}}', ("a\ufffdb", None, None, "\\ud800")),
        ('{"word":"\\ud83d\\ude00\\udc00"}', ("\U0001f600\ufffd", None, None, None)),
    ],
    ids=range(11),
)
def test_every_field_is_read_for_itself(data: str, expected: tuple[object, ...]) -> None:
    """A field that cannot be read keeps its default, the others are read."""
    found = decode_loosely(data.encode(), Outer)
    assert found is not None
    inner = None if found.inner is None else found.inner.word
    assert (found.word, found.number, found.truth, inner) == expected


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"3", b'{"word":', b'{"word":"\\q"}', b"{" * 9000, b'{"a":' * 9000]
)
def test_what_is_no_object_is_none(data: bytes) -> None:
    """Anything else, however deep, is no object and no exception."""
    assert decode_loosely(data, Outer) is None


def test_unknown_states_and_types_are_other() -> None:
    """What a newer CLI may say has a name of its own here."""
    found = decode_fields(b'{"state":"PAUSED","step_type":"dream"}', Step)
    assert found is not None
    assert (found.state, found.step_type) == (StepState.OTHER, StepType.OTHER)


@pytest.mark.parametrize("unit", ["a", "é", "\U0001f600", "\\", "\\u00e9", "\n", '\\"'])
@pytest.mark.parametrize("shift", range(4))
def test_long_strings_are_cut_between_characters(unit: str, shift: int) -> None:
    """Wherever the cut falls, in an escape or a character, a beginning is read."""
    text = "x" * shift + unit * STRING_LIMIT
    for ascii_only in (True, False):
        data = json.dumps({"response": text}, ensure_ascii=ascii_only).encode()
        found = decode_fields(data, Result)
        assert found is not None
        assert found.response is not None
        assert len(found.response) > STRING_LIMIT // 14
        assert text.startswith(found.response.rstrip("\ufffd"))


@given(TEXTS, TEXTS)
def test_repair_keeps_what_a_tolerant_reader_sees(key: str, value: str) -> None:
    """Raw line breaks and tabs in strings mean themselves after the repair."""
    text = "".join(c for c in value if c >= " " or c in "\t\n\r")
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    raw = f'{{"k": {json.dumps(key)},\n\t"v": "{quoted}"}}'.encode("utf-8", "replace")
    assert json.loads(repair(raw)) == json.loads(raw.decode(), strict=False)


def test_a_clean_object_is_left_alone() -> None:
    """Without anything to repair the bytes stay what they are."""
    assert repair(b'{"a":"b\\n\\u00e9"}') == b'{"a":"b\\n\\u00e9"}'
