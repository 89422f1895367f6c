"""Starting the CLI: what it is given, and what a failure is."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agy.host import identity_of, own_identity
from harness.agy.process import (
    SpawnFailure,
    become_subreaper,
    spawn,
    spawn_piped,
)
from tests.helpers.processes import launch_of, started, wait_for


def test_output_goes_to_private_files_and_the_exit_status_is_kept(tmp_path: Path) -> None:
    """What is printed stands in files of mode 0600, and the exit status is the process's own."""
    child = started(
        launch_of(tmp_path, "print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)")
    )
    wait_for(child.exited)
    status = child.reap()
    assert (status.exit_code, status.signal) == (3, None)
    assert status.cpu_s > 0
    assert (tmp_path / "stdout").read_text() == "out\n"
    assert (tmp_path / "stderr").read_text() == "err\n"
    assert stat.S_IMODE((tmp_path / "stdout").stat().st_mode) == 0o600
    assert child.exited()
    assert child.reap() is status


def test_output_is_appended(tmp_path: Path) -> None:
    """A file that already holds something keeps it."""
    (tmp_path / "stdout").write_text("before\n")
    child = started(launch_of(tmp_path, "print('after')"))
    wait_for(child.exited)
    child.reap()
    assert (tmp_path / "stdout").read_text() == "before\nafter\n"


def test_the_process_leads_its_own_session_and_has_an_empty_stdin(tmp_path: Path) -> None:
    """The CLI leads a session of its own, reads nothing from stdin and inherits no descriptor."""
    source, sink = os.pipe()
    os.set_inheritable(sink, True)
    body = (
        "print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()), "
        f"os.path.exists('/proc/self/fd/{sink}') and os.readlink('/proc/self/fd/{sink}'))"
    )
    pipe = str(Path(f"/proc/self/fd/{sink}").readlink())
    child = started(launch_of(tmp_path, body))
    wait_for(child.exited)
    child.reap()
    os.close(source)
    os.close(sink)
    said = (tmp_path / "stdout").read_text()
    assert said.startswith("True ''")
    assert pipe not in said


def test_stdin_may_be_a_finished_file(tmp_path: Path) -> None:
    """A prompt too long for one argument reaches the CLI through a file."""
    prompt = tmp_path / "prompt"
    prompt.write_text("do it")
    launch = launch_of(tmp_path, "print(sys.stdin.read())")
    child = started(replace(launch, stdin_path=str(prompt)))
    wait_for(child.exited)
    child.reap()
    assert (tmp_path / "stdout").read_text() == "do it\n"


def test_identity_is_the_processs_own(tmp_path: Path) -> None:
    """The identity names the process just started, which is younger than this one."""
    child = started(launch_of(tmp_path, "rest()"))
    assert child.identity == identity_of(child.identity.pid)
    assert child.identity.started >= own_identity().started
    child.tree.kill(pause=lambda _seconds: None)
    assert child.reap().signal == 9


def test_a_system_without_process_handles_is_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the kernel has no handles for processes, the end is still noticed."""

    def refuse(_pid: int) -> int:
        raise OSError(errno.ENOSYS, "not here")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    child = started(launch_of(tmp_path, "sys.exit(4)"))
    assert child.handle is None
    wait_for(child.exited)
    assert child.reap().exit_code == 4


def test_elsewhere_than_on_linux_asking_reaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waitid the status is taken at once and kept."""
    child = started(launch_of(tmp_path, "time.sleep(0.2); sys.exit(5)"))
    monkeypatch.setattr("harness.agy.process.LINUX", False)
    wait_for(child.exited)
    assert child.exited()
    assert child.reap().exit_code == 5
    assert not become_subreaper()


def test_a_process_that_cannot_be_ended_is_given_up(tmp_path: Path) -> None:
    """Taking the status of a process that still runs does not wait, and claims nothing."""
    child = started(launch_of(tmp_path, "rest()"))
    status = child.reap()
    assert (status.exit_code, status.signal) == (None, None)
    assert child.exited()
    os.kill(child.identity.pid, 9)
    os.waitpid(child.identity.pid, 0)


def test_a_status_that_somebody_else_took_is_unknown(tmp_path: Path) -> None:
    """Where the kernel no longer has the status, neither exit code nor signal is claimed."""
    child = started(launch_of(tmp_path, "sys.exit(0)"))
    os.waitpid(child.identity.pid, 0)
    assert child.exited()
    status = child.reap()
    assert (status.exit_code, status.signal) == (None, None)


@pytest.mark.parametrize(
    ("content", "mode", "number", "words"),
    [
        (None, 0, errno.ENOENT, "does not exist"),
        (b"#!/no/such/interpreter\n", 0o755, errno.ENOENT, "interpreter"),
        (b"\x00\x01 no program", 0o755, errno.ENOEXEC, "no program of this machine"),
        (b"#!/bin/sh\n", 0o644, errno.EACCES, "may not execute"),
    ],
)
def test_a_program_that_cannot_be_started_is_a_value(
    tmp_path: Path, content: bytes | None, mode: int, number: int, words: str
) -> None:
    """A start that fails gives the system's number and one sentence, and runs nothing."""
    program = tmp_path / "program"
    if content is not None:
        program.write_bytes(content)
        program.chmod(mode)
    failure = spawn(replace(launch_of(tmp_path, ""), argv=(str(program),)))
    assert isinstance(failure, SpawnFailure)
    assert failure.errno == number
    assert str(program) in failure.problem
    assert words in failure.problem


def test_an_argument_that_is_too_long_is_a_value(tmp_path: Path) -> None:
    """One argument beyond what the system takes fails the start with E2BIG."""
    launch = launch_of(tmp_path, "")
    failure = spawn(replace(launch, argv=(*launch.argv, "x" * (1 << 18))))
    assert isinstance(failure, SpawnFailure)
    assert failure.errno == errno.E2BIG


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cwd": "/no/such/folder"}, "could not be started in /no/such/folder"),
        ({"stdin_path": "/no/such/file"}, "could not be opened"),
        ({"stdout_path": "/no/such/folder/stdout"}, "could not be opened"),
        ({"argv": ("/bin/true", "a\0b")}, "could not be started"),
    ],
)
def test_a_launch_that_cannot_be_used_is_a_value(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    """A missing folder, an unusable file and a NUL byte each give one sentence."""
    failure = spawn(replace(launch_of(tmp_path, ""), **change))
    assert isinstance(failure, SpawnFailure)
    assert words in failure.problem


def test_output_never_goes_through_a_link(tmp_path: Path) -> None:
    """A link put where the output belongs is refused, and what it points to stays as it is."""
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "stdout").symlink_to("precious")
    failure = spawn(launch_of(tmp_path, "print('overwritten')"))
    assert isinstance(failure, SpawnFailure)
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_failed_start_leaks_no_descriptor(tmp_path: Path) -> None:
    """After many failures, of both ways to start, as many descriptors are open as before."""
    launch = replace(launch_of(tmp_path, ""), argv=("/no/such/program",))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        assert isinstance(spawn(launch), SpawnFailure)
        assert isinstance(spawn_piped(launch.argv, {}), SpawnFailure)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_ignored_sigchld_does_not_lose_the_exit_status(tmp_path: Path) -> None:
    """A harness started by a parent that ignores SIGCHLD still learns the exit status."""
    program = f"""
import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)
from harness.agy.process import Launch, spawn
child = spawn(Launch(argv=("/bin/sh", "-c", "exit 7"), env={{}}, cwd="/",
    stdout_path={str(tmp_path / "o")!r}, stderr_path={str(tmp_path / "e")!r}))
while not child.exited():
    pass
print(child.reap().exit_code)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "7\n"


def test_an_undumpable_harness_keeps_its_environment_to_itself() -> None:
    """Another process of the same user cannot read the environment after `make_undumpable`."""
    # A process that changes its user is undumpable by that; a harness is not.
    program = """
import ctypes, os, subprocess
from harness.agy.process import make_undumpable
os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
for secret in (False, True):
    assert not secret or make_undumpable()
    command = ["/bin/cat", f"/proc/{os.getpid()}/environ"]
    print(subprocess.run(command, capture_output=True, cwd="/").returncode)
"""
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "0\n1\n"
