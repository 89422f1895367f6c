"""Snapshots as files."""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.evidence import FileDigest, PathKind
from harness.errors import HostProblem, StoreDamaged
from harness.stores.snapshots import load_snapshot, save_snapshot
from tests.helpers.trees import digests

_NUMBERS = st.integers(min_value=0, max_value=2**63 - 1)
_SNAPSHOTS = st.dictionaries(
    st.text(st.characters(codec="utf-8")),
    st.builds(
        FileDigest,
        kind=st.sampled_from(PathKind),
        sha256=st.text("0123456789abcdef"),
        mode=_NUMBERS,
        inode=_NUMBERS,
        digested_ns=_NUMBERS,
        device=_NUMBERS,
    ),
)


@given(snapshot=_SNAPSHOTS)
def test_every_snapshot_comes_back(
    tmp_path_factory: pytest.TempPathFactory, snapshot: dict[str, FileDigest]
) -> None:
    """What was saved is loaded, field by field."""
    path = tmp_path_factory.getbasetemp() / "snapshot.json"
    save_snapshot(path, snapshot)
    assert load_snapshot(path) == snapshot


def test_a_snapshot_of_strange_names_can_be_saved(tmp_path: Path) -> None:
    """Names that are not UTF-8 are no obstacle."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / os.fsdecode(b"\xff")).write_text("x")
    found = digests(tmp_path / "d")
    save_snapshot(tmp_path / "s", found)
    assert load_snapshot(tmp_path / "s") == found
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600


def test_no_file_is_no_snapshot(tmp_path: Path) -> None:
    """A run that crashed before its first digest left none."""
    assert load_snapshot(tmp_path / "absent") is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b'{"version":1,"paths":{"a":[]}}', b'{"version":2,"paths":{}}'],
)
def test_a_damaged_snapshot_is_named(tmp_path: Path, content: bytes) -> None:
    """What is no snapshot is an error that names the file, never an empty snapshot."""
    path = tmp_path / "s"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=str(path)):
        load_snapshot(path)


def test_a_machine_that_refuses_is_an_error_of_the_host(tmp_path: Path) -> None:
    """A folder in the way of the file is told as such."""
    (tmp_path / "s").mkdir()
    with pytest.raises(HostProblem):
        load_snapshot(tmp_path / "s")
    with pytest.raises(HostProblem):
        save_snapshot(tmp_path / "s", {})


class _Stop(Exception):
    pass


def test_an_interrupted_save_leaves_the_earlier_snapshot(tmp_path: Path) -> None:
    """The file is the old one or the new one at every step."""
    path = tmp_path / "s"
    save_snapshot(path, {})

    def stop(name: str) -> None:
        raise _Stop(name)

    with pytest.raises(_Stop):
        save_snapshot(path, {"/a": FileDigest(kind=PathKind.ABSENT)}, before_write=stop)
    assert load_snapshot(path) == {}
    assert msgspec.json.decode(path.read_bytes())["version"] == 1
