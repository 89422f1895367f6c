"""What the CLI says when it is asked for its version."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from harness.agy.process import Child, ExitStatus, SpawnFailure, spawn_piped
from harness.agy.stop import Stop

_ANSWER_LIMIT = 16 * 1024
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionAnswer:
    """What `--version` printed.

    Attributes:
        text: stdout without blanks at its ends, at most 16 KiB.
        exit_code: None where it never ran, or a signal ended it.
        problem: one sentence where there is no usable answer; empty otherwise.
    """

    text: str = ""
    exit_code: int | None = None
    problem: str = ""


def ask_version(
    binary: str, env: Mapping[str, str], timeout_s: float, *, stop: Stop | None = None
) -> VersionAnswer:
    """Return what `<binary> --version` prints; the process and all it started are gone then.

    stdin is empty, at most 16 KiB are read, and the end of the output is never waited for:
    a grandchild could hold it open. A request to stop ends the waiting; what is answered then
    is as good as no answer.
    """
    started = spawn_piped((binary, "--version"), env)
    if isinstance(started, SpawnFailure):
        return VersionAnswer(problem=started.problem)
    child, pipe = started
    with pipe:
        try:
            text, answered = _listen(child, pipe, time.monotonic() + timeout_s, stop)
        finally:
            child.tree.kill(pause=time.sleep)
            status = child.reap()
    return _judge(binary, text, status, None if answered else timeout_s)


def _listen(
    child: Child, pipe: IO[bytes], deadline: float, stop: Stop | None
) -> tuple[bytes, bool]:
    """Return what was said until the process ended, and whether it did so in time."""
    text = bytearray()
    open_ended = True
    handles = [] if child.handle is None else [child.handle]
    while not (ended := child.exited()) and time.monotonic() < deadline:
        if stop is not None and stop.requested is not None:
            break
        ends = [pipe.fileno()] if open_ended and len(text) < _ANSWER_LIMIT else []
        select.select([*ends, *handles], [], [], _POLL_S)
        open_ended = _read_some(pipe, text)
    _read_some(pipe, text)
    return bytes(text), ended


def _read_some(pipe: IO[bytes], text: bytearray) -> bool:
    """Read what is there, up to the limit; returns False at the pipe's end."""
    while len(text) < _ANSWER_LIMIT:
        piece = pipe.read(_ANSWER_LIMIT - len(text))
        if not piece:
            return piece is None
        text += piece
    return True


def _judge(
    binary: str, text: bytes, status: ExitStatus, timed_out_s: float | None
) -> VersionAnswer:
    words = text.decode("utf-8", "replace").strip()
    if timed_out_s is not None:
        problem = f"{binary} --version did not answer within {timed_out_s:g} s"
    elif status.signal is not None:
        problem = f"{binary} --version was ended by signal {status.signal}"
    elif status.exit_code != 0:
        problem = f"{binary} --version ended with exit status {status.exit_code}"
    elif not words:
        problem = f"{binary} --version printed nothing"
    else:
        problem = ""
    return VersionAnswer(text=words, exit_code=status.exit_code, problem=problem)
