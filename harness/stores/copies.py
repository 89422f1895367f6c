"""Copies of guarded content by digest, so that a run's changes can be taken back.

A copy is a file named by the SHA-256 of its bytes, below a folder of the first two digits. It
appears under that name only whole, durable and verified; the text of a link is kept the same
way. A run keeps before it starts, under no lock: whoever prunes names what the saved snapshots of
all runs hold that can still be put back, and sees to it that no run is beginning meanwhile.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.core.evidence import FileDigest, PathKind
from harness.core.pathtext import decode_path
from harness.errors import HostProblem
from harness.stores.files import (
    NotRegular,
    full_sync,
    make_private_folder,
    open_regular,
    reason_of,
    sync_folder,
)
from harness.stores.protocols import BeforeWrite, ignore_write

PER_FILE_LIMIT = 16 * 1024 * 1024
TOTAL_LIMIT = 256 * 1024 * 1024

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WhySkipped(StrEnum):
    """Why a path has no copy and could not be put back."""

    TOO_LARGE = "too_large"  #: larger than the limit of one file
    NO_ROOM = "no_room"  #: the limit of all copies of one snapshot is used up
    CHANGED = "changed"  #: it is no longer what the snapshot says
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A path of the snapshot whose content is not kept; `path` is written as in the snapshot."""

    path: str
    why: WhySkipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a call of `keep` left out: paths without a copy, sorted by path."""

    skipped: tuple[Skipped, ...] = ()


class Copies:
    """The store of copies below one folder, such as `state/archive/guards`."""

    def __init__(self, root: Path, *, before_write: BeforeWrite = ignore_write) -> None:
        self._root = root
        self._before_write = before_write

    def keep(
        self,
        snapshot: Mapping[str, FileDigest],
        *,
        per_file_limit: int = PER_FILE_LIMIT,
        total_limit: int = TOTAL_LIMIT,
    ) -> Kept:
        """Copy the content of every file and link of a snapshot that has no copy yet.

        Small files come first, so that the limit costs as few paths as possible; what is kept
        already counts towards it and is not read again.

        Args:
            snapshot: what was digested a moment ago.
            per_file_limit: bytes of one file.
            total_limit: bytes of all contents of this snapshot together.

        Raises:
            HostProblem: the store cannot be written (disk full, rights).
        """
        wanted = _with_content(snapshot)
        present = {digest.sha256: digest.size for _, digest in wanted if self._has(digest)}
        room = total_limit - sum(present.values())
        why: dict[str, WhySkipped] = {}
        copied: dict[str, int] = {}
        for path, digest in wanted:
            if digest.sha256 in present or digest.sha256 in copied:
                continue
            reason = _refused(digest.size, per_file_limit, room) or self._copy(path, digest)
            if reason is not None:
                why[path] = reason
                continue
            room -= digest.size
            copied[digest.sha256] = digest.size
        self._make_names_durable({self._place(sha256).parent for sha256 in copied})
        skipped = [
            Skipped(path=path, why=why[path])
            for path in sorted(why)
            if snapshot[path].sha256 not in copied
        ]
        return Kept(skipped=tuple(skipped))

    def content(self, sha256: str) -> bytes | None:
        """Return the bytes with this digest; None where there is no sound copy."""
        if not _SHA256.fullmatch(sha256):
            return None
        try:
            content = self._place(sha256).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == sha256 else None

    def prune(self, keep: Collection[str]) -> int:
        """Delete every copy whose digest is not to be kept, and what a crash left half written.

        Returns:
            How many files went.

        Raises:
            HostProblem: one cannot be deleted.
        """
        gone = 0
        wanted = frozenset(keep)
        try:
            for path in self._files():
                if path.name not in wanted:
                    path.unlink(missing_ok=True)
                    gone += 1
        except OSError as problem:
            raise HostProblem(f"{self._root}: cannot be pruned: {reason_of(problem)}") from problem
        return gone

    def _place(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256

    def _files(self) -> Iterator[Path]:
        if self._root.is_dir():
            for folder in self._root.iterdir():
                yield from folder.iterdir()

    def _has(self, digest: FileDigest) -> bool:
        """Return True for a copy of the right size; its bytes are verified when they are used."""
        try:
            found = os.stat(f"{self._root}/{digest.sha256[:2]}/{digest.sha256}")  # noqa: PTH116
        except OSError:
            return False
        return found.st_size == digest.size

    def _copy(self, path: str, digest: FileDigest) -> WhySkipped | None:
        """Copy one content under its name; return why not where it is not to be had."""
        place = self._place(digest.sha256)
        try:
            source = _open_source(decode_path(path), digest)
        except OSError:
            return WhySkipped.UNREADABLE
        if source is None:
            return WhySkipped.CHANGED
        try:
            make_private_folder(place.parent)
            return self._write(source, place, digest)
        except OSError as problem:
            raise HostProblem(f"{place}: cannot be written: {reason_of(problem)}") from problem
        finally:
            if isinstance(source, int):
                os.close(source)

    def _write(self, source: int | bytes, place: Path, digest: FileDigest) -> WhySkipped | None:
        temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
        self._before_write("copy:write")
        content = hashlib.sha256()
        try:
            with open(os.open(temporary, _NEW, 0o600), "wb") as file:  # noqa: PTH123
                for chunk in _chunks(source, digest.size):
                    content.update(chunk)
                    file.write(chunk)
                file.flush()
                full_sync(file.fileno())
            if content.hexdigest() != digest.sha256:
                return WhySkipped.CHANGED
            self._before_write("copy:replace")
            temporary.replace(place)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return None

    def _make_names_durable(self, folders: set[Path]) -> None:
        try:
            for folder in sorted(folders):
                sync_folder(folder)
            if folders:
                sync_folder(self._root)
        except OSError as problem:
            raise HostProblem(f"{self._root}: cannot be synced: {reason_of(problem)}") from problem


def _with_content(snapshot: Mapping[str, FileDigest]) -> list[tuple[str, FileDigest]]:
    """Return the files and links of a snapshot, small ones first."""
    found = [
        (path, digest)
        for path, digest in snapshot.items()
        if digest.kind in (PathKind.FILE, PathKind.LINK) and _SHA256.fullmatch(digest.sha256)
    ]
    return sorted(found, key=lambda item: (item[1].size, item[0]))


def _refused(size: int, per_file_limit: int, room: int) -> WhySkipped | None:
    if size > per_file_limit:
        return WhySkipped.TOO_LARGE
    return WhySkipped.NO_ROOM if size > room else None


def _open_source(path: str, digest: FileDigest) -> int | bytes | None:
    """Return the text of a link, or a descriptor; None where neither stands there any more."""
    if digest.kind is PathKind.LINK:
        try:
            return os.fsencode(os.readlink(path))  # noqa: PTH115 - a Path would change the text
        except OSError:
            return None
    try:
        return open_regular(path)
    except NotRegular:
        return None


def _chunks(source: int | bytes, size: int) -> Iterator[bytes]:
    """Return the bytes of a source, one more than expected at most.

    A source that cannot be read to its end gives what it has; the digest tells.
    """
    if isinstance(source, bytes):
        yield source
        return
    left = size + 1
    with contextlib.suppress(OSError):
        while left > 0 and (chunk := os.read(source, min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk
