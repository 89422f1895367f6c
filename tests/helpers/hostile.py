"""An agent that means harm: the stand-in plays its shell, and what each command came to is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.helpers.night import Night

CANONICAL = ["journal", "canonical"]


def steps(*commands: str | Sequence[str], text: str = "All is well.") -> str:
    """Return a scenario that runs lines of a shell, or programs with arguments, then answers."""
    parts = [
        f"[[steps]]\ncommand = {json.dumps(each if isinstance(each, str) else list(each))}\n"
        for each in commands
    ]
    return "".join(parts) + f"[[steps]]\ntext = {json.dumps(text)}\n"


def python(source: str) -> list[str]:
    """Return a program that needs nothing of this project."""
    return [sys.executable, "-IS", "-c", source]


def notes(night: Night) -> Path:
    """Return where the stand-in writes down what its commands came to."""
    return night.folder / "record"


def play(night: Night, job: str, scenario: str, /, **keys: object) -> None:
    """Write a job whose commands are written down."""
    notes(night).unlink(missing_ok=True)
    night.job(job, f"record = {json.dumps(str(notes(night)))}\n{scenario}", **keys)


def came_to(night: Night) -> list[dict[str, Any]]:
    """Return what the agent's commands came to, in order: `argv`, `exit`, `stdout`, `stderr`."""
    lines = [json.loads(line) for line in notes(night).read_text().splitlines()]
    return [line for line in lines if line["line"] == "command"]


def acted(
    night: Night, *commands: str | Sequence[str], **keys: object
) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """Run the job `evil` with these commands; returns status, record, and what they came to."""
    play(night, "evil", steps(*commands), **keys)
    status, record = night.run("evil")
    return status, record, came_to(night)


def ids(record: dict[str, Any]) -> set[str]:
    """Return the ids of a record's findings."""
    return {finding["id"] for finding in record["findings"]}
