"""Waiting as the CLI waits: a signal or its own print-timeout ends it, nothing else does.

Both act only where the player looks, so that no line of output is ever cut by accident.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):
    """SIGINT or SIGTERM arrived."""


class TimedOut(Exception):
    """The CLI's own `--print-timeout` is over."""


class Exit(Exception):
    """The CLI ends now, without another word."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class TurnEnded(Exception):
    """The turn is over; what is left of its steps is not played."""


class Attention:
    """The one place where the player sleeps.

    Attributes:
        scale: by what every scenario time is multiplied.
    """

    def __init__(self, *, scale: float = 1.0) -> None:
        self.scale = scale
        self._deadline: float | None = None
        self._interrupted = False
        self._wake, wake_write = os.pipe()
        for descriptor in (self._wake, wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in _ENDING:
            signal.signal(number, self._interrupt)
        signal.signal(signal.SIGCHLD, _ignore)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupted = True

    def deafen(self) -> None:
        """Ignore what would end the process politely, from now on."""
        for number in (*_ENDING, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def limit(self, seconds: float | None) -> None:
        """Let the print-timeout end that many seconds from now; None means never."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def check(self, *, timeout_applies: bool = True) -> None:
        """Raise `Interrupted` or `TimedOut` if it is time to."""
        if self._interrupted:
            raise Interrupted
        if timeout_applies and self._deadline is not None and time.monotonic() >= self._deadline:
            raise TimedOut

    def sleep(
        self,
        seconds: float,
        *,
        timeout_applies: bool = True,
        until: Callable[[], bool] | None = None,
        look_every: float = 0.05,
        scaled: bool = True,
    ) -> bool:
        """Wait; return True as soon as `until` holds, False when the time is over."""
        end = time.monotonic() + (seconds * self.scale if scaled else seconds)
        while True:
            self.check(timeout_applies=timeout_applies)
            if until is not None and until():
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            if timeout_applies and self._deadline is not None:
                left = min(left, max(0.0, self._deadline - time.monotonic()))
            self._doze(min(left, look_every) if until is not None else left)

    def _doze(self, seconds: float) -> None:
        if select.select([self._wake], [], [], seconds)[0]:
            os.read(self._wake, 4096)

    def read(self, descriptor: int, size: int) -> bytes:
        """Read once, waiting for as long as it takes; empty at the end of the input."""
        while True:
            self.check()
            left = None
            if self._deadline is not None:
                left = max(0.0, self._deadline - time.monotonic())
            ready = select.select([descriptor, self._wake], [], [], left)[0]
            if self._wake in ready:
                os.read(self._wake, 4096)
            # the input may have ended because of the very signal that is to end this process
            self.check()
            if descriptor in ready:
                return os.read(descriptor, size)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Wake the wait that a finished child ends."""
