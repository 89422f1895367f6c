"""The thin client of the agent's door: it opens no home, no configuration and no store."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from harness.agy.ancestry import Inside
from harness.core.environment import GATE
from harness.core.frames import FRAME_LIMIT, Refused, Request, decode_reply, encode_request
from harness.errors import DoorProblem, GateRefused

ISOLATED_GATE = "/run/harness/gate"
_PATIENCE_S = 60.0
_RETRY_S = 0.02
_ANSWER_LIMIT = 16 * FRAME_LIMIT
A = TypeVar("A")


def door_path(inside: Inside, environment: Mapping[str, str]) -> str:
    """Return where the run's socket is, or raise `DoorProblem` where there is none."""
    for candidate in (environment.get(GATE), inside.gate, ISOLATED_GATE):
        # No Path here and below: it takes longer to load than the rest of this module.
        if candidate and os.path.exists(candidate):  # noqa: PTH110
            return candidate
    raise DoorProblem(
        f"this is inside an agent ({inside.variable} at process {inside.pid} shows it) and no "
        "run's socket is in reach; nothing was written",
        hint="an agent: the run may have ended; a person: use a terminal that neither an agent "
        "nor its IDE opened",
    )


def ask(path: str, request: Request, kind: type[A]) -> A:
    """Send one request and return its answer.

    Raises:
        GateRefused: the door answered that it does not take the request.
        DoorProblem: no answer came; whether the request was carried out is not known, and
            asking again is safe: the same key and value in one run is one proposal.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE_S)
            _connect(connection, path)
            # a refusal may come before all is sent
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(encode_request(request))
            line = _read_line(connection)
        answer = decode_reply(line, kind)
    except (OSError, msgspec.DecodeError) as problem:
        raise DoorProblem(
            f"the run's socket {path} did not answer: {problem}", hint="ask again"
        ) from problem
    if isinstance(answer, Refused):
        raise GateRefused(answer.error, hint=answer.hint)
    return answer


def _connect(connection: socket.socket, path: str) -> None:
    """Connect, waiting where more clients stand in line than the system lets wait."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            connection.connect(path)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _read_line(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        chunk = connection.recv(256 * 1024)
        if not chunk:
            raise ConnectionError("the connection ended before an answer came")
        received += chunk
        if len(received) > _ANSWER_LIMIT:
            raise ConnectionError("the answer is longer than any answer can be")
    return bytes(received)
