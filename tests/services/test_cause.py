"""The cause of an outcome in one line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.core.model import AgyError, Denial, Evidence, Outcome, Reason, RunRecord
from harness.services.cause import cause_of
from harness.services.run_files import RunFiles

AT = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
MISSING = Evidence(missing_artefacts=("/w/report.md",))


def cause(folder: Path, *, begun: bool = True, spawn: str | None = None, **facts: Any) -> str:
    """Return the cause of a run, by default one with an exit status that is not 0."""
    values: dict[str, Any] = {
        "run_id": "r",
        "job": "ads",
        "outcome": Outcome.ERRORED,
        "reason": Reason.EXIT,
        "rule": "exit",
        "table_row": 2,
        "started_at": AT,
        "ended_at": AT,
        "duration_s": 0.0,
    }
    record = RunRecord(**(values | facts))
    return cause_of(record, RunFiles(folder=str(folder)), spawn_problem=spawn, begun=begun)


def test_the_last_words_come_before_what_is_missing(tmp_path: Path) -> None:
    """A missing artefact is a consequence; the cause stands on stderr."""
    (tmp_path / "stderr").write_text("working\nfatal: no network\n\n")
    assert cause(tmp_path, evidence=MISSING) == "fatal: no network"
    assert cause(tmp_path, evidence=MISSING, agy_errors=(AgyError(short_error="quota"),)) == "quota"
    assert cause(tmp_path, evidence=MISSING, agy_errors=(AgyError(raw="odd"),)) == "odd"


def test_without_words_the_rest_is_told(tmp_path: Path) -> None:
    """Denials, then artefacts, then nothing; stderr of a good run is no cause."""
    denied = (Denial(action="command", target="rm", source="log"),)
    assert cause(tmp_path, evidence=MISSING, denied=denied) == "denied: command(rm)"
    assert cause(tmp_path, evidence=MISSING) == "missing: /w/report.md"
    (tmp_path / "stderr").write_text("chatter")
    quiet: dict[str, Any] = {
        "outcome": Outcome.UNTOUCHED,
        "reason": Reason.NO_CHANGE,
        "table_row": 4,
    }
    assert cause(tmp_path, **quiet) == ""


def test_a_change_and_a_failed_start_come_first(tmp_path: Path) -> None:
    """What bypassed the gate, and what kept the CLI from starting, need no other words."""
    (tmp_path / "stderr").write_text("fatal")
    assert cause(tmp_path, evidence=Evidence(changed_paths=("/w/a",))) == "changed: /w/a"
    assert cause(tmp_path, spawn="no memory left") == "no memory left"


@pytest.mark.parametrize(
    ("survivors", "words"),
    [(0, "no process of the run was left"), (1, "1 process of"), (2, "2 processes of")],
)
def test_a_crash_says_what_is_known(tmp_path: Path, survivors: int, words: str) -> None:
    """The harness was killed, what of the run still lived, and its last words."""
    evidence = Evidence(survivors_killed=survivors, missing_artefacts=("/w/x",))
    crashed: dict[str, Any] = {"reason": Reason.HARNESS_CRASHED, "evidence": evidence}
    assert cause(tmp_path, **crashed).startswith(f"the harness was killed; {words}")
    (tmp_path / "stderr").write_text("half a sentence")
    assert cause(tmp_path, **crashed).endswith("; last on stderr: half a sentence")


def test_what_took_the_place_of_stderr_is_not_read(tmp_path: Path) -> None:
    """A folder or a link there has no last words."""
    (tmp_path / "stderr").mkdir()
    assert cause(tmp_path) == ""
