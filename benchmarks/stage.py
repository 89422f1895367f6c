"""A home with a job and a stand-in for the CLI that costs next to nothing itself."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from measuring import python

from harness.stores.homes import Home

VERSION = "1.3.3"
CONVERSATION = "5b0c9a52-7a61-4f0e-9d43-0c6f2f1d7e88"
_STEP = {
    "conversation_id": CONVERSATION,
    "step_index": 1,
    "state": "DONE",
    "step_type": "agent_response",
    "text_delta": "Nothing needs to be done.",
}
_RESULT = {
    "conversation_id": CONVERSATION,
    "status": "SUCCESS",
    "response": "Nothing needs to be done.",
    "duration_seconds": 1.5,
    "num_turns": 1,
    "usage": {"input_tokens": 1200, "output_tokens": 6, "total_tokens": 1206},
}
EVENTS = "".join(
    json.dumps(event, separators=(",", ":")) + "\n"
    for event in (
        {"event": "step_update", "step_update": _STEP},
        {"event": "result", "result": _RESULT},
    )
)
"""What the stand-in prints at the end of each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One home with all that a run needs.

    Attributes:
        environment: of the commands; it names the home and the stand-in.
    """

    home: Home
    workspace: Path
    agy: Path
    environment: dict[str, str]

    def job(self, name: str, **keys: object) -> None:
        """Write a job; prompt and workspace are given."""
        given = {"workspace": str(self.workspace), "prompt": "Do your work.", **keys}
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in given.items()]
        (self.home.nightly / f"{name}.toml").write_text("".join(lines), encoding="utf-8")

    def plays(self, *, first: str = "", padding: int = 0) -> None:
        """Write the stand-in.

        Args:
            first: a line of shell that comes before the final events.
            padding: bytes that the file is grown to, which no shell reads.
        """
        text = (
            "#!/bin/sh\n"
            f'case "$1" in --version) echo {VERSION}; exit 0;; esac\n'
            f"{first}\n"
            f"printf '%s' {shlex.quote(EVENTS)}\n"
            "exit 0\n"
        )
        self.agy.write_text(text, encoding="utf-8")
        with self.agy.open("r+b") as file:
            file.truncate(max(padding, len(text.encode())))
        self.agy.chmod(0o755)


def make_stage(folder: Path) -> Stage:
    """Make everything below a new folder; nothing of the user's own is touched."""
    for name in ("user", "workspace", "run"):
        (folder / name).mkdir(parents=True, mode=0o700)
    environment = {
        "HOME": str(folder / "user"),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": str(folder / "run"),
    }
    python("-m", "harness", "init", folder / "home", environment=environment)
    environment |= {"HARNESS_AGY": str(folder / "agy"), "HARNESS_HOME": str(folder / "home")}
    stage = Stage(
        home=Home(root=folder / "home"),
        workspace=folder / "workspace",
        agy=folder / "agy",
        environment=environment,
    )
    stage.plays()
    return stage
