"""Reading the output files as they grow, whatever is done to them meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agy import durable
from harness.agy.collect import CHUNK, ROUND, Tails, transcript_path
from harness.agy.durable import sync_folders
from harness.core.output import Stream
from harness.errors import HostProblem
from harness.stores import files
from tests.helpers.reader import PlainReader


def _tails(folder: Path, *, make: bool = True, limit: int = 1 << 30) -> Tails:
    return Tails(
        stdout_path=str(folder / "stdout"),
        stderr_path=str(folder / "stderr"),
        log_path=str(folder / "agy.log"),
        gemini_root=str(folder / "gemini"),
        make=make,
        limit=limit,
    )


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_growth_is_handed_over_as_what_it_is(tmp_path: Path) -> None:
    """Each file reaches the reader as its own stream, each byte once."""
    reader, tails = PlainReader(), _tails(tmp_path)
    assert not tails.read(reader)
    _append(tmp_path / "stdout", b"one\n")
    assert tails.read(reader)
    _append(tmp_path / "stdout", b"two\n")
    _append(tmp_path / "agy.log", b"logged\n")
    assert tails.read(reader)
    _append(tmp_path / "stderr", b"complaint\n")
    assert not tails.read(reader), "stderr does not show that the agent works"
    assert reader.fed == {
        Stream.STDOUT: b"one\ntwo\n",
        Stream.STDERR: b"complaint\n",
        Stream.LOG: b"logged\n",
    }
    assert tails.output_bytes == 25
    tails.close()


def test_files_are_private_and_made_before_the_start(tmp_path: Path) -> None:
    """Both outputs are there, empty, for this user alone; the log is the CLI's to make."""
    _tails(tmp_path).close()
    assert (tmp_path / "stdout").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "agy.log").exists()


def test_a_run_that_is_over_is_read_without_making_anything(tmp_path: Path) -> None:
    """What is not there is not made, and what is there is read."""
    (tmp_path / "stderr").write_bytes(b"last words")
    reader, tails = PlainReader(), _tails(tmp_path, make=False)
    tails.drain(reader)
    tails.close()
    assert reader.fed[Stream.STDERR] == b"last words"
    assert not (tmp_path / "stdout").exists()


def test_a_large_backlog_is_read_in_bounded_rounds(tmp_path: Path) -> None:
    """A flood is taken in bounded pieces and rounds, all of it in the end."""
    size = ROUND * 4 + 12345
    reader, tails = PlainReader(), _tails(tmp_path)
    _append(tmp_path / "stdout", b"x" * size)
    assert tails.read(reader)
    assert len(reader.fed[Stream.STDOUT]) == ROUND
    assert tails.backlog
    tails.drain(reader, within_s=0)
    assert tails.backlog
    tails.drain(reader)
    assert len(reader.fed[Stream.STDOUT]) == size
    assert reader.largest == CHUNK
    assert not tails.backlog
    tails.close()


def test_one_flood_does_not_starve_the_others(tmp_path: Path) -> None:
    """While stdout floods, stderr and the log are still read."""
    reader, tails = PlainReader(), _tails(tmp_path)
    _append(tmp_path / "stdout", b"x" * ROUND * 2)
    _append(tmp_path / "stderr", b"err")
    _append(tmp_path / "agy.log", b"log")
    tails.read(reader)
    assert reader.fed[Stream.STDERR] == b"err"
    assert reader.fed[Stream.LOG] == b"log"
    tails.close()


def test_a_rotated_log_is_followed(tmp_path: Path) -> None:
    """A log that is moved away and made anew is read to its end, then from the new start."""
    reader, tails = PlainReader(), _tails(tmp_path)
    log = tmp_path / "agy.log"
    _append(log, b"first ")
    tails.read(reader)
    _append(log, b"second ")
    log.rename(tmp_path / "agy.log.1")
    tails.read(reader)
    _append(log, b"third")
    tails.read(reader)
    tails.read(reader)
    assert reader.fed[Stream.LOG] == b"first second third"
    assert tails.output_bytes == len(b"first second third")
    tails.close()


def test_a_log_cut_short_begins_anew(tmp_path: Path) -> None:
    """A file that shrinks is read from its start, and what was written still counts."""
    reader, tails = PlainReader(), _tails(tmp_path)
    log = tmp_path / "agy.log"
    _append(log, b"first ")
    tails.read(reader)
    log.write_bytes(b"new")
    assert tails.read(reader)
    assert reader.fed[Stream.LOG] == b"first new"
    assert tails.output_bytes == 9
    tails.close()


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, kind: str) -> None:
    """A log that is a link, a pipe or a folder is left alone and blocks nothing."""
    log = tmp_path / "agy.log"
    (tmp_path / "secret").write_bytes(b"secret")
    if kind == "link":
        log.symlink_to("secret")
    elif kind == "fifo":
        os.mkfifo(log)
    else:
        log.mkdir()
    reader, tails = PlainReader(), _tails(tmp_path)
    assert not tails.read(reader)
    assert reader.fed[Stream.LOG] == b""
    tails.close()


def test_a_log_that_becomes_a_pipe_between_look_and_open_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was opened is looked at again, and closed where it is no regular file."""
    os.mkfifo(tmp_path / "agy.log")
    regular = os.lstat(__file__)
    reader, tails = PlainReader(), _tails(tmp_path)
    monkeypatch.setattr(os, "lstat", lambda _path: regular)
    assert not tails.read(reader)
    monkeypatch.setattr(os, "O_NONBLOCK", 0)
    tails.close()


def test_stdout_is_the_file_that_was_made(tmp_path: Path) -> None:
    """An agent that puts another file in place of stdout is not read from there."""
    reader, tails = PlainReader(), _tails(tmp_path)
    _append(tmp_path / "stdout", b"true\n")
    (tmp_path / "stdout").rename(tmp_path / "moved")
    (tmp_path / "stdout").write_bytes(b"forged\n")
    tails.drain(reader)
    assert reader.fed[Stream.STDOUT] == b"true\n"
    tails.close()


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_stdout_that_is_in_the_way_is_refused(tmp_path: Path, kind: str) -> None:
    """Where a link or a pipe stands already, the run does not start."""
    if kind == "link":
        (tmp_path / "stdout").symlink_to("elsewhere")
    else:
        os.mkfifo(tmp_path / "stdout")
    with pytest.raises(HostProblem, match="stdout"):
        _tails(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_no_trick_with_sizes_makes_reading_endless(tmp_path: Path) -> None:
    """A file with a hole of a terabyte is read to the limit, and its size counts."""
    reader, tails = PlainReader(), _tails(tmp_path, limit=CHUNK * 3)
    os.truncate(tmp_path / "stdout", 1 << 40)
    tails.drain(reader)
    assert len(reader.fed[Stream.STDOUT]) == CHUNK * 3
    assert tails.output_bytes == 1 << 40
    tails.close()


def test_the_transcript_counts_as_life(tmp_path: Path) -> None:
    """Growth of the transcript of a conversation that the events name is growth."""
    reader, tails = PlainReader(), _tails(tmp_path)
    path = Path(transcript_path(str(tmp_path / "gemini"), "c-1"))
    assert path.parts[-6:-3] == ("antigravity-cli", "brain", "c-1")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n")
    _append(tmp_path / "stdout", b"conversation c-1\nconversation ../../../secret\n")
    assert tails.read(reader)
    assert not tails.read(reader)
    _append(path, b"{}\n")
    assert tails.read(reader)
    assert not tails.read(reader)
    tails.close()


def test_without_log_and_transcript_the_rest_is_read(tmp_path: Path) -> None:
    """A run without a log file of its own, or a known root, is read all the same."""
    tails = Tails(
        stdout_path=str(tmp_path / "stdout"), stderr_path=str(tmp_path / "stderr"), log_path=None
    )
    _append(tmp_path / "stdout", b"conversation c-1\n")
    assert tails.read(PlainReader())
    tails.close()


def test_outputs_are_made_durable(tmp_path: Path) -> None:
    """Syncing what is open works, and folders that are gone are passed over."""
    tails = _tails(tmp_path)
    assert tails.sync() == ""
    assert sync_folders([str(tmp_path / "no/such/folder")]) == []
    tails.close()


def test_a_disk_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be made durable is said, by path."""
    tails = _tails(tmp_path)

    def fail(_file: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    problem = tails.sync()
    assert f"{tmp_path}/stdout: Input/output error" in problem
    assert f"{tmp_path}: Input/output error" in problem
    tails.close()


@pytest.mark.parametrize("full_sync", [durable.full_sync, files.full_sync], ids=["agy", "stores"])
def test_on_macos_the_disks_own_cache_is_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_sync: Callable[[int], None]
) -> None:
    """Where the system has a full sync, that is what is asked for; a share gets the plain one."""
    asked: list[object] = []
    answer: list[OSError] = []

    def control(_file: int, command: int) -> None:
        asked.append(command)
        for problem in answer:
            raise problem

    monkeypatch.setattr("fcntl.F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr("fcntl.fcntl", control)
    monkeypatch.setattr(os, "fsync", lambda _file: asked.append("fsync"))
    with (tmp_path / "stdout").open("wb") as file:
        full_sync(file.fileno())
        assert asked == [51]
        answer.append(OSError(errno.ENOTSUP, "not supported"))
        full_sync(file.fileno())
        assert asked == [51, 51, "fsync"]
        answer[:] = [OSError(errno.EIO, "i/o error")]
        with pytest.raises(OSError, match="i/o error"):
            full_sync(file.fileno())


def test_every_file_is_made_durable_the_full_way() -> None:
    """Nothing but the two helpers asks for the plain sync, which is too little on macOS."""
    root = Path(files.__file__).parent.parent
    asking = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if "os.fsync(" in path.read_text() and "testing" not in path.parts
    }
    assert asking == {"agy/durable.py", "stores/files.py"}
