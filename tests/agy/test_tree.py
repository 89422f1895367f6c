"""Ending a run's processes: every one of them, and nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agy.host import born, own_identity
from harness.agy.kill import Dead, kill_row, reap
from harness.agy.process import Child
from harness.agy.table import ProcessRow, read_row
from harness.agy.tree import Tree, end_survivors, keys_below
from tests.helpers.processes import launch_of, ledger, started, still_running, wait_for

LEAVING = {
    "plain child": "child(rest)",
    "setsid grandchild": "child(lambda: child(rest, setsid=True))",
    "daemon that keeps the marker": "child(rest, setsid=True, double=True)",
    "daemon that scrubbed the marker": "child(scrubbed, setsid=True, double=True)",
    "deaf daemon": "child(lambda: (deaf(), rest()), setsid=True, double=True)",
}


def finished(child: Child) -> int:
    """Wait for the CLI's own end, finish its tree, and return how many were killed."""
    wait_for(child.exited)
    swept = child.tree.finish(pause=time.sleep, grace_s=0.2)
    assert swept.left == 0
    child.reap()
    return swept.killed


@pytest.mark.parametrize("kind", LEAVING)
def test_nothing_outlives_a_cli_that_ended(tmp_path: Path, kind: str) -> None:
    """What the CLI leaves behind is killed and counted, however it hid."""
    child = started(launch_of(tmp_path, LEAVING[kind]))
    killed = finished(child)
    assert killed == 1
    assert still_running(tmp_path) == []


def test_a_clean_run_counts_nobody(tmp_path: Path) -> None:
    """A CLI that leaves nothing behind has no survivors."""
    assert finished(started(launch_of(tmp_path, "child(lambda: None); os.wait()"))) == 0


def test_a_straggler_may_leave_by_itself(tmp_path: Path) -> None:
    """A process that ends within the grace is no survivor."""
    child = started(launch_of(tmp_path, "child(lambda: time.sleep(0.2))"))
    wait_for(child.exited)
    assert child.tree.finish(pause=time.sleep, grace_s=20).killed == 0
    child.reap()


def test_a_fork_storm_is_ended(tmp_path: Path) -> None:
    """Fifty daemons that replace each other as they are killed are all ended."""
    body = """
def breed(depth=3):
    while True:
        if depth:
            child(lambda: breed(depth - 1), setsid=True, double=True)
        time.sleep(0.02)

for _ in range(25):
    child(lambda: breed(1), setsid=True, double=True)
wanted = time.monotonic() + 10
while open(os.environ["LEDGER"]).read().count("\\n") < 51 and time.monotonic() < wanted:
    time.sleep(0.01)
"""
    child = started(launch_of(tmp_path, body))
    assert finished(child) >= 50
    assert still_running(tmp_path) == []


def test_a_process_that_changes_its_pid_all_the_time_is_ended(tmp_path: Path) -> None:
    """A daemon that forks and exits for ever is caught in the end."""
    body = """
def hop(pause=None):
    while True:
        if os.fork():
            os._exit(0)
        if pause:
            time.sleep(pause)
            note()

child(lambda: hop(0.005), setsid=True, double=True)
for _ in range(3):
    child(hop, setsid=True, double=True)
"""
    assert finished(started(launch_of(tmp_path, body))) >= 4
    assert still_running(tmp_path) == []


def test_a_cli_that_obeys_is_asked_politely(tmp_path: Path) -> None:
    """SIGINT is tried first, and a CLI that ends by it keeps its own exit status."""
    body = """
def leave(number, frame):
    print("got", number, flush=True)
    sys.exit(1)
signal.signal(signal.SIGINT, leave)
print("ready", flush=True)
rest()
"""
    child = started(launch_of(tmp_path, body))
    wait_for(lambda: "ready" in (tmp_path / "stdout").read_text())
    swept = child.tree.end(exited=child.exited, pause=time.sleep, polite_s=20)
    status = child.reap()
    assert (status.exit_code, swept.killed) == (1, 0)
    assert "got 2" in (tmp_path / "stdout").read_text()


def test_a_deaf_cli_is_killed_with_its_group_and_survivors_are_counted(tmp_path: Path) -> None:
    """A CLI that ignores SIGINT and SIGTERM is killed; its deaf daemon counts as a survivor."""
    body = """
deaf()
child(rest)
child(lambda: child(rest, setsid=True))
until(4)
print("ready", flush=True)
rest()
"""
    child = started(launch_of(tmp_path, body))
    wait_for(lambda: "ready" in (tmp_path / "stdout").read_text())
    swept = child.tree.end(exited=child.exited, pause=time.sleep, polite_s=0.1)
    assert child.reap().signal == signal.SIGKILL
    assert (swept.killed, swept.left) == (1, 0)
    assert still_running(tmp_path) == []


def test_earlier_children_and_strangers_are_left_alone(tmp_path: Path) -> None:
    """Processes that were there before the run live on, and so does the harness."""
    with subprocess.Popen(["/bin/sh", "-c", "sleep 300 & wait"], start_new_session=True) as earlier:
        wait_for(lambda: len(keys_below(earlier.pid)) == 1)
        (sleeper,) = keys_below(earlier.pid)
        child = started(launch_of(tmp_path, "child(rest)"))
        assert finished(child) == 1
        assert earlier.poll() is None
        row = read_row(sleeper[0])
        assert row is not None
        assert row.key == sleeper
        os.killpg(earlier.pid, signal.SIGKILL)


def test_the_marker_alone_is_enough(tmp_path: Path) -> None:
    """A process that carries the run's id belongs to it, whoever started it."""
    run_id = f"marked-{tmp_path}"
    environment = {"HARNESS_RUN_ID": run_id, "PATH": os.defpath}
    with (
        subprocess.Popen(["/bin/sleep", "300"], env=environment) as marked,
        subprocess.Popen(["/bin/sleep", "300"], env={"HARNESS_RUN_ID": run_id + "2"}) as other,
    ):
        wait_for(lambda: Path(f"/proc/{marked.pid}/comm").read_text() == "sleep\n")
        wait_for(lambda: Path(f"/proc/{other.pid}/comm").read_text() == "sleep\n")
        assert end_survivors(run_id, None) == 1
        assert marked.wait() == -signal.SIGKILL
        assert other.poll() is None
        other.kill()


def test_without_a_trace_nobody_is_ended() -> None:
    """No child and no run id end nobody, and least of all this process."""
    assert end_survivors(None, None) == 0


def _abandoned(tmp_path: Path, body: str) -> tuple[int, float, str]:
    """Run a harness that spawns a CLI and dies; return the CLI's identity."""
    launch = launch_of(tmp_path, body, run_id=f"abandoned-{tmp_path}")
    program = f"""
import os
from harness.agy.process import Launch, spawn
child = spawn(Launch(argv={launch.argv!r}, env={dict(launch.env)!r}, cwd={launch.cwd!r},
    stdout_path={launch.stdout_path!r}, stderr_path={launch.stderr_path!r}))
i = child.identity
print(i.pid, i.started, i.boot_id, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    pid, begun, boot = done.stdout.split()
    return int(pid), float(begun), boot


def test_a_crashed_harness_leaves_nothing_that_cannot_be_ended(tmp_path: Path) -> None:
    """After a SIGKILL of the harness the CLI, its session and what is marked are ended."""
    body = """
child(scrubbed)
child(rest, setsid=True, double=True)
print("ready", flush=True)
rest()
"""
    pid, begun, boot = _abandoned(tmp_path, body)
    wait_for(lambda: "ready" in (tmp_path / "stdout").read_text())
    identity = replace(own_identity(), pid=pid, started=begun, boot_id=boot)
    assert len(still_running(tmp_path)) == 3
    elsewhere = replace(identity, boot_id="another-boot@1.0")
    run_id = f"abandoned-{tmp_path}"
    assert end_survivors(run_id, elsewhere) == 0
    assert end_survivors("another-run", replace(identity, started=begun - 1000)) == 0
    assert len(still_running(tmp_path)) == 3
    assert end_survivors(run_id, identity) == 3
    wait_for(lambda: still_running(tmp_path) == [])


def test_what_was_seen_once_is_remembered(tmp_path: Path) -> None:
    """Without adoption, a process seen below the CLI is still of the run when it broke away."""
    body = """
child(lambda: child(scrubbed, setsid=True) or rest(), setsid=True)
until(3)
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
"""
    child = started(launch_of(tmp_path, body))
    wait_for(lambda: "ready" in (tmp_path / "stdout").read_text())
    tree = Tree(child.identity, run_id=None)
    assert len(tree.members()) == 3
    (tmp_path / "go").touch()
    wait_for(child.exited)
    child.reap()
    assert len(tree.members()) == 2
    assert tree.kill(pause=time.sleep).killed == 2
    assert still_running(tmp_path) == []
    child.tree.members()


def test_a_number_that_is_anothers_session_now_is_left_alone(tmp_path: Path) -> None:
    """A session whose leader is younger than the CLI was is not the CLI's session."""
    child = started(launch_of(tmp_path, "child(rest)\nrest()"))
    wait_for(lambda: len(ledger(tmp_path)) == 2)
    stale = replace(child.identity, started=child.identity.started - 500)
    assert Tree(stale, run_id=None).members() == []
    child.tree.end(exited=child.exited, pause=time.sleep, polite_s=0.0)
    child.reap()


@pytest.mark.parametrize("linux", [True, False])
def test_a_pid_used_again_is_not_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, linux: bool
) -> None:
    """A kill is for one pid and one start, with and without process handles."""
    monkeypatch.setattr("harness.agy.kill.LINUX", linux)
    child = started(launch_of(tmp_path, "rest()"))
    row = read_row(child.identity.pid)
    assert row is not None
    assert not kill_row(_older(row))
    assert not child.exited()
    assert kill_row(row)
    wait_for(child.exited)
    assert not kill_row(row)
    child.reap()
    assert not kill_row(row)
    assert reap(row.pid) == Dead()


def _older(row: ProcessRow) -> ProcessRow:
    return replace(row, born=row.born - 100)


def test_without_descriptors_left_a_kill_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no process handle can be had, pid and start are compared and the pid is used."""
    child = started(launch_of(tmp_path, "rest()"))
    row = read_row(child.identity.pid)
    assert row is not None

    def refuse(_pid: int) -> int:
        raise OSError(24, "too many")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert kill_row(row)
    wait_for(child.exited)
    child.reap()


def test_time_for_killing_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may not be killed is reported as left, in bounded time."""
    child = started(launch_of(tmp_path, "rest()"))
    monkeypatch.setattr("harness.agy.tree.kill_row", lambda _row: False)
    swept = child.tree.kill(pause=time.sleep, limit_s=0.05)
    assert (swept.killed, swept.left) == (0, 1)
    monkeypatch.undo()
    child.tree.kill(pause=time.sleep)
    child.reap()


def test_born_is_on_the_kernels_scale(tmp_path: Path) -> None:
    """The identity's start, on the kernel's scale, is the start in the process table."""
    child = started(launch_of(tmp_path, ""))
    row = read_row(child.identity.pid)
    assert row is not None
    assert born(child.identity) == pytest.approx(row.born, abs=0.001)
    finished(child)


@pytest.mark.parametrize("linux", [True, False])
def test_a_process_that_may_not_be_killed_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, linux: bool
) -> None:
    """A process of another user, seen by one without rights, is left alone and said so."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    child = started(launch_of(tmp_path, "rest()"))
    row = read_row(child.identity.pid)
    assert row is not None
    monkeypatch.setattr("harness.agy.kill.LINUX", linux)
    os.setresuid(65534, 65534, 0)
    try:
        assert not kill_row(row)
        assert reap(row.pid) == Dead()
    finally:
        os.setresuid(0, 0, 0)
    assert not child.exited()
    child.tree.kill(pause=time.sleep)
    child.reap()
