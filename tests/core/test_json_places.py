"""JSON with lines and flaws: strict where it must be, and never at a loss."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.json_places import DEPTH_LIMIT, Flaw, FlawKind, Kind, Node, compact, parse

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def root_of(text: str | bytes) -> Node:
    """Return the value of a text that holds one."""
    root = parse(text.encode() if isinstance(text, str) else text).root
    assert root is not None
    return root


def kinds(text: str | bytes) -> list[FlawKind]:
    """Return the kinds of a text's flaws."""
    data = text.encode() if isinstance(text, str) else text
    return [flaw.kind for flaw in parse(data).flaws]


@given(PLAIN, st.sampled_from([None, 1, "\t"]))
def test_what_json_writes_is_read_without_a_flaw(value: object, indent: int | None) -> None:
    """Plain JSON has no flaws, and comes back as the same value."""
    document = parse(json.dumps(value, indent=indent, ensure_ascii=False).encode())
    assert document.flaws == ()
    assert document.root is not None
    assert json.loads(compact(document.root)) == value


@given(st.binary(max_size=200) | st.text("{}[],:\"' \n/*#\\a1truefalsn-", max_size=60))
def test_no_text_is_too_bad(text: str | bytes) -> None:
    """Any bytes give a document, and what is not JSON has a flaw."""
    data = text if isinstance(text, bytes) else text.encode()
    document = parse(data)
    try:
        json.loads(data.decode(), parse_constant=_refuse)
    except (ValueError, UnicodeDecodeError):
        assert document.flaws


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def test_every_value_knows_its_line() -> None:
    """Lines count from 1, at the first character of a value."""
    root = root_of('{\n  "a": [\n    "x",\n\n    "y"]\n}')
    assert root.line == 1
    array = root.members[0][1]
    assert array.line == 2
    assert [(item.text, item.line) for item in array.items] == [("x", 3), ("y", 5)]


@pytest.mark.parametrize(
    ("text", "kind", "line", "mended"),
    [
        ('{"a": 1, // why\n"b": 2}', FlawKind.COMMENT, 1, '{"a":1,"b":2}'),
        ('{"a": /* * / */ 1}', FlawKind.COMMENT, 1, '{"a":1}'),
        ('# x\n{"a": 1}', FlawKind.COMMENT, 1, '{"a":1}'),
        ('{"a": [1,\n2,\n]}', FlawKind.TRAILING_COMMA, 3, '{"a":[1,2]}'),
        ('{"a": 1,}', FlawKind.TRAILING_COMMA, 1, '{"a":1}'),
        ('{"a": 1,\n"a": 2}', FlawKind.DUPLICATE_KEY, 2, '{"a":1,"a":2}'),
        (b'\xef\xbb\xbf{"a": 1}', FlawKind.BYTE_ORDER_MARK, 1, '{"a":1}'),
        (b'{\n"a": "\xff"}', FlawKind.NOT_UTF8, 2, '{"a":"\ufffd"}'),
        ('{"a": 1', FlawKind.SYNTAX, 1, '{"a":1}'),
        ('{"a": [1', FlawKind.SYNTAX, 1, '{"a":[1]}'),
        ('{"a" 1, "b": 2}', FlawKind.SYNTAX, 1, '{"b":2}'),
        ('{"a": }', FlawKind.SYNTAX, 1, "{}"),
        ('{: 1, "b": 2}', FlawKind.SYNTAX, 1, '{"b":2}'),
        ("{a: 1}", FlawKind.SYNTAX, 1, '{"a":1}'),
        ("{'a': 'it'}", FlawKind.SYNTAX, 1, '{"a":"it"}'),
        ('["a" "b"]', FlawKind.SYNTAX, 1, '["a","b"]'),
        ('["a",, "b"]', FlawKind.SYNTAX, 1, '["a","b"]'),
        ('[, "b"]', FlawKind.SYNTAX, 1, '["b"]'),
        ("[: 1]", FlawKind.SYNTAX, 1, "[1]"),
        ('{"a": [1}', FlawKind.SYNTAX, 1, '{"a":[1]}'),
        ('{"a": 1} 2', FlawKind.SYNTAX, 1, '{"a":1}'),
        ('["a\tb"]', FlawKind.SYNTAX, 1, '["a\\tb"]'),
        ('["\\q"]', FlawKind.SYNTAX, 1, '["\\\\q"]'),
        ("[yes, 01]", FlawKind.SYNTAX, 1, '["yes","01"]'),
        ('["open]', FlawKind.SYNTAX, 1, '["open"]'),
    ],
)
def test_what_is_broken_is_mended_and_named(
    text: str | bytes, kind: FlawKind, line: int, mended: str
) -> None:
    """Each flaw is named with its line, and the likeliest meaning is read."""
    document = parse(text.encode() if isinstance(text, str) else text)
    assert document.flaws[0].kind is kind
    assert document.flaws[0].line == line
    assert document.root is not None
    assert compact(document.root) == mended


def test_an_empty_text_holds_nothing() -> None:
    """Neither nothing nor blanks nor comments are a value."""
    assert parse(b" \n") == parse(b"\n")
    assert parse(b"").root is None
    assert kinds("") == [FlawKind.EMPTY]
    assert kinds("// x") == [FlawKind.COMMENT, FlawKind.EMPTY]


def test_nesting_is_bounded() -> None:
    """A text that nests without end is cut off, not followed."""
    document = parse(b"[" * 100_000)
    assert Flaw(kind=FlawKind.SYNTAX, line=1, detail="is nested too deeply") in document.flaws
    assert kinds("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT) == []


def test_many_flaws_of_one_kind_hide_no_other() -> None:
    """However many comments a file has, what else is wrong with it is told."""
    found = kinds("// x\n" * 100 + "{,}")
    assert FlawKind.SYNTAX in found
    assert len(found) < 10


def test_lone_surrogates_are_replaced() -> None:
    """Text that no encoding can hold never leaves the reader."""
    assert root_of('["\\ud800x"]').items[0] == Node(kind=Kind.STRING, line=1, text="\ufffdx")


def test_a_long_text_is_read_in_one_go() -> None:
    """Ten thousand rules, or one text of megabytes, are no trouble."""
    rules = [f"command(git {number})" for number in range(10_000)]
    assert len(root_of(json.dumps(rules)).items) == 10_000
    assert len(root_of('"' + "\\n" * 1_000_000).text) > 0
