"""What changed, and which of it is explained."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.evidence import (
    ApprovedChange,
    FileDigest,
    Head,
    PathChange,
    PathKind,
    below,
    changed_keys,
    changed_paths,
    is_elsewhere,
    is_watched,
    missing_guards,
    outside_paths,
    special_paths,
    unexplained,
    unreadable_paths,
)

A, B = "a" * 64, "b" * 64
FILE = FileDigest(kind=PathKind.FILE, sha256=A, mode=0o644, inode=7, size=1, mtime_ns=1, ctime_ns=1)
FOLDER = FileDigest(kind=PathKind.FOLDER, mode=0o755, inode=8)
CLOSED = replace(FILE, kind=PathKind.UNREADABLE, sha256="")
ABSENT = FileDigest(kind=PathKind.ABSENT)
UNKNOWN = FileDigest(kind=PathKind.UNREADABLE)

_DIGESTS = st.builds(
    FileDigest,
    kind=st.sampled_from(PathKind),
    sha256=st.sampled_from(["", A, B]),
    mode=st.sampled_from([0o644, 0o755]),
    inode=st.sampled_from([0, 1, 2]),
    ctime_ns=st.sampled_from([1, 2]),
)
_PATHS = st.sampled_from(["/w", "/w/a", "/w/a/b", "/w/ab", "/x"])
_SNAPSHOTS = st.dictionaries(_PATHS, _DIGESTS)


def paths(before: dict[str, FileDigest], after: dict[str, FileDigest]) -> list[str]:
    """Return the paths of the changes."""
    return [change.path for change in changed_paths(before, after)]


@pytest.mark.parametrize(
    "new",
    [
        replace(FILE, sha256=B),
        replace(FILE, mode=0o755),
        replace(FILE, kind=PathKind.LINK),
        FOLDER,
        ABSENT,
        FileDigest(kind=PathKind.SPECIAL),
    ],
)
def test_kind_content_and_mode_make_a_change(new: FileDigest) -> None:
    """A path has changed where any of the three differs."""
    assert paths({"/f": FILE}, {"/f": new}) == ["/f"]
    assert paths({"/f": new}, {"/f": FILE}) == ["/f"]


def test_times_and_places_make_no_change() -> None:
    """A file that was only read, copied or touched has not changed."""
    moved = replace(FILE, inode=9, mtime_ns=9, ctime_ns=9, digested_ns=9, device=9)
    assert paths({"/f": FILE}, {"/f": moved}) == []


def test_added_and_deleted_paths_are_changes() -> None:
    """A path in one snapshot alone has changed, unless nothing stands there anyway."""
    assert paths({}, {"/f": FILE, "/g": ABSENT}) == ["/f"]
    assert paths({"/f": FILE, "/g": ABSENT}, {}) == ["/f"]


def test_an_untouched_unreadable_file_is_no_change() -> None:
    """What nobody may read and nobody touched proves nothing, whatever its device is now."""
    assert paths({"/f": CLOSED}, {"/f": replace(CLOSED, device=9)}) == []
    assert paths({"/f": UNKNOWN}, {"/f": FILE}) == []
    assert paths({"/f": UNKNOWN}, {}) == []
    assert unreadable_paths({"/g": FILE, "/f": CLOSED, "/a": UNKNOWN}) == ["/a", "/f"]


@pytest.mark.parametrize("field", ["inode", "size", "mtime_ns", "ctime_ns", "mode"])
def test_taking_the_right_to_read_hides_no_change(field: str) -> None:
    """An unreadable file counts as changed where its entry says that it was touched."""
    other: dict[str, Any] = {field: 99}
    touched = replace(CLOSED, **other)
    assert paths({"/f": FILE}, {"/f": touched}) == ["/f"]
    assert paths({"/f": touched}, {"/f": CLOSED}) == ["/f"]


def test_an_entry_that_can_no_longer_be_looked_at_is_a_change() -> None:
    """Closing the folder above a guard does not hide what was done to it."""
    for old in (FILE, CLOSED, FOLDER, ABSENT):
        assert paths({"/f": old}, {"/f": UNKNOWN}) == ["/f"]
    assert paths({"/f": UNKNOWN}, {"/f": UNKNOWN}) == []


def test_an_unreadable_newcomer_is_a_change() -> None:
    """Something unreadable where nothing stood was put there."""
    assert paths({"/f": ABSENT}, {"/f": CLOSED}) == ["/f"]
    assert paths({"/f": CLOSED}, {}) == ["/f"]


def test_what_a_closed_folder_hides_is_no_proof() -> None:
    """The folder itself is the change; its files are neither deleted nor added."""
    closed = replace(FOLDER, kind=PathKind.UNREADABLE, mode=0)
    opened = {"/w/d": FOLDER, "/w/d/f": FILE, "/w/da": FILE}
    assert paths(opened, {"/w/d": closed, "/w/da": FILE}) == ["/w/d"]
    assert paths({"/w/d": closed, "/w/da": FILE}, opened) == ["/w/d"]
    assert paths(opened, {"/w/d": closed}) == ["/w/d", "/w/da"]


_LOOKED_AT = st.dictionaries(
    _PATHS, _DIGESTS.filter(lambda digest: digest.inode or digest.kind is not PathKind.UNREADABLE)
)


@given(_LOOKED_AT, _LOOKED_AT)
def test_changes_are_the_same_seen_from_either_side(
    one: dict[str, FileDigest], other: dict[str, FileDigest]
) -> None:
    """Going back changes the very paths that going forth changed; standing still changes none."""
    assert paths(one, other) == paths(other, one) == sorted(paths(one, other))
    assert paths(one, one) == []


@given(_SNAPSHOTS, _SNAPSHOTS)
def test_every_readable_difference_is_a_change(
    one: dict[str, FileDigest], other: dict[str, FileDigest]
) -> None:
    """Nothing that could be read on both sides and differs is ever left out."""
    for path in one.keys() & other.keys():
        old, new = one[path], other[path]
        if PathKind.UNREADABLE not in (old.kind, new.kind) and old.meaning != new.meaning:
            assert path in paths(one, other)


def change(path: str, before: FileDigest | None, after: FileDigest | None) -> PathChange:
    """Return a change."""
    return PathChange(path=path, before=before, after=after)


def approved(location: str, sha256: str = B) -> ApprovedChange:
    """Return an approved write."""
    return ApprovedChange(location=location, sha256=sha256)


NEW = replace(FILE, sha256=B)


def test_an_approved_content_explains_its_own_path_alone() -> None:
    """Location and content must both be those of the approved write."""
    changes = [change("/f", FILE, NEW), change("/g", FILE, NEW)]
    assert unexplained(changes, [], {}, [approved("/f"), approved("/g", A)]) == ["/g"]


@pytest.mark.parametrize(
    "after",
    [
        None,
        ABSENT,
        replace(NEW, kind=PathKind.LINK),
        replace(NEW, kind=PathKind.UNREADABLE),
        replace(NEW, mode=0o755),
        replace(NEW, mode=0o4644),
    ],
)
def test_content_explains_neither_deletion_nor_kind_nor_new_rights(
    after: FileDigest | None,
) -> None:
    """A link of that text, a deleted file or one that became a program was not approved."""
    writes = [approved("/f"), approved("/f", "")]
    assert unexplained([change("/f", FILE, after)], [], {}, writes) == ["/f"]


def test_fewer_rights_and_plain_ones_are_explained_with_the_content() -> None:
    """A target may write a file anew with the bits it gives to every file."""
    for mode in (0o600, 0o644, 0o664):
        assert unexplained(
            [change("/f", FILE, replace(NEW, mode=mode))], [], {}, [approved("/f")]
        ) == []  # fmt: skip


def test_new_folders_above_an_approved_file_are_explained() -> None:
    """A target makes the folders it needs; others, and changes of old ones, stay unexplained."""
    changes = [
        change("/w/a", None, FOLDER),
        change("/w/a/b", ABSENT, FOLDER),
        change("/w/a/b/f", None, NEW),
        change("/w/ab", None, FOLDER),
        change("/w", FOLDER, replace(FOLDER, mode=0o777)),
    ]
    assert unexplained(changes, [], {}, [approved("/w/a/b/f")]) == ["/w/ab", "/w"]


def test_keys_are_explained_by_the_value_that_stands_there() -> None:
    """A changed key needs an approved write of its present value; a deleted one has none."""
    before = {"k": Head(version=1, sha256=A), "gone": Head(version=1, sha256=A)}
    after = {"k": Head(version=2, sha256=B), "new": Head(version=1, sha256=B)}
    keys = changed_keys(before, after)
    assert keys == ["gone", "k", "new"]
    found = unexplained([], keys, after, [approved("canonical:k"), approved("canonical:gone", A)])
    assert found == ["canonical:gone", "canonical:new"]


@given(_SNAPSHOTS, _SNAPSHOTS, st.sets(st.tuples(_PATHS, st.sampled_from(["", A, B]))))
def test_approval_only_ever_explains_what_it_wrote(
    one: dict[str, FileDigest], other: dict[str, FileDigest], writes: set[tuple[str, str]]
) -> None:
    """A change stays unexplained unless a file with approved content stands at or below it."""
    changes = changed_paths(one, other)
    found = unexplained(changes, [], {}, [approved(*write) for write in writes])
    written = [path for path, sha256 in writes if path in other and other[path].sha256 == sha256]
    for item in changes:
        if not any(below(path, [item.path]) for path in written):
            assert item.path in found
    assert unexplained(changes, [], {}, []) == [item.path for item in changes]


def test_paths_outside_the_workspace_are_named_once() -> None:
    """Written paths are cleaned from the workspace; those inside it are left out."""
    written = ["a", "../b", "/w/../b", "/w/s", "/w", "/wx", ".."]
    assert outside_paths(written, "/w/s/") == ["/w/b", "/b", "/w", "/wx"]
    assert outside_paths(["x"], "/w") == []


def test_below_tells_roots_from_their_namesakes() -> None:
    """A path is below a folder only behind a slash."""
    assert below("/w/a", ["/w"])
    assert below("/w", ["/w"])
    assert below("/w", ["/"])
    assert not below("/wa", ["/w"])


def test_a_guard_that_was_never_there_is_missing() -> None:
    """Only where nothing stood before nor after; what was deleted or made was there."""
    roots = ["/a", "/b", "/c", "/d"]
    before = {"/a": ABSENT, "/b": FILE, "/c": ABSENT}
    assert missing_guards(roots, before, {"/a": ABSENT, "/b": ABSENT, "/c": FILE}) == ["/a", "/d"]


def test_a_run_is_watched_where_anything_could_be_looked_at() -> None:
    """Unreadable and missing guards show nothing; without guards the store is watched."""
    assert is_watched([], {}, {})
    assert not is_watched(["/a"], {}, {})
    assert not is_watched(["/a"], {"/a": ABSENT}, {"/a": ABSENT})
    assert not is_watched(["/a", "/f"], {"/f": CLOSED}, {"/a": ABSENT, "/f": CLOSED})
    assert is_watched(["/a", "/f"], {"/f": FILE}, {"/a": ABSENT, "/f": ABSENT})
    assert is_watched(["/w"], {"/w": FOLDER}, {"/w": FOLDER, "/w/f": CLOSED})


def test_special_files_are_named() -> None:
    """A pipe is no file."""
    pipe = FileDigest(kind=PathKind.SPECIAL)
    assert special_paths({"/b": pipe, "/f": FILE, "/a": pipe}) == ["/a", "/b"]


def test_elsewhere_is_what_lies_outside_the_workspace() -> None:
    """A folder of the workspace is in it; what was never told is no fault."""
    assert not is_elsewhere(None, "/w")
    assert not is_elsewhere("/w/sub", "/w")
    assert is_elsewhere("/wx", "/w")
