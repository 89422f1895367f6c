"""A whole night for tests: a home, a workspace, the stand-in as the CLI, and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.stores.homes import Home, make_home
from tests.helpers.homes import toml_value

PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one command came to."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


class Night:
    """One home with everything beside it, driven by `python -m harness` as a person would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = folder / "user"
        self.workspace = folder / "workspace"
        self.binaries = folder / "bin"
        for each in (self.user, self.workspace, self.binaries, folder / "run"):
            each.mkdir(mode=0o700)
        self.home: Home = make_home(folder / "home").home
        self.agy = self._script("agy", "harness.testing.fake_agy")
        self._script("harness", "harness.cli")
        self._jobs: dict[str, str] = {}
        self.environment = {
            "HOME": str(self.user),
            "PATH": f"{self.binaries}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HARNESS_AGY": str(self.agy),
            "HARNESS_HOME": str(self.home.root),
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }
        for name, value in os.environ.items():  # coverage finds its way by these
            if name.startswith(("COVERAGE_", "COV_")):
                self.environment[name] = value

    def _script(self, name: str, module: str) -> Path:
        path = self.binaries / name
        path.write_text(
            f"#!/bin/sh\nexec {sys.executable} -c 'from {module} import main; main()' \"$@\"\n",
            encoding="utf-8",
        )
        path.chmod(0o755)
        return path

    def job(self, name: str, scenario: str, /, **keys: object) -> None:
        """Write a job and what the stand-in plays for it.

        Args:
            name: the job's name.
            scenario: TOML of the stand-in, or the name of a shipped scenario.
            keys: keys of the job's TOML; prompt and workspace have defaults.
        """
        given: dict[str, object] = {"workspace": str(self.workspace), "prompt": "Do your work."}
        given.update(keys)
        text = "\n".join(f"{key} = {toml_value(value)}" for key, value in given.items())
        (self.home.nightly / f"{name}.toml").write_text(text + "\n", encoding="utf-8")
        self.play(name, scenario)

    def play(self, name: str, scenario: str) -> None:
        """Let the stand-in play something else for a job."""
        body = scenario if "\n" in scenario or "=" in scenario else f'scenario = "{scenario}"'
        path = self.user / f"{name}.toml"
        path.write_text(body + "\n", encoding="utf-8")
        job = self.home.nightly / f"{name}.toml"
        text = job.read_text(encoding="utf-8")
        if "FAKE_AGY_SCENARIO" not in text:
            job.write_text(text + 'env = ["FAKE_AGY_SCENARIO", "FAKE_AGY_TIME_SCALE"]\n')
        self._jobs[name] = str(path)

    def scenario_of(self, *words: str) -> dict[str, str]:
        """Return the variable that tells the stand-in what to play for the job among the words."""
        job = next((word for word in words if word in self._jobs), "")
        return {"FAKE_AGY_SCENARIO": self._jobs[job]} if job else {}

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command and return at once."""
        return subprocess.Popen(
            [sys.executable, "-m", "harness", *words],
            env={**self.environment, **self.scenario_of(*words), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )

    def harness(self, *words: str, **environment: str) -> Said:
        """Give a command and wait for it."""
        with self.start(*words, **environment) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return Said(status=process.returncode, out=out, err=err)

    def run(self, job: str, *words: str, **environment: str) -> tuple[int, dict[str, Any]]:
        """Run a job; returns the exit status and the record."""
        said = self.harness("run", job, "--json", *words, **environment)
        assert said.out, said.err
        return said.status, said.json

    def enable(self) -> None:
        """Enable canonical writes."""
        said = self.harness("canonical", "enable", "--yes")
        assert said.status == 0, said.err + said.out

    def marked(self, run_id: str) -> list[int]:
        """Return the processes that carry a run's marker."""
        return marked(run_id)


def marked(run_id: str) -> list[int]:
    """Return every process of the machine that carries a run's marker and is no zombie."""
    found = []
    mark = f"HARNESS_RUN_ID={run_id}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until(condition: Any, seconds: float = 30.0) -> None:
    """Wait for a condition, or fail."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)
