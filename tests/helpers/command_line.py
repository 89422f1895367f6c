"""The command line as a person uses it: a process of its own, its output and exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CALL = "from harness.cli import main; main()"
DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command printed, and its exit status."""

    stdout: str
    stderr: str
    status: int

    @property
    def json(self) -> Any:
        """The result that `--json` printed."""
        return json.loads(self.stdout)


def harness(
    *arguments: str | Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Answer:
    """Run one command to its end."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, *map(str, arguments)],
        cwd=cwd,
        env=child_environment(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return Answer(stdout=done.stdout.decode(), stderr=done.stderr.decode(), status=done.returncode)


def child_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this test's environment, with the checkout importable from every folder."""
    root = Path(__file__).parent.parent.parent
    return {**os.environ, "PYTHONPATH": str(root), **(more or {})}
