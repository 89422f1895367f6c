"""Standard streams that are closed, full, or of another encoding: nothing is lost by them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.night import Night

ANSWERS = '[[steps]]\ntext = "All is well."\n'
FAILS = "[[steps]]\nexit = 1\n"


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """Return a home with a job that does well and one that fails."""
    made = Night(tmp_path)
    made.job("good", ANSWERS)
    made.job("bad", FAILS)
    return made


def in_shell(night: Night, words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Give a command with redirections, as a shell does it."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m harness {words}"],
        env={**night.environment, **night.scenario_of(*words.split()), **environment},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "streams",
    [">&-", "2>&-", "<&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "| true", "2>&- | true"],
)
def test_a_run_is_never_lost_to_a_stream(night: Night, streams: str) -> None:
    """It is recorded, and its exit status is its own, whatever becomes of what it prints."""
    for job, status in (("good", 0), ("bad", 3)):
        done = in_shell(night, f"run {job} --log-format json {streams}")
        assert done.returncode == status, done.stderr
        assert b"Traceback" not in done.stdout + done.stderr
        assert b"run.finished" not in done.stdout
    assert len(night.harness("runs", "list", "--json").json) == 2


def test_a_full_stream_is_one_line_and_exit_1(night: Night) -> None:
    """Commands other than `run` fail where their result cannot be told."""
    for words in ("runs list", "report", "--help"):
        done = in_shell(night, f"{words} >/dev/full")
        assert done.returncode == 1, words
        assert done.stderr.count(b"\n") == 1, words
        assert b"No space left on device" in done.stderr
    assert in_shell(night, "jobs show nosuch 2>/dev/full").returncode == 2
    assert in_shell(night, "runs list >&-").returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_poor_encoding_takes_nothing_away(night: Night, encoding: str) -> None:
    """What is printed is UTF-8, whatever the locale can write."""
    night.harness(
        "gate", "write", "k", "--tier", "canonical", "--value", "1", "--reason", "下限が低い"
    )
    for words in ("report", "pending list"):
        done = in_shell(night, words, PYTHONIOENCODING=encoding, LC_ALL="C")
        assert done.returncode == 0, done.stderr
        assert "下限が低い" in done.stdout.decode()


def test_a_state_that_cannot_be_made_refuses_the_run(night: Night) -> None:
    """What the machine refuses while the store is opened is exit 5, as any store's fault."""
    night.home.runs.rmdir()
    night.home.runs.write_text("no folder")
    done = in_shell(night, "run good --json")
    assert done.returncode == 5, done.stderr
    assert json.loads(done.stdout)["reason"] == "store_unreachable"
