"""Steps that put one path back: relative to a folder reached without links, atomic, durable.

Every function works on a name below an open folder, so that no link that somebody puts in the
way between the look and the write leads anywhere else. Errors of the machine are `OSError`.
"""

# ruff: noqa: PTH101 - `Path` has no folder descriptors

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from harness.agy.guards import digest_entry
from harness.core.evidence import FileDigest
from harness.stores.files import full_sync, sync_folder
from harness.stores.protocols import BeforeWrite

OWNER_BITS = 0o700
"""What the person needs on a folder while something in it is put back."""

_LOOK = getattr(os, "O_PATH", os.O_RDONLY)  # Linux: no right to read the folder is needed
_ENTER = _LOOK | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FOLDER = 0o755


class WayBlocked(OSError):
    """A folder above a path is a link or a file: nothing stands at the path that is meant."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A name in an open folder.

    Attributes:
        folder: the folder's descriptor, for use with `dir_fd`.
        temporary: a name for half-made things, the same in every attempt at this path.
    """

    folder: int
    name: str
    temporary: str

    def look(self) -> FileDigest:
        """Return what stands there now."""
        return digest_entry(self.name, folder=self.folder)


@contextlib.contextmanager
def spot_of(path: str, *, create: bool) -> Iterator[Spot | None]:
    """Open the folder of an absolute path, step by step from the root, following no link.

    Gives None where a folder above is missing and is not to be created. Leftovers of an
    interrupted attempt at this path are removed.

    Raises:
        WayBlocked: a folder above is a link or a file.
        OSError: a folder above may not be entered.
    """
    *above, name = [part for part in path.split("/") if part]
    folder = os.open("/", _ENTER)
    try:
        for part in above:
            step = _step_into(folder, part, create=create)
            if step is None:
                yield None
                return
            os.close(folder)
            folder = step
        digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        spot = Spot(folder, name, f".harness-{digest}.tmp")
        _clear(spot)
        yield spot
    finally:
        os.close(folder)


def _step_into(folder: int, part: str, *, create: bool) -> int | None:
    try:
        return os.open(part, _ENTER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            return None
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENOTDIR):
            words = "a folder above it is a link or a file now"
            raise WayBlocked(problem.errno, words) from problem
        raise
    os.mkdir(part, _NEW_FOLDER, dir_fd=folder)
    return os.open(part, _ENTER, dir_fd=folder)


def _clear(spot: Spot) -> None:
    with contextlib.suppress(FileNotFoundError):
        try:
            os.unlink(spot.temporary, dir_fd=spot.folder)
        except (IsADirectoryError, PermissionError):
            os.rmdir(spot.temporary, dir_fd=spot.folder)


def change_mode(spot: Spot, mode: int) -> None:
    """Set the permission bits of a file or folder, never those behind a link."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(spot.name, mode, dir_fd=spot.folder, follow_symlinks=False)
        return
    entry = os.open(spot.name, _LOOK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=spot.folder)
    try:
        if stat.S_ISLNK(os.fstat(entry).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        os.chmod(f"/proc/self/fd/{entry}", mode)
    finally:
        os.close(entry)


def put_file(spot: Spot, content: bytes, mode: int, before_write: BeforeWrite) -> None:
    """Put a file in place of whatever is no folder there; content and mode appear at once."""
    owner = _owner_at(spot)
    before_write("restore:write")
    descriptor = os.open(spot.temporary, NEW_FILE, 0o600, dir_fd=spot.folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if os.geteuid() == 0:
            os.fchown(descriptor, *owner)
        os.fchmod(descriptor, mode)
        full_sync(descriptor)
    _move_in(spot, before_write)


def put_link(spot: Spot, text: bytes, before_write: BeforeWrite) -> None:
    """Put a link with this text in place of whatever is no folder there."""
    before_write("restore:write")
    os.symlink(text, os.fsencode(spot.temporary), dir_fd=spot.folder)
    _move_in(spot, before_write)


def put_folder(spot: Spot, mode: int, before_write: BeforeWrite) -> None:
    """Put an empty folder with these permission bits where nothing stands."""
    owner = _owner_at(spot)
    before_write("restore:write")
    os.mkdir(spot.temporary, OWNER_BITS, dir_fd=spot.folder)
    change_mode(Spot(spot.folder, spot.temporary, ""), mode)
    if os.geteuid() == 0:
        os.chown(spot.temporary, *owner, dir_fd=spot.folder, follow_symlinks=False)
    _move_in(spot, before_write)


def _owner_at(spot: Spot) -> tuple[int, int]:
    """Return whose a new entry should be where root puts it: as what it replaces, or its folder."""
    try:
        found = os.lstat(spot.name, dir_fd=spot.folder)
    except FileNotFoundError:
        found = os.fstat(spot.folder)
    return found.st_uid, found.st_gid


def _move_in(spot: Spot, before_write: BeforeWrite) -> None:
    before_write("restore:replace")
    os.rename(spot.temporary, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    sync(spot)


def sync(spot: Spot) -> None:
    """Make the names in the folder durable."""
    sync_folder(".", spot.folder)
