"""Since when the morning asks: the last evening by the clock on the wall."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from datetime import UTC, datetime, time

import pytest

from harness.services.morning import last_evening, last_time


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set this process's local time to Berlin's."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    clock.tzset()
    yield
    monkeypatch.undo()
    clock.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("now", "evening"),
    [
        # summer time ended in the night: 18:00 was 16:00 UTC
        ("2026-10-25T06:00+00:00", "2026-10-24T16:00+00:00"),
        ("2026-10-25T18:00+00:00", "2026-10-25T17:00+00:00"),
        # it began in the night: 18:00 was 17:00 UTC
        ("2026-03-29T06:00+00:00", "2026-03-28T17:00+00:00"),
        ("2026-03-29T16:00+00:00", "2026-03-29T16:00+00:00"),
        ("2026-03-29T15:59+00:00", "2026-03-28T17:00+00:00"),
        ("2026-12-01T00:30+00:00", "2026-11-30T17:00+00:00"),
    ],
)
def test_the_evening_is_the_walls(now: str, evening: str) -> None:
    """Eighteen o'clock has the offset of its own day, not that of now."""
    found = last_evening(datetime.fromisoformat(now))
    assert found.astimezone(UTC) == datetime.fromisoformat(evening)


def test_a_zone_can_be_given() -> None:
    """Another zone than this machine's is asked for by name."""
    now = datetime(2026, 11, 30, 7, 0, tzinfo=UTC)
    assert last_time(time(6, 30), now, UTC) == datetime(2026, 11, 30, 6, 30, tzinfo=UTC)
