"""A night whose harness can be killed at any of its writes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.crash import Driver
from tests.helpers.night import Night


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    """Return a home with a workspace, the stand-in as its CLI, and a runtime folder of its own."""
    night = Night(tmp_path)
    runtime = tempfile.mkdtemp(prefix="crash-")  # short: a socket's path has 107 bytes
    night.environment["XDG_RUNTIME_DIR"] = runtime
    yield night
    shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture
def driver(night: Night) -> Iterator[Driver]:
    """Return the driver of this night."""
    with Driver(night) as driver:
        yield driver
