import pytest

from harness.core.lines import LINE_LIMIT
from harness.core.objects import ObjectAssembler, ObjectScanner


def assembled(*lines: bytes, anywhere: bool = False) -> tuple[list[bytes], int]:
    """Return the objects that these lines hold, and how much was noise."""
    assembler = ObjectAssembler(anywhere=anywhere)
    found = [piece for line in lines for piece in assembler.feed(line)]
    assembler.abandon()
    assembler.abandon()
    return found, assembler.noise


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (b"{}", 2),
        (b'{"a":[{"b":"}"}]} tail', 17),
        (b'{"a":"\\"}"}x', 11),
        (b'{"a":"\\\\"}', 10),
        (b'{"a":1', None),
        (b'{"a":"}', None),
    ],
)
def test_the_end_of_an_object_is_found(text: bytes, end: int | None) -> None:
    """Braces in strings and escaped quotes do not count."""
    assert ObjectScanner().scan(text, 0) == end


@pytest.mark.parametrize(
    ("lines", "found", "noise"),
    [
        ((b'{"a":1}\n',), [b'{"a":1}'], 0),
        ((b'{"a":1}{"b":2} {"c":3}\n',), [b'{"a":1}', b'{"b":2}', b'{"c":3}'], 0),
        ((b'{"a":\n', b"1}\n"), [b'{"a":\n1}'], 0),
        ((b'{"a":"x\n', b"\n", b'{y"}\n'), [b'{"a":"x\n\n{y"}'], 0),
        ((b'{"a":"x\n', b'{"b":1}\n'), [b'{"b":1}'], 1),
        ((b"noise\n", b'more {"a":1}\n', b"\n"), [], 2),
        ((b'{"a":1} tail\n',), [b'{"a":1}'], 1),
        ((b'{"a":1',), [], 1),
    ],
    ids=range(8),
)
def test_objects_are_cut_out_of_lines(
    lines: tuple[bytes, ...], found: list[bytes], noise: int
) -> None:
    """Objects side by side, over several lines, and beside noise are found."""
    assert assembled(*lines) == (found, noise)


def test_an_object_may_begin_anywhere_where_that_is_asked_for() -> None:
    """Noise before a brace is passed over, and a brace that opens nothing too."""
    lines = (b"saw {x} {", b'"a":1}', b'y {"b":2}')
    assert assembled(*lines, anywhere=True) == ([b'{"a":1}', b'{"b":2}'], 0)


def test_an_object_that_never_ends_is_given_up() -> None:
    """An open object takes no more than the longest line may have."""
    part = b"x" * (LINE_LIMIT // 4)
    found, noise = assembled(b'{"a":"', *[part] * 5, b'{"b":1}\n')
    assert found == [b'{"b":1}']
    assert noise == 2
