"""The language of the door: what is said comes back as it was meant, or is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.frames import (
    FRAME_LIMIT,
    CanonicalGet,
    GateWrite,
    JournalAnswer,
    JournalAppend,
    JournalList,
    Refused,
    ValueAnswer,
    WriteAnswer,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)
from harness.core.tiers import VALUE_LIMIT, JournalEntry, Tier

AT = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
TEXT = st.text(max_size=50)
REQUESTS = st.one_of(
    st.builds(GateWrite, key=TEXT, tier=st.sampled_from(Tier), value=TEXT, reason=TEXT),
    st.builds(JournalAppend, scope=TEXT, entry=TEXT, decision=st.none() | TEXT),
    st.builds(JournalList, scope=st.none() | TEXT, limit=st.integers(-(2**63), 2**63)),
    st.builds(CanonicalGet, key=TEXT),
)


@given(request=REQUESTS)
def test_a_request_is_one_line_and_comes_back(request: object) -> None:
    """Any text, line ends and NUL included, stands in exactly one line."""
    line = encode_request(request)  # type: ignore[arg-type]
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_request(line[:-1]) == request


def test_the_longest_write_fits_a_frame() -> None:
    """Key, value and reason at their limits, in the longest form that JSON gives them."""
    request = GateWrite(
        key="k" * 512, tier=Tier.CANONICAL, value="\x01" * VALUE_LIMIT, reason="\x01" * 4096
    )
    assert len(encode_request(request)) <= FRAME_LIMIT


@given(line=st.binary(max_size=200))
def test_any_line_is_a_request_or_a_refusal(line: bytes) -> None:
    """Decoding never raises, and what it refuses it explains in a bounded sentence."""
    found = decode_request(line)
    if isinstance(found, Refused):
        assert found.error.startswith("not a request of this door: ")
        assert len(found.error) < 300


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("front", [b"", b'{"key":', b'{"op":"canonical.get","key":', b'{"x":'])
def test_depth_is_refused(front: bytes, opening: bytes) -> None:
    """Nesting that would overflow the stack is refused wherever it stands."""
    assert isinstance(decode_request(front + opening * 300_000), Refused)


@pytest.mark.parametrize(
    "answer",
    [
        WriteAnswer(applied=True, id="e1", expires_at=AT),
        WriteAnswer(applied=False, pending_id="p1", expires_at=AT),
        ValueAnswer(key="k", value=None, version=0, sha256=None, updated_at=None),
        ValueAnswer(key="k", value="\n\u2028", version=1, sha256="aa", updated_at=AT),
        JournalAnswer(entries=()),
        JournalAnswer(
            entries=(
                JournalEntry(
                    id="e",
                    agent_id="a",
                    scope="s",
                    entry="x\ny",
                    decision=None,
                    run_id=None,
                    created_at=AT,
                    expires_at=AT,
                ),
            )
        ),
        Refused(error="no\n", hint="h"),
    ],
)
def test_an_answer_is_one_line_and_comes_back(
    answer: WriteAnswer | ValueAnswer | JournalAnswer | Refused,
) -> None:
    """Every answer of the door is read back as what it was."""
    line = encode_reply(answer)
    assert line.count(b"\n") == 1
    kind = WriteAnswer if isinstance(answer, Refused) else type(answer)
    assert decode_reply(line, kind) == answer


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"result":null}',
        b"[1]",
        b'{"result":{"applied":"no"}}',
        b"\xff",
        b'{"result":',
    ],
)
def test_what_is_no_answer_is_told(line: bytes) -> None:
    """An answer that cannot be read is an error, never an empty success."""
    with pytest.raises(msgspec.DecodeError):
        decode_reply(line, WriteAnswer)
