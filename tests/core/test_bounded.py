from hypothesis import given
from hypothesis import strategies as st

from harness.core.bounded import LIST_LIMIT, BoundedList, BoundedText, clip, fold, plain


@given(st.text(max_size=30), st.integers(min_value=0, max_value=40))
def test_clip_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    """One more character would not fit."""
    clipped = clip(text, limit)
    clean = text.encode("utf-8", "replace").decode()
    assert clean.startswith(clipped)
    assert len(clipped.encode()) <= limit
    if clipped != clean:
        assert len(clean[: len(clipped) + 1].encode()) > limit


@given(st.lists(st.text(max_size=6), max_size=12), st.integers(min_value=0, max_value=30))
def test_a_bounded_text_is_the_clip_of_the_whole(parts: list[str], limit: int) -> None:
    """How a text was cut into parts does not matter."""
    text = BoundedText(limit)
    for part in parts:
        text.add(part)
    whole = "".join(parts)
    assert text.value() == clip(whole, limit)
    assert text.cut == (len(text.value()) < len(whole))


def test_a_bounded_list_keeps_the_first_and_the_newest() -> None:
    """Of too many items the last one is there, and the rest is counted."""
    items: BoundedList[int] = BoundedList()
    for number in range(LIST_LIMIT + 20):
        items.add_once(number)
        items.add_once(number if number < LIST_LIMIT else 0)
    assert items.values() == (*range(LIST_LIMIT - 1), LIST_LIMIT + 19)
    assert items.left_out == 20


def test_texts_for_one_line_are_plain() -> None:
    """White space is folded, control characters are gone."""
    assert fold(" a\n\tb ") == "a b"
    assert plain("a\x1b[31m\nb", 10) == "a [31m b"
    assert len(plain("x" * 500, 80)) == 80
