"""The steps of a scenario that do something: files, commands, processes that stay behind."""

from __future__ import annotations

import os
import shlex
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.testing.processes import Left, leave_behind, start_command
from harness.testing.steps import Step
from harness.testing.waits import FOREVER_S

if TYPE_CHECKING:
    from harness.testing.stage import Stage

UPDATES = "fake-agy.updates"
"""The file in the CLI's folder that holds a line `<version> <new version>` per self-update."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WriteFile(Step):
    """Write a file as the agent's write tool does; folders are made.

    Attributes:
        path: relative to where the tools work, or absolute.
        append: add to what stands there.
        event: show it as a tool step; without, it happens behind the stream's back.
    """

    path: str
    content: str = ""
    append: bool = False
    event: bool = True

    def play(self, stage: Stage) -> None:
        """Write it, and show it."""
        path, content = stage.path(self.path), stage.fill(self.content)
        error = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if self.append else "w") as stream:
                stream.write(content)
        except OSError as problem:
            error = f"{problem.strerror}: {path}"
        if self.event:
            _show_write(stage, self.path, content, error)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClaimFile(Step):
    """Show a write that never happens."""

    main: ClassVar[str] = "path"
    path: str
    content: str = ""

    def play(self, stage: Stage) -> None:
        """Show it."""
        _show_write(stage, self.path, stage.fill(self.content), "")


def _show_write(stage: Stage, path: str, content: str, error: str) -> None:
    parameters = {"TargetFile": stage.fill(path), "CodeContent": content}
    index = stage.tool("write_to_file", parameters, state="ACTIVE")
    state = "ERROR" if error else "DONE"
    stage.tool("write_to_file", parameters, error=error, state=state, index=index)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Run(Step):
    """Run a command in a session of its own, as the agent's shell tool does.

    Attributes:
        run: a line for `/bin/sh`, or the arguments of a program.
        background: do not wait for it; the version decides what becomes of it.
        event: show it as a tool step.
        say: give what it wrote to stdout as a part of the answer.
    """

    main: ClassVar[str] = "run"
    run: str | tuple[str, ...]
    background: bool = False
    event: bool = True
    say: bool = False

    def play(self, stage: Stage) -> None:
        """Run it."""
        from harness.testing.stage import Background

        if isinstance(self.run, str):
            line = stage.fill(self.run)
            argv = ["/bin/sh", "-c", line]
        else:
            argv = [stage.fill(word) for word in self.run]
            line = shlex.join(argv)
        began = time.monotonic()
        parameters = {"CommandLine": line, "Cwd": stage.cwd}
        index = stage.tool("run_command", parameters, state="ACTIVE") if self.event else -1
        command = start_command(argv, cwd=stage.cwd, environment=stage.environment())
        kind = "background" if self.background else "command"
        stage.record.descendant(command.pid, kind, argv)
        if self.background:
            stage.background.append(Background(command, index, line))
            return
        stage.commands.append(command)
        stage.attention.sleep(FOREVER_S, until=command.finished, scaled=False)
        stage.commands.remove(command)
        stdout, stderr = stage.finished(command)
        if self.event:
            output = (stdout + stderr).replace("\n", "\r\n")
            seconds = time.monotonic() - began
            stage.tool("run_command", parameters, output=output, index=index, seconds=seconds)
        if self.say:
            stage.say(stdout)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Daemon(Step):
    """Leave a process that belongs to nobody: forked twice, in a session of its own.

    From 1.2.9 on the CLI ends it with the run, unless it `escapes`.

    Attributes:
        seconds: how long it lives, unscaled.
        hold_output: it keeps the CLI's stdout and stderr open.
        scrub: its environment carries no `HARNESS_*` and no `ANTIGRAVITY_*`.
        ignore_sigterm: it ignores SIGTERM.
        ignore_sighup: it ignores SIGHUP.
        escapes: the CLI does not know of it.
        write: a file that it writes after `after` seconds.
        content: what it writes there.
    """

    seconds: float = 300.0
    hold_output: bool = False
    scrub: bool = False
    ignore_sigterm: bool = False
    ignore_sighup: bool = False
    escapes: bool = False
    write: str = ""
    content: str = "written late\n"
    after: float = 0.0

    def play(self, stage: Stage) -> None:
        """Leave it behind."""
        ignore = [signal.SIGTERM] if self.ignore_sigterm else []
        ignore += [signal.SIGHUP] if self.ignore_sighup else []
        left = Left(
            double_fork=True,
            own_session=True,
            hold_output=self.hold_output,
            scrub=self.scrub,
            ignore=tuple(ignore),
        )
        argv = ["sleep", str(self.seconds)]
        if self.write:
            path = str(stage.path(self.write))
            script = 'sleep "$1"; printf %s "$2" > "$3"; exec sleep "$4"'
            numbers = str(self.after), str(self.seconds)
            argv = ["/bin/sh", "-c", script, "daemon", numbers[0], self.content, path, numbers[1]]
        _leave(stage, argv, left, kind="daemon", ends_with_run=not self.escapes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Child(Step):
    """Leave an ordinary child, as a stdio MCP server is one; it survives the CLI.

    Attributes:
        seconds: how long it lives, unscaled.
        hold_output: it keeps the CLI's stdout and stderr open.
        own_session: it leaves the CLI's session and process group.
    """

    seconds: float = 300.0
    hold_output: bool = True
    own_session: bool = False

    def play(self, stage: Stage) -> None:
        """Start it."""
        left = Left(double_fork=False, own_session=self.own_session, hold_output=self.hold_output)
        _leave(stage, ["sleep", str(self.seconds)], left, kind="child", ends_with_run=False)


def _leave(stage: Stage, argv: list[str], left: Left, *, kind: str, ends_with_run: bool) -> None:
    pid = leave_behind(argv, left, cwd=stage.cwd, environment=stage.environment())
    stage.record.descendant(pid, kind, argv)
    if ends_with_run:
        stage.daemons.append(pid)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Cd(Step):
    """Let the tools work elsewhere; before the turn, the `init` event names it."""

    main: ClassVar[str] = "path"
    path: str

    def play(self, stage: Stage) -> None:
        """Go there; the folder is made."""
        path = stage.path(self.path)
        path.mkdir(parents=True, exist_ok=True)
        stage.cwd = str(path)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UpdateSelf(Step):
    """Replace the binary: from the next start on it is another version.

    Attributes:
        version: the version it becomes.
        forced: even where `AGY_CLI_DISABLE_AUTO_UPDATE=true` forbids it.
    """

    main: ClassVar[str] = "version"
    version: str
    forced: bool = False

    def play(self, stage: Stage) -> None:
        """Update, unless the literal `true` forbids it."""
        forbidden = os.environ.get("AGY_CLI_DISABLE_AUTO_UPDATE") == "true"
        if stage.state is None or (forbidden and not self.forced):
            return
        stage.state.mkdir(parents=True, exist_ok=True)
        with (stage.state / UPDATES).open("a") as stream:
            stream.write(f"{stage.behaviour.version} {self.version}\n")
        stage.files.log(f"Updated to {self.version}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SignalSelf(Step):
    """Die by a signal, named without `SIG`."""

    main: ClassVar[str] = "signal"
    signal: str

    def problem(self) -> str | None:
        """Return what is wrong with the name."""
        known = f"SIG{self.signal}" in signal.Signals.__members__
        return None if known else f"{self.signal} is no signal; write it as KILL or SEGV"

    def play(self, stage: Stage) -> None:
        """Die."""
        number = signal.Signals[f"SIG{self.signal}"]
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        stage.attention.sleep(FOREVER_S, scaled=False)
