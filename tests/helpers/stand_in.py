"""Starting the stand-in CLI as a real process, with a home, a workspace and a record of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How one start ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Stdout as text."""
        return self.out.decode(errors="replace")

    def events(self) -> list[dict[str, Any]]:
        """Return the lines of a stream."""
        return [json.loads(line, strict=False) for line in self.out.splitlines()]

    def steps(self, step_type: str) -> list[dict[str, Any]]:
        """Return the step updates of a type."""
        found = [event["step_update"] for event in self.events() if "step_update" in event]
        return [step for step in found if step["step_type"] == step_type]

    def result(self) -> dict[str, Any]:
        """Return the last result of a stream."""
        return dict([event for event in self.events() if event["event"] == "result"][-1]["result"])


def wait_until(holds: Callable[[], object], *, seconds: float = DEADLINE_S) -> bool:
    """Return whether something came to hold before the deadline."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return bool(holds())


class StandIn:
    """A home with a scenario in it, and a workspace."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.workspace = folder / "ws"
        self.record_file = folder / "record.jsonl"
        self.app = self.home / ".gemini" / "antigravity-cli"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "FAKE_AGY_RECORD": str(self.record_file),
        }
        for name, value in os.environ.items():
            if name.startswith("COVERAGE_"):
                self.environment[name] = value
        self.home.mkdir()
        self.workspace.mkdir()

    def scenario(self, text: str) -> None:
        """Put a scenario into the home."""
        (self.home / "fake-agy.toml").write_text(text)

    def turn(self, version: str, steps: str, *, top: str = "") -> None:
        """Put a scenario of one turn into the home; `steps` are lines `kind = value`."""
        tables = "".join(f"[[steps]]\n{line}\n" for line in steps.splitlines() if line.strip())
        self.scenario(f'version = "{version}"\n{top}\n{tables}')

    def start(
        self,
        *arguments: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        """Start it and return the process."""
        return subprocess.Popen(
            [sys.executable, "-m", "harness.testing.fake_agy", *arguments],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=self.workspace,
            env={**self.environment, **environment},
        )

    def run(self, *arguments: str, stdin: bytes | None = None, **environment: str) -> Ended:
        """Start it and wait for its end; stdin is empty, or a pipe that is closed after bytes.

        The output goes to files: what the stand-in leaves behind may hold a pipe open.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self.start(
                *arguments,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=out.fileno(),
                stderr=err.fileno(),
                **environment,
            )
            if process.stdin is not None and stdin is not None:
                process.stdin.write(stdin)
                process.stdin.close()
            code = process.wait(timeout=DEADLINE_S)
            out.seek(0)
            err.seek(0)
            return Ended(code, out.read(), err.read().decode(errors="replace"))

    def ask(self, *arguments: str, prompt: str = "Tidy up", **environment: str) -> Ended:
        """Run one turn in the workspace, as a stream."""
        return self.run(
            "--output-format=stream-json",
            f"--add-dir={self.workspace}",
            *arguments,
            f"--print={prompt}",
            stdin=None,
            **environment,
        )

    def records(self, line: str) -> list[dict[str, Any]]:
        """Return the lines of a kind from the record."""
        if not self.record_file.exists():
            return []
        found = [json.loads(text) for text in self.record_file.read_text().splitlines()]
        return [entry for entry in found if entry["line"] == line]

    def log(self) -> str:
        """Return everything in its own log files."""
        return "".join(path.read_text() for path in sorted((self.app / "log").glob("cli-*.log")))

    def end_descendants(self) -> None:
        """Kill every process of the record that still is the same one."""
        import psutil

        for entry in self.records("descendant"):
            try:
                process = psutil.Process(entry["pid"])
                if abs(process.create_time() - entry["started"]) < 1:
                    os.kill(entry["pid"], signal.SIGKILL)
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue


def signals(pid: int, row: str) -> int:
    """Return a mask of signals from the kernel: `SigIgn` ignored, `SigCgt` handled."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split(f"{row}:")[1].split()[0], 16)


def alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return fields[0] != "Z"
