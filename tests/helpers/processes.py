"""Real processes for tests: small scripts that write down every process they make."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness.agy.process import Child, Launch, SpawnFailure, spawn

PRELUDE = '''
import os, signal, sys, time

def note():
    """Write down this process; one that a failed test leaves does not live for long."""
    signal.alarm(120)
    with open("/proc/self/stat") as file:
        text = file.read()
    born = text[text.rindex(")") + 2 :].split()[19]
    with open(os.environ["LEDGER"], "a") as file:
        file.write(f"{os.getpid()} {born}\\n")

def deaf():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

def rest(seconds=300):
    time.sleep(seconds)
    os._exit(0)

def child(action, setsid=False, double=False):
    """Fork, perhaps twice, perhaps into a session of its own; returns when it is noted."""
    source, sink = os.pipe()
    if os.fork():
        os.close(sink)
        os.read(source, 1)
        os.close(source)
        return
    if setsid:
        os.setsid()
    if double and os.fork():
        os._exit(0)
    note()
    os.write(sink, b".")
    os.close(sink)
    os.close(source)
    action()
    os._exit(0)

def until(lines):
    """Wait until so many processes stand in the ledger."""
    while True:
        with open(os.environ["LEDGER"]) as file:
            if len(file.readlines()) >= lines:
                return
        time.sleep(0.005)

def scrubbed():
    """Go on as a program that carries nothing of the run."""
    os.execve(sys.executable, [sys.executable, "-ISc", "import time; time.sleep(300)"], {})
'''


def script(folder: Path, body: str, name: str = "agy") -> str:
    """Write an executable Python script and return its path."""
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\n{PRELUDE}\nnote()\n{body}\n")
    path.chmod(0o755)
    return str(path)


def launch_of(
    folder: Path, body: str, *, run_id: str | None = None, env: dict[str, str] | None = None
) -> Launch:
    """Return the launch of a script; output and ledger stand in the folder.

    The run's id is the test's own, for tests that run beside each other must not meet.
    """
    return Launch(
        argv=(script(folder, body),),
        env={
            "PATH": os.defpath,
            "LEDGER": str(folder / "ledger"),
            "HARNESS_RUN_ID": run_id or f"run-in-{folder}",
            **(env or {}),
        },
        cwd=str(folder),
        stdout_path=str(folder / "stdout"),
        stderr_path=str(folder / "stderr"),
    )


def started(launch: Launch) -> Child:
    """Return the child of a launch that must work."""
    child = spawn(launch)
    assert not isinstance(child, SpawnFailure), child.problem
    return child


def ledger(folder: Path) -> list[tuple[int, int]]:
    """Return pid and start, in clock ticks, of every process that wrote itself down."""
    path = folder / "ledger"
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    return [(int(pid), int(born)) for pid, born in (line.split() for line in lines)]


def still_running(folder: Path) -> list[int]:
    """Return which of the processes in the ledger are alive, told by pid and start."""
    return [pid for pid, born in ledger(folder) if runs(pid, born)]


def runs(pid: int, born: int) -> bool:
    """Return whether a process with this pid and this start is alive, and no zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    fields = text[text.rindex(")") + 2 :].split()
    return int(fields[19]) == born and fields[0] not in "ZX"


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Poll until a condition holds; fails after the given time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.01)
