"""The collaborators of one home, put together once by the composition root."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from harness.core.limits import GateLimits
from harness.core.process import ProcessIdentity
from harness.errors import HostProblem
from harness.stores.configuration import HomeSettings
from harness.stores.homes import Home
from harness.stores.protocols import BeforeWrite, State


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One home with everything that acts on it.

    Attributes:
        actor: operating-system user and channel, such as `ada@cli`.
        identity: this very process.
        agy: the binary that `--agy` names; None where the option was not given.
        clock: aware UTC time; the store's own `now()` never goes back and is preferred.
        before_write: called right before each durable write.
    """

    home: Home
    settings: HomeSettings
    limits: GateLimits
    state: State
    environment: Mapping[str, str]
    actor: str
    identity: ProcessIdentity
    agy: str | None
    clock: Callable[[], datetime]
    before_write: BeforeWrite

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the home's one lock: settling and applying exclude each other across processes.

        The kernel frees it when the process dies, however it dies.
        """
        path = self.home.lock
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise HostProblem(f"the home's lock {path} cannot be opened: {problem.strerror}") from (
                problem
            )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
