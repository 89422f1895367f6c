"""Columns that fit a width: nothing wider, nothing cut where there is no width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.core.columns import columns, pairs, shorten, wrap, wrap_text
from harness.core.text import display_width, one_line

lines = st.text(alphabet="ab 日本e\u0301-/", max_size=60).map(one_line)
ROWS = [
    ["20261130T0230-price-list-3f9c", "price-list", "agy_error.content_filter"],
    ["20261130T0230-ads-3f9c", "ads", "no_change"],
]
HEADINGS = ["run", "job", "reason"]


def laid_out(width: int | None) -> list[str]:
    """Return the rows in this width; the reason bends, the job may be left out."""
    return columns(HEADINGS, ROWS, width=width, flexible=["reason"], optional=["job"])


@given(lines, st.integers(1, 40))
def test_what_is_shortened_fits(text: str, width: int) -> None:
    """A line is never wider than asked for, and whole where it fits."""
    short = shorten(text, width)
    assert display_width(short) <= width
    assert (short == text) == (display_width(text) <= width)


@given(lines, st.integers(2, 40))
def test_what_is_wrapped_fits_and_is_whole(text: str, width: int) -> None:
    """Nothing is lost but blanks, and no line is too wide."""
    wrapped = wrap(text, width)
    assert all(display_width(line) <= width for line in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")


def test_words_stay_whole_where_they_can() -> None:
    """Lines part between words; only a word that no line holds is parted."""
    assert wrap("a long sentence", 8) == ["a long", "sentence"]
    assert wrap("abcdefghij k", 4) == ["abcd", "efgh", "ij k"]


def test_without_a_width_nothing_is_cut() -> None:
    """Into a pipe every cell goes whole."""
    assert laid_out(None)[1].endswith("agy_error.content_filter")
    assert pairs([("a", "x " * 200)], None) == ["a  " + ("x " * 200).rstrip()]


def test_columns_bend_then_go_then_become_blocks() -> None:
    """First the flexible column is shortened, then the optional one left out, then blocks."""
    assert laid_out(60)[1].endswith("agy_error.conten…")
    assert "price-list  " not in laid_out(45)[1]
    assert laid_out(45)[0].split() == ["run", "reason"]
    assert laid_out(30) == [
        "20261130T0230-price-list-3f9c",
        "  job     price-list",
        "  reason",
        "    agy_error.content_filter",
        "20261130T0230-ads-3f9c",
        "  job     ads",
        "  reason  no_change",
    ]


@given(st.integers(30, 120))
def test_a_table_is_never_wider_than_its_place(width: int) -> None:
    """Whatever the width, every line fits."""
    assert max(map(display_width, laid_out(width))) <= width


def test_values_stand_beneath_each_other() -> None:
    """A long value goes on below itself; one that is too wide for its column gets a line."""
    assert pairs([("key", "one two three"), ("", "→ hint")], 14) == [
        "key  one two",
        "     three",
        "     → hint",
    ]
    assert pairs([("sha256", "0" * 16)], 18) == ["sha256", "  0000000000000000"]


def test_a_text_keeps_its_lines_and_its_lead() -> None:
    """Wrapping adds line ends and takes none away."""
    assert wrap_text("a b c\n\n  d e f", 5) == "a b c\n\n  d e\n  f"
