"""The record a test reads: what was started, with what, and which processes it left.

One JSON object a line. `line` tells them apart:

- `start`: `pid`, `started`, `argv`, `env`, `cwd`, `stdin`, `version`, `scenario`
- `turn`: `prompt`, `conversation_id`
- `descendant`: `pid`, `started`, `kind` (`command`, `background`, `daemon`, `child`), `argv`
- `command`: `pid`, `argv`, `exit`, `stdout`, `stderr`
- `end`: `exit`

`started` is the start time of a process in seconds since the epoch, as psutil gives it.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from harness.errors import HostProblem

STDIN_LIMIT = 1024 * 1024
OUTPUT_LIMIT = 64 * 1024


class Record:
    """The record file of one start; does nothing where no path was given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def line(self, line: str, /, **facts: object) -> None:
        """Append one line in a single write; raise `HostProblem` where it cannot be written."""
        if self._path is None:
            return
        text = json.dumps({"line": line, **facts}, ensure_ascii=True) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            descriptor = os.open(self._path, flags, 0o600)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError as problem:
            raise HostProblem(f"record {self._path}: {problem.strerror}") from None

    def descendant(self, pid: int, kind: str, argv: list[str]) -> None:
        """Append a process that this start made."""
        if self._path is not None:
            self.line("descendant", pid=pid, started=started_of(pid), kind=kind, argv=argv)


def started_of(pid: int) -> float:
    """Return when a process started, in seconds since the epoch; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = next(
            int(line.split()[1])
            for line in Path("/proc/stat").read_bytes().splitlines()
            if line.startswith(b"btime")
        )
    except FileNotFoundError:
        return 0.0 if Path("/proc/stat").exists() else _started_elsewhere(pid)
    # after the name in brackets, the start in clock ticks is the 20th field
    return int(fields[19]) / os.sysconf("SC_CLK_TCK") + boot


def _started_elsewhere(pid: int) -> float:
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return 0.0


def stdin_content() -> tuple[str, str | None]:
    """Return what stdin is, and its text where it is a finished file; nothing is consumed."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return "closed", None
    if stat.S_ISREG(mode):
        return "file", os.pread(0, STDIN_LIMIT, os.lseek(0, 0, os.SEEK_CUR)).decode(
            errors="replace"
        )
    if stat.S_ISCHR(mode):
        return ("terminal", None) if os.isatty(0) else ("null", "")
    return "pipe" if stat.S_ISFIFO(mode) else "socket", None
