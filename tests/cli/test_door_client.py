"""The thin client of the door: one request, one answer, or one clear line."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.agy.ancestry import Inside
from harness.cli import door
from harness.cli.door import ask, door_path
from harness.core.frames import (
    JournalAnswer,
    JournalList,
    Refused,
    WriteAnswer,
    encode_reply,
    encode_request,
)
from harness.errors import DoorProblem, GateRefused
from tests.helpers.command_line import Answer, harness
from tests.helpers.doors import short_folder
from tests.helpers.stand_in import wait_until

DONE = WriteAnswer(applied=True, id="e1")
WRITE = ("gate", "write", "k", "--tier", "canonical", "--value", "v", "--reason", "why")


def sign(gate: str | None = None, variable: str = "HARNESS_RUN_ID") -> Inside:
    """Return what shows that this is inside a run."""
    return Inside(run_id="r", gate=gate, variable=variable, pid=4711)


@contextmanager
def served(serve: Callable[[socket.socket], None], backlog: int = 8) -> Iterator[str]:
    """Give the path of a socket whose connections are served one after another."""
    with short_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = str(folder / "gate")
        listener.bind(path)
        listener.listen(backlog)
        over = threading.Event()

        def loop() -> None:
            while True:
                connection, _ = listener.accept()
                with connection:
                    if over.is_set():
                        return
                    serve(connection)

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield path
        finally:
            over.set()
            with socket.socket(socket.AF_UNIX) as last:
                last.connect(path)
            thread.join()


def answering(reply: bytes) -> Callable[[socket.socket], None]:
    """Return a door that reads one line and says something."""

    def serve(connection: socket.socket) -> None:
        connection.makefile("rb").readline()
        connection.sendall(reply)

    return serve


def test_an_answer_is_returned() -> None:
    """What the door says is read to its line end, in whatever pieces it comes."""
    reply = encode_reply(DONE)

    def in_pieces(connection: socket.socket) -> None:
        assert connection.makefile("rb").readline() == encode_request(JournalList())
        for byte in reply:
            connection.sendall(bytes([byte]))

    with served(in_pieces) as path:
        assert ask(path, JournalList(), WriteAnswer) == DONE


def test_a_refusal_is_an_error_with_its_hint() -> None:
    """A refusal comes through with what to do about it."""
    with served(answering(encode_reply(Refused(error="no", hint="do this")))) as path:
        with pytest.raises(GateRefused, match=r"^no$") as refused:
            ask(path, JournalList(), WriteAnswer)
        assert refused.value.hint == "do this"


@pytest.mark.parametrize("reads", [0, 1000])
def test_a_refusal_is_read_though_the_request_was_not(reads: int) -> None:
    """A door that refuses and closes before it took all of a request is still understood."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(reads)
        connection.sendall(encode_reply(Refused(error="too long")))

    request = JournalList(scope="x" * 3_000_000)
    with served(refuse) as path, pytest.raises(GateRefused, match="too long"):
        ask(path, request, WriteAnswer)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b"", "ended before an answer"),
        (b'{"result"', "ended before an answer"),
        (b"{}\n", "without result"),
        (b"garbage\n", "malformed"),
        (b"\xff\xfe\n", "malformed"),
        (b'{"result":{"applied":1}}\n', "bool"),
    ],
)
def test_what_is_no_answer_is_a_problem_of_the_door(reply: bytes, says: str) -> None:
    """The line names the socket, and that asking again is what to do."""
    with served(answering(reply)) as path:
        with pytest.raises(DoorProblem, match=says) as problem:
            ask(path, JournalList(), WriteAnswer)
        assert path in str(problem.value)
        assert problem.value.hint == "ask again"


def test_an_endless_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sits at the other end cannot fill the client's memory."""
    monkeypatch.setattr(door, "_ANSWER_LIMIT", 1000)
    with (
        served(answering(b"x" * 5000)) as path,
        pytest.raises(DoorProblem, match="longer than any answer"),
    ):
        ask(path, JournalList(), WriteAnswer)


def test_a_door_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for its patience and no longer."""
    monkeypatch.setattr(door, "_PATIENCE_S", 0.05)
    over = threading.Event()

    def wait(_connection: socket.socket) -> None:
        over.wait(60)

    with served(wait) as path:
        with pytest.raises(DoorProblem, match="timed out"):
            ask(path, JournalList(), WriteAnswer)
        over.set()


def test_a_full_line_before_the_door_is_waited_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """More clients at once than the system lets wait: each has its answer in the end."""
    go = threading.Event()

    def serve(connection: socket.socket) -> None:
        go.wait(60)
        answering(encode_reply(DONE))(connection)

    waited: list[float] = []
    real = door.time.sleep
    monkeypatch.setattr(door.time, "sleep", lambda s: (waited.append(s), real(s)))
    answers: list[object] = []
    with served(serve, backlog=1) as path:
        clients = [
            threading.Thread(target=lambda: answers.append(ask(path, JournalList(), WriteAnswer)))
            for _ in range(8)
        ]
        for client in clients:
            client.start()
        assert wait_until(lambda: waited)
        go.set()
        for client in clients:
            client.join()
    assert answers == [DONE] * 8


def test_a_line_that_does_not_move_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody is let in for long, the client says so."""
    monkeypatch.setattr(door, "_PATIENCE_S", 0.05)
    with short_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "gate"))
        listener.listen(0)
        held = []
        for _ in range(4):
            with pytest.raises(DoorProblem):
                ask(str(folder / "gate"), JournalList(), WriteAnswer)
            held.append(socket.socket(socket.AF_UNIX))
            held[-1].setblocking(False)
            held[-1].connect_ex(str(folder / "gate"))
        for each in held:
            each.close()


@pytest.mark.parametrize("path", ["/nowhere/gate", "/dev/null", "/tmp", "/" + "x" * 300])  # noqa: S108
def test_what_is_no_door_is_a_clear_line(path: str) -> None:
    """A path that leads to nothing, or to something else, is no traceback."""
    with pytest.raises(DoorProblem, match="did not answer"):
        ask(path, JournalList(), JournalAnswer)


def test_the_nearest_door_that_stands_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The own environment first, then an ancestor's, then the place under isolation."""
    own, ancestors, isolated = (tmp_path / name for name in ("own", "ancestor", "isolated"))
    monkeypatch.setattr(door, "ISOLATED_GATE", str(isolated))
    environment = {"HARNESS_GATE": str(own)}
    isolated.touch()
    assert door_path(sign(), {}) == str(isolated)
    assert door_path(sign(str(ancestors)), environment) == str(isolated)
    ancestors.touch()
    assert door_path(sign(str(ancestors)), environment) == str(ancestors)
    own.touch()
    assert door_path(sign(str(ancestors)), environment) == str(own)


@pytest.mark.parametrize("gate", ["", "/nowhere", "a" * 5000, "/dev/null/x", "a\0b"])
def test_without_a_door_the_sign_and_the_way_out_are_named(gate: str) -> None:
    """Which variable, at which process, and what agent and person can do about it."""
    with pytest.raises(DoorProblem, match="ANTIGRAVITY_AGENT at process 4711") as problem:
        door_path(sign(gate, "ANTIGRAVITY_AGENT"), {"HARNESS_GATE": gate})
    assert "nothing was written" in str(problem.value)
    assert "terminal" in problem.value.hint


def through(path: str, *words: str) -> Answer:
    """Give a command inside a run whose socket is there."""
    return harness(*words, environment={"HARNESS_RUN_ID": "r", "HARNESS_GATE": path})


def test_a_write_inside_a_run_goes_through_the_door(tmp_path: Path) -> None:
    """No home is needed, none is looked at, and what was said comes out as JSON."""
    asked: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        asked.append(connection.makefile("rb").readline())
        connection.sendall(encode_reply(WriteAnswer(applied=False, pending_id="p1")))

    with served(serve) as path:
        said = through(path, "--home", str(tmp_path / "nowhere"), *WRITE, "--json")
        told = through(path, *WRITE)
    assert said.status == 0, said.stderr
    assert said.json["applied"] is False
    assert said.json["pending_id"] == "p1"
    assert "held as p1, not applied" in told.stdout
    assert json.loads(asked[0]) == {
        "op": "gate.write",
        "key": "k",
        "tier": "canonical",
        "value": "v",
        "reason": "why",
    }


def test_every_command_of_an_agent_asks_the_door() -> None:
    """Journal and canonical data are reached the same way; another agent's journal is not."""
    asked: list[str] = []
    replies = {
        "journal.append": encode_reply(DONE),
        "journal.list": encode_reply(JournalAnswer(entries=())),
        "canonical.get": encode_reply(Refused(error="no \x1b[2J\u202e")),
    }

    def serve(connection: socket.socket) -> None:
        operation = json.loads(connection.makefile("rb").readline())["op"]
        asked.append(operation)
        connection.sendall(replies[operation])

    with served(serve) as path:
        assert through(path, "journal", "append", "--scope", "s", "e").status == 0
        assert through(path, "journal", "list").stdout == "no entries\n"
        refused = through(path, "canonical", "get", "k")
        for words in (["list"], ["append", "--scope", "s", "e"]):
            other = through(path, "journal", *words, "--agent", "other")
            assert other.status == 1
            assert "--agent" in other.stderr
    assert asked == ["journal.append", "journal.list", "canonical.get"]
    assert (refused.status, refused.stderr) == (1, "error: no \\x1b[2J\\u202e\n")


def test_inside_without_a_door_nothing_is_written(tmp_path: Path) -> None:
    """A person's shell in an IDE's terminal: exit 1, the variable, and what to do."""
    environment = {"ANTIGRAVITY_AGENT": "1", "HARNESS_HOME": str(tmp_path)}
    said = harness(*WRITE, environment=environment)
    assert said.status == 1
    assert "ANTIGRAVITY_AGENT" in said.stderr
    assert "hint: " in said.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_persons_command_inside_says_which_variable_and_what_to_do() -> None:
    """The refusal names variable and process, what an agent may do, and what a person can."""
    said = harness("report", environment={"ANTIGRAVITY_TRAJECTORY_ID": "1"})
    assert said.status == 1
    error, hint = said.stderr.splitlines()
    assert "ANTIGRAVITY_TRAJECTORY_ID" in error
    assert "gate write" in hint
    assert "terminal" in hint
    assert os.environ.get("ANTIGRAVITY_TRAJECTORY_ID") is None
