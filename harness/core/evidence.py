"""What changed in canonical data, and which of it no approved write explains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        mode: permission bits.
        device, inode, size, mtime_ns, ctime_ns: what tells an unchanged file without reading.
        digested_ns: when the content was read, by the machine's clock.
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

    A path that cannot be read on one of the sides is no proof of a change; it is left out
    here and stands in `unreadable_paths`.
    """
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old is not None and new is not None and old.meaning == new.meaning:
            continue
        if PathKind.UNREADABLE in (old and old.kind, new and new.kind):
            continue
        if (old is None or old.kind is PathKind.ABSENT) and (
            new is None or new.kind is PathKind.ABSENT
        ):
            continue
        changes.append(PathChange(path=path, before=old, after=new))
    return changes


def unreadable_paths(snapshot: Mapping[str, FileDigest]) -> list[str]:
    """Return the paths of a snapshot that could not be digested, sorted."""
    return sorted(path for path, digest in snapshot.items() if digest.kind is PathKind.UNREADABLE)


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
    content that stands there now.
    """
    explained = {(change.location, change.sha256) for change in approved}
    found = [
        change.path
        for change in paths
        if change.after is None or (change.path, change.after.sha256) not in explained
    ]
    for key in keys:
        head = heads_after.get(key)
        location = CANONICAL_PREFIX + key
        if head is None or (location, head.sha256) not in explained:
            found.append(location)
    return found
