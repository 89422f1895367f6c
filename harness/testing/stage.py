"""Where the steps of a scenario are played: the state of one start, and what a step may do."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.testing.attention import Attention
from harness.testing.behaviour import Behaviour, Trait
from harness.testing.files import Conversation, Files
from harness.testing.flags import Options
from harness.testing.processes import Command
from harness.testing.record import OUTPUT_LIMIT, Record
from harness.testing.voice import Voice

USAGE_KEYS = (
    "input_tokens",
    "output_tokens",
    "thinking_tokens",
    "cache_read_tokens",
    "total_tokens",
)
TOKENS = ("conversation", "cwd", "date", "home", "job", "prompt", "run_id", "scratch", "workspace")
_TOKEN = re.compile(r"\{\{(\w+)\}\}")
BACKGROUND_WAIT_OLD_S = 5.0
BACKGROUND_WAIT_S = 30 * 60.0


@dataclass(slots=True)
class Turn:
    """What one turn has come to so far."""

    prompt: str
    began: float
    said: list[str] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=lambda: dict.fromkeys(USAGE_KEYS, 0))
    denied: list[tuple[str, str]] = field(default_factory=list)
    notice: str = ""
    status: str = ""
    error: str = ""
    exit: int = 0
    resulted: bool = False

    @property
    def response(self) -> str:
        """The answer of this turn."""
        return "".join(self.said)


@dataclass(slots=True)
class Background:
    """A command that the agent left running, with the tool step that shows it."""

    command: Command
    step_index: int
    line: str


@dataclass(slots=True, kw_only=True)
class Stage:
    """One start of the CLI.

    Attributes:
        cwd: where the tools work.
        daemons: processes that end with the run where the version sees to it.
        held: memory that a step allocated.
        state: folder of the stand-in's own memory; None without a HOME.
    """

    behaviour: Behaviour
    options: Options
    files: Files
    record: Record
    attention: Attention
    voice: Voice
    conversation: Conversation
    cwd: str
    workspace: str
    state: Path | None
    timeout_status: str = "ERROR"
    turn: Turn = field(default_factory=lambda: Turn(prompt="", began=time.monotonic()))
    background: list[Background] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    daemons: list[int] = field(default_factory=list)
    held: list[bytearray] = field(default_factory=list)

    def fill(self, text: str) -> str:
        """Put the values of this start in place of `{{workspace}}` and its like."""
        if "{{" not in text:
            return text
        return _TOKEN.sub(lambda match: self._value(match[1]), text)

    def _value(self, name: str) -> str:
        values: dict[str, Callable[[], str]] = {
            "conversation": lambda: self.conversation.id,
            "cwd": lambda: self.cwd,
            "date": lambda: time.strftime("%Y-%m-%d"),
            "home": lambda: os.environ.get("HOME", ""),
            "job": lambda: os.environ.get("HARNESS_JOB", ""),
            "prompt": lambda: self.turn.prompt,
            "run_id": lambda: os.environ.get("HARNESS_RUN_ID", ""),
            "scratch": lambda: str(self.files.app / "scratch"),
            "workspace": lambda: self.workspace,
        }
        return values[name]()

    def path(self, text: str) -> Path:
        """Return a path of a scenario; relative ones begin where the tools work."""
        return Path(self.cwd) / Path(self.fill(text)).expanduser()

    def step(
        self,
        step_type: str,
        facts: Mapping[str, object] | None = None,
        *,
        state: str = "DONE",
        index: int | None = None,
        raw: str = "",
    ) -> int:
        """Write a step to the stream and return its index; a fresh one unless given."""
        if index is None:
            index = self.conversation.steps
            self.conversation.steps += 1
        content = {"conversation_id": self.conversation.id, "step_index": index, "state": state}
        self.voice.step({**content, "step_type": step_type, **(facts or {})}, raw=raw)
        return index

    def say(self, text: str, *, usage: Mapping[str, int] | None = None, raw: str = "") -> None:
        """Give a part of the answer."""
        counted = dict(usage) if usage else _estimate(text)
        for name, number in counted.items():
            self.turn.usage[name] = self.turn.usage.get(name, 0) + number
        self.turn.said.append(text)
        self.voice.say(text)
        index = self.step("agent_response", {"text_delta": text, "usage": counted}, raw=raw)
        self.transcribe(index, "MODEL", "agent_response", content=text)

    def tool(
        self,
        name: str,
        parameters: Mapping[str, object],
        *,
        output: str = "",
        error: str = "",
        state: str = "DONE",
        index: int | None = None,
        seconds: float = 0.0,
    ) -> int:
        """Write a tool step; return its index."""
        info: dict[str, object] = {"name": name, "parameters": parameters}
        if output:
            info["output"] = output
        if error:
            info["error"] = error
        timing = {} if state == "ACTIVE" else {"duration_seconds": round(seconds, 6)}
        facts = {"tool_name": name, **timing, "tool_info": info}
        shown = self.step("tool", facts, state=state, index=index)
        if state != "ACTIVE":
            extra = {"error": error} if error else {}
            call = [{"name": name, "args": parameters}]
            self.transcribe(shown, "MODEL", "tool", tool_calls=call, **extra)
        return shown

    def transcribe(self, index: int, source: str, kind: str, **facts: object) -> None:
        """Add an entry to the transcripts."""
        entry = {"step_index": index, "source": source, "type": kind.upper(), "status": "DONE"}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.files.transcribe(self.conversation.id, {**entry, "created_at": now, **facts})

    def environment(self) -> dict[str, str]:
        """Return what a tool's process gets: ours, and the marks that it runs in an agent.

        The folder of this interpreter closes PATH, so that `harness` is found beside `fake-agy`.
        """
        own = os.path.dirname(sys.executable)  # noqa: PTH120 (called for each tool; strings suffice)
        return {
            **os.environ,
            "PATH": os.pathsep.join(filter(None, (os.environ.get("PATH"), own))),
            "ANTIGRAVITY_AGENT": "1",
            "ANTIGRAVITY_CONVERSATION_ID": self.conversation.id,
        }

    def finished(self, command: Command) -> tuple[str, str]:
        """Record a command that has ended; return its output."""
        stdout, stderr = command.output(OUTPUT_LIMIT)
        facts = {"argv": command.argv, "exit": command.exit}
        self.record.line("command", pid=command.pid, **facts, stdout=stdout, stderr=stderr)
        return stdout, stderr

    def settle_background(self) -> None:
        """Wait for background tasks as this version does, then end what is left of them."""
        if not self.background:
            return
        waits = self.behaviour.has(Trait.ENDS_DAEMONS)
        limit, shown = (BACKGROUND_WAIT_S, "30m0s") if waits else (BACKGROUND_WAIT_OLD_S, "5s")
        count = len(self.background)
        self.voice.complain(
            f"root agent idle; waiting up to {shown} for {count} background task(s)"
        )
        try:
            self.attention.sleep(limit, until=self._background_over)
        finally:
            self.end_background()

    def _background_over(self) -> bool:
        for task in [task for task in self.background if task.command.finished()]:
            stdout, stderr = self.finished(task.command)
            self.tool(
                "run_command",
                {"CommandLine": task.line},
                output=stdout + stderr,
                index=task.step_index,
            )
            self.background.remove(task)
        return not self.background

    def end_background(self) -> None:
        """Kill the background tasks that still run; their steps stay ACTIVE."""
        if not self.background:
            return
        self.voice.complain(f"terminating {len(self.background)} background task(s) on exit")
        for task in self.background:
            task.command.kill()
            self.finished(task.command)
        self.background.clear()

    def end_daemons(self) -> None:
        """End what must not outlive the run, where the version sees to it."""
        if not self.behaviour.has(Trait.ENDS_DAEMONS):
            return
        for command in self.commands:
            command.kill()
        for pid in self.daemons:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _estimate(text: str) -> dict[str, int]:
    output = max(1, len(text) // 4)
    numbers: Sequence[int] = (1200, output, 0, 0, 1200 + output)
    return dict(zip(USAGE_KEYS, numbers, strict=True))
