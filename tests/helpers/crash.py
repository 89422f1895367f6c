"""A night whose harness is killed: the driver's client, and what must hold afterwards."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.helpers.night import Night, marked

ROOT = Path(__file__).parents[2]
_PROPOSES = """
record = "{record}"
[[steps]]
text = "I propose it."
{change}
[[steps]]
command = ["harness", "gate", "write", "ads/floor", "--tier", "canonical", "--value", "0.12",
    "--reason", "the median rose", "--json"]
[[steps]]
command = ["harness", "journal", "append", "--scope", "ads", "seen", "--json"]
{last}
"""
_CHANGE = """
[[steps]]
write_file = {{ path = "data/prices.json", content = "changed by {{{{run_id}}}}", event = false }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """How one process ended; `points` are the names of the durable writes that it reached."""

    status: int
    out: str
    err: str
    points: tuple[str, ...]

    @property
    def killed(self) -> bool:
        """It was ended by SIGKILL."""
        return self.status == -signal.SIGKILL

    @property
    def where(self) -> str:
        """The place of the strike, for messages."""
        return f"struck before write {len(self.points)}: {self.points[-1] if self.points else '-'}"


class Driver:
    """The driver process for one night; a context manager."""

    def __init__(self, night: Night) -> None:
        self.night = night
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.crash_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=60)

    def go(
        self,
        deed: str,
        *words: str,
        at: int | str | None = None,
        after_s: float | None = None,
        number: signal.Signals = signal.SIGKILL,
        fill: Path | None = None,
    ) -> Gone:
        """Do one deed in a process of its own, and wait for its end.

        Args:
            deed: a name in `crash_driver.DEEDS`, or `command` for a whole command line.
            words: its arguments.
            at: strike before this durable write: the how-manieth, or the first of a name.
            after_s: strike after so many seconds.
            number: the signal to strike with.
            fill: strike by filling the disk of this folder instead.
        """
        request = {
            "deed": deed,
            "words": words,
            "at": at,
            "after_s": after_s,
            "signal": int(number),
            "fill": None if fill is None else str(fill),
            "environment": {**self.night.environment, **self.night.scenario_of(*words)},
            "cwd": str(self.night.folder),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "Traceback" not in answer["err"], answer["err"]
        return Gone(
            status=answer["status"],
            out=answer["out"],
            err=answer["err"],
            points=tuple(answer["points"]),
        )

    def command(self, *words: str) -> Any:
        """Give an ordinary command with `--json`; it must work. Returns what it printed."""
        said = self.go("command", *words, "--json")
        assert said.status == 0, f"{words}: {said.status}: {said.err}{said.out}"
        return json.loads(said.out)

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return every closed run by its id."""
        return {run["run_id"]: run for run in self.command("runs", "list", "--limit", "10000")}


class Ads:
    """The job that the crashes befall: it proposes a write, notes one, and may change a guard.

    Attributes:
        changes: it writes to the guarded file past the gate, before it proposes.
    """

    NAME = "ads"

    def __init__(self, night: Night, *, changes: bool = False, last: str = "") -> None:
        """Write the job and its scenario; `last` are steps after the two writes."""
        self.night = night
        self._record = night.folder / "record"
        self._read = 0
        (night.workspace / "data").mkdir(exist_ok=True)
        self.prices = night.workspace / "data" / "prices.json"
        self.original = ""
        self.renew()
        change = _CHANGE.format() if changes else ""
        night.job(
            self.NAME,
            _PROPOSES.format(record=self._record, change=change, last=last),
            tiers=["journal", "canonical"],
            guard=["data/prices.json"],
        )

    def renew(self) -> None:
        """Give the guarded file a content of which no copy is kept yet."""
        self.original += "original\n"
        self.prices.write_text(self.original)

    def said(self) -> list[dict[str, Any]]:
        """Return the lines that the stand-in wrote down since the last call."""
        if not self._record.exists():
            return []
        text = self._record.read_text()[self._read :]
        self._read += len(text)
        return [json.loads(line) for line in text.splitlines()]


def acknowledged(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers that commands of the agent got: what they were told is stored."""
    return [
        json.loads(line["stdout"])
        for line in said
        if line["line"] == "command" and line["exit"] == 0
    ]


def count(night: Night, sql: str, *parameters: object) -> int:
    """Return the one number that a query gives, read beside every command."""
    connection = sqlite3.connect(f"file:{night.home.database}?mode=ro", uri=True)
    try:
        return int(connection.execute(sql, parameters).fetchone()[0])
    finally:
        connection.close()


def applied_of(night: Night, run_id: str) -> int:
    """Return how many canonical writes of a run were carried out."""
    return count(night, "SELECT COUNT(*) FROM canonical WHERE run_id = ?", run_id)


def forget(driver: Driver, ads: Ads, record: dict[str, Any] | None) -> None:
    """Do what a person does about a run, so that the next one has as much to write."""
    if record is None:
        return
    for proposal_id in (*record["pending"], *record["quarantined"]):
        driver.go("reject", proposal_id)
    if record["outcome"] == "bypassed":
        driver.command("runs", "restore", record["run_id"])
        driver.command("runs", "ack", record["run_id"], "--reason", "it was a test")
    assert ads.prices.read_text() == ads.original
    ads.renew()


def repaired(
    driver: Driver, ads: Ads, known: dict[str, dict[str, Any]], where: str
) -> dict[str, Any] | None:
    """Give the next ordinary commands after a crash and hold what they must have mended.

    Args:
        driver: of the night.
        ads: the job whose harness was killed.
        known: the closed runs from before; the new one is added.
        where: the place of the crash, for messages.

    Returns:
        The run's record; None where the crash came before its claim.
    """
    night = driver.night
    report = driver.command("report")
    assert report["running"] == [], where
    check = driver.command("state", "check")
    assert check["ok"], (where, check)
    runs = driver.runs()
    assert {run_id: runs[run_id] for run_id in known} == known, where
    fresh = [run_id for run_id in runs if run_id not in known]
    said = ads.said()
    if not fresh:
        turns = [line for line in said if line["line"] == "turn"]
        assert turns == [], f"{where}: an agent worked for a run that left no trace"
        return None
    (run_id,) = fresh
    record = known[run_id] = runs[run_id]
    closings = "SELECT COUNT(*) FROM events WHERE kind = 'run.closed' AND subject = ?"
    assert count(night, closings, run_id) == 1, where
    folder = night.home.run_folder(run_id)
    assert json.loads((folder / "record.json").read_text()) == record, where
    assert marked(run_id) == [], f"{where}: processes of the run live on"
    _hold_acknowledged(driver, record, acknowledged(said), where)
    _hold_evidence(ads, record, where)
    left = [*folder.glob("*.tmp"), *folder.glob(".*.tmp"), *night.workspace.glob(".harness-*")]
    assert left == [], where
    return record


def _hold_acknowledged(
    driver: Driver, record: dict[str, Any], answers: list[dict[str, Any]], where: str
) -> None:
    """Everything the agent was told is stored; nothing of it is approved."""
    run_id = record["run_id"]
    proposals = {
        each["id"]: each
        for each in driver.command("pending", "list", "--all")
        if each["run_id"] == run_id
    }
    assert {each["pending_id"] for each in answers if each["pending_id"]} <= set(proposals), where
    wanted = "pending" if record["outcome"] == "held" else "quarantined"
    assert [each["state"] for each in proposals.values()] == [wanted] * len(proposals), where
    assert record[wanted] == list(proposals), where
    entries = {each["id"] for each in driver.command("journal", "list")}
    assert {each["id"] for each in answers if each["id"]} <= entries, where
    assert applied_of(driver.night, run_id) == 0, where


def _hold_evidence(ads: Ads, record: dict[str, Any], where: str) -> None:
    """A guarded file that is changed makes the run bypassed, whatever else befell it."""
    changed = ads.prices.read_text() != ads.original
    assert record["evidence"]["canonical_changed"] == changed, where
    assert (record["outcome"] == "bypassed") == changed, where
