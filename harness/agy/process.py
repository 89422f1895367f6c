"""The CLI is started here, and nowhere else in the harness."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

from harness.agy.host import identity_of
from harness.agy.kill import peak_rss_of
from harness.agy.table import LINUX
from harness.agy.tree import Tree, keys_below
from harness.core.environment import RUN_ID
from harness.core.process import ProcessIdentity
from harness.errors import HostProblem

_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_GET_NAME = 16
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One start of the CLI.

    Attributes:
        argv: the program as an absolute path, and its arguments.
        env: the whole environment; its `HARNESS_RUN_ID` marks the run's processes.
        stdin_path: a finished file for stdin; None for `/dev/null`.
        stdout_path, stderr_path: files that are made, readable by this user alone.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin_path: str | None = None
    stdout_path: str
    stderr_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnFailure:
    """The process could not be started: nothing ran.

    Attributes:
        errno: the system's number, 0 where Python refused by itself.
        problem: one plain sentence for a person.
    """

    errno: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus:
    """How a process ended; both None where the system no longer knows."""

    exit_code: int | None
    signal: int | None
    cpu_s: float = 0.0
    peak_rss_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Child:
    """The running CLI.

    Attributes:
        tree: all processes of the run.
        handle: a descriptor that becomes readable when the CLI ends; None where the system
            has no such thing.
    """

    identity: ProcessIdentity
    tree: Tree
    handle: int | None
    _process: subprocess.Popen[bytes]
    _status: ExitStatus | None = field(default=None)

    def exited(self) -> bool:
        """Return whether the CLI has ended. On Linux it is not reaped by asking."""
        if self._status is not None:
            return True
        if not LINUX:
            return self._wait(os.WNOHANG) is not None
        try:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.identity.pid, flags) is not None
        except ChildProcessError:
            return True

    def reap(self) -> ExitStatus:
        """Return how the CLI ended and give its pid free; never waits.

        To be called when it has ended. One that even SIGKILL did not end, as where it hangs in
        the kernel, is given up: nothing is known of its end.
        """
        status = self._wait(os.WNOHANG)
        if status is None:
            status = self._status = ExitStatus(exit_code=None, signal=None)
            self._process.returncode = 0
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None
        return status

    def _wait(self, flags: int) -> ExitStatus | None:
        if self._status is not None:
            return self._status
        try:
            pid, raw, usage = os.wait4(self.identity.pid, flags)
        except ChildProcessError:
            self._status = ExitStatus(exit_code=None, signal=None)
            self._process.returncode = 0
            return self._status
        if pid == 0:
            return None
        code = os.waitstatus_to_exitcode(raw)
        self._process.returncode = code
        self._status = ExitStatus(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_rss_bytes=peak_rss_of(usage),
        )
        return self._status


def spawn(launch: Launch) -> Child | SpawnFailure:
    """Start the CLI in a session of its own, its output going to files.

    On Linux the harness becomes the subreaper first: what the run orphans is handed to the
    harness and stays in its sight. From then on every new descendant of the harness counts
    as the run's, until the run is over.
    """
    files: list[int] = []
    try:
        for path, flags in (
            (launch.stdin_path or os.devnull, os.O_RDONLY),
            (launch.stdout_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW),
            (launch.stderr_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW),
        ):
            try:
                files.append(os.open(path, flags | os.O_CLOEXEC, 0o600))
            except OSError as error:
                text = f"{path} could not be opened for the CLI: {error.strerror}"
                return SpawnFailure(errno=error.errno or 0, problem=text)
        adopting = become_subreaper()
        before = keys_below(os.getpid())
        process = _start(launch.argv, launch.env, launch.cwd, files)
    finally:
        for file in files:
            os.close(file)
    if isinstance(process, SpawnFailure):
        return process
    return _child_of(process, launch.env, before, adopting=adopting)


def spawn_piped(
    argv: Sequence[str], env: Mapping[str, str]
) -> tuple[Child, IO[bytes]] | SpawnFailure:
    """Start the CLI for one short question: stdin and stderr empty, stdout into a pipe.

    The pipe's end that is returned does not block; the caller closes it.
    """
    adopting = become_subreaper()
    before = keys_below(os.getpid())
    source, sink = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    answer = os.fdopen(source, "rb", buffering=0)
    try:
        os.set_blocking(source, False)
        process = _start(argv, env, None, (nothing, sink, nothing))
    finally:
        os.close(sink)
        os.close(nothing)
    if isinstance(process, SpawnFailure):
        answer.close()
        return process
    return _child_of(process, env, before, adopting=adopting), answer


def _child_of(
    process: subprocess.Popen[bytes],
    env: Mapping[str, str],
    before: Sequence[tuple[int, float]],
    *,
    adopting: bool,
) -> Child:
    identity = identity_of(process.pid)
    if identity is None:
        # Only where somebody set SIGCHLD to be ignored, which _start undoes, or /proc is gone.
        process.kill()
        process.wait()
        raise HostProblem(f"the process just started, {process.pid}, cannot be seen")
    run_id = env.get(RUN_ID) or None
    return Child(
        identity=identity,
        tree=Tree(identity, run_id=run_id, before=before, adopting=adopting),
        handle=_handle_of(process.pid),
        _process=process,
    )


def _handle_of(pid: int) -> int | None:
    if not LINUX:
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None  # an old kernel: the watch polls instead


def _start(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None,
    files: Sequence[int],
) -> subprocess.Popen[bytes] | SpawnFailure:
    """The one call that starts a process; a failure is a value."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        # Inherited from a careless parent: the kernel would throw the exit status away.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    stdin, stdout, stderr = files
    try:
        return subprocess.Popen(
            list(argv),
            executable=argv[0],
            env=dict(env),
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            close_fds=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return _failure(error, argv[0], cwd)


_SENTENCES = {
    errno.E2BIG: "the arguments and the environment are together longer than the system takes",
    errno.ENOENT: "it does not exist, or the interpreter in its first line does not",
    errno.EACCES: "this user may not execute it",
    errno.EPERM: "this user may not execute it",
    errno.ENOEXEC: "it is no program of this machine: wrong format, or no #! line",
    errno.ENOMEM: "the machine has no memory left",
    errno.EAGAIN: "this user has too many processes",
    errno.ETXTBSY: "the file is being written, perhaps by an update",
    errno.ELOOP: "its path holds a loop of links",
    errno.ENOTDIR: "a part of its path is not a folder",
}


def _failure(error: OSError | ValueError, program: str, cwd: str | None) -> SpawnFailure:
    if not isinstance(error, OSError):
        return SpawnFailure(errno=0, problem=f"{program} could not be started: {error}")
    number = error.errno or 0
    if cwd is not None and error.filename == cwd:
        text = f"the CLI could not be started in {cwd}: {error.strerror}"
    else:
        why = _SENTENCES.get(number, error.strerror or "the system gave no reason")
        text = f"{program} could not be started: {why}"
    return SpawnFailure(errno=number, problem=text)


def become_subreaper() -> bool:
    """Make the harness the parent of what its descendants orphan; False where it cannot be."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def make_undumpable() -> bool:
    """Keep other processes of this user out of the harness's memory and environment.

    To be called before a secret is read. Returns False where the system has no such thing.
    """
    return _prctl(_PR_SET_DUMPABLE, 0)


@contextlib.contextmanager
def called(name: str) -> Iterator[None]:
    """Go by another name in the process table meanwhile; no more than 15 bytes are shown."""
    import ctypes

    before, now = ctypes.create_string_buffer(16), ctypes.create_string_buffer(name.encode())
    known = _prctl(_PR_GET_NAME, ctypes.addressof(before))
    _prctl(_PR_SET_NAME, ctypes.addressof(now))
    try:
        yield
    finally:
        if known:
            _prctl(_PR_SET_NAME, ctypes.addressof(before))


def _prctl(option: int, value: int) -> bool:
    if not LINUX:
        return False
    import ctypes

    zero = ctypes.c_ulong(0)
    call = ctypes.CDLL(None, use_errno=True).prctl
    return int(call(option, ctypes.c_ulong(value), zero, zero, zero)) == 0
