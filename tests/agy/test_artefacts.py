"""Declared artefacts."""

import os
from pathlib import Path

from harness.agy.artefacts import DIGEST_LIMIT, _digest, artefact_paths, missing, stand
from tests.helpers.trees import open_folder, without_rights


def test_a_new_file_with_content_is_an_artefact(tmp_path: Path) -> None:
    """What was written since the spawn is present; what was never there is missing."""
    paths = artefact_paths(str(tmp_path), ["report.md", "absent.md"])
    before = stand(paths)
    (tmp_path / "report.md").write_text("x")
    assert missing(before, stand(paths)) == (str(tmp_path / "absent.md"),)


def test_yesterdays_file_is_no_artefact(tmp_path: Path) -> None:
    """A file that nobody wrote is missing; writing the same content again is not."""
    file = tmp_path / "f"
    file.write_text("x")
    before = stand([str(file)])
    assert missing(before, stand([str(file)])) == (str(file),)
    file.with_name("new").write_text("x")
    file.with_name("new").replace(file)
    assert missing(before, stand([str(file)])) == ()


def test_empty_files_links_folders_and_pipes_are_missing(tmp_path: Path) -> None:
    """Only a regular file with content counts, and nothing is opened to find out."""
    paths = [str(tmp_path / name) for name in ("empty", "link", "folder", "pipe", "nul\0")]
    before = stand(paths)
    (tmp_path / "empty").touch()
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert missing(before, stand(paths)) == tuple(paths)


def test_names_are_literal(tmp_path: Path) -> None:
    """A star is a star."""
    (tmp_path / "a.md").write_text("x")
    path = str(tmp_path / "*.md")
    assert missing({}, stand([path])) == (path,)


def test_a_change_that_keeps_every_time_is_seen_by_content(tmp_path: Path) -> None:
    """Small files are compared by content, large ones by size and times."""
    (tmp_path / "small").write_bytes(b"x" * DIGEST_LIMIT)
    (tmp_path / "large").write_bytes(b"x" * (DIGEST_LIMIT + 1))
    states = stand([str(tmp_path / "small"), str(tmp_path / "large")])
    assert [bool(state.sha256) for state in states.values()] == [True, False]


def test_a_file_without_rights_counts_by_its_times() -> None:
    """An artefact that cannot be read is judged by what its entry says."""
    code = """
from harness.agy.artefacts import missing, stand
path = sys.argv[1] + "/f"
before = stand([path])
open(path, "w").write("x"); os.chmod(path, 0)
print(missing(before, stand([path])), stand([path])[path].sha256 == "")
"""
    with open_folder() as folder:
        assert without_rights(code, folder) == "() True\n"


def test_an_artefact_that_turns_into_something_else_is_not_followed(tmp_path: Path) -> None:
    """A link or pipe put in place of a file while it is looked at gives no content."""
    (tmp_path / "link").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe")
    assert _digest(str(tmp_path / "link")) == _digest(str(tmp_path / "pipe")) == ""
