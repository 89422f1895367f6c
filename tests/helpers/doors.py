"""A run's door for tests: a real socket, a real store, and a selector that the test turns."""

from __future__ import annotations

import json
import os
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.agy.host import own_identity
from harness.core.frames import FRAME_LIMIT
from harness.core.limits import GateLimits
from harness.core.tiers import Tier
from harness.services.door import Door
from harness.services.gate import Gate, Writer
from harness.stores.protocols import State
from tests.helpers.states import claimed

RUN = "20261130T0230-deps-3f9c"
EVERY_TIER = tuple(Tier)
ANSWER_S = 60.0


class HandMonotonic:
    """A monotonic clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


class Scene:
    """One open door of one claimed run; this process counts as the run's CLI."""

    def __init__(
        self,
        state: State,
        runtime: Path,
        *,
        limits: GateLimits | None = None,
        tiers: tuple[Tier, ...] = EVERY_TIER,
    ) -> None:
        claimed(state, RUN)
        self.state = state
        self.clock = HandMonotonic()
        self.selector = selectors.DefaultSelector()
        self.clients: list[Client] = []
        self.gate = Gate(
            state,
            limits or GateLimits(),
            Writer(agent_id="deps", tiers=tiers, run_id=RUN, job="deps"),
        )
        self.door = Door(
            runtime=runtime,
            gate=self.gate,
            state=state,
            harness=own_identity(),
            user=os.geteuid(),
            monotonic=self.clock,
        )
        self.door.open(self.selector)
        self.door.admit(own_identity())

    def turn(self, seconds: float = 0.0) -> int:
        """Serve what is ready once; returns how many were."""
        ready = self.selector.select(seconds)
        for key, mask in ready:
            key.data(key.fileobj, mask)
        return len(ready)

    def settle(self) -> None:
        """Serve until nobody is ready any more."""
        while self.turn():
            pass

    def turn_until(self, condition: Callable[[], object], seconds: float = ANSWER_S) -> None:
        """Serve until a condition holds, or fail."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not come about in time"
            self.turn(0.01)

    def client(self) -> Client:
        """Connect a client of this process; the scene closes it at the end."""
        made = Client(self)
        self.clients.append(made)
        return made

    def close(self) -> None:
        """Close clients, door and selector."""
        for client in self.clients:
            client.close()
        self.door.close()
        self.selector.close()


class Client:
    """The other side, which never waits by itself: the scene is turned meanwhile."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.connection = socket.socket(socket.AF_UNIX)
        try:
            self.connection.connect(scene.door.path)
        except OSError:
            self.connection.close()
            raise
        self.connection.setblocking(False)
        self.received = bytearray()
        self.ended = False

    def send(self, data: bytes) -> None:
        """Send bytes, all of them, or as many as the door takes before it closes."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.connection.send(view) :]
            except BlockingIOError:
                self.scene.turn(0.001)

    def receive(self) -> None:
        """Take what has come."""
        try:
            data = self.connection.recv(1 << 20)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        self.received += data
        self.ended = self.ended or not data

    def line(self) -> Any:
        """Turn the door until an answer is there, and return it."""

        def whole() -> bool:
            self.receive()
            return b"\n" in self.received or self.ended

        self.scene.turn_until(whole)
        line, found, rest = bytes(self.received).partition(b"\n")
        assert found, "the connection ended without an answer"
        self.received = bytearray(rest)
        return json.loads(line)

    def ask(self, **request: object) -> Any:
        """Send one request and return what was answered."""
        self.send(json.dumps(request).encode() + b"\n")
        return self.line()

    def gone(self) -> bool:
        """Return whether the door has closed this connection; what it said before is kept."""
        self.scene.settle()
        before = -1
        while not self.ended and len(self.received) != before:
            before = len(self.received)
            self.receive()
        return self.ended

    def close(self) -> None:
        """Leave."""
        self.connection.close()


@contextmanager
def short_folder() -> Iterator[Path]:
    """Give a private folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="d", dir="/tmp") as name:
        yield Path(name)


def write(key: str = "ads/floor", value: str = "0.12", **changes: object) -> dict[str, object]:
    """Return a canonical write as a request."""
    request: dict[str, object] = {
        "op": "gate.write",
        "key": key,
        "tier": "canonical",
        "value": value,
        "reason": "the median rose",
    }
    return request | changes


def frame_of(size: int) -> bytes:
    """Return a request for the journal of exactly so many bytes, padded with blanks."""
    request = b'{"op":"journal.list"}'
    return request + b" " * (size - len(request))


LONGEST_FRAME = frame_of(FRAME_LIMIT)
