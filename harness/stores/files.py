"""Files that are whole or not there: durable writes, bounded reads, private folders."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from pathlib import Path

from harness.errors import HostProblem
from harness.stores.protocols import BeforeWrite, ignore_write

_NO_FULL_SYNC = (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
_CHUNK = 1024 * 1024


class NotRegular(OSError):
    """A folder, pipe or device stands where a file was expected."""


def atomic_write(
    path: Path,
    data: bytes,
    *,
    mode: int = PRIVATE_FILE,
    before_write: BeforeWrite = ignore_write,
) -> None:
    """Replace a file by new content that survives a power cut once this returns.

    A crash at any moment leaves the old content or the new one. `before_write` is called with
    `<name>:write` and `<name>:replace` before the two steps.

    Raises:
        HostProblem: the machine refused; the old content stands.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        before_write(f"{path.name}:write")
        _write_new(temporary, data, mode)
        before_write(f"{path.name}:replace")
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as problem:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise HostProblem(f"{path}: cannot be written: {reason_of(problem)}") from problem


def remove_temporaries(folder: Path, name: str | None = None) -> None:
    """Remove what interrupted `atomic_write`s left in a folder, as far as the machine lets us.

    Only for a folder, or the file `name` in it, that nobody writes to any more.
    """
    wanted = re.escape(name) if name is not None else ".+"
    pattern = re.compile(rf"\.{wanted}\.[0-9a-f]{{8}}\.tmp")
    with contextlib.suppress(OSError):
        for entry in list(folder.iterdir()):
            if pattern.fullmatch(entry.name):
                entry.unlink()


def set_aside(path: Path) -> None:
    """Rename what stands at a path, whatever it is and unread, to a free name beside it.

    Nothing there is no harm. Raises `HostProblem` where it cannot be renamed.
    """
    try:
        path.rename(path.with_name(f"{path.name}.aside-{secrets.token_hex(4)}"))
    except FileNotFoundError:
        return
    except OSError as problem:
        raise HostProblem(f"{path}: cannot be moved aside: {reason_of(problem)}") from problem


def read_bounded(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Links are followed; a pipe or device is refused without waiting on it.

    Raises:
        HostProblem: it is missing, unreadable, not a regular file or larger.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = _read_up_to(descriptor, limit + 1) if regular else b""
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as problem:
        raise HostProblem(f"{path}: cannot be read: {reason_of(problem)}") from problem
    if not regular:
        raise HostProblem(f"{path}: expected a regular file, found something else")
    if len(data) > limit:
        raise HostProblem(f"{path}: expected at most {limit} bytes, found more")
    return data


def make_private_folder(path: Path) -> None:
    """Make a folder that only this user may enter, with its parents; one that is there is kept.

    A folder of this user that others may enter is closed to them.

    Raises:
        HostProblem: it cannot be made, is no folder, or belongs to somebody else.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=PRIVATE_FOLDER)
            sync_folder(path.parent)
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise HostProblem(f"{path}: expected a folder, found something else")
        if found.st_uid != os.geteuid():
            raise HostProblem(f"{path}: this folder belongs to another user")
        if stat.S_IMODE(found.st_mode) != PRIVATE_FOLDER:
            path.chmod(PRIVATE_FOLDER)
    except OSError as problem:
        raise HostProblem(f"{path}: cannot be made: {reason_of(problem)}") from problem


def real_path(path: Path) -> Path:
    """Return an absolute path without links, whatever of it exists; loops are left as they are."""
    return Path(os.path.realpath(path))


def is_folder(path: Path) -> bool:
    """Tell whether a folder stands at a path, links followed; False where nobody can tell."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Tell whether a regular file stands at a path, links followed; False where nobody can tell."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def free_bytes(path: Path) -> int:
    """Return how much room the disk of a path has for this user. Raises `OSError`."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def open_regular(path: str | Path, folder: int | None = None) -> int:
    """Open a regular file for reading: no link is followed, no pipe or device waited for.

    Args:
        path: where it is.
        folder: the open folder that a relative path begins in.

    Raises:
        NotRegular: something else stands there.
        OSError: it cannot be opened; a link counts as that too.
    """
    descriptor = os.open(path, _READ, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise NotRegular(errno.EINVAL, "not a regular file")


def full_sync(descriptor: int) -> None:
    """Make a file durable; on macOS past the disk's own cache, which fsync stops at.

    Raises `OSError`. A file system that has no full sync, such as a share's, gets fsync.
    """
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
        except OSError as problem:
            if problem.errno not in _NO_FULL_SYNC:
                raise
        else:
            return
    os.fsync(descriptor)


def sync_folder(path: str | Path, folder: int | None = None) -> None:
    """Make the names in a folder durable; a relative path begins in an open folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        full_sync(descriptor)
    finally:
        os.close(descriptor)


def reason_of(problem: OSError | ValueError) -> str:
    """Return the machine's own words for a failure, without number or path."""
    words = problem.strerror if isinstance(problem, OSError) else None
    return (words or str(problem) or type(problem).__name__).lower()


def _read_up_to(descriptor: int, limit: int) -> bytes:
    """Read to the end or the limit; a single call may give less than is there."""
    parts = []
    while limit > 0 and (part := os.read(descriptor, min(limit, _CHUNK))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _write_new(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(data)
        file.flush()
        full_sync(descriptor)
