"""The steps of a scenario that let time pass, or take memory while it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.testing.attention import Exit
from harness.testing.behaviour import Trait
from harness.testing.steps import Step

if TYPE_CHECKING:
    from harness.testing.stage import Stage

FOREVER_S = 3600.0
"""Nothing in a scenario outlives this, so that a forgotten stand-in ends by itself."""

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sleep(Step):
    """Do nothing for a while; scaled by the scenario's `time_scale`."""

    main: ClassVar[str] = "seconds"
    seconds: float

    def play(self, stage: Stage) -> None:
        """Wait."""
        stage.attention.sleep(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Hang(Step):
    """Never come back by itself.

    Attributes:
        deaf: SIGINT, SIGTERM and SIGHUP are ignored from now on.
        ignores_print_timeout: the CLI's own timeout does not end it either.
        seconds: when the stand-in gives up all the same, unscaled, with exit 1.
    """

    deaf: bool = False
    ignores_print_timeout: bool = False
    seconds: float = FOREVER_S

    def play(self, stage: Stage) -> None:
        """Hang."""
        if self.deaf:
            stage.attention.deafen()
        applies = not self.ignores_print_timeout
        stage.attention.sleep(self.seconds, timeout_applies=applies, scaled=False)
        raise Exit(1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WaitFor(Step):
    """Wait until a path exists; give up with exit 1 after `seconds`, unscaled."""

    main: ClassVar[str] = "path"
    path: str
    seconds: float = 60.0

    def play(self, stage: Stage) -> None:
        """Wait."""
        path = stage.path(self.path)
        if not stage.attention.sleep(self.seconds, until=path.exists, scaled=False):
            raise Exit(1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReadStdin(Step):
    """Read stdin to its end, which never comes where a pipe stays open."""

    def play(self, stage: Stage) -> None:
        """Read."""
        while stage.attention.read(0, _CHUNK):
            pass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Memory(Step):
    """Allocate that many megabytes, use every page, and keep them for a while."""

    main: ClassVar[str] = "megabytes"
    megabytes: int
    seconds: float = 0.0

    def play(self, stage: Stage) -> None:
        """Allocate, then wait."""
        for _ in range(self.megabytes):
            stage.attention.check()
            stage.held.append(bytearray(b"\x01") * _CHUNK)
        stage.attention.sleep(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Retry(Step):
    """Call the backend again and again; only the log tells.

    Attributes:
        message: what stands after `API error (attempt N): `.
        attempts: how often; the scenario says with `error` how it ends.
        every: seconds between two of them, scaled.
        quota: a daily quota, a billing cap or a delay over 30 s, where a version from 1.2.13
            on stops at once.
        ignores_print_timeout: the CLI's own timeout does not end it.
    """

    message: str
    attempts: int = 1000
    every: float = 5.0
    quota: bool = False
    ignores_print_timeout: bool = False

    def play(self, stage: Stage) -> None:
        """Retry, unless this version knows better."""
        at_once = self.quota and stage.behaviour.has(Trait.QUOTA_STOPS_AT_ONCE)
        for attempt in range(1, 2 if at_once else self.attempts + 1):
            stage.files.log(f"API error (attempt {attempt}): {self.message}", level="E")
            if not at_once:
                stage.attention.sleep(self.every, timeout_applies=not self.ignores_print_timeout)
