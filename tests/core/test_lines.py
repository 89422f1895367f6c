import time

from hypothesis import given
from hypothesis import strategies as st

from harness.core.lines import BLOCK_LIMIT, LineSplitter


def split(splitter: LineSplitter, *chunks: bytes) -> list[bytes]:
    """Return the lines that come of these chunks, to the end."""
    blocks = [block for chunk in chunks for block in splitter.feed(chunk)]
    blocks += splitter.finish()
    return b"".join(blocks).splitlines(keepends=True)


@given(st.lists(st.binary(max_size=12) | st.just(b"\n"), max_size=20))
def test_chunks_join_to_the_same_bytes(chunks: list[bytes]) -> None:
    """Within the limit nothing is lost, and only the last block may lack its newline."""
    splitter = LineSplitter()
    blocks = [block for chunk in chunks for block in splitter.feed(chunk)]
    assert all(block.endswith(b"\n") for block in blocks)
    assert b"".join([*blocks, *splitter.finish()]) == b"".join(chunks)
    assert list(splitter.finish()) == []


def test_a_line_over_the_limit_is_skipped_to_its_newline() -> None:
    """Its neighbours are whole, and it is counted."""
    long = b"x" * (BLOCK_LIMIT + 1)
    splitter = LineSplitter(limit=BLOCK_LIMIT)
    assert split(splitter, b"a\n" + long, b"yy\nb", b"\n", long, b"", long) == [b"a\n", b"b\n"]
    assert splitter.too_long == 2
    assert splitter.held == b""


def test_a_line_of_exactly_the_limit_is_whole() -> None:
    """The limit counts the line without its newline, in one chunk or in many."""
    line = b"x" * BLOCK_LIMIT
    for chunks in ([line + b"\n"], [line, b"\n"], [line[:7], line[7:] + b"\n"]):
        splitter = LineSplitter(limit=BLOCK_LIMIT)
        assert split(splitter, *chunks) == [line + b"\n"]
        assert splitter.too_long == 0


def test_a_line_over_the_limit_can_keep_its_head() -> None:
    """Where the beginning matters, it is kept, whatever the chunks."""
    long = b"head" + b"x" * BLOCK_LIMIT
    for size in (1000, BLOCK_LIMIT, len(long)):
        splitter = LineSplitter(limit=BLOCK_LIMIT, keep_head=True)
        chunks = [long[start : start + size] for start in range(0, len(long), size)]
        assert split(splitter, *chunks, b"\nb\n") == [long[:BLOCK_LIMIT] + b"\n", b"b\n"]
        assert splitter.too_long == 1


def test_what_is_held_can_be_looked_at() -> None:
    """The unfinished line is there until it is over the limit."""
    splitter = LineSplitter(limit=BLOCK_LIMIT)
    assert list(splitter.feed(b"a\nbc")) == [b"a\n"]
    assert splitter.held == b"bc"
    list(splitter.feed(b"x" * BLOCK_LIMIT))
    assert splitter.held == b""


def test_a_long_line_costs_linear_time() -> None:
    """Four times the length may cost about four times the time, and never sixteen."""

    def seconds(size: int) -> float:
        started = time.perf_counter()
        splitter = LineSplitter()
        for _ in range(size):
            list(splitter.feed(b"x" * 4096))
        return time.perf_counter() - started

    short = min(seconds(700) for _ in range(3))
    long = min(seconds(2800) for _ in range(3))
    assert long < 12 * short + 0.05
