"""Asking for the version: bounded in time, in bytes and in what it leaves behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from harness.agy.version import VersionAnswer, ask_version
from tests.helpers.processes import script, still_running


def _ask(folder: Path, body: str, timeout_s: float = 20) -> VersionAnswer:
    environment = {"PATH": os.defpath, "LEDGER": str(folder / "ledger")}
    return ask_version(script(folder, body), environment, timeout_s)


def test_a_version_is_what_was_printed(tmp_path: Path) -> None:
    """The number comes without its newline, and stdin is empty for the CLI."""
    answer = _ask(tmp_path, "sys.stdin.read(); print('1.2.10')")
    assert answer == VersionAnswer(text="1.2.10", exit_code=0)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(2)", "exit status 2"),
        ("os.kill(os.getpid(), 9)", "signal 9"),
        ("", "printed nothing"),
    ],
)
def test_no_usable_answer_says_why(tmp_path: Path, body: str, words: str) -> None:
    """Failure, death and silence each give one sentence."""
    assert words in _ask(tmp_path, body).problem


def test_a_cli_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    """No answer in time is a problem, and nothing of the question is left running."""
    answer = _ask(
        tmp_path, "deaf(); child(scrubbed, True, True); print('x', flush=True); rest()", 1
    )
    assert "did not answer within 1 s" in answer.problem
    assert still_running(tmp_path) == []


def test_a_grandchild_that_holds_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    """The answer is there when the CLI has ended, whoever still holds its stdout."""
    before = time.monotonic()
    answer = _ask(tmp_path, "child(rest, True, True); print('1.3.3')", 100)
    assert answer == VersionAnswer(text="1.3.3", exit_code=0)
    assert time.monotonic() - before < 60
    assert still_running(tmp_path) == []


def test_a_closed_output_is_waited_out_without_spinning(tmp_path: Path) -> None:
    """A CLI that closes stdout and lives on is waited for."""
    before = time.process_time()
    answer = _ask(tmp_path, "print('1.3.3', flush=True); os.close(1); time.sleep(1); os._exit(0)")
    assert answer.text == "1.3.3"
    assert time.process_time() - before < 0.7


def test_a_flood_is_read_to_its_bound(tmp_path: Path) -> None:
    """At most 16 KiB are kept of an answer that never ends."""
    answer = _ask(tmp_path, "while True: os.write(1, b'9' * 65536)", 1)
    assert len(answer.text) == 16 * 1024
    assert answer.problem


def test_a_binary_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    """A missing binary is an answer with a problem."""
    answer = ask_version(str(tmp_path / "agy"), {}, 1)
    assert "could not be started" in answer.problem
    assert answer.exit_code is None
