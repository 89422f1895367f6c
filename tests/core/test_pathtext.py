"""Paths as text."""

import os

from hypothesis import example, given
from hypothesis import strategies as st

from harness.core.pathtext import decode_path, encode_path

_PIECES = st.sampled_from(["\\", "x", "5c", "ff", "\udcff", "\udc80", "é", "/", "a", "\\xff"])
_PATHS = st.lists(_PIECES).map("".join) | st.binary().map(os.fsdecode)


@given(_PATHS)
@example("\\x5cxff")
def test_every_path_survives_as_text(path: str) -> None:
    """Encoding gives UTF-8 text and decoding gives the path again."""
    text = encode_path(path)
    text.encode()
    assert decode_path(text) == path


@given(_PATHS, _PATHS)
def test_two_paths_never_share_a_text(one: str, other: str) -> None:
    """No agent can choose a name that reads as another one."""
    assert (encode_path(one) == encode_path(other)) == (one == other)


def test_ordinary_names_stay_as_they_are() -> None:
    """Only what is not UTF-8, or would read like it, is written differently."""
    for name in ("/srv/a b/é\n", "C:\\new", "\\x41"):
        assert encode_path(name) == name
    assert encode_path("/a\udcff") == "/a\\xff"
    assert encode_path("/a\\xff") == "/a\\x5cxff"
