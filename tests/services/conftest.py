"""A night whose home is opened in the test's own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.night import Night

ENDS = "[[steps]]\nsleep = 0\n"


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """Return a home with a job `ads` that guards `data`."""
    night = Night(tmp_path)
    (night.workspace / "data").mkdir()
    (night.workspace / "data" / "prices").write_text("before")
    night.job("ads", ENDS, guard=["data"], tiers=["journal", "canonical"])
    return night
