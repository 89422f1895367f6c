"""The process table, read directly and by psutil: both must say the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.agy import table
from harness.agy.table import (
    holds_entry,
    is_childless,
    read_environment,
    read_row,
    read_table,
)
from tests.helpers.processes import launch_of, ledger, started, wait_for


@pytest.mark.parametrize("linux", [True, False])
def test_a_row_says_what_the_kernel_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, linux: bool
) -> None:
    """Parent, group, session, memory and environment are right, whoever reads them."""
    child = started(launch_of(tmp_path, "child(rest)\nrest()"))
    wait_for(lambda: len(ledger(tmp_path)) == 2)
    monkeypatch.setattr(table, "LINUX", linux)
    pid = child.identity.pid
    below = ledger(tmp_path)[1][0]
    rows = read_table()
    assert rows[pid].parent == os.getpid()
    assert rows[below].parent == pid
    assert (rows[below].group, rows[below].session) == (pid, pid)
    assert not rows[below].zombie
    assert rows[below].rss_bytes > 1 << 20
    assert rows[below].born >= rows[pid].born >= rows[os.getpid()].born
    environment = read_environment(below)
    assert environment is not None
    assert holds_entry(environment, f"HARNESS_RUN_ID=run-in-{tmp_path}".encode())
    monkeypatch.undo()
    child.tree.kill(pause=time.sleep)
    wait_for(child.exited)
    monkeypatch.setattr(table, "LINUX", linux)
    row = read_row(pid)
    assert row is not None
    assert row.zombie
    monkeypatch.undo()
    child.reap()


@pytest.mark.parametrize("linux", [True, False])
def test_a_process_that_is_not_there_has_no_row(
    monkeypatch: pytest.MonkeyPatch, *, linux: bool
) -> None:
    """A pid that nobody has gives None, for the row and for the environment."""
    monkeypatch.setattr(table, "LINUX", linux)
    assert read_row(2**22 + 5) is None
    assert read_environment(2**22 + 5) is None


def test_a_name_full_of_parentheses_confuses_nothing(tmp_path: Path) -> None:
    """A program may be called anything, blanks and parentheses included."""
    program = tmp_path / ") Z 1 ("
    program.symlink_to(sys.executable)
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen([program, "-ISc", code], stdin=subprocess.PIPE) as process:
        row = read_row(process.pid)
        assert row is not None
        assert row.parent == os.getpid()
        assert not row.zombie
        assert process.stdin is not None
        process.stdin.close()


def test_a_line_that_is_cut_short_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status line with fewer fields than it must have gives None."""
    monkeypatch.setattr(table, "_read_file", lambda _path, _limit: b"1 (init) S 0 1 1")
    assert read_row(1) is None


def test_a_process_that_ends_while_it_is_read_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the middle of reading is taken as the end of the process."""

    def fail(_file: int, _count: int) -> bytes:
        raise ProcessLookupError

    monkeypatch.setattr(os, "read", fail)
    assert read_row(os.getpid()) is None


def test_an_entry_is_matched_as_a_whole() -> None:
    """Only the very entry counts, wherever it stands in the block."""
    assert holds_entry(b"A=1\0B=2\0", b"A=1")
    assert holds_entry(b"A=1\0B=2\0", b"B=2")
    assert not holds_entry(b"A=12\0XB=2\0", b"A=1")
    assert not holds_entry(b"A=12\0XB=2\0", b"B=2")


def test_childless_is_said_only_where_it_is_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process with a child, one that is gone, and one nobody can ask are not called childless."""
    child = started(launch_of(tmp_path, "rest()"))
    assert is_childless(child.identity.pid)
    assert not is_childless(os.getpid())
    assert not is_childless(2**22 + 5)
    monkeypatch.setattr(table, "LINUX", False)
    assert not is_childless(child.identity.pid)
    monkeypatch.undo()
    child.tree.kill(pause=time.sleep)
    child.reap()
