"""Taking a run's changes back."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.core.evidence import FileDigest, changed_paths
from harness.core.restored import Restored, RestoreResult
from harness.services.restore import restore
from harness.stores.copies import Copies
from harness.stores.protocols import ignore_write
from tests.helpers.trees import digests

BYTES = os.fsdecode(b"caf\xe9")


@dataclass
class Night:
    """A guarded folder, what stood in it before a run, and what restoring needs."""

    tree: Path
    copies: Copies
    aside: Path
    before: Mapping[str, FileDigest]
    after: Mapping[str, FileDigest]

    def run(self, agent: Callable[[Path], object]) -> None:
        """Let an agent loose."""
        agent(self.tree)
        self.after = digests(self.tree)

    def restore(
        self,
        *,
        force: bool = False,
        only: set[str] | None = None,
        before_write: Callable[[str], None] = ignore_write,
    ) -> RestoreResult:
        """Take the run's changes back."""
        return restore(
            "run-1",
            before=self.before,
            after=self.after,
            copies=self.copies,
            aside=self.aside,
            force=force,
            only=only,
            before_write=before_write,
        )

    def results(self, result: RestoreResult) -> dict[str, str]:
        """Return what became of each path, relative to the folder."""
        return {os.path.relpath(path.path, self.tree): path.result.value for path in result.paths}

    def set_aside(self, name: str) -> Path:
        """Return where an entry is kept."""
        return self.aside / str(self.tree / name).lstrip("/")

    def assert_as_before(self) -> None:
        """Hold that nothing differs from before the run, half-made names included."""
        assert changed_paths(self.before, digests(self.tree)) == []


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """Give a guarded folder with every kind of entry that can be put back."""
    tree = tmp_path / "ws" / "data"
    (tree / "sub" / "deep").mkdir(parents=True)
    (tree / "prices.json").write_text('{"a": 1}')
    (tree / "run.sh").write_text("#!/bin/sh\n")
    (tree / "run.sh").chmod(0o750)
    (tree / "sub" / "deep" / "f").write_text("deep")
    (tree / "sub" / BYTES).write_text("bytes")
    (tree / "link").symlink_to("sub/deep")
    (tree / "empty").mkdir(mode=0o700)
    (tree / "locked").mkdir()
    (tree / "locked" / "f").write_text("locked")
    (tree / "locked").chmod(0o555)
    copies = Copies(tmp_path / "guards")
    before = digests(tree)
    assert copies.keep(before).skipped == ()
    return Night(tree, copies, tmp_path / "runs" / "restored-aside", before, before)


def wreck(tree: Path) -> None:
    """Do everything to a folder that an agent can do."""
    (tree / "prices.json").write_text('{"a": 999}')
    (tree / "run.sh").chmod(0o777)
    (tree / "link").unlink()
    (tree / "link").symlink_to("/etc")
    (tree / "sub" / BYTES).unlink()
    (tree / "sub" / "deep" / "f").unlink()
    (tree / "sub" / "deep").rmdir()
    (tree / "sub").chmod(0o777)
    (tree / "empty").rmdir()
    (tree / "empty").write_text("now a file")
    (tree / "new" / "er").mkdir(parents=True)
    (tree / "new" / "er" / "f").write_text("added")
    (tree / "new" / "l").symlink_to("nowhere")
    (tree / "new" / "er").chmod(0o500)
    os.mkfifo(tree / "pipe")
    (tree / "locked").chmod(0o755)
    (tree / "locked" / "f").unlink()
    (tree / "locked" / "f").mkdir()
    (tree / "locked" / "f" / "g").write_text("below a former file")


def test_everything_comes_back_and_nothing_is_lost(night: Night) -> None:
    """Content, modes, links, folders and kinds are as before; the agent's work is kept aside."""
    night.run(wreck)
    result = night.restore()
    assert night.results(result) == {
        "empty": "restored",
        "link": "restored",
        "locked": "mode",
        "locked/f": "restored",
        "locked/f/g": "moved_aside",
        "new": "moved_aside",
        "new/er": "moved_aside",
        "new/er/f": "moved_aside",
        "new/l": "moved_aside",
        "pipe": "moved_aside",
        "prices.json": "restored",
        "run.sh": "mode",
        "sub": "mode",
        "sub/caf\\xe9": "recreated",
        "sub/deep": "recreated",
        "sub/deep/f": "recreated",
    }
    assert result.complete
    assert result.run_id == "run-1"
    night.assert_as_before()
    assert night.set_aside("prices.json").read_text() == '{"a": 999}'
    assert night.set_aside("empty").read_text() == "now a file"
    assert night.set_aside("new/er/f").read_text() == "added"
    assert night.set_aside("new/l").readlink() == Path("nowhere")
    assert night.set_aside("link").readlink() == Path("/etc")
    assert night.set_aside("locked/f/g").read_text() == "below a former file"
    assert night.set_aside("pipe").is_fifo()
    kept = {path.path: path.aside for path in result.paths}
    assert kept[f"{night.tree}/prices.json"] == str(night.set_aside("prices.json"))
    assert kept[f"{night.tree}/run.sh"] is None


def test_again_is_no_harm(night: Night) -> None:
    """A second restore finds everything done and changes nothing."""
    night.run(wreck)
    night.restore()
    again = night.restore()
    assert set(night.results(again).values()) == {"already"}
    assert again.complete
    night.assert_as_before()


def test_no_change_is_nothing_to_do(night: Night) -> None:
    """A run that left everything alone has no entries."""
    assert night.restore() == RestoreResult(run_id="run-1", paths=())


class _Stop(BaseException):
    pass


def test_a_restore_that_is_interrupted_anywhere_is_finished_by_the_next(
    tmp_path: Path, night: Night
) -> None:
    """Ended after every two steps, it goes on where it stood until all is done."""
    night.run(wreck)
    steps = 0
    while True:
        count = [0]

        def stop_late(_: str, count: list[int] = count) -> None:
            count[0] += 1
            if count[0] > 2:
                raise _Stop

        try:
            result = night.restore(before_write=stop_late)
        except _Stop:
            steps += 1
            assert steps < 100
            continue
        break
    assert steps > 5
    assert result.complete
    night.assert_as_before()
    kept = [path for path in night.aside.rglob("*") if path.name == "prices.json"]
    assert [path.read_text() for path in kept] == ['{"a": 999}']
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("step", range(12))
def test_a_restore_that_is_interrupted_once_is_finished_by_the_next(
    night: Night, step: int
) -> None:
    """Whichever step it is ended before, the next one leaves everything as before the run."""
    night.run(wreck)
    left = [step * 2]

    def stop(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise _Stop

    with pytest.raises(_Stop):
        night.restore(before_write=stop)
    assert night.restore().complete
    night.assert_as_before()


def test_what_somebody_repaired_since_is_left_alone(night: Night) -> None:
    """A path that is no longer what the run left is named; force puts it back and keeps it."""
    night.run(wreck)
    (night.tree / "prices.json").write_text("repaired by hand")
    (night.tree / "sub" / BYTES).write_text("again by hand")
    (night.tree / "new" / "er" / "f").write_text("mine now")
    (night.tree / "run.sh").chmod(0o700)
    (night.tree / "pipe").unlink()
    result = night.restore()
    expected = {
        "prices.json": "left",
        "sub/caf\\xe9": "left",
        "new/er/f": "left",
        "new/er": "left",
        "new": "left",
        "run.sh": "left",
        "pipe": "already",
    }
    assert {path: night.results(result)[path] for path in expected} == expected
    assert not result.complete
    details = {path.path: path.detail for path in result.paths}
    assert details[f"{night.tree}/prices.json"] == "it was changed again after the run"
    assert details[f"{night.tree}/new"] == "the folder holds what the run did not leave there"
    assert (night.tree / "prices.json").read_text() == "repaired by hand"
    assert (night.tree / "new" / "er" / "f").read_text() == "mine now"
    forced = night.restore(force=True)
    assert forced.complete
    night.assert_as_before()
    assert night.set_aside("prices.json").read_text() == "repaired by hand"
    assert night.set_aside("new/er/f").read_text() == "mine now"


def test_versions_that_are_set_aside_one_after_the_other_are_all_kept(night: Night) -> None:
    """Nothing that was kept is ever overwritten."""
    for number in range(3):
        (night.tree / "prices.json").write_text(f"{number}")
        night.after = digests(night.tree)
        night.restore()
    first = night.set_aside("prices.json")
    names = [first, *(first.with_name(f"{first.name}.{number}") for number in (1, 2))]
    assert [name.read_text() for name in names] == ["0", "1", "2"]


def test_forcing_moves_a_folder_with_foreign_files_aside(night: Night) -> None:
    """A folder of the run with somebody's file in it goes aside as a whole."""
    night.run(lambda tree: (tree / "new").mkdir())
    (night.tree / "new" / "mine").write_text("x")
    assert night.results(night.restore()) == {"new": "left"}
    assert night.restore(force=True).complete
    night.assert_as_before()
    moved = list(night.aside.rglob("mine"))
    assert [path.read_text() for path in moved] == ["x"]


def test_a_folder_somebody_removed_is_not_made_again(night: Night) -> None:
    """Files in a folder that a person took away after the run are named, the folder stays gone."""
    night.run(lambda tree: (tree / "sub" / "deep" / "f").write_text("x"))
    (night.tree / "sub" / "deep" / "f").unlink()
    (night.tree / "sub" / "deep").rmdir()
    result = night.restore()
    assert night.results(result) == {"sub/deep/f": "left"}
    assert result.paths[0].detail in (
        "it was changed again after the run",
        "the folder it stood in is gone",
    )
    assert not (night.tree / "sub" / "deep").exists()
    assert night.restore(force=True).complete


def test_the_restore_can_be_restricted(night: Night) -> None:
    """Paths that an approved write explains can be left out."""
    night.run(wreck)
    result = night.restore(only={f"{night.tree}/run.sh", f"{night.tree}/other"})
    assert night.results(result) == {"run.sh": "mode"}
    assert (night.tree / "prices.json").read_text() == '{"a": 999}'


def test_content_without_a_copy_is_named(night: Night) -> None:
    """What was too large to keep stays as the run left it, and says so."""
    night.copies.prune([])
    night.run(wreck)
    result = night.restore()
    results = night.results(result)
    assert results["prices.json"] == results["link"] == "not_kept"
    assert results["run.sh"] == "mode"
    assert results["new/er/f"] == "moved_aside"
    assert (night.tree / "prices.json").read_text() == '{"a": 999}'
    assert not result.complete


def test_a_guard_that_is_a_single_file_comes_back_with_its_folders(tmp_path: Path) -> None:
    """Folders above a guarded file are made again where the run took them away."""
    file = tmp_path / "a" / "b" / "f"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    copies = Copies(tmp_path / "guards")
    before = digests(file)
    copies.keep(before)
    file.unlink()
    file.parent.rmdir()
    file.parent.parent.rmdir()
    after = digests(file)
    result = restore("r", before=before, after=after, copies=copies, aside=tmp_path / "aside")
    assert [path.result for path in result.paths] == [Restored.RECREATED]
    assert changed_paths(before, digests(file)) == []
    file.unlink()
    file.parent.rmdir()
    missing = restore("r", before={}, after=before, copies=copies, aside=tmp_path / "aside")
    assert [path.result for path in missing.paths] == [Restored.ALREADY]


def test_owners_are_those_of_what_was_replaced(night: Night) -> None:
    """A restore by root gives nothing to root that was somebody else's."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(night.tree / "prices.json", 1234, 1235)
    os.chown(night.tree, 2234, 2235)
    night.run(wreck)
    night.restore()
    status, made = (night.tree / "prices.json").stat(), (night.tree / "empty").stat()
    assert (status.st_uid, status.st_gid) == (1234, 1235)
    assert (made.st_uid, made.st_gid) == (2234, 2235)
