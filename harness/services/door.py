"""The agent's door: a Unix socket of one run, served by the harness process while the run lives.

It is one more party on the run's selector: no thread, no second process. A request is answered
after its write is durable, or refused; a client that misbehaves loses its connection, no more.
"""

from __future__ import annotations

import contextlib
import secrets
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
from harness.errors import HarnessError, HostProblem
from harness.services.gate import Gate, canonical_value
from harness.stores.protocols import State

_CHUNK = 256 * 1024
_CLIENT_LIMIT = 256
_BUFFER_LIMIT = 64 * 1024 * 1024
_FRAME_PATIENCE_S = 30.0
_SOCKET_NAME = "gate"
_BACKLOG = 128


@dataclass(slots=True)
class _Client:
    """One connection: what came in and is not a whole frame yet, what waits to go out.

    A refused one is listened to until it leaves, and its words thrown away: closing a Unix
    socket with unread bytes would take the refusal from the client that is still sending.
    """

    connection: socket.socket
    incoming: bytearray = field(default_factory=bytearray)
    outgoing: bytearray = field(default_factory=bytearray)
    scanned: int = 0
    waiting_since: float | None = None
    refused: bool = False


class Door:
    """Serve one run's socket on a selector that somebody else turns.

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
        self._folder = runtime / secrets.token_hex(4)
        self._clients: dict[socket.socket, _Client] = {}
        self._selector: selectors.BaseSelector | None = None
        self._listener: socket.socket | None = None
        self.refused_peers = 0

    @property
    def path(self) -> str:
        """The socket's path, for `HARNESS_GATE`."""
        return str(self._folder / _SOCKET_NAME)

    def open(self, selector: selectors.BaseSelector) -> None:
        """Bind and listen. Raises `HostProblem` where no socket can be made."""
        self._selector = selector
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._folder.mkdir(mode=0o700)
            listener.bind(self.path)
            listener.listen(_BACKLOG)
        except OSError as problem:
            listener.close()
            raise HostProblem(
                f"the run's socket {self.path} cannot be made: {problem.strerror}",
                hint="check that the runtime folder is writable",
            ) from problem
        listener.setblocking(False)
        self._listener = listener
        selector.register(listener, selectors.EVENT_READ, self._accept)

    def admit(self, child: ProcessIdentity) -> None:
        """Name the process whose descendants may come in; before that nobody may."""
        self._child = child

    def close(self) -> None:
        """Let everybody go and take the socket away; again is no harm."""
        for client in list(self._clients.values()):
            self._drop(client)
        if self._listener is not None and self._selector is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        with contextlib.suppress(OSError):
            (self._folder / _SOCKET_NAME).unlink(missing_ok=True)
            self._folder.rmdir()

    def tick(self) -> None:
        """Drop clients that left a frame unfinished, or an answer unread, for too long."""
        now = self._monotonic()
        for client in list(self._clients.values()):
            since = client.waiting_since
            if since is not None and now - since > _FRAME_PATIENCE_S:
                self._drop(client)

    def _accept(self, _fileobj: object, _mask: int) -> None:
        if self._listener is None:
            return
        try:
            connection, _ = self._listener.accept()
        except OSError:  # gone before we came, or out of descriptors: the client sees it
            return
        connection.setblocking(False)
        if len(self._clients) >= _CLIENT_LIMIT:
            connection.close()
            return
        client = _Client(connection=connection)
        self._clients[connection] = client
        self._register(client, selectors.EVENT_READ, new=True)
        refusal = self._peer_problem(connection)
        if refusal is not None:
            self.refused_peers += 1
            self._refuse(client, refusal)

    def _refuse(self, client: _Client, refusal: str) -> None:
        client.refused = True
        client.incoming.clear()
        client.outgoing += encode_reply(Refused(error=refusal))
        client.waiting_since = self._monotonic()
        with contextlib.suppress(OSError):
            self._send(client)

    def _peer_problem(self, connection: socket.socket) -> str | None:
        try:
            peer = peer_of(connection)
        except OSError:
            return "the process at the other end cannot be told"
        if peer.uid != self._user:
            return "this door is for the run's own user"
        if self._child is None or not is_descendant(
            peer.pid, of=self._child, adopter=self._harness
        ):
            return "this door is for the run's own processes"
        return None

    def _serve(self, fileobj: object, mask: int) -> None:
        client = self._clients.get(fileobj) if isinstance(fileobj, socket.socket) else None
        if client is None:
            return
        try:
            if mask & selectors.EVENT_WRITE:
                self._send(client)
            if mask & selectors.EVENT_READ:
                self._receive(client)
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)

    def _receive(self, client: _Client) -> None:
        data = client.connection.recv(_CHUNK)
        if not data:
            self._drop(client)
            return
        if client.refused:
            return
        client.incoming += data
        self._answer_frames(client)
        buffered = sum(len(each.incoming) for each in self._clients.values())
        if len(client.incoming) > FRAME_LIMIT or buffered > _BUFFER_LIMIT:
            self._refuse(client, f"a request is at most {FRAME_LIMIT} bytes; this one is longer")
            return
        waits = bool(client.incoming or client.outgoing)
        client.waiting_since = self._monotonic() if waits else None
        if client.outgoing:
            self._send(client)

    def _answer_frames(self, client: _Client) -> None:
        while True:
            end = client.incoming.find(b"\n", client.scanned)
            if end < 0:
                client.scanned = len(client.incoming)
                return
            line = bytes(client.incoming[:end])
            del client.incoming[: end + 1]
            client.scanned = 0
            client.outgoing += encode_reply(self._answer(decode_request(line)))

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
                    return self._gate.entries(scope, limit)
                case CanonicalGet(key=key):
                    return canonical_value(self._state, key)
        except HarnessError as problem:
            return Refused(error=str(problem), hint=problem.hint)

    def _send(self, client: _Client) -> None:
        sent = client.connection.send(client.outgoing)
        del client.outgoing[:sent]
        if client.outgoing:
            self._register(client, selectors.EVENT_WRITE)
            return
        if not client.refused:
            client.waiting_since = self._monotonic() if client.incoming else None
        self._register(client, selectors.EVENT_READ)

    def _register(self, client: _Client, events: int, *, new: bool = False) -> None:
        if self._selector is None:
            return
        if new:
            self._selector.register(client.connection, events, self._serve)
        else:
            self._selector.modify(client.connection, events, self._serve)

    def _drop(self, client: _Client) -> None:
        self._clients.pop(client.connection, None)
        if self._selector is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(client.connection)
        client.connection.close()
