from harness.core.cli_log import LogReader
from harness.core.model import Denial


def reader_of(*chunks: bytes) -> LogReader:
    """Return a reader that has read these chunks to their end."""
    reader = LogReader()
    for chunk in chunks:
        reader.feed(chunk)
    reader.finish()
    return reader


def test_the_last_model_counts() -> None:
    """A model switched during the run is the one that answered."""
    line = b'I1 x.go:3] Propagating selected model override to backend: label="%s"\n'
    assert reader_of(line % b"One", line % b"Two (high)").model == "Two (high)"
    assert reader_of(b"nothing of that\n").model is None


def test_denials_are_found_even_in_a_cut_last_line() -> None:
    """The log's denials are kept once each."""
    line = b'x Print mode: soft-denying tool confirmation "RunCommand" at step 4'
    assert reader_of(line + b"\n" + line).denials.values() == (
        Denial(action="command", display_name="RunCommand", source="log"),
    )


def test_the_tail_is_whole_lines_of_at_most_four_kibibytes() -> None:
    """The end of a long log is kept, from the start of a line."""
    reader = reader_of(*(f"line {i} \u00e9\n".encode() for i in range(2000)))
    tail = reader.tail()
    assert tail.startswith("line ")
    assert tail.endswith("line 1999 é\n")
    assert 4000 < len(tail.encode()) <= 4096
    assert reader_of(b"a\nb").tail() == "a\nb"
    assert reader_of().tail() == ""


def test_a_tail_that_is_no_text_stays_in_its_limit() -> None:
    """Replaced bytes do not make the tail longer."""
    assert len(reader_of(b"\xff" * 10_000).tail().encode()) <= 4096


def test_attempts_and_network_failures_are_noted() -> None:
    """What tells a storm from a login problem stands in the notes."""
    reader = reader_of(
        b"API error (attempt 1): x\nAPI error (attempt 2): x\n",
        b"token refresh failed due to network error: dial tcp\n",
    )
    assert reader.notes() == [
        "the log shows 2 failed attempt(s) at the API",
        "the login could not be refreshed because of the network",
    ]
    assert reader_of(b"token refresh failed: invalid_grant\n").notes() == []
