"""Peers of a socket, lines of descent, and what counts as inside a run."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agy import ancestry
from harness.agy.ancestry import RUN_NAME, Peer, ancestors, inside, is_descendant, peer_of
from harness.agy.host import own_identity
from harness.agy.process import Child, called
from harness.agy.table import ProcessRow, read_environment, read_row
from harness.errors import DoorProblem
from tests.helpers.processes import launch_of, ledger, started, wait_for

NEST = """
child(lambda: child(scrubbed, setsid=True) or rest())
until(3)
child(scrubbed, setsid=True, double=True)
print("ready", flush=True)
rest()
"""


@pytest.fixture
def nest(tmp_path: Path) -> Iterator[Child]:
    """A CLI with a child, a scrubbed grandchild and a scrubbed daemon."""
    child = started(launch_of(tmp_path, NEST, env={"HARNESS_GATE": "/run/gate"}))
    wait_for(lambda: len(ledger(tmp_path)) == 4)
    wait_for(lambda: "ready" in (tmp_path / "stdout").read_text())
    yield child
    child.tree.kill(pause=time.sleep)
    child.reap()


def test_descent_is_told_by_parents_and_adoption(tmp_path: Path, nest: Child) -> None:
    """Children and grandchildren descend from the CLI; its orphans by the adopter alone."""
    cli, below, grandchild, daemon = (pid for pid, _ in ledger(tmp_path))
    own = own_identity()
    for pid in (cli, below, grandchild):
        assert is_descendant(pid, nest.identity)
    assert not is_descendant(daemon, nest.identity)
    assert is_descendant(daemon, nest.identity, own)
    for pid in (os.getpid(), os.getppid(), 1, 2**22 + 5):
        assert not is_descendant(pid, nest.identity, own)


def test_descent_needs_the_very_process(tmp_path: Path, nest: Child) -> None:
    """An identity with another start or of another boot has no descendants."""
    below = ledger(tmp_path)[1][0]
    stale = replace(nest.identity, started=nest.identity.started - 1)
    assert not is_descendant(below, stale)
    assert not is_descendant(below, replace(nest.identity, boot_id="another"))


def test_a_parent_younger_than_its_child_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parent's pid that was used again does not lend its ancestors to a stranger."""
    rows = {
        30: ProcessRow(30, 20, 0, 0, zombie=False, born=100.0, rss_bytes=0, cpu_s=0.0),
        20: ProcessRow(20, 10, 0, 0, zombie=False, born=200.0, rss_bytes=0, cpu_s=0.0),
    }
    monkeypatch.setattr(ancestry, "read_row", rows.get)
    assert [row.pid for row in ancestors(30)] == [30]
    rows[20] = replace(rows[20], born=50.0)
    assert [row.pid for row in ancestors(30)] == [30, 20]
    rows[20] = replace(rows[20], parent=20)
    assert len(list(ancestors(30))) == ancestry._LONGEST_LINE


def test_ancestors_reach_the_top() -> None:
    """The line goes from this process through its parent to one without a visible parent."""
    line = [row.pid for row in ancestors(os.getpid())]
    assert line[:2] == [os.getpid(), os.getppid()]
    top = read_row(line[-1])
    assert top is not None
    assert top.parent == 0


def test_a_peer_is_named_by_the_kernel() -> None:
    """A process of another user that connects is known by its real pid and user."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    folder = Path("/tmp") / f"peer-{os.getpid()}"  # noqa: S108 - open to the other user
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    path = str(folder / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        Path(path).chmod(0o777)
        listener.listen()
        code = (
            "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX);"
            f"s.connect({path!r}); s.recv(1)"
        )
        with subprocess.Popen([sys.executable, "-ISc", code]) as process:
            listener.settimeout(30)
            connection, _ = listener.accept()
            with connection:
                assert peer_of(connection) == Peer(pid=process.pid, uid=65534)
                assert is_descendant(process.pid, own_identity())
    Path(path).unlink()
    folder.rmdir()


def test_a_peer_that_cannot_be_named_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket that has no peer of this machine raises, on Linux and elsewhere."""
    with socket.socket(socket.AF_UNIX) as lonely, pytest.raises(DoorProblem, match="seen"):
        peer_of(lonely)
    monkeypatch.setattr(ancestry, "LINUX", False)
    one, other = socket.socketpair()
    with one, other, pytest.raises(DoorProblem, match="who connected"):
        peer_of(one)


def test_on_macos_the_peer_is_asked_for_in_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user stands in the credentials, the pid is an option of its own."""

    class Connection(socket.socket):
        def getsockopt(self, level: int, option: int, size: int = 0) -> Any:
            assert level == 0
            assert size
            return struct.pack("i", 4711) if option == 2 else struct.pack("2I68x", 0, 501)

    monkeypatch.setattr(ancestry, "LINUX", False)
    with Connection(socket.AF_UNIX) as connection:
        assert peer_of(connection) == Peer(pid=4711, uid=501)


def test_outside_a_run_nothing_is_found() -> None:
    """A process started by a person is not inside, whatever else is in its environment."""
    assert inside({"PATH": "/bin", "HARNESS_HOME": "/x", "XANTIGRAVITY_": "1"}, os.getpid()) is None


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HARNESS_RUN_ID": "r1", "HARNESS_GATE": "/g"}, ("r1", "/g", "HARNESS_RUN_ID")),
        ({"HARNESS_GATE": "/g"}, (None, "/g", "HARNESS_GATE")),
        ({"HARNESS_RUN_ID": ""}, (None, None, "HARNESS_RUN_ID")),
        ({"ANTIGRAVITY_AGENT": "1"}, (None, None, "ANTIGRAVITY_AGENT")),
        ({"ANTIGRAVITY_X": "1", "HARNESS_GATE": "/g"}, (None, "/g", "HARNESS_GATE")),
    ],
)
def test_the_own_environment_tells(
    environment: dict[str, str], expected: tuple[str | None, str | None, str]
) -> None:
    """Each of the variables makes this process one of a run, empty ones included."""
    found = inside(environment, os.getpid())
    assert found is not None
    assert (found.run_id, found.gate, found.variable) == expected
    assert found.pid == os.getpid()


def test_an_ancestors_environment_tells(tmp_path: Path, nest: Child) -> None:
    """A process that scrubbed the run's variables is given away by its parent."""
    _, below, grandchild, daemon = (pid for pid, _ in ledger(tmp_path))
    found = inside({}, grandchild)
    assert found is not None
    assert found.run_id == f"run-in-{tmp_path}"
    assert found.gate == "/run/gate"
    assert found.pid == below
    assert inside({}, daemon) is None
    named = inside({"ANTIGRAVITY_AGENT": "1"}, grandchild)
    assert named is not None
    assert (named.variable, named.run_id) == ("ANTIGRAVITY_AGENT", f"run-in-{tmp_path}")
    assert not nest.exited()


def test_the_search_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for a run imports nothing heavy and reads each ancestor's environment once."""
    code = (
        "import os, sys; from harness.agy.ancestry import inside; inside(os.environ, os.getpid());"
        "print(sorted({'psutil', 'subprocess', 'asyncio', 'logging'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
    looked: list[int] = []

    def look(pid: int) -> bytes:
        looked.append(pid)
        return b""

    monkeypatch.setattr(ancestry, "read_environment", look)
    inside({}, os.getpid())
    assert len(looked) == len(set(looked))


def test_an_ancestor_that_cannot_be_read_is_passed_over(
    tmp_path: Path, nest: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parent whose environment is hidden does not hide the run further up."""
    cli, below, grandchild, _ = (pid for pid, _ in ledger(tmp_path))
    real = read_environment
    monkeypatch.setattr(
        ancestry, "read_environment", lambda pid: None if pid == below else real(pid)
    )
    found = inside({}, grandchild)
    assert found is not None
    assert found.pid == cli == nest.identity.pid


def test_an_orphan_is_given_away_by_the_harness_that_adopted_it(tmp_path: Path) -> None:
    """Scrubbed, in its own session and forked twice: the run's harness is among its parents."""
    here = Path(f"/proc/{os.getpid()}/comm")
    name = here.read_text()
    with called(RUN_NAME):
        child = started(launch_of(tmp_path, NEST))
        try:
            wait_for(lambda: "ready" in (tmp_path / "stdout").read_text())
            daemon = ledger(tmp_path)[3][0]
            assert here.read_text() == RUN_NAME + "\n"
            wait_for(lambda: (row := read_row(daemon)) is not None and row.parent == os.getpid())
            found = inside({}, daemon)
        finally:
            child.tree.kill(pause=time.sleep)
            child.reap()
    assert found is not None
    assert (found.variable, found.pid, found.run_id) == (RUN_NAME, os.getpid(), None)
    assert here.read_text() == name
