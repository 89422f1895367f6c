"""Copies of guarded content."""

import hashlib
import os
from pathlib import Path

import pytest

from harness.core.evidence import FileDigest, PathKind
from harness.errors import HostProblem
from harness.stores.copies import Copies, Kept, Skipped, WhySkipped
from tests.helpers.trees import digests, open_folder, without_rights


def sha256(content: bytes) -> str:
    """Return a digest."""
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a folder to guard: two equal files, another, an empty one, a link and a pipe."""
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "one").write_bytes(b"same")
    (tree / "sub" / "two").write_bytes(b"same")
    (tree / os.fsdecode(b"caf\xe9")).write_bytes(b"other!")
    (tree / "empty").touch()
    (tree / "link").symlink_to("../outside")
    os.mkfifo(tree / "pipe")
    return tree


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    """Give a store that nobody has used yet."""
    return Copies(tmp_path / "state" / "guards")


def files_of(copies: Copies) -> list[str]:
    """Return the names of everything in the store."""
    return sorted(path.name for path in copies._files())


def test_every_content_is_kept_once_by_its_digest(
    tmp_path: Path, tree: Path, copies: Copies
) -> None:
    """Files, empty ones and the text of links are kept; equal contents share a copy."""
    kept = copies.keep(digests(tree))
    assert kept == Kept()
    assert len(list(copies._files())) == 4
    for content in (b"same", b"other!", b"", b"../outside"):
        assert copies.content(sha256(content)) == content
    place = tmp_path / "state" / "guards" / sha256(b"same")[:2] / sha256(b"same")
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700


def test_what_is_kept_is_not_read_again(tree: Path, copies: Copies) -> None:
    """A second call copies nothing, even where the files are gone by then."""
    found = digests(tree)
    copies.keep(found)
    (tree / "one").unlink()
    assert copies.keep(found) == Kept()


def test_limits_cost_the_largest_files(tmp_path: Path, copies: Copies) -> None:
    """Beyond one file's limit or that of all, paths are named; small files come first."""
    for name, size in (("a", 30), ("b", 10), ("c", 20), ("d", 200)):
        (tmp_path / name).write_bytes(name.encode() * size)
    found = digests(*(tmp_path / name for name in "abcd"))
    kept = copies.keep(found, per_file_limit=100, total_limit=45)
    assert sorted(path.stat().st_size for path in copies._files()) == [10, 20]
    assert kept.skipped == (
        Skipped(path=f"{tmp_path}/a", why=WhySkipped.NO_ROOM),
        Skipped(path=f"{tmp_path}/d", why=WhySkipped.TOO_LARGE),
    )
    copies.keep(found, per_file_limit=100, total_limit=45)
    assert len(list(copies._files())) == 2
    copies.keep(found, per_file_limit=100, total_limit=60)
    assert len(list(copies._files())) == 3


@pytest.mark.parametrize("content", [b"new", b"same and more", b""])
def test_content_that_changed_meanwhile_is_never_kept(
    tree: Path, copies: Copies, content: bytes
) -> None:
    """A copy has the digest it is named by, or does not exist."""
    found = digests(tree / "one")
    (tree / "one").write_bytes(content)
    kept = copies.keep(found)
    assert kept.skipped == (Skipped(path=f"{tree}/one", why=WhySkipped.CHANGED),)
    assert files_of(copies) == []


def test_another_path_with_the_same_content_will_do(tree: Path, copies: Copies) -> None:
    """One of two equal files has changed: the other one is copied and nothing is missing."""
    found = digests(tree / "one", tree / "sub")
    (tree / "one").write_bytes(b"new")
    assert copies.keep(found) == Kept()
    assert copies.content(sha256(b"same")) == b"same"


def test_a_file_that_turned_into_something_else_is_named(tree: Path, copies: Copies) -> None:
    """A pipe is not waited on, a link is not followed."""
    found = digests(tree / "one", tree / "empty", tree / "link", tree / os.fsdecode(b"caf\xe9"))
    for name in ("one", "empty", "link", os.fsdecode(b"caf\xe9")):
        (tree / name).unlink()
    os.mkfifo(tree / "one")
    (tree / "empty").symlink_to("/dev/null")
    (tree / "link").write_text("../outside")
    kept = copies.keep(found)
    assert {Path(skipped.path).name: skipped.why for skipped in kept.skipped} == {
        "caf\\xe9": WhySkipped.UNREADABLE,
        "empty": WhySkipped.UNREADABLE,
        "link": WhySkipped.CHANGED,
        "one": WhySkipped.CHANGED,
    }
    assert files_of(copies) == []


def test_a_file_without_rights_is_named() -> None:
    """What this user may not read has no copy and stops nothing."""
    code = """
from pathlib import Path
from harness.agy.guards import snapshot
from harness.stores.copies import Copies
root = sys.argv[1]
open(root + "/f", "w").write("x")
found = snapshot([root + "/f"], {})
os.chmod(root + "/f", 0)
print(Copies(Path(root + "/store")).keep(found).skipped[0].why)
"""
    with open_folder() as folder:
        assert without_rights(code, folder) == "unreadable\n"


def test_a_damaged_copy_is_no_copy(tmp_path: Path, tree: Path, copies: Copies) -> None:
    """Bytes that do not match their name are never handed out; a cut copy is made again."""
    found = digests(tree / "one")
    copies.keep(found)
    place = tmp_path / "state" / "guards" / sha256(b"same")[:2] / sha256(b"same")
    place.write_bytes(b"evil")
    assert copies.content(sha256(b"same")) is None
    place.write_bytes(b"sam")
    assert copies.keep(found) == Kept()
    assert copies.content(sha256(b"same")) == b"same"


def test_names_that_are_no_digests_find_nothing(tmp_path: Path, copies: Copies) -> None:
    """A digest is never a way out of the store."""
    (tmp_path / "secret").write_text("x")
    for name in ("", "../../../secret", "a" * 63, "A" * 64, "a" * 64 + "\n", "0" * 64):
        assert copies.content(name) is None
    strange = FileDigest(kind=PathKind.FILE, sha256="../../x", size=1)
    assert copies.keep({f"{tmp_path}/secret": strange}) == Kept()


def test_pruning_leaves_what_is_wanted(tmp_path: Path, tree: Path, copies: Copies) -> None:
    """Copies that no snapshot names go, and what a crash left half written."""
    assert copies.prune([]) == 0
    copies.keep(digests(tree))
    place = tmp_path / "state" / "guards" / sha256(b"same")[:2]
    (place / ".left.tmp").touch()
    assert copies.prune([sha256(b"same"), sha256(b"unknown")]) == 4
    assert files_of(copies) == [sha256(b"same")]


def test_a_store_that_cannot_be_written_is_an_error(tmp_path: Path, tree: Path) -> None:
    """Nothing passes for kept where the machine refuses."""
    (tmp_path / "file").touch()
    with pytest.raises(HostProblem):
        Copies(tmp_path / "file" / "guards").keep(digests(tree))
    root = tmp_path / "guards"
    root.mkdir()
    (root / sha256(b"same")[:2]).touch()
    with pytest.raises(HostProblem, match="pruned"):
        Copies(root).prune([])
    (root / sha256(b"same")[:2]).unlink()
    found = digests(tree / "one")

    def take_folder_away(name: str) -> None:
        if name == "copy:write":
            (root / sha256(b"same")[:2]).rmdir()

    with pytest.raises(HostProblem, match="cannot be written"):
        Copies(root, before_write=take_folder_away).keep(found)


def test_names_that_cannot_be_made_durable_are_an_error(tmp_path: Path) -> None:
    """A copy counts only once its folder is synced."""
    root = tmp_path / "guards"
    copies = Copies(root)
    with pytest.raises(HostProblem, match="synced"):
        copies._make_names_durable({root / "absent"})


class _Stop(Exception):
    pass


@pytest.mark.parametrize("step", ["copy:write", "copy:replace"])
def test_an_interrupted_copy_is_made_again(tmp_path: Path, tree: Path, step: str) -> None:
    """At no step does a half-written copy stand under a digest."""

    def stop(name: str) -> None:
        if name == step:
            raise _Stop

    root = tmp_path / "guards"
    with pytest.raises(_Stop):
        Copies(root, before_write=stop).keep(digests(tree))
    assert all(path.name.endswith(".tmp") for path in Copies(root)._files())
    assert Copies(root).keep(digests(tree)) == Kept()
    assert len([path for path in Copies(root)._files() if path.suffix != ".tmp"]) == 4
