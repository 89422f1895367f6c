"""The thin client of the agent's door: it opens no home, no configuration and no store."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from harness.agy.ancestry import Inside
from harness.core.frames import FRAME_LIMIT, Refused, Request, decode_reply, encode_request
from harness.errors import DoorProblem, GateRefused

ISOLATED_GATE = "/run/harness/gate"
_PATIENCE_S = 60.0
A = TypeVar("A")


def door_path(inside: Inside, environment: Mapping[str, str]) -> str:
    """Return where the run's socket is, or raise `DoorProblem` where there is none."""
    for candidate in (environment.get("HARNESS_GATE"), inside.gate, ISOLATED_GATE):
        if candidate and Path(candidate).exists():
            return candidate
    raise DoorProblem(
        f"this is inside an agent ({inside.variable} is set) and no run's socket is in reach; "
        "nothing was written",
        hint="the run may have ended, or a person's command is given inside an agent's shell",
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
            connection.connect(path)
            with contextlib.suppress(BrokenPipeError):  # a refusal may come before all is sent
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


def _read_line(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        chunk = connection.recv(256 * 1024)
        if not chunk:
            raise ConnectionError("the connection ended before an answer came")
        received += chunk
        if len(received) > 64 * FRAME_LIMIT:
            raise ConnectionError("the answer is longer than any answer can be")
    return bytes(received)
