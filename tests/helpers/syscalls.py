"""The order of a process's system calls, as strace saw them: what was durable when it spoke."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.night import PATIENCE_S, Night

CALLS = (
    "openat,close,dup,dup2,dup3,write,pwrite64,writev,sendto,fsync,fdatasync,"
    "rename,renameat,renameat2,unlink,unlinkat,accept4,vfork,clone,clone3"
)
_LINE = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\d+)")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One system call that succeeded.

    Attributes:
        path: what the descriptor in its first argument stood for, or the path it names;
            `socket` for a connection.
        text: the first quoted argument, as strace wrote it, without backslashes.
    """

    name: str
    path: str
    text: str


def problem() -> str | None:
    """Return why no system call can be watched here, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(
        ["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else f"nothing can be traced here: {done.stderr.strip()}"


def traced(night: Night, folder: Path, *words: str) -> list[Call]:
    """Give a command under strace; return the calls of the process that opens the store."""
    folder.mkdir()
    done = subprocess.run(
        [
            *("strace", "-ff", "--seccomp-bpf", "-s", "400"),
            *("-e", f"trace={CALLS}", "-o", str(folder / "calls")),
            *(sys.executable, "-m", "harness", *words),
        ],
        env={**night.environment, **night.scenario_of(*words)},
        cwd=night.folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    database = f'"{night.home.database}"'
    (own,) = [
        text for path in folder.glob("calls.*") if database in (text := path.read_text("latin-1"))
    ]
    return list(_calls(own))


def _calls(text: str) -> Iterator[Call]:
    paths = {0: "stdin", 1: "stdout", 2: "stderr"}
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None or int(found["result"]) < 0:
            continue
        name, arguments, result = found["name"], found["arguments"], int(found["result"])
        texts = _TEXT.findall(arguments)
        number = re.match(r"(\d+)", arguments)
        path = paths.get(int(number[1]), "") if number else ""
        match name:
            case "openat":
                path = paths[result] = texts[0]
            case "accept4":
                path = paths[result] = "socket"
            case "dup" | "dup2" | "dup3":
                paths[result] = path
            case "rename" | "renameat" | "renameat2" | "unlink" | "unlinkat":
                path = texts[-1]
        yield Call(name=name, path=path, text=(texts or [""])[0].replace("\\", ""))
        if name == "close" and number:
            paths.pop(int(number[1]), None)


@dataclass(slots=True)
class Disk:
    """What of a folder would survive a power cut, as its owner's calls go by.

    Attributes:
        unsafe: files with bytes, and folders with names, that no flush has covered yet.
        flushed: how often each path has been flushed.
    """

    root: str
    unsafe: set[str] = field(default_factory=set)
    flushed: dict[str, int] = field(default_factory=dict)

    def see(self, call: Call) -> None:
        """Take in one call."""
        if not call.path.startswith(self.root) or call.path.endswith("-shm"):
            return  # the index of the WAL is made anew from the WAL
        match call.name:
            case "write" | "pwrite64" | "writev":
                self.unsafe.add(call.path)
            case "fsync" | "fdatasync":
                self.unsafe.discard(call.path)
                self.flushed[call.path] = self.flushed.get(call.path, 0) + 1
            case "rename" | "renameat" | "renameat2":
                assert call.text not in self.unsafe, f"{call.text} replaced {call.path} unflushed"
                self.unsafe.add(str(Path(call.path).parent))
            case "unlink" | "unlinkat":
                self.unsafe.discard(call.path)


def hold_at(
    calls: list[Call], root: Path, speaks: Callable[[Call], bool], hold: Callable[[Disk], None]
) -> int:
    """Hold something of the disk at each call that is an acknowledgement; returns how many."""
    disk, times = Disk(str(root)), 0
    for call in calls:
        if speaks(call):
            times += 1
            hold(disk)
        disk.see(call)
    return times
