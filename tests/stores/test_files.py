"""Files that are whole or not there."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from harness.errors import HostProblem
from harness.stores.files import (
    atomic_write,
    free_bytes,
    is_file,
    is_folder,
    make_private_folder,
    read_bounded,
    real_path,
    reason_of,
)


def test_a_write_replaces_the_whole_file(tmp_path: Path) -> None:
    """The new content stands with its mode, and nothing temporary is left."""
    path = tmp_path / "a"
    path.write_bytes(b"old and longer")
    atomic_write(path, b"new", mode=0o640)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["a:write", "a:replace"])
def test_a_write_that_stops_leaves_the_old_content(tmp_path: Path, step: str) -> None:
    """At either step, an interruption leaves the file as it was."""
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def stop(name: str) -> None:
        if name == step:
            raise OSError(28, "No space left on device")

    with pytest.raises(HostProblem, match="no space left"):
        atomic_write(path, b"new", before_write=stop)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_without_a_folder_names_the_file(tmp_path: Path) -> None:
    """A refusal of the machine says which file and why."""
    with pytest.raises(HostProblem, match=r"/no/a: cannot be written: no such file"):
        atomic_write(tmp_path / "no" / "a", b"x")


def test_reading_is_bounded(tmp_path: Path) -> None:
    """A file up to the limit is read, a larger one refused."""
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(HostProblem, match="at most 4 bytes"):
        read_bounded(path, 4)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A pipe is refused without waiting for a writer; folders and missing files as well."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(HostProblem, match="expected a regular file"):
            read_bounded(path, 5)
    with pytest.raises(HostProblem, match="no such file"):
        read_bounded(tmp_path / "missing", 5)


def test_a_read_that_the_machine_breaks_off_is_named() -> None:
    """A file whose content cannot be read gives a clear error."""
    with pytest.raises(HostProblem, match="cannot be read: input/output error"):
        read_bounded(Path("/proc/self/mem"), 5)


def test_a_private_folder_is_closed(tmp_path: Path) -> None:
    """A new folder is private with its parents made, and an open one is closed."""
    path = tmp_path / "a" / "b"
    make_private_folder(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    path.chmod(0o755)
    make_private_folder(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_private_folder_is_never_a_file(tmp_path: Path) -> None:
    """What is no folder is refused, as is one that cannot be made."""
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(HostProblem, match="expected a folder"):
        make_private_folder(path)
    with pytest.raises(HostProblem, match="cannot be made"):
        make_private_folder(path / "below")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_private_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """A folder that somebody else owns is not trusted."""
    path = tmp_path / "theirs"
    path.mkdir()
    os.chown(path, 12345, 12345)
    with pytest.raises(HostProblem, match="belongs to another user"):
        make_private_folder(path)


def test_looking_never_raises(tmp_path: Path) -> None:
    """A loop of links or a name beyond all limits is simply no file and no folder."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    endless = tmp_path / ("x" * 5000)
    for path in (loop, endless):
        assert not is_file(path)
        assert not is_folder(path)
    assert real_path(loop) == loop


def test_a_failure_without_words_still_has_some() -> None:
    """An error of the machine that carries no text is named by its class."""
    assert reason_of(OSError()) == "oserror"


def test_the_room_on_a_disk_is_what_this_user_may_use(tmp_path: Path) -> None:
    """The bytes that are free are those the system would give, within what others write."""
    free = free_bytes(tmp_path)
    assert abs(free - shutil.disk_usage(tmp_path).free) < max(1 << 30, free // 10)
    with pytest.raises(OSError, match="No such file"):
        free_bytes(tmp_path / "missing")
