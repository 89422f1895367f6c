"""A snapshot of guarded paths as a file, so that a crash of the harness loses no `before`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from harness.core.evidence import FileDigest, PathKind
from harness.errors import StoreDamaged
from harness.stores.files import atomic_write, read_bounded
from harness.stores.protocols import BeforeWrite, ignore_write

SNAPSHOT_LIMIT = 1 << 30
"""Bytes of a snapshot file; 100,000 paths of the longest names stay below it."""

_VERSION = 1


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    """A digest as an array: half the size of an object with names."""

    kind: PathKind
    sha256: str
    mode: int
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    digested_ns: int


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    paths: dict[str, _Entry]


def save_snapshot(
    path: Path,
    snapshot: Mapping[str, FileDigest],
    *,
    before_write: BeforeWrite = ignore_write,
) -> None:
    """Store a snapshot durably and whole; what stood in the file before is replaced.

    Raises:
        HostProblem: the machine refused; the earlier file stands.
    """
    entries = {place: _entry(digest) for place, digest in snapshot.items()}
    data = msgspec.json.encode(_File(version=_VERSION, paths=entries))
    atomic_write(path, data, before_write=before_write)


def load_snapshot(path: Path) -> dict[str, FileDigest] | None:
    """Return a stored snapshot; None where there is no file.

    Raises:
        StoreDamaged: it is no snapshot, or one of a newer harness.
        HostProblem: it cannot be read.
    """
    if not path.exists():
        return None
    data = read_bounded(path, SNAPSHOT_LIMIT)
    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise StoreDamaged(f"{path}: expected a snapshot of guarded paths: {problem}") from problem
    if file.version != _VERSION:
        raise StoreDamaged(f"{path}: expected version {_VERSION}, found {file.version}")
    return {place: _digest(entry) for place, entry in file.paths.items()}


def _entry(digest: FileDigest) -> _Entry:
    return _Entry(
        digest.kind,
        digest.sha256,
        digest.mode,
        digest.device,
        digest.inode,
        digest.size,
        digest.mtime_ns,
        digest.ctime_ns,
        digest.digested_ns,
    )


def _digest(entry: _Entry) -> FileDigest:
    return FileDigest(
        kind=entry.kind,
        sha256=entry.sha256,
        mode=entry.mode,
        device=entry.device,
        inode=entry.inode,
        size=entry.size,
        mtime_ns=entry.mtime_ns,
        ctime_ns=entry.ctime_ns,
        digested_ns=entry.digested_ns,
    )
