"""A stand-in with a home of its own, whose processes end with the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.stand_in import StandIn


@pytest.fixture
def agy(tmp_path: Path) -> Iterator[StandIn]:
    """Give a stand-in, and end what it left behind."""
    stand_in = StandIn(tmp_path)
    yield stand_in
    stand_in.end_descendants()
