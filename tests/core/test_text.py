"""Text of others made safe to show."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.text import (
    CUT_MARK,
    bounded,
    display_width,
    escape_hidden,
    neutralise,
    one_line,
)

FAMILY = "👨‍👩‍👧"
ANY_TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF))


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "日本語の文章、全角\u3000スペース",
        "naïve café e\u0301",
        "👍🏽 ❤️ 1️⃣ 🇯🇵",
        FAMILY,
        "葛\U000e0100城",
        "line\n\tindented",
    ],
)
def test_writing_stays_as_it_is(text: str) -> None:
    """Letters of every script, accents and emoji are shown as they were written."""
    assert neutralise(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x1b]8;;http://x\x07link", "\\x1b]8;;http://x\\x07link"),
        ("\x9b31m", "\\x9b31m"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\x7f", "\\x7f"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("a\u200bb", "a\\u200bb"),
        ("a\u200db", "a\\u200db"),
        ("\u200d👍", "\\u200d👍"),
        ("\ufeffx", "\\ufeffx"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("\u2028", "\\u2028"),
        ("\uffff", "\\uffff"),
        ("\u3164", "\\u3164"),
        (" \ufe0f", " \\ufe0f"),
        ("a\ufe0f\ufe0f", "a\ufe0f\\ufe0f"),
        ("\ufe0f", "\\ufe0f"),
    ],
)
def test_what_is_hidden_becomes_visible(text: str, shown: str) -> None:
    """Escape sequences, direction overrides and characters without width show as escapes."""
    assert neutralise(text) == shown


@given(ANY_TEXT)
def test_nothing_hidden_is_left(text: str) -> None:
    """After neutralising, no control, format, surrogate or private character stands alone."""
    shown = neutralise(text)
    for character in shown:
        if character in "\n\t\u200d":
            continue
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


@given(ANY_TEXT)
def test_neutralising_twice_changes_nothing(text: str) -> None:
    """What was made safe is safe, and stays as it is."""
    once = neutralise(text)
    assert neutralise(once) == once


def test_one_line_folds_blanks_and_line_ends() -> None:
    """A text of several lines becomes one, and wide blanks of Japanese stay."""
    assert one_line("  a \n\n\tb\u3000c \n") == "a b\u3000c"


@given(ANY_TEXT, st.integers(min_value=0, max_value=60))
def test_a_bounded_text_fits(text: str, limit: int) -> None:
    """A text is never longer than its limit, and one that fits is untouched."""
    cut = bounded(text, limit)
    size = len(text.encode(errors="surrogatepass"))
    assert len(cut.encode(errors="surrogatepass")) <= limit
    assert (cut == text) if size <= limit else text.startswith(cut.removesuffix(CUT_MARK))


def test_a_cut_is_marked_and_falls_between_characters() -> None:
    """The mark shows that something is missing, and no character is cut in two."""
    room = len(CUT_MARK.encode())
    assert bounded("日本語" * 10, room + 4) == "日" + CUT_MARK
    assert bounded("ae\u0301" * 20, room + 2) == "a" + CUT_MARK
    assert bounded(FAMILY * 4, room + 5) == CUT_MARK
    assert bounded("abcdef", 3) == "abc"


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("👍🏽", 2), (FAMILY, 2), ("ｶﾅ", 2), ("", 0)],
)
def test_width_counts_columns(text: str, width: int) -> None:
    """Wide characters take two columns, accents and joined emoji none of their own."""
    assert display_width(text) == width


@given(ANY_TEXT)
def test_escaped_json_is_the_same_value(text: str) -> None:
    """JSON with its hidden characters escaped decodes to what it was."""
    escaped = escape_hidden(json.dumps([text], ensure_ascii=False))
    assert escaped.encode()
    assert json.loads(escaped) == json.loads(json.dumps([text]))


def test_a_long_text_of_joiners_takes_no_longer_than_others() -> None:
    """The time that showing and cutting take grows with a text, not with its square."""
    assert neutralise("\u200d" * 100_000) == "\\u200d" * 100_000
    assert neutralise("\ufe0f" * 100_000) == "\\ufe0f" * 100_000
    assert bounded("\u0301" * 1_000_000, 1_000_000) == CUT_MARK


def test_no_hidden_character_is_overlooked() -> None:
    """Of all characters there are, each control, format, surrogate and private one is escaped."""
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    every = (chr(code) for code in range(sys.maxunicode + 1))
    left = [
        f"{ord(character):x}"
        for character in every
        if unicodedata.category(character) in hidden
        and character not in "\n\t"
        and neutralise(character) == character
    ]
    assert left == []
