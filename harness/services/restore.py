"""Taking a run's changes back: each guarded path as it stood before the run.

A path is changed only while it still is what the run left (compare-and-swap); what somebody has
repaired since is named and left alone, unless it is forced. Nothing is deleted: what the run
added or wrote is moved or copied into the run's own folder first. Every path is one small set of
atomic steps, so that an interrupted restore is finished by the next one.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Protocol

from harness.core.evidence import (
    FileDigest,
    PathKind,
    changed_paths,
    is_inside,
    touched,
    unreadable_paths,
)
from harness.core.pathtext import decode_path, encode_path
from harness.core.restored import Restored, RestoredPath, RestoreResult
from harness.services.aside import Aside
from harness.services.put_back import (
    OWNER_BITS,
    Spot,
    WayBlocked,
    change_mode,
    put_file,
    put_folder,
    put_link,
    spot_of,
)
from harness.stores.files import reason_of
from harness.stores.protocols import BeforeWrite, ignore_write

_ABSENT = FileDigest(kind=PathKind.ABSENT)


class Contents(Protocol):
    """Where copies of guarded content are, such as `stores.copies.Copies`."""

    def content(self, sha256: str) -> bytes | None:
        """Return the bytes with this digest; None where they are not kept."""
        ...


def restore(
    run_id: str,
    *,
    before: Mapping[str, FileDigest],
    after: Mapping[str, FileDigest],
    copies: Contents,
    aside: Path,
    only: Collection[str] | None = None,
    force: bool = False,
    before_write: BeforeWrite = ignore_write,
) -> RestoreResult:
    """Put every guarded path that differs back to what stood before the run.

    Args:
        run_id: the run whose changes are taken back.
        before: the snapshot taken before its spawn.
        after: the snapshot taken after its last process was gone.
        copies: contents by digest.
        aside: the folder for what is taken away, `restored-aside` in the run's own folder.
        only: paths to restrict the restore to, such as those no approved write explains.
        force: also put back what somebody changed after the run.
        before_write: called before each durable step.

    Returns:
        One entry for each path that differs or could not be read after the run. What the
        machine refuses is an entry, not an exception.
    """
    work = _Restore(
        before, after, copies, Aside(aside, before_write), force=force, before_write=before_write
    )
    paths = _concerned(before, after, only)
    for path in paths:  # a folder before what stands in it
        work.attempt(path, work.open_folder)
    for path in reversed(paths):  # what stands in a folder before the folder
        work.attempt(path, work.put_back)
    return RestoreResult(run_id=run_id, paths=tuple(work.results[path] for path in paths))


def _concerned(
    before: Mapping[str, FileDigest],
    after: Mapping[str, FileDigest],
    only: Collection[str] | None,
) -> list[str]:
    """Return what changed, and what nobody could look at after the run; folders first."""
    closed = frozenset(unreadable_paths(after))
    hidden = {
        path for path in before if path in closed or (path not in after and is_inside(path, closed))
    }
    changed = {change.path for change in changed_paths(before, after)}
    if only is not None:
        wanted = frozenset(only)
        changed &= wanted
        hidden = {path for path in hidden if path in wanted or is_inside(path, wanted)}
    return sorted(changed | hidden)


class _Left(Exception):
    """The path is somebody else's by now; the text says why."""


class _Restore:
    """One restore under way."""

    def __init__(
        self,
        before: Mapping[str, FileDigest],
        after: Mapping[str, FileDigest],
        copies: Contents,
        aside: Aside,
        *,
        force: bool,
        before_write: BeforeWrite,
    ) -> None:
        self.results: dict[str, RestoredPath] = {}
        self._before = before
        self._after = after
        self._closed = frozenset(unreadable_paths(after))
        self._opened: dict[str, RestoredPath] = {}
        self._copies = copies
        self._aside = aside
        self._force = force
        self._before_write = before_write

    def attempt(self, path: str, step: Callable[[str, Spot | None], RestoredPath | None]) -> None:
        """Take one step for a path that is not settled yet."""
        if path in self.results:
            return
        try:
            with spot_of(decode_path(path), create=self._may_create_above(path)) as spot:
                result = step(path, spot)
        except _Left as left:
            result = RestoredPath(path=path, result=Restored.LEFT, detail=str(left))
        except OSError as problem:
            gone = isinstance(problem, WayBlocked) and self._desired(path).kind is PathKind.ABSENT
            result = RestoredPath(
                path=path,
                result=Restored.ALREADY if gone else Restored.FAILED,
                detail="" if gone else reason_of(problem),
            )
        if result is not None:
            self.results[path] = result

    def open_folder(self, path: str, spot: Spot | None) -> RestoredPath | None:
        """Bring a folder back, writable for now; open one that has to go."""
        desired = self._desired(path)
        present = _look(spot)
        if desired.kind is not PathKind.FOLDER:
            if spot is not None and present.kind is PathKind.FOLDER:
                self._open_up(path, spot, present, desired)
            return None
        if present.meaning == desired.meaning:
            return RestoredPath(path=path, result=Restored.ALREADY)
        working = desired.mode | OWNER_BITS
        kept = None
        if present.meaning != (PathKind.FOLDER, "", working):
            self._check(path, present, desired)
            spot = _there(spot)
            if present.kind is PathKind.FOLDER:
                change_mode(spot, working)
            else:
                kept = self._make_room(path, spot, present)
                put_folder(spot, working, self._before_write)
        result = Restored.MODE if present.kind is PathKind.FOLDER else _how(present)
        self._opened[path] = RestoredPath(path=path, result=result, aside=kept)
        return None

    def put_back(self, path: str, spot: Spot | None) -> RestoredPath:
        """Bring a file or link back, take away what was added, close a folder again."""
        desired = self._desired(path)
        if path in self._opened:
            if desired.mode | OWNER_BITS != desired.mode:
                change_mode(_there(spot), desired.mode)
            return self._opened[path]
        present = _look(spot)
        readable = desired.kind is not PathKind.UNREADABLE
        if readable and present.meaning == desired.meaning:
            return RestoredPath(path=path, result=Restored.ALREADY)
        self._check(path, present, desired)
        spot = _there(spot)
        if desired.kind is PathKind.ABSENT:
            kept = self._make_room(path, spot, present, keep_in_place=False)
            return RestoredPath(path=path, result=Restored.MOVED_ASIDE, aside=kept)
        same_content = (present.kind, present.sha256) == (PathKind.FILE, desired.sha256)
        if desired.kind is PathKind.FILE and same_content:
            change_mode(spot, desired.mode)
            return RestoredPath(path=path, result=Restored.MODE)
        return self._put_content(path, spot, present, desired)

    def _put_content(
        self, path: str, spot: Spot, present: FileDigest, desired: FileDigest
    ) -> RestoredPath:
        content = self._copies.content(desired.sha256)
        if content is None:
            detail = "no copy of what stood here before the run is kept"
            return RestoredPath(path=path, result=Restored.NOT_KEPT, detail=detail)
        kept = self._make_room(path, spot, present)
        if desired.kind is PathKind.LINK:
            put_link(spot, content, self._before_write)
        else:
            put_file(spot, content, desired.mode, self._before_write)
        return RestoredPath(path=path, result=_how(present), aside=kept)

    def _may_create_above(self, path: str) -> bool:
        """Return whether missing folders above a path are the run's doing, not somebody's wish."""
        if self._desired(path).kind is PathKind.ABSENT:
            return False
        was_gone = self._expected(path).kind is PathKind.ABSENT
        stuck = [
            str(parent) for parent in PurePosixPath(path).parents if str(parent) in self.results
        ]
        return (was_gone or self._force) and not stuck

    def _desired(self, path: str) -> FileDigest:
        return self._before.get(path, _ABSENT)

    def _expected(self, path: str) -> FileDigest:
        return self._after.get(path, _ABSENT)

    def _check(self, path: str, present: FileDigest, desired: FileDigest) -> None:
        """Raise `_Left` unless the path is what the run left, or half-way put back by us."""
        if self._force:
            return
        expected = self._expected(path)
        if path not in self._after and is_inside(path, self._closed):
            raise _Left("it could not be read after the run: what the run left is not known")
        if _is_left_by_run(present, expected):
            return
        made_room = PathKind.FOLDER in (expected.kind, desired.kind) or (
            expected.kind is PathKind.SPECIAL
        )
        if present.kind is PathKind.ABSENT and made_room and self._aside.has(decode_path(path)):
            return
        raise _Left("it was changed again after the run")

    def _open_up(self, path: str, spot: Spot, present: FileDigest, desired: FileDigest) -> None:
        """Make a folder of the run writable, so that what stands in it can be moved."""
        if present.mode & OWNER_BITS != OWNER_BITS:
            self._check(path, present, desired)
            change_mode(spot, present.mode | OWNER_BITS)

    def _make_room(
        self, path: str, spot: Spot, present: FileDigest, *, keep_in_place: bool = True
    ) -> str | None:
        """Keep what stands at a path in the run's folder; return where.

        A file or link may stay in place, to be replaced in one step.
        """
        place = decode_path(path)
        if present.kind is PathKind.ABSENT:
            return None
        if present.kind is PathKind.FOLDER:
            return encode_path(str(self._take_folder(path, spot, present)))
        replaceable = present.kind is not PathKind.SPECIAL
        if keep_in_place and replaceable and self._before[path].kind is not PathKind.FOLDER:
            return encode_path(str(self._aside.copy(spot, place, present)))
        return encode_path(str(self._aside.move(spot, place, present)))

    def _take_folder(self, path: str, spot: Spot, present: FileDigest) -> Path:
        try:
            return self._aside.empty_folder(spot, decode_path(path), present.mode)
        except OSError as problem:
            if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if self._force or path in self._closed:
            return self._aside.move(spot, decode_path(path), present)
        raise _Left("the folder holds what the run did not leave there")


def _look(spot: Spot | None) -> FileDigest:
    return _ABSENT if spot is None else spot.look()


def _there(spot: Spot | None) -> Spot:
    if spot is None:
        raise _Left("the folder it stood in is gone")
    return spot


def _how(present: FileDigest) -> Restored:
    return Restored.RECREATED if present.kind is PathKind.ABSENT else Restored.RESTORED


def _is_left_by_run(present: FileDigest, expected: FileDigest) -> bool:
    if PathKind.UNREADABLE in (present.kind, expected.kind):
        opened = replace(present, mode=expected.mode, ctime_ns=expected.ctime_ns)
        is_ours = present.mode == expected.mode | OWNER_BITS
        return touched(present) == touched(expected) or (
            is_ours and touched(opened) == touched(expected)
        )
    opened_mode = expected.mode | OWNER_BITS
    return present.meaning == expected.meaning or (
        expected.kind is PathKind.FOLDER and present.meaning == (PathKind.FOLDER, "", opened_mode)
    )
