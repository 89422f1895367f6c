"""The processes an agent leaves: commands in their own session, daemons, children."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

MARKERS = ("HARNESS_", "ANTIGRAVITY_")
_CANNOT_RUN = 127


@dataclass(slots=True)
class Command:
    """A command of the agent: its process, and where its output goes."""

    argv: list[str]
    pid: int
    stdout: int
    stderr: int
    exit: int | None = None

    def finished(self) -> bool:
        """Return whether it has ended, and note how: negative for a signal."""
        if self.exit is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit = os.waitstatus_to_exitcode(status)
        return self.exit is not None

    def kill(self) -> None:
        """End its whole process group, and wait for the command itself."""
        if self.finished():
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.exit = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def output(self, limit: int) -> tuple[str, str]:
        """Return what it has written so far, at most `limit` bytes of each."""
        first = os.pread(self.stdout, limit, 0).decode(errors="surrogateescape")
        return first, os.pread(self.stderr, limit, 0).decode(errors="surrogateescape")


def start_command(argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Command:
    """Start a command in a session of its own, as the CLI's shell tool does."""
    stdout, stderr = _scratch_file(), _scratch_file()
    pid = os.fork()
    if pid == 0:
        _become(argv, cwd=cwd, environment=environment, stdout=stdout, stderr=stderr)
    return Command(argv=list(argv), pid=pid, stdout=stdout, stderr=stderr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How a process that stays behind is made.

    Attributes:
        double_fork: its parent ends at once, so that it belongs to nobody.
        own_session: it leaves the CLI's session.
        hold_output: it keeps the CLI's stdout and stderr open.
        scrub: its environment carries no mark of the run.
        ignore: signals that it ignores.
    """

    double_fork: bool
    own_session: bool
    hold_output: bool
    scrub: bool = False
    ignore: tuple[signal.Signals, ...] = ()


def leave_behind(
    argv: Sequence[str], left: Left, *, cwd: str, environment: Mapping[str, str]
) -> int:
    """Start a process that may outlive the CLI; return its pid."""
    if left.scrub:
        environment = {
            name: value for name, value in environment.items() if not name.startswith(MARKERS)
        }
    reading, writing = os.pipe()
    first = os.fork()
    if first == 0:
        pid = os.fork() if left.double_fork else 0
        if pid:
            os.write(writing, str(pid).encode())
            os._exit(0)
        if not left.double_fork:
            os.write(writing, str(os.getpid()).encode())
        for number in left.ignore:
            signal.signal(number, signal.SIG_IGN)
        outputs = (1, 2) if left.hold_output else (None, None)
        _become(
            argv,
            cwd=cwd,
            environment=environment,
            stdout=outputs[0],
            stderr=outputs[1],
            own_session=left.own_session,
        )
    os.close(writing)
    # the pipe ends with the exec, so the new environment stands when this returns
    told = b""
    while chunk := os.read(reading, 32):
        told += chunk
    os.close(reading)
    if left.double_fork:
        os.waitpid(first, 0)
    return int(told)


def _become(
    argv: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    stdout: int | None,
    stderr: int | None,
    own_session: bool = True,
) -> NoReturn:
    """Turn a forked process into another program; never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        if own_session:
            os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere if stdout is None else stdout, 1)
        os.dup2(nowhere if stderr is None else stderr, 2)
        os.chdir(cwd)
        os.execvpe(argv[0], list(argv), dict(environment))  # noqa: S606 (a shell only where the scenario names one)
    except OSError as problem:
        os.write(2, f"{argv[0]}: {problem.strerror}\n".encode())
    finally:
        os._exit(_CANNOT_RUN)


def _scratch_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create("agy-command")
    import tempfile

    descriptor, path = tempfile.mkstemp()
    Path(path).unlink()
    return descriptor
