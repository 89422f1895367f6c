"""A night for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.night import Night


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """Return a home with a workspace and the stand-in as its CLI."""
    return Night(tmp_path)
