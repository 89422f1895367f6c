import pytest

from harness.core.stderr import StderrReader

FLAGS = ("truncated", "timed_out", "auth_failed", "crash", "tasks_killed", "background_tasks")


def reader_of(*lines: str) -> StderrReader:
    """Return a reader that has read these lines to their end."""
    reader = StderrReader()
    reader.feed("\n".join(lines).encode())
    reader.finish()
    return reader


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        (
            "[agy] print timeout after 25s with turn in progress; returning partial output",
            "truncated",
        ),
        ("Error: timeout waiting for response", "timed_out"),
        ("Error: timed out waiting for response", "timed_out"),
        ("error: timeout waiting for response", "timed_out"),
        ("Error: authentication required. Run 'agy' to log in, then retry.", "auth_failed"),
        ("Error: authentication timed out.", "auth_failed"),
        ("error: authentication failed or timed out", "auth_failed"),
        ("panic: runtime error: index out of range", "crash"),
        ("goroutine 17 [running]:", "crash"),
        ("terminating 1 background task(s) on exit", "tasks_killed"),
        ("root agent idle; waiting up to 5s for 1 background task(s)", "background_tasks"),
        ("root agent idle; waiting up to 30m0s for 12 background task(s)", "background_tasks"),
    ],
)
def test_each_text_sets_its_flag_alone(line: str, flag: str) -> None:
    """Each text that the CLI prints means one thing."""
    reader = reader_of("Fetching available models...", line, "bye")
    assert {name for name in FLAGS if getattr(reader, name)} == {flag}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Fetching available models...",
        "warning: something",
        "terminating 0 background task(s) on exit",
        "the agent wrote: panic: x",
        "  panic: x",
        "goroutines are fine",
        "mcp server: Error: timeout waiting for response",
        'he said "[agy] print timeout after 2s"',
        "Error: no such file",
        "error: interrupted",
        "background task (s) are nice",
    ],
)
def test_harmless_lines_set_nothing(line: str) -> None:
    """Chatter, quotations and other errors set no flag."""
    reader = reader_of("error: x", line)
    assert not any(getattr(reader, name) for name in FLAGS)
    assert reader.errors.values() == ()
    assert reader.denials.values() == ()


@pytest.mark.parametrize(
    "line",
    [
        "terminating 2 background task(s) on exit",
        "root agent idle; waiting up to 5s for 0 background task(s)",
        "all background tasks completed",
        "1 background task(s) finished",
    ],
)
def test_background_tasks_end(line: str) -> None:
    """Once the tasks have ended, or were ended, nobody waits for them."""
    waiting = "root agent idle; waiting up to 5s for 2 background task(s)"
    assert not reader_of(waiting, line).background_tasks
    assert reader_of(waiting, line, waiting).background_tasks


def test_the_last_error_line_and_an_unknown_conversation_are_noted() -> None:
    """What a person needs to see first stands in the notes, bounded."""
    reader = reader_of('warning: conversation "c9" not found', "error: one", "Error:  two " * 100)
    first, second = reader.notes()
    assert first.startswith("stderr says: Error: two Error: two")
    assert len(first) < 330
    assert second == 'conversation "c9" was not found; a new one was begun'


def test_an_endless_line_is_read_by_its_beginning() -> None:
    """A line over the limit is cut, counted, and its beginning still means what it says."""
    reader = StderrReader()
    reader.feed(b'AGY_ERROR: {"short_error":"quota reached ')
    for _ in range(5):
        reader.feed(b"x" * (1 << 18))
    reader.feed(b'"}\nerror: end\n')
    reader.finish()
    assert [error.raw[:20] for error in reader.errors.values()] == ['AGY_ERROR: {"short_e']
    assert reader.notes() == ["stderr: 1 line(s) over 1 MiB were cut"]
