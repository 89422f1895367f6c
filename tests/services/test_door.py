"""The agent's door under attack: real sockets, a real store, and a selector turned by the test."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.agy import ancestry
from harness.cli.door import ask
from harness.core.frames import FRAME_LIMIT, JournalAnswer, JournalList
from harness.core.tiers import VALUE_LIMIT
from harness.errors import DoorProblem, GateRefused, HostProblem
from harness.services import door as door_module
from harness.services.door import Door
from harness.services.door_folder import DoorFolder
from tests.helpers.doors import LONGEST_FRAME, RUN, Client, Scene, frame_of, short_folder, write
from tests.helpers.states import HandClock, open_sqlite

PATIENCE_S = door_module._FRAME_PATIENCE_S
LIMIT = door_module._CLIENT_LIMIT


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """An open door of one run."""
    state = open_sqlite(tmp_path, HandClock())
    with short_folder() as runtime:
        made = Scene(state, runtime)
        yield made
        made.close()
    state.close()


def stored(scene: Scene) -> list[tuple[str, str]]:
    """Return key and value of everything that was proposed."""
    return [(each.key, each.value) for each in scene.state.proposals.of_run(RUN)]


def test_a_write_is_stored_before_it_is_answered(scene: Scene) -> None:
    """When the answer can be read, another connection to the database sees the proposal."""
    answer = scene.client().ask(**write())
    assert answer["result"]["applied"] is False
    path = scene.state.database.path  # type: ignore[attr-defined]
    with contextlib.closing(sqlite3.connect(path)) as other:
        (row,) = other.execute("SELECT id, key, value, state FROM proposals").fetchall()
    assert row == (answer["result"]["pending_id"], "ads/floor", "0.12", "proposed")


def test_each_request_has_its_answer(scene: Scene) -> None:
    """The four things that may be asked, through one connection."""
    client = scene.client()
    assert client.ask(op="journal.append", scope="ads", entry="looked")["result"]["applied"] is True
    (entry,) = client.ask(op="journal.list")["result"]["entries"]
    assert (entry["scope"], entry["entry"], entry["run_id"]) == ("ads", "looked", RUN)
    value = client.ask(op="canonical.get", key="ads/floor")["result"]
    assert (value["value"], value["version"]) == (None, 0)
    assert client.ask(**write(tier="ephemeral"))["result"]["applied"] is True


def test_a_frame_may_come_byte_by_byte(scene: Scene) -> None:
    """What is sent in pieces is one request, carried out once, when its line ends."""
    client = scene.client()
    for byte in json.dumps(write()).encode():
        client.send(bytes([byte]))
        scene.settle()
        assert stored(scene) == []
    client.send(b"\n")
    assert "result" in client.line()
    assert len(stored(scene)) == 1


def test_many_frames_in_one_send_are_answered_in_order(scene: Scene) -> None:
    """Five hundred requests in one piece have five hundred answers, each its own."""
    client = scene.client()
    lines = [json.dumps({"op": "canonical.get", "key": f"k/{number}"}) for number in range(500)]
    client.send("\n".join([*lines, ""]).encode())
    answers = [client.line()["result"]["key"] for _ in range(500)]
    assert answers == [f"k/{number}" for number in range(500)]


def test_one_request_is_carried_out_at_each_turn(scene: Scene) -> None:
    """A client that sends many writes at once cannot keep the harness from its clock."""
    client = scene.client()
    lines = [json.dumps(write(key=f"k/{number}")) for number in range(20)]
    client.send("\n".join([*lines, ""]).encode())
    scene.turn(5)
    for _ in range(5):
        before = len(stored(scene))
        scene.turn(5)
        assert len(stored(scene)) <= before + 1
    scene.turn_until(lambda: len(stored(scene)) == 20)


def test_a_frame_of_the_limit_is_taken(scene: Scene) -> None:
    """A request of exactly the limit is a request."""
    client = scene.client()
    client.send(LONGEST_FRAME + b"\n")
    assert client.line() == {"result": {"entries": []}}


def test_the_longest_value_in_its_longest_form_is_taken(scene: Scene) -> None:
    """A value of the limit that JSON makes six times as long passes, byte for byte."""
    value = "\x01" * VALUE_LIMIT
    assert "result" in scene.client().ask(**write(value=value))
    assert stored(scene) == [("ads/floor", value)]


@pytest.mark.parametrize("line_end", [b"\n", b""], ids=["ended", "endless"])
def test_a_frame_over_the_limit_is_refused(scene: Scene, line_end: bytes) -> None:
    """One byte more is refused in words, whether its line ends or not; nothing is stored."""
    client = scene.client()
    client.send(frame_of(FRAME_LIMIT + 1) + line_end)
    assert str(FRAME_LIMIT) in client.line()["refused"]["error"]
    scene.clock.seconds += PATIENCE_S + 1
    scene.door.tick()
    assert client.gone()


def test_a_refusal_reaches_a_client_that_is_still_sending(scene: Scene) -> None:
    """Megabytes that follow are thrown away, and the reason can be read afterwards."""
    client = scene.client()
    client.send(b"x" * (3 * FRAME_LIMIT))
    client.send(b"\n" + json.dumps(write()).encode() + b"\n")
    assert "longer" in client.line()["refused"]["error"]
    assert stored(scene) == []


NOT_REQUESTS = {
    "empty": b"",
    "garbage": bytes(range(256)).replace(b"\n", b""),
    "not utf-8": b'{"op":"canonical.get","key":"\xff"}',
    "a surrogate's bytes": b'{"op":"canonical.get","key":"\xed\xa0\x80"}',
    "a lone surrogate": b'{"op":"canonical.get","key":"\\ud800"}',
    "a raw nul": b'{"op":"canonical.get","key":"a\x00b"}',
    "a nul in the key": b'{"op":"canonical.get","key":"a\\u0000b"}',
    "another operation": b'{"op":"approve","key":"a"}',
    "no operation": b'{"key":"a"}',
    "two operations": b'{"op":"canonical.get","op":"journal.list","key":"a"}',
    "an operation of another type": b'{"op":1}',
    "a field too many": b'{"op":"canonical.get","key":"a","run_id":"other"}',
    "a field too few": b'{"op":"gate.write","key":"a","tier":"canonical","value":"v"}',
    "a wrong type": b'{"op":"gate.write","key":"a","tier":"canonical","value":1,"reason":"r"}',
    "no value": b'{"op":"gate.write","key":"a","tier":"canonical","value":null,"reason":"r"}',
    "another tier": b'{"op":"gate.write","key":"a","tier":"god","value":"v","reason":"r"}',
    "an array": b'["gate.write"]',
    "two objects": b'{"op":"journal.list"} {"op":"journal.list"}',
    "an endless number": b'{"op":"journal.list","limit":' + b"9" * 5000 + b"}",
    "a huge number": b'{"op":"journal.list","limit":1180591620717411303424}',
    "nothing at all": b'{"op":"journal.list","limit":0}',
    "a broken number": b'{"op":"journal.list","limit":1e999}',
    "arrays in arrays": b'{"key":' + b"[" * 100_000 + b"]" * 100_000 + b',"op":"canonical.get"}',
    "objects in objects": b'{"key":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "open arrays": b"[" * 1_000_000,
}


@pytest.mark.parametrize("line", NOT_REQUESTS.values(), ids=NOT_REQUESTS.keys())
def test_what_is_no_request_is_refused_and_the_client_may_go_on(scene: Scene, line: bytes) -> None:
    """A refusal says why, nothing is stored, and the next request of the client is served."""
    client = scene.client()
    client.send(line + b"\n")
    refused = client.line()["refused"]
    assert refused["error"]
    assert len(refused["error"]) < 400
    assert stored(scene) == []
    assert "result" in client.ask(**write())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.sampled_from([b"\n", b"{", b'{"op":"journal.list"}\n', b'{"op":"gate.write"']),
        ),
        max_size=12,
    )
)
def test_any_bytes_in_any_pieces_leave_the_door_open(scene: Scene, pieces: list[bytes]) -> None:
    """Each line sent has one answer, and a decent client is served afterwards."""
    client = scene.client()
    for piece in pieces:
        client.send(piece)
        scene.turn()
    expected = b"".join(pieces).count(b"\n")
    for _ in range(expected):
        assert set(client.line()) <= {"result", "refused"}
    client.close()
    decent = scene.client()
    assert "result" in decent.ask(op="journal.list")
    decent.close()
    scene.turn_until(lambda: not scene.door._clients)


def test_a_client_that_leaves_in_mid_frame_is_forgotten(scene: Scene) -> None:
    """Half a request, and its connection, are gone with the client; nothing is stored."""
    client = scene.client()
    client.send(json.dumps(write()).encode())
    scene.settle()
    client.close()
    scene.turn_until(lambda: not scene.door._clients)
    assert stored(scene) == []


def test_a_client_that_leaves_before_its_answer_does_no_harm(scene: Scene) -> None:
    """Its write may land or not; the door goes on either way."""
    for number in range(5):
        client = scene.client()
        client.send((json.dumps(write(key=f"k/{number}")) + "\n").encode() * 3)
        client.close()
    scene.turn_until(lambda: not scene.door._clients)
    assert "result" in scene.client().ask(op="journal.list")


def test_a_client_that_half_closes_still_has_its_answers(scene: Scene) -> None:
    """Requests that came before the end of sending are answered, all of them."""
    client = scene.client()
    client.send(b'{"op":"journal.list"}\n' * 3)
    client.connection.shutdown(socket.SHUT_WR)
    assert [set(client.line()) for _ in range(3)] == [{"result"}] * 3
    assert client.gone()


def test_a_client_that_never_reads_fills_no_memory(scene: Scene) -> None:
    """Thousands of requests for a long page stop at the first answers that are not read."""
    for number in range(16):
        scene.client().ask(op="journal.append", scope=f"s/{number}", entry="\x01" * 32_000)
    client = scene.client()
    page = b'{"op":"journal.list","limit":1000}\n'

    def pour() -> None:
        for _ in range(200_000):
            client.connection.send(page)
            scene.turn()

    with pytest.raises(BlockingIOError):  # the door reads no more, and the kernel's room is full
        pour()
    (served,) = [each for each in scene.door._clients.values() if each.outgoing]
    assert len(served.outgoing) < 8 * 16 * 32_000
    assert len(served.incoming) < 1024 * 1024
    scene.clock.seconds += PATIENCE_S + 1
    scene.door.tick()
    assert client.gone()


def test_unread_answers_of_all_clients_are_bounded_together(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the memory for answers is full, reading is refused; a write is still taken."""
    monkeypatch.setattr(door_module, "_BUFFER_LIMIT", 1024 * 1024)
    for number in range(16):
        scene.client().ask(op="journal.append", scope=f"s/{number}", entry="\x01" * 32_000)
    greedy = scene.client()
    greedy.send(b'{"op":"journal.list"}\n')
    scene.settle()
    other = scene.client()
    assert "too many answers" in other.ask(op="journal.list")["refused"]["error"]
    assert "too many answers" in other.ask(op="canonical.get", key="k")["refused"]["error"]
    assert other.ask(**write())["result"]["applied"] is False
    assert len(greedy.line()["result"]["entries"]) == 16
    assert "result" in other.ask(op="journal.list")


def test_unfinished_requests_of_all_clients_are_bounded_together(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who goes over what all may send at once is refused, and the others go on."""
    monkeypatch.setattr(door_module, "_BUFFER_LIMIT", 5 * FRAME_LIMIT // 2)
    piece = frame_of(FRAME_LIMIT - 10)
    clients = [scene.client() for _ in range(3)]
    for client in clients:
        client.send(piece)
        scene.settle()
    assert "at once" in clients[2].line()["refused"]["error"]
    clients[0].send(b"\n")
    assert "result" in clients[0].line()


def test_three_hundred_clients_at_once(scene: Scene) -> None:
    """The bound holds, those over it read why, those within are served, and room comes back."""
    clients = []
    for _ in range(300):
        clients.append(scene.client())
        scene.turn()
    scene.settle()
    assert len(scene.door._clients) == LIMIT
    for client in clients[LIMIT:]:
        assert "too many clients" in client.line()["refused"]["error"]
        assert client.gone()
    for client in clients[:LIMIT]:
        client.send(b'{"op":"journal.list"}\n')
    for client in clients[:LIMIT]:
        assert "result" in client.line()
    for client in clients:
        client.close()
    scene.turn_until(lambda: not scene.door._clients)
    assert "result" in scene.client().ask(op="journal.list")


def test_a_loris_is_dropped(scene: Scene) -> None:
    """A byte now and then does not renew the patience with a request that never ends."""
    client = scene.client()
    for _ in range(7):
        client.send(b"{")
        scene.settle()
        scene.clock.seconds += 5
        scene.door.tick()
    assert client.gone()


def test_a_silent_client_is_dropped_and_a_resting_one_is_not(scene: Scene) -> None:
    """Who never asks leaves room after a while; who has asked may stay for its next question."""
    silent, resting = scene.client(), scene.client()
    assert "result" in resting.ask(op="journal.list")
    scene.clock.seconds += PATIENCE_S + 1
    scene.door.tick()
    assert silent.gone()
    assert not resting.gone()
    assert "result" in resting.ask(op="journal.list")
    scene.clock.seconds += PATIENCE_S - 1
    resting.send(b"{")
    scene.settle()
    scene.clock.seconds += 2
    scene.door.tick()
    assert not resting.gone()


def test_a_vanished_socket_harms_nobody(scene: Scene) -> None:
    """Somebody deletes the socket: who is in is served, and closing is quiet."""
    client = scene.client()
    Path(scene.door.path).unlink()
    Path(scene.door.path).parent.rmdir()
    assert "result" in client.ask(op="journal.list")
    with pytest.raises(FileNotFoundError):
        scene.client()
    scene.door.close()
    assert client.gone()


def test_a_closed_door_is_gone(scene: Scene) -> None:
    """After the run neither socket nor folder is left, and closing again is no harm."""
    client = scene.client()
    scene.settle()
    scene.door.close()
    scene.door.close()
    scene.door._accept(None, 0)
    scene.door._serve(client.connection, 0)
    scene.door.tick()
    assert client.gone()
    assert not Path(scene.door.path).parent.exists()
    assert not scene.selector.get_map()


def test_a_full_disk_acknowledges_nothing(tmp_path: Path) -> None:
    """A store that cannot write refuses in words; the same write is taken when it can again."""
    state = open_sqlite(tmp_path, HandClock())
    connection = state.database.connection  # type: ignore[attr-defined]
    with short_folder() as runtime:
        scene = Scene(state, runtime)
        client = scene.client()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        answer = client.ask(**write(value="v" * 200_000))
        assert "disk is full" in answer["refused"]["error"]
        assert answer["refused"]["hint"]
        assert stored(scene) == []
        connection.execute("PRAGMA max_page_count = 1000000")
        assert client.ask(**write(value="v" * 200_000))["result"]["pending_id"]
        assert state.check() == []
        scene.close()
    state.close()


def test_a_closed_store_refuses(scene: Scene) -> None:
    """A connection to the database that is gone is a refusal at the door, no crash of the run."""
    client = scene.client()
    scene.state.close()
    for request in (write(), {"op": "journal.list"}, {"op": "canonical.get", "key": "k"}):
        assert "database" in client.ask(**request)["refused"]["error"]


def test_before_the_child_is_known_nobody_may_come_in(scene: Scene) -> None:
    """A door that was not told whose it is refuses everybody, and counts them."""
    scene.door._child = None
    client = scene.client()
    assert "own processes" in client.line()["refused"]["error"]
    assert scene.door.refused_peers == 1


def test_a_foreign_peer_that_sends_megabytes_reads_why(scene: Scene) -> None:
    """Its words are thrown away, none of them is kept or carried out, and it hears the reason."""
    scene.door._child = None
    client = scene.client()
    client.send(b"x" * (2 * FRAME_LIMIT) + b"\n" + json.dumps(write()).encode() + b"\n")
    assert "own processes" in client.line()["refused"]["error"]
    (served,) = scene.door._clients.values()
    assert not served.incoming
    assert stored(scene) == []


def test_who_finds_the_door_full_reads_so(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own code, in the middle of a long request, understands that it is full."""
    monkeypatch.setattr(door_module, "_CLIENT_LIMIT", 1)
    scene.client()
    scene.settle()
    said: list[str] = []

    def try_it() -> None:
        try:
            ask(scene.door.path, JournalList(scope="x" * 2_000_000), JournalAnswer)
        except GateRefused as refused:
            said.append(f"{refused}; {refused.hint}")

    thread = threading.Thread(target=try_it)
    thread.start()
    scene.turn_until(lambda: said)
    thread.join()
    assert said == ["too many clients are at this door at once; ask again"]


@pytest.mark.parametrize("problem", [DoorProblem("who?"), HostProblem("no /proc"), OSError()])
def test_a_peer_that_cannot_be_told_is_refused(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """Where the kernel does not say who connected, nothing is carried out and the run goes on."""

    def fail(_connection: socket.socket) -> None:
        raise problem

    monkeypatch.setattr(door_module, "peer_of", fail)
    client = scene.client()
    client.send(json.dumps(write()).encode() + b"\n")
    assert "cannot be told" in client.line()["refused"]["error"]
    assert stored(scene) == []


def test_another_users_peer_is_refused(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's word on the peer's user decides, whatever the file modes let through."""
    peer = ancestry.Peer(pid=os.getpid(), uid=os.geteuid() + 1)
    monkeypatch.setattr(door_module, "peer_of", lambda _connection: peer)
    assert "own user" in scene.client().line()["refused"]["error"]


def test_no_descriptors_left_is_a_rest_and_no_end(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no connection can be taken the loop does not spin; with the next tick it listens."""
    listener = scene.door._listener
    assert listener is not None

    class Exhausted:
        def accept(self) -> None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        def fileno(self) -> int:
            return listener.fileno()

    scene.selector.unregister(listener)
    exhausted = Exhausted()
    monkeypatch.setattr(scene.door, "_listener", exhausted)
    scene.selector.register(exhausted, 1, scene.door._accept)
    client = scene.client()
    assert scene.turn(5) == 1
    assert scene.turn() == 0
    monkeypatch.setattr(scene.door, "_listener", listener)
    scene.door.tick()
    assert "result" in client.ask(op="journal.list")


def test_a_door_may_close_while_it_rests(scene: Scene) -> None:
    """A resting listener is in no selector any more; closing knows that."""
    listener = scene.door._listener
    assert listener is not None
    scene.selector.unregister(listener)
    scene.door._rests = True
    scene.door.close()
    assert not Path(scene.door.path).exists()


def test_a_connection_that_was_never_there_is_passed_over(scene: Scene) -> None:
    """A client that is gone before it is taken, or a wake-up for nothing, changes nothing."""
    scene.door._accept(None, 0)
    scene.client().close()
    scene.settle()
    assert scene.door._clients == {}
    assert "result" in scene.client().ask(op="journal.list")


def test_a_socket_that_cannot_be_made_is_a_clear_error(tmp_path: Path, scene: Scene) -> None:
    """No folder, or a path too long for a socket: one line, and nothing is left behind."""

    def door_in(runtime: Path) -> Door:
        return Door(
            runtime=runtime,
            gate=scene.gate,
            state=scene.state,
            harness=scene.door._harness,
            user=os.geteuid(),
            monotonic=scene.clock,
        )

    with pytest.raises(HostProblem, match="cannot be made"):
        door_in(tmp_path / "nowhere").open(scene.selector)
    long = tmp_path / ("x" * 100)
    long.mkdir()
    with pytest.raises(HostProblem, match="cannot be made"):
        door_in(long).open(scene.selector)
    assert list(long.iterdir()) == []


def test_the_socket_is_closed_to_other_users(scene: Scene) -> None:
    """The folder of the socket may be entered by its user alone."""
    assert Path(scene.door.path).parent.stat().st_mode & 0o777 == 0o700


def test_what_a_killed_harness_left_is_swept() -> None:
    """A folder that nobody holds is taken away by the next run; one that is held stays."""
    with short_folder() as runtime:
        left, held, foreign = DoorFolder(runtime), DoorFolder(runtime), runtime / "mine"
        foreign.mkdir()
        for each in (left, held):
            each.make()
            Path(each.socket).touch()
        assert left._lock is not None
        os.close(left._lock)  # as the kernel does when the process dies
        left._lock = None
        fresh = DoorFolder(runtime)
        fresh.sweep()
        assert Path(left.socket).exists()
        old = time.time() - 120
        for folder in runtime.iterdir():
            os.utime(folder, (old, old))
        (runtime / "0123abcd").symlink_to(foreign)
        fresh.sweep()
        assert not Path(left.socket).parent.exists()
        assert Path(held.socket).exists()
        assert foreign.exists()
        held.remove()
        assert not Path(held.socket).parent.exists()
        DoorFolder(runtime / "nowhere").sweep()


def test_what_an_agent_put_beside_the_socket_is_left(scene: Scene) -> None:
    """A file that somebody put into the folder does not keep the door from closing."""
    beside = Path(scene.door.path).parent / "beside"
    beside.write_text("x")
    scene.door.close()
    assert not Path(scene.door.path).exists()
    assert beside.exists()
    beside.unlink()


def test_a_client_whose_connection_breaks_is_dropped(scene: Scene) -> None:
    """A reset while a request is being served ends that client alone."""
    client = scene.client()
    assert "result" in client.ask(op="journal.list")
    (served,) = scene.door._clients.values()
    client.send(b'{"op":"journal.list"}\n' * 2)
    client.close()
    assert isinstance(client, Client)
    scene.turn_until(lambda: served.connection not in scene.door._clients)
    assert "result" in scene.client().ask(op="journal.list")


def test_the_door_knows_its_own_among_all_the_processes_of_a_user() -> None:
    """Two runs at once, without root: descendants come in however they forked, others do not."""
    root = Path(__file__).parents[2]
    with short_folder() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.helpers.peers", str(folder)],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    foreign = "this door is for the run's own processes"
    expected = {"stranger at one": foreign}
    for own, other in (("one", "two"), ("two", "one")):
        for who in ("cli", "session", "orphan"):
            expected[f"{who} of {own} at {own}"] = "admitted"
            expected[f"{who} of {own} at {other}"] = foreign
    if os.geteuid() == 0:
        expected["another user at one"] = "this door is for the run's own user"
    assert said == expected
