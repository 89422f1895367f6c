"""What changed in canonical data, and which of it no approved write explains."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

CANONICAL_PREFIX = "canonical:"


class PathKind(StrEnum):
    """What stands at a path, links not followed."""

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    ABSENT = "absent"
    SPECIAL = "special"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDigest:
    """What stands at a guarded path.

    Attributes:
        sha256: hex, over the content of a file or the text of a link; empty for the rest.
        mode: permission bits; 0 for a link, whose own bits mean nothing.
        device, inode, size, mtime_ns, ctime_ns: what tells an unchanged file without reading.
        digested_ns: when reading a file began, by the machine's clock; 0 for all else, and for
            a file that moved while it was read: these are read again whatever the times say.
    """

    kind: PathKind
    sha256: str = ""
    mode: int = 0
    device: int = 0
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    digested_ns: int = 0

    @property
    def meaning(self) -> tuple[PathKind, str, int]:
        """What must be equal for the path to count as unchanged."""
        return (self.kind, self.sha256, self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The newest version of a key, with the digest of the value that really stands there."""

    version: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedChange:
    """A canonical write that the audit trail explains: where, and what stands there after it.

    Attributes:
        location: `canonical:<key>`, or the absolute path of a file that a target wrote.
    """

    location: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChange:
    """One guarded path that differs; None stands for a path that was not in the snapshot."""

    path: str
    before: FileDigest | None
    after: FileDigest | None


def changed_paths(
    before: Mapping[str, FileDigest], after: Mapping[str, FileDigest]
) -> list[PathChange]:
    """Return every path whose kind, content or mode differs, sorted by path.

    What cannot be read is no proof of a change by itself; it is left out here and stands in
    `unreadable_paths`. It does count as changed where its size, times, inode or mode say that
    somebody touched it, or where its entry could be looked at before and cannot any more:
    taking a right away hides nothing.
    """
    closed_before, closed_after = _closed_folders(before), _closed_folders(after)
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old is None and is_inside(path, closed_before):
            continue
        if new is None and is_inside(path, closed_after):
            continue
        if _differs(old or _NOTHING, new or _NOTHING):
            changes.append(PathChange(path=path, before=old, after=new))
    return changes


_NOTHING = FileDigest(kind=PathKind.ABSENT)


def _differs(old: FileDigest, new: FileDigest) -> bool:
    if PathKind.UNREADABLE not in (old.kind, new.kind):
        return old.meaning != new.meaning
    if old.kind is PathKind.UNREADABLE and not old.inode:
        return False  # not even its entry could be looked at: nothing to compare with
    if new.kind is PathKind.UNREADABLE and not new.inode:
        return True
    return touched(old) != touched(new)


def touched(digest: FileDigest) -> tuple[int, ...]:
    """Return what every write to a path changes, for those whose content nobody may read.

    The device is left out: its number may differ after a restart of the machine.
    """
    return (digest.inode, digest.size, digest.mtime_ns, digest.ctime_ns, digest.mode)


def _closed_folders(snapshot: Mapping[str, FileDigest]) -> frozenset[str]:
    """Return what could not be read; what stands below such a folder is not in the snapshot."""
    return frozenset(unreadable_paths(snapshot))


def is_inside(path: str, folders: frozenset[str]) -> bool:
    """Return whether a path lies below one of many folders, however many they are."""
    while folders and "/" in path:
        path = path.rpartition("/")[0]
        if path in folders:
            return True
    return False


def unreadable_paths(snapshot: Mapping[str, FileDigest]) -> list[str]:
    """Return the paths of a snapshot that could not be digested, sorted."""
    return sorted(path for path, digest in snapshot.items() if digest.kind is PathKind.UNREADABLE)


def missing_guards(
    roots: Iterable[str], before: Mapping[str, FileDigest], after: Mapping[str, FileDigest]
) -> list[str]:
    """Return the guarded roots at which nothing stood, neither before nor after."""
    return [
        root
        for root in roots
        if all(seen.get(root, _NOTHING).kind is PathKind.ABSENT for seen in (before, after))
    ]


def is_watched(
    roots: Sequence[str], before: Mapping[str, FileDigest], after: Mapping[str, FileDigest]
) -> bool:
    """Return whether anything of the guarded paths could be looked at.

    A job that guards nothing is watched by the store, whose keys can always be read.
    """
    if not roots:
        return True
    missing = frozenset(missing_guards(roots, before, after))
    return any(
        digest.kind is not PathKind.UNREADABLE and path not in missing
        for path, digest in after.items()
    )


def special_paths(snapshot: Mapping[str, FileDigest]) -> list[str]:
    """Return the pipes, sockets and devices of a snapshot, sorted: their content is no file's."""
    return sorted(path for path, digest in snapshot.items() if digest.kind is PathKind.SPECIAL)


def is_elsewhere(folder: str | None, workspace: str) -> bool:
    """Return whether a folder that was told is not of the workspace; both with links resolved."""
    return folder is not None and not below(folder, [workspace])


def changed_keys(before: Mapping[str, Head], after: Mapping[str, Head]) -> list[str]:
    """Return the canonical keys whose head differs, sorted."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def unexplained(
    paths: Iterable[PathChange],
    keys: Iterable[str],
    heads_after: Mapping[str, Head],
    approved: Iterable[ApprovedChange],
) -> list[str]:
    """Return the locations whose present content no approved write put there.

    A change is explained only where an approved write names the very location and the very
    content that stands there now, in a regular file that may not do more than the one before
    it. New folders above such a file are explained with it.
    """
    written = {(change.location, change.sha256) for change in approved}
    changes = list(paths)
    explained = {change.path for change in changes if _is_explained(change, written)}
    above = {folder for path in explained for folder in _folders_above(path)}
    found = [
        change.path
        for change in changes
        if change.path not in explained and not (change.path in above and _is_new_folder(change))
    ]
    for key in keys:
        head = heads_after.get(key)
        location = CANONICAL_PREFIX + key
        if head is None or (location, head.sha256) not in written:
            found.append(location)
    return found


_EXECUTES = 0o7111
"""Permission bits that make a file a program, or lend it somebody's rights."""


def _is_explained(change: PathChange, written: set[tuple[str, str]]) -> bool:
    old, new = change.before, change.after
    if new is None or new.kind is not PathKind.FILE or (change.path, new.sha256) not in written:
        return False
    was_there = old is not None and old.kind is PathKind.FILE
    return not (was_there and old is not None and new.mode & ~old.mode & _EXECUTES)


def _is_new_folder(change: PathChange) -> bool:
    new_here = change.before is None or change.before.kind is PathKind.ABSENT
    return new_here and change.after is not None and change.after.kind is PathKind.FOLDER


def _folders_above(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def outside_paths(written: Iterable[str], workspace: str) -> list[str]:
    """Return the paths that lie outside the workspace, cleaned, in order, each once.

    Relative paths are taken from the workspace; nothing is looked up on disk.
    """
    root = workspace.rstrip("/") + "/"
    found: dict[str, None] = {}
    for path in written:
        cleaned = posixpath.normpath(posixpath.join(workspace, path))
        if cleaned != workspace.rstrip("/") and not cleaned.startswith(root):
            found[cleaned] = None
    return list(found)


def below(path: str, roots: Iterable[str]) -> bool:
    """Return whether a path is one of the roots or lies below one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
