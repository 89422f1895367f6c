"""Which file is the CLI, and which bytes it holds."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HostProblem

BINARY_VARIABLE = "HARNESS_AGY"
NAMES = ("agy", "antigravity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The CLI's binary.

    Attributes:
        path: absolute, as it was named or found; this is what is started.
        real_path: the same with links followed; its folder holds the CLI's own files.
        origin: who named it, for a person: `--agy`, `$HARNESS_AGY`, a file, `PATH`.
    """

    path: str
    real_path: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotFound:
    """There is no CLI to start: one sentence, and what to do."""

    problem: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """A path from a configuration file; `origin` names the file and the key."""

    path: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryDigest:
    """The digest of a binary, with what tells that the file has not changed since."""

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str


def locate(
    explicit: str | None, environment: Mapping[str, str], configured: Configured | None = None
) -> Located | NotFound:
    """Return the CLI: `--agy`, `$HARNESS_AGY`, configuration, then `agy`, `antigravity` on PATH.

    The first place that names a path decides: where that path is no good, nothing else is
    tried, for another binary than the one asked for would be a surprise. A name without a
    slash is looked up on PATH.
    """
    folders = environment.get("PATH", os.defpath)
    for path, origin in (
        (explicit, "--agy"),
        (environment.get(BINARY_VARIABLE), f"${BINARY_VARIABLE}"),
        (configured and configured.path, configured.origin if configured else ""),
    ):
        if path:
            return _named(path, origin, folders)
    for name in NAMES:
        found = _on_path(name, folders)
        if found is not None:
            return Located(path=found, real_path=os.path.realpath(found), origin="PATH")
    return NotFound(
        problem="the Antigravity CLI was not found: neither agy nor antigravity is on PATH",
        hint="install it, or name it with --agy PATH, $HARNESS_AGY or [agy] path in harness.toml",
    )


def _named(path: str, origin: str, folders: str) -> Located | NotFound:
    if "/" in path or path.startswith("~"):
        absolute = _absolute(path)
        problem = _problem(absolute)
    else:
        absolute = _on_path(path, folders) or path
        problem = None if absolute != path else "is not on PATH"
    if problem is None:
        return Located(path=absolute, real_path=os.path.realpath(absolute), origin=origin)
    return NotFound(
        problem=f"{origin} names {absolute} as the Antigravity CLI, which {problem}",
        hint="name an executable file",
    )


def _absolute(path: str) -> str:
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:  # ~somebody who is not a user of this machine
        return str(Path(path).absolute())


def _on_path(name: str, folders: str) -> str | None:
    for folder in folders.split(os.pathsep):
        # An empty or relative entry means wherever the harness happens to stand: a folder
        # that an agent may write to. Nothing is started from there.
        if folder.startswith("/"):
            candidate = f"{folder.rstrip('/')}/{name}"
            if _problem(candidate) is None:
                return candidate
    return None


def _problem(path: str) -> str | None:
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return "does not exist"
    except (OSError, ValueError) as error:
        return f"cannot be looked at ({error})"
    if not stat.S_ISREG(mode):
        return "is not a file"
    return None if os.access(path, os.X_OK) else "is not executable"


def sha256_of_binary(path: str, cached: BinaryDigest | None = None) -> BinaryDigest:
    """Return the digest of a binary; read only where its stat differs from the cached one.

    Raises `HostProblem` where the file cannot be read.
    """
    try:
        with Path(path).open("rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            identity = (found.st_dev, found.st_ino, found.st_size)
            times = (found.st_mtime_ns, found.st_ctime_ns)
            if (
                cached is not None
                and cached.path == path
                and (cached.device, cached.inode, cached.size) == identity
                and (cached.mtime_ns, cached.ctime_ns) == times
            ):
                return cached
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise HostProblem(f"the CLI's binary {path} cannot be read: {error.strerror}") from error
    return BinaryDigest(
        path=path,
        device=found.st_dev,
        inode=found.st_ino,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        ctime_ns=found.st_ctime_ns,
        sha256=digest,
    )
