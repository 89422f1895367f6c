"""The agent's door: a Unix socket of one run, served by the harness process while the run lives.

It is one more party on the run's selector: no thread, no second process. A request is answered
after its write is durable, or refused; a client that misbehaves loses its connection, no more.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.agy.ancestry import is_descendant, peer_of
from harness.core.frames import (
    FRAME_LIMIT,
    Answer,
    CanonicalGet,
    GateWrite,
    JournalAppend,
    JournalList,
    Refused,
    Request,
    decode_request,
    encode_reply,
)
from harness.core.process import ProcessIdentity
from harness.errors import GateRefused, HarnessError, HostProblem
from harness.services.door_folder import DoorFolder
from harness.services.gate import Gate, canonical_value
from harness.stores.protocols import State

_CHUNK = 256 * 1024
_CLIENT_LIMIT = 256
_BUFFER_LIMIT = 64 * 1024 * 1024
_FRAME_PATIENCE_S = 30.0
_BACKLOG = 256


@dataclass(slots=True)
class _Client:
    """One connection: what came in and is not answered yet, what waits to go out.

    A refused one is listened to until it leaves, and its words thrown away: closing a Unix
    socket with unread bytes would take the refusal from the client that is still sending.

    Attributes:
        scanned: so many bytes at the front of `incoming` hold no line end.
        waiting_since: when it was first waited for: to ask, to end its request, to read its
            answer. None while it owes nothing; bytes that trickle do not renew it.
    """

    connection: socket.socket
    incoming: bytearray = field(default_factory=bytearray)
    outgoing: bytearray = field(default_factory=bytearray)
    scanned: int = 0
    waiting_since: float | None = None
    refused: bool = False

    def line_end(self) -> int:
        """Return where the first whole request ends, or -1."""
        end = self.incoming.find(b"\n", self.scanned)
        if end < 0:
            self.scanned = len(self.incoming)
        return end

    def take_line(self, end: int) -> bytes:
        """Return the request that ends there, and forget it."""
        line = bytes(self.incoming[:end])
        del self.incoming[: end + 1]
        self.scanned = 0
        return line


class Door:
    """Serve one run's socket on a selector that somebody else turns.

    A client is read from only while nothing waits to be answered or to be read by it, and one
    request of it is carried out at each turn: no client can fill the harness's memory, or keep
    it from the run's clock.

    Args:
        runtime: a private folder with a short path, where sockets may live.
        gate: what this run may write.
        state: read for `canonical get`.
        harness: this process, which adopts orphans of the run.
        monotonic: a clock for patience only.
    """

    def __init__(
        self,
        *,
        runtime: Path,
        gate: Gate,
        state: State,
        harness: ProcessIdentity,
        user: int,
        monotonic: Callable[[], float],
    ) -> None:
        self._gate = gate
        self._state = state
        self._harness = harness
        self._user = user
        self._monotonic = monotonic
        self._child: ProcessIdentity | None = None
        self._folder = DoorFolder(runtime)
        self._clients: dict[socket.socket, _Client] = {}
        self._selector: selectors.BaseSelector | None = None
        self._listener: socket.socket | None = None
        self._rests = False
        self.refused_peers = 0

    @property
    def path(self) -> str:
        """The socket's path, for `HARNESS_GATE`."""
        return self._folder.socket

    def open(self, selector: selectors.BaseSelector) -> None:
        """Bind and listen. Raises `HostProblem` where no socket can be made."""
        self._folder.sweep()
        self._folder.make()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self.path)
            listener.listen(_BACKLOG)
        except OSError as problem:
            listener.close()
            self._folder.remove()
            raise HostProblem(
                f"the run's socket {self.path} cannot be made: {problem.strerror or problem}",
                hint="check that the runtime folder is writable",
            ) from problem
        listener.setblocking(False)
        self._selector, self._listener = selector, listener
        selector.register(listener, selectors.EVENT_READ, self._accept)

    def admit(self, child: ProcessIdentity) -> None:
        """Name the process whose descendants may come in; before that nobody may."""
        self._child = child

    def close(self) -> None:
        """Let everybody go and take the socket away; again is no harm."""
        for client in list(self._clients.values()):
            self._drop(client)
        if self._listener is not None and self._selector is not None:
            if not self._rests:
                self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        self._folder.remove()

    def tick(self) -> None:
        """Drop clients that have been waited for too long; listen again after a rest."""
        now = self._monotonic()
        for client in list(self._clients.values()):
            since = client.waiting_since
            if since is not None and now - since > _FRAME_PATIENCE_S:
                self._drop(client)
        if self._rests and self._listener is not None and self._selector is not None:
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
            self._rests = False

    def _accept(self, _fileobj: object, _mask: int) -> None:
        if self._listener is None or self._selector is None:
            return
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # gone before we came
            return
        except OSError:  # out of descriptors: it would wake the loop again at once, for nothing
            self._selector.unregister(self._listener)
            self._rests = True
            return
        connection.setblocking(False)
        refusal = self._peer_problem(connection)
        if refusal is not None:
            self.refused_peers += 1
        if len(self._clients) >= _CLIENT_LIMIT:
            _send_off(connection, refusal or "too many clients are at this door at once")
            return
        client = _Client(connection=connection, waiting_since=self._monotonic())
        self._clients[connection] = client
        self._selector.register(connection, selectors.EVENT_READ, self._serve)
        if refusal is not None:
            self._refuse(client, refusal)

    def _peer_problem(self, connection: socket.socket) -> str | None:
        try:
            peer = peer_of(connection)
            if peer.uid != self._user:
                return "this door is for the run's own user"
            if self._child is not None and is_descendant(
                peer.pid, of=self._child, adopter=self._harness
            ):
                return None
        except (OSError, HarnessError):
            return "the process at the other end cannot be told"
        return "this door is for the run's own processes"

    def _serve(self, fileobj: object, mask: int) -> None:
        client = self._clients.get(fileobj) if isinstance(fileobj, socket.socket) else None
        if client is None:
            return
        try:
            if mask & selectors.EVENT_WRITE:
                self._send(client)
            else:
                self._receive(client)
            self._answer_next(client)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return
        self._watch(client)

    def _watch(self, client: _Client) -> None:
        """Ask the selector for what the client is to do next, or what is left to do for it."""
        if self._selector is None or client.connection not in self._clients:
            return
        busy = client.outgoing or client.line_end() >= 0
        events = selectors.EVENT_WRITE if busy else selectors.EVENT_READ
        self._selector.modify(client.connection, events, self._serve)

    def _receive(self, client: _Client) -> None:
        data = client.connection.recv(_CHUNK)
        if not data:
            self._drop(client)
            return
        if client.refused:
            return
        client.incoming += data
        if client.waiting_since is None:
            client.waiting_since = self._monotonic()
        end = client.line_end()
        if (end if end >= 0 else len(client.incoming)) > FRAME_LIMIT:
            self._refuse(client, f"a request is at most {FRAME_LIMIT} bytes; this one is longer")
        elif sum(len(each.incoming) for each in self._clients.values()) > _BUFFER_LIMIT:
            self._refuse(client, "too many long requests come in at once; ask again")

    def _refuse(self, client: _Client, refusal: str) -> None:
        client.refused = True
        client.incoming.clear()
        client.scanned = 0
        client.waiting_since = self._monotonic()
        client.outgoing += encode_reply(Refused(error=refusal))
        with contextlib.suppress(OSError):  # what is wrong with it shows when it is served next
            self._send(client)
        self._watch(client)

    def _answer_next(self, client: _Client) -> None:
        """Carry out one request, if a whole one is there and the last answer is read."""
        if client.outgoing or client.refused or (end := client.line_end()) < 0:
            return
        request = decode_request(client.take_line(end))
        client.outgoing += encode_reply(self._answer(request))
        client.waiting_since = self._monotonic()
        self._send(client)

    def _answer(self, request: Request | Refused) -> Answer | Refused:
        try:
            match request:
                case Refused():
                    return request
                case GateWrite(key=key, tier=tier, value=value, reason=reason):
                    return self._gate.write(key, tier, value, reason)
                case JournalAppend(scope=scope, entry=entry, decision=decision):
                    return self._gate.append(scope, entry, decision)
                case JournalList(scope=scope, limit=limit):
                    self._check_room()
                    return self._gate.entries(scope, limit)
                case CanonicalGet(key=key):
                    self._check_room()
                    return canonical_value(self._state, key)
        except HarnessError as problem:
            return Refused(error=str(problem), hint=problem.hint)

    def _check_room(self) -> None:
        """Refuse to read on while the answers that nobody took fill the memory set aside."""
        if sum(len(each.outgoing) for each in self._clients.values()) > _BUFFER_LIMIT:
            raise GateRefused(
                "too many answers wait to be read by those who asked", hint="ask again"
            )

    def _send(self, client: _Client) -> None:
        if client.outgoing:
            sent = client.connection.send(client.outgoing)
            del client.outgoing[:sent]
        if not client.outgoing and not client.refused:
            client.waiting_since = self._monotonic() if client.incoming else None

    def _drop(self, client: _Client) -> None:
        self._clients.pop(client.connection, None)
        if self._selector is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(client.connection)
        client.connection.close()


def _send_off(connection: socket.socket, refusal: str) -> None:
    """Say why, and close; a fresh connection has room for one line."""
    with connection, contextlib.suppress(OSError):
        connection.send(encode_reply(Refused(error=refusal, hint="ask again")))
