"""Fixtures for the contract of the stores; a further backend is one line in `BACKENDS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.stores.protocols import BeforeWrite, State, ignore_write
from tests.helpers.states import BACKENDS, HandClock


@pytest.fixture
def clock() -> HandClock:
    """A clock that a test moves by hand."""
    return HandClock()


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    """The name of the backend under test."""
    return str(request.param)


@pytest.fixture
def reopen(backend: str, tmp_path: Path, clock: HandClock) -> Iterator[Callable[..., State]]:
    """Open the same state once more, with a connection of its own; all are closed at the end."""
    opened: list[State] = []

    def open_again(before_write: BeforeWrite = ignore_write) -> State:
        opened.append(BACKENDS[backend](tmp_path, clock, before_write))
        return opened[-1]

    yield open_again
    for state in opened:
        state.close()


@pytest.fixture
def state(reopen: Callable[..., State]) -> State:
    """A fresh state."""
    return reopen()
