"""Restoring where somebody stands in the way: links, rights, other file systems."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.evidence import FileDigest, PathKind, changed_paths
from harness.core.restored import Restored, RestoreResult
from harness.services.put_back import change_mode, spot_of
from harness.services.restore import restore
from harness.stores.copies import Copies
from tests.helpers.trees import digests, open_folder, without_rights


def put_back(
    root: Path,
    before: dict[str, FileDigest],
    after: dict[str, FileDigest],
    *,
    aside: Path | None = None,
) -> RestoreResult:
    """Restore with the copies and the aside folder beside a guarded folder."""
    return restore(
        "run-1",
        before=before,
        after=after,
        copies=Copies(root / "guards"),
        aside=aside or root / "aside",
    )


def guarded(root: Path) -> tuple[Path, dict[str, FileDigest]]:
    """Make a folder with one file in a folder, and keep copies."""
    tree = root / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "d" / "f").write_text("before")
    before = digests(tree)
    Copies(root / "guards").keep(before)
    return tree, before


def test_a_folder_swapped_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    """The link is put aside and the folder made again; what it pointed to is untouched."""
    tree, before = guarded(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("outside")
    shutil.rmtree(tree / "d")
    (tree / "d").symlink_to(outside)
    assert put_back(tmp_path, before, digests(tree)).complete
    assert (outside / "f").read_text() == "outside"
    assert changed_paths(before, digests(tree)) == []


def test_a_link_put_in_the_way_after_the_run_is_not_followed(tmp_path: Path) -> None:
    """A folder that turned into a link since is named, with all that would lie behind it."""
    tree, before = guarded(tmp_path)
    (tree / "d" / "f").write_text("after")
    after = digests(tree)
    outside = tmp_path / "outside"
    (tree / "d").rename(outside)
    (tree / "d").symlink_to(outside)
    for force in (False, True):
        result = restore(
            "run-1",
            before=before,
            after=after,
            copies=Copies(tmp_path / "guards"),
            aside=tmp_path / "aside",
            force=force,
        )
        assert [path.result for path in result.paths] == [Restored.FAILED]
        assert result.paths[0].detail == "a folder above it is a link or a file now"
    assert (outside / "f").read_text() == "after"


def test_a_link_above_the_guard_is_not_followed_either(tmp_path: Path) -> None:
    """Every folder from the root on is entered without following a link."""
    tree, before = guarded(tmp_path)
    (tree / "d" / "f").write_text("after")
    after = digests(tree)
    tree.rename(tmp_path / "moved")
    tree.symlink_to("moved")
    result = put_back(tmp_path, before, after)
    assert [path.result for path in result.paths] == [Restored.FAILED]
    assert (tmp_path / "moved" / "d" / "f").read_text() == "after"


def test_what_was_special_or_unreadable_before_cannot_come_back(tmp_path: Path) -> None:
    """What no copy can hold is named."""
    tree, before = guarded(tmp_path)
    path = f"{tree}/d/f"
    for kind in (PathKind.SPECIAL, PathKind.UNREADABLE):
        old = FileDigest(kind=kind, inode=1, mode=0o644)
        result = put_back(tmp_path, {**before, path: old}, before)
        assert [entry.result for entry in result.paths] == [Restored.NOT_KEPT]
    assert (tree / "d" / "f").read_text() == "before"


def test_leftovers_of_an_attempt_are_removed(tmp_path: Path) -> None:
    """A half-made file or folder of an interrupted attempt is in nobody's way."""
    tree, before = guarded(tmp_path)
    seen: list[str] = []

    class Stop(BaseException):
        pass

    def stop(name: str) -> None:
        if name == "restore:replace":
            seen.extend(path.name for path in tree.rglob(".harness-*"))
            raise Stop

    (tree / "d" / "f").unlink()
    (tree / "d").rmdir()
    after = digests(tree)
    for _ in range(2):
        with pytest.raises(Stop):
            restore(
                "run-1",
                before=before,
                after=after,
                copies=Copies(tmp_path / "guards"),
                aside=tmp_path / "aside",
                before_write=stop,
            )
    assert len(seen) == 2
    assert put_back(tmp_path, before, after).complete
    assert list(tree.rglob(".harness-*")) == []


def test_a_mode_is_never_set_through_a_link(tmp_path: Path) -> None:
    """A link put in place of a file before its mode is set keeps what it points to as it is."""
    target = tmp_path / "target"
    target.touch(mode=0o600)
    (tmp_path / "link").symlink_to(target)
    with spot_of(f"{tmp_path}/link", create=False) as spot:
        assert spot is not None
        with pytest.raises(OSError, match="symbolic links"):
            change_mode(spot, 0o777)
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """Give a folder on another file system."""
    shared = Path("/dev/shm")  # noqa: S108
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one file system")
    folder = Path(tempfile.mkdtemp(dir=shared))
    yield folder
    shutil.rmtree(folder)


def test_what_is_taken_away_may_be_kept_on_another_file_system(
    tmp_path: Path, elsewhere: Path
) -> None:
    """Files and links are copied, then removed; a pipe cannot be and says so."""
    tree, before = guarded(tmp_path)
    (tree / "d" / "f").write_text("after")
    (tree / "new").mkdir()
    (tree / "new" / "big").write_bytes(b"x" * 3_000_000)
    (tree / "new" / "big").chmod(0o640)
    (tree / "new" / "link").symlink_to("big")
    os.mkfifo(tree / "pipe")
    after = digests(tree)
    result = put_back(tmp_path, before, after, aside=elsewhere)
    assert {os.path.relpath(path.path, tree): path.result.value for path in result.paths} == {
        "d/f": "restored",
        "new": "moved_aside",
        "new/big": "moved_aside",
        "new/link": "moved_aside",
        "pipe": "failed",
    }
    kept = elsewhere / str(tree).lstrip("/")
    assert (kept / "d" / "f").read_text() == "after"
    assert (kept / "new" / "big").stat().st_size == 3_000_000
    assert (kept / "new" / "big").stat().st_mode & 0o777 == 0o640
    assert (kept / "new" / "link").readlink() == Path("big")
    assert list(elsewhere.rglob("*.tmp")) == []


UNPRIVILEGED = """
from pathlib import Path
from harness.agy.guards import snapshot
from harness.core.evidence import changed_paths
from harness.services.restore import restore
from harness.stores.copies import Copies
root = Path(sys.argv[1])
tree = root / "tree"
copies = Copies(root / "guards")
def digest():
    return snapshot([str(tree)], {})
def put_back(before, after, **options):
    done = restore(
        "r", before=before, after=after, copies=copies, aside=root / "aside", **options
    )
    for path in done.paths:
        print(os.path.relpath(path.path, tree), path.result, path.detail)
    print("complete", done.complete, [c.path for c in changed_paths(before, digest())])
(tree / "d").mkdir(parents=True)
(tree / "d" / "f").write_text("before")
(tree / "d" / "same").write_text("same")
(tree / "g").write_text("before")
before = digest()
copies.keep(before)
"""


def test_rights_that_the_run_took_away_come_back_first() -> None:
    """Closed folders are opened, what they hide is not overwritten by guess, files come back."""
    code = (
        UNPRIVILEGED
        + """
(tree / "d" / "f").write_text("after"); (tree / "d").chmod(0)
(tree / "g").write_text("after"); (tree / "g").chmod(0)
(tree / "new").mkdir(); (tree / "new" / "h").write_text("x"); (tree / "new").chmod(0)
after = digest()
put_back(before, after)
print("again"); put_back(before, after)
print("forced"); put_back(before, after, force=True)
print((tree / "d" / "f").read_text(), (tree / "g").read_text())
"""
    )
    with open_folder() as folder:
        lines = without_rights(code, folder).splitlines()
    hidden = "d/f left it could not be read after the run: what the run left is not known"
    assert lines[:6] == [
        "d mode ",
        hidden,
        "d/same already ",
        "g restored ",
        "new moved_aside ",
        f"complete False ['{folder}/tree/d/f']",
    ]
    again = lines[lines.index("again") + 1 : lines.index("forced")]
    assert again[:2] == ["d already ", hidden]
    assert lines[-2:] == ["complete True []", "before before"]


def test_a_machine_that_refuses_is_an_entry_of_the_result() -> None:
    """A folder this user may not write to costs its own paths and no others."""
    code = (
        UNPRIVILEGED
        + """
(tree / "d" / "f").write_text("after")
(tree / "g").write_text("after")
(tree / "d" / "new").write_text("x")
after = digest()
(tree / "d").chmod(0o555)
put_back(before, after)
(tree / "d").chmod(0o755)
put_back(before, after)
"""
    )
    with open_folder() as folder:
        lines = without_rights(code, folder).splitlines()
    assert lines[0].startswith("d/f failed permission denied")
    assert lines[1].startswith("d/new failed permission denied")
    assert lines[2] == "g restored "
    assert lines[-1] == "complete True []"
