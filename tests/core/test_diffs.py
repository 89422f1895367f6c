"""Comparisons for a person's eye."""

import json
import time
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from harness.core.diffs import (
    ALIGNED_LINES,
    LINE_LIMIT,
    Diff,
    LineKind,
    content_diff,
    text_diff,
)

SLOW_S = 20.0
"""A bound that only quadratic or worse behaviour on a hostile megabyte would miss."""

_TEXTS = st.text(alphabet=st.sampled_from('ab\n\r{}[]":,1\u2028'), max_size=60) | st.text()
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


def shown(diff: Diff) -> list[str]:
    """Return the lines as a person reads them."""
    return [line.kind + line.text for line in diff.lines]


def test_lines_are_aligned_with_context_and_place() -> None:
    """A changed line stands between its neighbours, below the label and where it is."""
    before = "".join(f"line {n}\n" for n in range(1, 21))
    diff = text_diff(before, before.replace("line 10\n", "line ten\n"), label="price list")
    assert shown(diff) == [
        "@price list",
        "@line 7, now 7",
        " line 7",
        " line 8",
        " line 9",
        "-line 10",
        "+line ten",
        " line 11",
        " line 12",
        " line 13",
    ]
    assert not diff.truncated


def test_equal_texts_have_no_lines() -> None:
    """Nothing to say gives an empty comparison."""
    assert text_diff("a", "a", label="x") == Diff() == content_diff(b"a", b"a", label="x")


def test_invisible_differences_are_shown() -> None:
    """Line endings and a missing last line break are differences of lines."""
    assert shown(text_diff("a\r\n", "a\n", label="x"))[2:] == ["-a\r", "+a", " "]
    assert shown(text_diff("a", "a\n", label="x"))[2:] == [" a", "+"]


def test_json_is_compared_by_path() -> None:
    """Key order and layout do not matter; each changed path has its lines."""
    before = '{"b": {"x": 1, "gone": []}, "a": [1, 2, 3]}'
    after = '{"a": [0, 1, 2, 3], "b": {"x": 1.0, "two words": {"k": null}}}'
    assert shown(text_diff(before, after, label="x")) == [
        "@x",
        "+$.a[0]: 0",
        "-$.b.gone: []",
        '+$.b["two words"].k: null',
        "-$.b.x: 1",
        "+$.b.x: 1.0",
    ]


def test_json_items_of_equally_long_lists_are_paired() -> None:
    """A changed item of a list is compared with the one that stood there."""
    diff = text_diff('[{"k": 1, "n": "a"}, 2]', '[{"k": 1, "n": "b"}, 2]', label="x")
    assert shown(diff) == ["@x", '-$[0].n: "a"', '+$[0].n: "b"']


def test_new_json_is_listed_by_path() -> None:
    """A value for a key that had none is shown path by path, on however few lines it came."""
    assert shown(text_diff("", '{"a":{"b":1}}', label="x")) == ["@x", "+$.a.b: 1"]


def test_numbers_count_as_they_are_written() -> None:
    """Digits that a float would lose are a difference."""
    diff = text_diff('{"a": 9007199254740993.0}', '{"a": 9007199254740992.0}', label="x")
    assert shown(diff)[1:] == ["-$.a: 9007199254740993.0", "+$.a: 9007199254740992.0"]


def test_kinds_of_values_are_told_apart() -> None:
    """True is not 1, and a number is not a text of the same digits."""
    diff = text_diff('{"a": 1, "b": 1, "c": [1]}', '{"a": true, "b": "1", "c": 1}', label="x")
    assert shown(diff)[1:] == [
        "-$.a: 1", "+$.a: true", "-$.b: 1", '+$.b: "1"', "-$.c[0]: 1", "+$.c: 1",
    ]  # fmt: skip


def test_a_key_that_stands_twice_is_compared_as_text() -> None:
    """JSON that parsers read differently shows its very text."""
    diff = text_diff('{"a": 1}', '{"a": 666, "a": 1}', label="x")
    assert '+{"a": 666, "a": 1}' in shown(diff)


def test_json_that_means_the_same_is_compared_as_text() -> None:
    """Another layout is a difference of bytes, and is shown as one."""
    assert shown(text_diff('{"a":1}', '{"a": 1}', label="x"))[2:] == ['-{"a":1}', '+{"a": 1}']


def test_lone_surrogates_in_json_stay_escaped() -> None:
    """Every line of a JSON comparison can be printed as UTF-8."""
    diff = text_diff('{"a": 1}', '{"a": "\\ud800é"}', label="x")
    assert shown(diff)[-1] == '+$.a: "\\ud800é"'


def test_a_long_line_is_cut_around_the_difference() -> None:
    """The change inside a line of a megabyte is what is shown of it."""
    before = "x" * 500_000 + "OLD" + "y" * 500_000
    diff = text_diff(before, before.replace("OLD", "NEW"), label="x")
    removed, added = diff.lines[2:]
    assert "xOLDy" in removed.text
    assert "xNEWy" in added.text
    assert "[1000003 characters, sha256 " in added.text
    assert diff.truncated
    assert removed.cut


def test_long_lines_without_a_partner_still_differ() -> None:
    """Lines with one beginning and different ends are told apart by their digest."""
    long = "x" * 1000
    diff = text_diff(f"{long}1", f"{long}2\nnew", label="x")
    assert len({line.text for line in diff.lines if line.kind is not LineKind.NOTE}) == 3


def test_the_number_of_lines_is_bounded_and_says_so() -> None:
    """Lines beyond the limit are left out and the comparison is marked."""
    diff = text_diff("", "\n".join(map(str, range(1000))), label="x" * 1000, limit_lines=10)
    assert len(diff.lines) == 10
    assert diff.truncated
    assert max(len(line.text) for line in diff.lines) <= LINE_LIMIT


def test_what_is_too_much_to_align_is_compared_as_sets_of_lines() -> None:
    """Beyond the bounds the comparison says which lines are new and which are gone."""
    lines = [str(n) for n in range(ALIGNED_LINES + 2)]
    other = list(reversed(lines))
    swapped = text_diff("\n".join(lines), "\n".join(other), label="x")
    assert shown(swapped)[-1] == "@the same lines in another order"
    diff = text_diff("\n".join(lines), "\n".join(["new", "new", *other[1:]]), label="x")
    assert shown(diff)[2:] == [f"-{ALIGNED_LINES + 1}", "+new", "+new"]


def test_hostile_sizes_take_bounded_time() -> None:
    """Repeated lines, deep nesting and endless keys are answered all the same."""
    began = time.monotonic()
    cycle = [str(n % 100) for n in range(ALIGNED_LINES)]
    text_diff(
        "\n".join(cycle), "\n".join(str(n * 7 % 100) for n in range(ALIGNED_LINES)), label="x"
    )
    deep = text_diff("[" * 100_000, "[" * 100_000 + "]" * 100_000, label="x")
    nested = "[" * 70 + "]" * 70
    assert shown(text_diff(nested, nested.replace("[]", "[1]"), label="x"))[1].startswith("@line")
    long_key = json.dumps({"k" * 400_000: list(range(90_000))})
    keys = text_diff('{"a": 1}', long_key, label="x")
    text_diff("\n" * 1_000_000, "\r" * 1_000_000, label="x")
    many = json.dumps({str(n): n for n in range(60_000)})
    text_diff(many, many.replace("9", "8"), label="x")
    assert deep.truncated
    assert keys.truncated
    assert time.monotonic() - began < SLOW_S


def test_binary_content_is_told_by_size_and_digest() -> None:
    """Bytes that are no text never reach the page."""
    diff = content_diff(b"\0\1", b"\xff", label="x")
    assert [line[:28] for line in shown(diff)] == [
        "@x",
        "-2 bytes that are no text, s",
        "+1 bytes that are no text, s",
    ]
    assert len(content_diff(b"text", b"\xff", label="x").lines) == 3


def test_a_new_or_deleted_text_file_is_shown_with_its_content() -> None:
    """Where one side is no file, the other is listed with size and digest."""
    added = content_diff(None, b"a\nb", label="x")
    assert [line[:10] for line in shown(added)] == ["@x", "@3 bytes, ", "+a", "+b"]
    assert shown(content_diff(b"a", None, label="x"))[-1] == "-a"
    assert shown(content_diff(b"", None, label="x"))[1].startswith("-0 bytes")
    assert shown(content_diff(b"a\n", b"b\n", label="x"))[2:] == ["-a", "+b", " "]


@given(_TEXTS, _TEXTS, st.integers(min_value=2, max_value=30))
def test_texts_that_differ_are_never_silent_and_always_bounded(
    before: str, after: str, limit: int
) -> None:
    """Equality and an empty comparison are the same thing; both bounds hold."""
    diff = text_diff(before, after, label="x", limit_lines=limit)
    assert (diff.lines == ()) == (before == after)
    assert len(diff.lines) <= limit
    assert all(len(line.text) <= LINE_LIMIT for line in diff.lines)
    changed = [line for line in diff.lines[1:] if line.kind is not LineKind.SAME]
    assert bool(changed) == (before != after)


@given(st.lists(st.sampled_from("abcde")), st.lists(st.sampled_from("abcde")))
def test_an_aligned_comparison_leads_from_one_text_to_the_other(
    before: list[str], after: list[str]
) -> None:
    """Lines gone and come account for the whole difference."""
    diff = text_diff("\n".join(before), "\n".join(after), label="x", limit_lines=10_000)
    gone = Counter(line.text for line in diff.lines if line.kind is LineKind.REMOVED)
    come = Counter(line.text for line in diff.lines if line.kind is LineKind.ADDED)
    was, now = "\n".join(before).split("\n"), "\n".join(after).split("\n")
    assert Counter(was) - gone + come == Counter(now)


@given(st.lists(_JSON), st.lists(_JSON))
def test_json_that_differs_in_meaning_names_a_path(before: object, after: object) -> None:
    """A difference between two documents always shows at least one path that came or went."""
    old, new = json.dumps(before), json.dumps(after)
    diff = text_diff(old, new, label="x")
    if old != new:
        assert any(line.kind in (LineKind.ADDED, LineKind.REMOVED) for line in diff.lines)
        assert "\n".join(line.text for line in diff.lines).encode()
