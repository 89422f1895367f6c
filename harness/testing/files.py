"""The files the CLI leaves: log, transcripts, conversations, and its settings."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness.testing.go import marshal
from harness.testing.voice import encode

FIELD_LIMIT = 4096


@dataclass(slots=True)
class Conversation:
    """What is remembered of a conversation from one process to the next.

    Attributes:
        error: the text of its first real error; every later result repeats it.
        denied_kinds: the permissions denied so far; the notice names them all.
    """

    id: str
    turns: int = 0
    seconds: float = 0.0
    usage: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    error: str = ""
    denied_kinds: list[str] = field(default_factory=list)


def new_id() -> str:
    """Return a fresh conversation id in the shape of a uuid."""
    text = os.urandom(16).hex()
    return "-".join((text[:8], text[8:12], "4" + text[13:16], "a" + text[17:20], text[20:]))


class Files:
    """The CLI's folders.

    Attributes:
        app: `<gemini dir>/antigravity-cli`.
    """

    def __init__(self, gemini_dir: Path, *, log_file: str, keeps_log: bool) -> None:
        self.app = gemini_dir / "antigravity-cli"
        stamp = time.strftime("%Y%m%d_%H%M%S")
        self._log = Path(log_file) if log_file else self.app / "log" / f"cli-{stamp}.log"
        self._keeps_log = keeps_log

    def log(self, text: str, *, level: str = "I") -> None:
        """Append lines to the log, each with the prefix of a Go log."""
        if not self._keeps_log:
            return
        now = time.time()
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now))
        prefix = (
            f"{level}{stamp}.{int(now * 1e6) % 1_000_000:06d} {os.getpid():7d} print_mode.go:1] "
        )
        self._append(self._log, "".join(f"{prefix}{line}\n" for line in text.split("\n")))

    def transcribe(self, conversation: str, entry: Mapping[str, object]) -> None:
        """Append an entry to both transcripts; the short one has its fields capped."""
        folder = self.app / "brain" / conversation / ".system_generated" / "logs"
        capped = {
            key: value[:FIELD_LIMIT] if isinstance(value, str) else value
            for key, value in entry.items()
        }
        self._append(folder / "transcript.jsonl", marshal(capped) + "\n")
        self._append(folder / "transcript_full.jsonl", marshal(entry) + "\n")

    def conversation(self, name: str) -> Conversation | None:
        """Return a conversation of an earlier process, or None where there is none."""
        try:
            return Conversation(**json.loads(self._conversation_path(name).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def latest(self) -> Conversation | None:
        """Return the conversation that was written last, or None."""
        try:
            paths = sorted((self.app / "conversations").glob("*.db"), key=_modified)
        except OSError:
            return None
        return self.conversation(paths[-1].stem) if paths else None

    def remember(self, conversation: Conversation) -> None:
        """Store a conversation for the next process."""
        path = self._conversation_path(conversation.id)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(conversation)))
        except OSError:
            return

    def settings(self) -> Mapping[str, object]:
        """Return the CLI's settings; empty where they are missing or broken."""
        try:
            found = json.loads((self.app / "settings.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _conversation_path(self, name: str) -> Path:
        return self.app / "conversations" / f"{Path(name).name}.db"

    def _append(self, path: Path, text: str) -> None:
        # a log that cannot be written has never kept the CLI from running
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab", buffering=0) as stream:
                stream.write(encode(text))
        except OSError:
            return


def _modified(path: Path) -> float:
    return path.stat().st_mtime
