"""Declared artefacts: whether the run really made them, whatever the CLI says."""

# ruff: noqa: PTH118 - text all the way: a Path folds `..` and `//`

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.agy.files import open_regular

DIGEST_LIMIT = 1024 * 1024
"""Bytes up to which an artefact's content is compared too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtefactState:
    """What stands at an artefact's path; equal states mean that nobody wrote it.

    Attributes:
        regular: a regular file stands there, a link to one does not count.
        sha256: hex, for readable files of at most `DIGEST_LIMIT` bytes; empty otherwise.
    """

    regular: bool = False
    device: int = 0
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    sha256: str = ""


_NOTHING = ArtefactState()


def stand(paths: Iterable[str]) -> dict[str, ArtefactState]:
    """Return what stands at absolute paths now; nothing is followed, no pipe is waited on.

    A name is taken literally, `*` included; `{date}` is filled in already.
    """
    return {path: _state_of(path) for path in paths}


def missing(
    before: Mapping[str, ArtefactState], after: Mapping[str, ArtefactState]
) -> tuple[str, ...]:
    """Return the paths at which the run left no artefact, in the order of `after`.

    Present means: a regular file, not empty, written since `before` was taken. Rewriting the
    same content counts as written, since the times say so. A path that `before` does not know
    counts as one where nothing stood.
    """
    return tuple(
        path
        for path, state in after.items()
        if not state.regular or state.size == 0 or state == before.get(path, _NOTHING)
    )


def artefact_paths(workspace: str, produces: Iterable[str]) -> tuple[str, ...]:
    """Return the absolute paths of artefacts given relative to a workspace."""
    return tuple(os.path.join(workspace, path) for path in produces)


def _state_of(path: str) -> ArtefactState:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return _NOTHING
    return ArtefactState(
        regular=stat.S_ISREG(status.st_mode),
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        sha256=_digest(path) if stat.S_ISREG(status.st_mode) else "",
    )


def _digest(path: str) -> str:
    """Return the digest of a small regular file; empty where there is none to read."""
    try:
        descriptor = open_regular(path)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(DIGEST_LIMIT + 1)
    return hashlib.sha256(content).hexdigest() if len(content) <= DIGEST_LIMIT else ""
