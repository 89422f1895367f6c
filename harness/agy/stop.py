"""A request to stop, taken from signals without interrupting what is being done."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Protocol, Self


class Stop(Protocol):
    """Whether somebody told the harness to stop."""

    @property
    def requested(self) -> int | None:
        """The number of the first signal that asked; None while nobody did."""
        ...

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a signal arrives."""
        ...

    def acknowledge(self) -> None:
        """Take what makes the descriptor readable off it."""
        ...


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP as a request that a loop looks at; a context manager.

    To be entered by the main thread, before the CLI is started: a signal that the harness
    inherited as ignored, as behind `nohup` or `&`, is then ignored by a handler of ours, which
    the CLI does not inherit, so that it can still be told to stop.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._requested: int | None = None
        self._previous: dict[signal.Signals, Any] = {}
        self._previous_wakeup = -1

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._previous_wakeup = signal.set_wakeup_fd(
            self._writer.fileno(), warn_on_full_buffer=False
        )
        for number in self.SIGNALS:
            ignored = signal.getsignal(number) is signal.SIG_IGN
            handler: Callable[[int, FrameType | None], None] = _ignore if ignored else self._note
            self._previous[number] = signal.signal(number, handler)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._previous_wakeup)
        self._reader.close()
        self._writer.close()

    @property
    def requested(self) -> int | None:
        """The number of the first signal that asked; None while nobody did."""
        return self._requested

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when a signal arrives."""
        return self._reader.fileno()

    def acknowledge(self) -> None:
        """Take what makes the descriptor readable off it."""
        with contextlib.suppress(BlockingIOError):
            while True:
                os.read(self._reader.fileno(), 512)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self._requested is None:
            self._requested = number


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: whoever started the harness wanted this signal ignored."""
