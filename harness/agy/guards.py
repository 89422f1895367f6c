"""What stands at guarded paths: a bounded walk that digests content and follows no link.

Nothing found here is trusted. A pipe, socket or device is never opened, a link is read as its
text, a folder that turns into a link while the walk is on is not entered, and files that move
while they are read are read again. Paths come in and go out as `core.pathtext` writes them.

A file is taken over from an earlier snapshot, unread, when device, inode, size, mode and both
times are the same and its ctime is older than that reading by `RACY_MARGIN_NS`: a program can
set the mtime back, but not the ctime; and a write that falls into the same tick of the file
system's clock as the reading leaves equal times behind, so times that young prove nothing. A
clock that goes back makes ctimes look young, which costs a reading and hides no change.
"""

# ruff: noqa: PTH114, PTH118, PTH120 - text all the way: a Path folds `..` and
# `//`, and 100,000 objects cost more than the walk

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from harness.core.evidence import FileDigest, PathKind
from harness.core.pathtext import decode_path, encode_path

LIMIT_FILES = 100_000
LIMIT_S = 60.0
RACY_MARGIN_NS = 2_000_000_000
"""The coarsest clock of a file system in use (FAT: two seconds)."""

_CHUNK = 1024 * 1024
_ATTEMPTS = 3
_ENTRIES_A_CHECK = 256
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ENTER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


class Limit(StrEnum):
    """What a walk ran out of."""

    FILES = "files"
    SECONDS = "seconds"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """The guarded paths hold more than can be digested; there is no snapshot.

    Attributes:
        what: what the walk ran out of, or that it was told to stop.
        count: how many entries had been seen when the walk gave up.
    """

    what: Limit
    count: int


def never() -> bool:
    """Tell nobody to stop."""
    return False


def snapshot(
    roots: Sequence[str],
    known: Mapping[str, FileDigest],
    *,
    limit_files: int = LIMIT_FILES,
    limit_s: float = LIMIT_S,
    clock: Callable[[], float] = time.monotonic,
    now_ns: Callable[[], int] = time.time_ns,
    stopped: Callable[[], bool] = never,
) -> dict[str, FileDigest] | TooLarge:
    """Digest absolute paths and everything below them.

    Args:
        roots: files or folders, free of links above their last part (see `agy.roots`). One
            that is reached through a link is ABSENT: nothing stands at the path that is meant.
        known: the last known digests; what is unchanged since then is not read.
        limit_files: entries of any kind, folders included.
        limit_s: seconds for the whole walk.
        clock: seconds that never go back.
        now_ns: the machine's clock, in nanoseconds since the epoch.
        stopped: asked every now and then; the walk is given up once it says True.

    Returns:
        A digest for each root and each entry below a folder, or `TooLarge`.
    """
    walk = _Walk(known, limit_files, clock() + limit_s, clock, now_ns, stopped)
    try:
        for root in sorted(set(roots)):
            if root not in walk.found:
                walk.add_root(root)
    except _OutOfBounds as bound:
        return TooLarge(what=bound.what, count=walk.count)
    return walk.found


def digest_entry(name: str, *, folder: int | None = None) -> FileDigest:
    """Return what stands at one path of the operating system now, links not followed.

    Args:
        name: the path, relative to `folder` where one is given; not encoded.
        folder: the descriptor of an open folder.
    """
    walk = _Walk({}, 1, float("inf"), time.monotonic, time.time_ns)
    return walk.look(name, folder, None)


class _OutOfBounds(Exception):
    def __init__(self, what: Limit) -> None:
        super().__init__(what.value)
        self.what = what


class _Walk:
    """One walk: what it knew, what it found, and how far it may go."""

    def __init__(
        self,
        known: Mapping[str, FileDigest],
        limit_files: int,
        deadline: float,
        clock: Callable[[], float],
        now_ns: Callable[[], int],
        stopped: Callable[[], bool] = never,
    ) -> None:
        self.found: dict[str, FileDigest] = {}
        self.count = 0
        self._known = known
        self._limit_files = limit_files
        self._deadline = deadline
        self._clock = clock
        self._now_ns = now_ns
        self._stopped = stopped

    def add_root(self, root: str) -> None:
        path = decode_path(root)
        self._count_one()
        if _is_reached_through_link(path):
            self.found[root] = FileDigest(kind=PathKind.ABSENT)
            return
        self.found[root] = self.look(path, None, self._known.get(root))
        # Folders are kept on a list of our own: nesting costs no call depth.
        waiting = [(path, root)] if self.found[root].kind is PathKind.FOLDER else []
        while waiting:
            path, text = waiting.pop()
            prefix = "" if text == "/" else text
            waiting.extend(
                (os.path.join(path, name), f"{prefix}/{encode_path(name)}")
                for name in self._enter(path, text, prefix)
            )

    def look(self, name: str, folder: int | None, known: FileDigest | None) -> FileDigest:
        """Digest one entry; look again where it turns into something else meanwhile."""
        status = None
        for _ in range(_ATTEMPTS):
            try:
                status = os.lstat(name, dir_fd=folder)
                digest = self._of_status(name, folder, status, known)
            except (FileNotFoundError, NotADirectoryError):
                return FileDigest(kind=PathKind.ABSENT)
            except OSError:
                continue
            if digest is not None:
                return digest
        return _unreadable(status)

    def _enter(self, path: str, text: str, prefix: str) -> list[str]:
        """Digest the entries of a folder; return the names of the folders among them."""
        folders: list[str] = []
        descriptor = None
        try:
            descriptor = os.open(path, _ENTER)
            status = os.fstat(descriptor)
            seen = self.found[text]
            if (status.st_dev, status.st_ino) != (seen.device, seen.inode):
                raise NotADirectoryError(path)
            with os.scandir(descriptor) as entries:
                folders.extend(
                    entry.name for entry in entries if self._add_entry(entry, descriptor, prefix)
                )
        except OSError:
            # Listed as a folder a moment ago: its entries are not known, which is worth a line
            # of its own in the evidence, never silence.
            self.found[text] = replace(self.found[text], kind=PathKind.UNREADABLE)
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return folders

    def _add_entry(self, entry: os.DirEntry[str], folder: int, prefix: str) -> bool:
        """Digest one entry of an open folder; return True for a folder."""
        self._count_one()
        name = entry.name
        text = f"{prefix}/{encode_path(name)}"
        known = self._known.get(text)
        if known is not None and known.kind is PathKind.FILE:
            status = _status_of(entry)
            if status is not None and _is_unchanged(status, known):
                self.found[text] = known
                return False
        digest = self.look(name, folder, known)
        if digest.kind is not PathKind.ABSENT:
            self.found[text] = digest
        return digest.kind is PathKind.FOLDER

    def _count_one(self) -> None:
        self.count += 1
        if self.count > self._limit_files:
            raise _OutOfBounds(Limit.FILES)
        if self.count % _ENTRIES_A_CHECK == 0:
            self._check_time()

    def _check_time(self) -> None:
        if self._stopped():
            raise _OutOfBounds(Limit.STOPPED)
        if self._clock() > self._deadline:
            raise _OutOfBounds(Limit.SECONDS)

    def _of_status(
        self, name: str, folder: int | None, status: os.stat_result, known: FileDigest | None
    ) -> FileDigest | None:
        """Return the digest by kind; None where the entry is another one by now."""
        mode = status.st_mode
        if stat.S_ISREG(mode):
            if known is not None and _is_unchanged(status, known):
                return known
            return self._read_file(name, folder)
        # What is looked at anew each time has no time of reading: the same is the same digest.
        if stat.S_ISLNK(mode):
            text = os.fsencode(os.readlink(name, dir_fd=folder))
            sha256 = hashlib.sha256(text).hexdigest()
            return _digest(PathKind.LINK, status, sha256, 0)
        kind = PathKind.FOLDER if stat.S_ISDIR(mode) else PathKind.SPECIAL
        return _digest(kind, status, "", 0)

    def _read_file(self, name: str, folder: int | None) -> FileDigest | None:
        """Read a regular file until it holds still, a few times at most.

        One that never does gets the digest of the last reading, not UNREADABLE: an unreadable
        path proves no change, and a file that is written to while we look is the last one that
        may pass for unchanged. It is marked as never to be taken over unread.
        """
        digest = None
        for _ in range(_ATTEMPTS):
            began = self._now_ns()
            descriptor = os.open(name, _READ, dir_fd=folder)
            try:
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    return None
                sha256 = self._hash(descriptor, before.st_size)
                after = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            digest = _digest(PathKind.FILE, after, sha256, began)
            if _identity(before) == _identity(after):
                return digest
        return digest and replace(digest, digested_ns=0)

    def _hash(self, descriptor: int, size: int) -> str:
        """Digest a file up to one byte more than its size: growth must not keep us for ever."""
        content = hashlib.sha256()
        left = size + 1
        while left > 0 and (chunk := os.read(descriptor, min(_CHUNK, left))):
            content.update(chunk)
            left -= len(chunk)
            self._check_time()
        return content.hexdigest()


def _status_of(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _is_unchanged(status: os.stat_result, known: FileDigest) -> bool:
    return (
        known.kind is PathKind.FILE
        and stat.S_ISREG(status.st_mode)
        and status.st_ctime_ns == known.ctime_ns
        and status.st_mtime_ns == known.mtime_ns
        and status.st_size == known.size
        and status.st_ino == known.inode
        and status.st_dev == known.device
        and stat.S_IMODE(status.st_mode) == known.mode
        and known.ctime_ns + RACY_MARGIN_NS < known.digested_ns
    )


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)


def _digest(kind: PathKind, status: os.stat_result, sha256: str, digested_ns: int) -> FileDigest:
    return FileDigest(
        kind=kind,
        sha256=sha256,
        mode=0 if kind is PathKind.LINK else stat.S_IMODE(status.st_mode),
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        digested_ns=digested_ns,
    )


def _unreadable(status: os.stat_result | None) -> FileDigest:
    if status is None:
        return FileDigest(kind=PathKind.UNREADABLE)
    return _digest(PathKind.UNREADABLE, status, "", 0)


def _is_reached_through_link(path: str) -> bool:
    """Return True where a folder above the path is a link, so that the path lies elsewhere."""
    above = os.path.dirname(path)
    while above not in ("/", ""):
        if os.path.islink(above):
            return True
        above = os.path.dirname(above)
    return False
