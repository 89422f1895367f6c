"""What a job's keys promise, as far as it can be told without a machine."""

from __future__ import annotations

from datetime import date

import pytest

from harness.core.job import JobSpec, fill_date, keys_without_effect, unknown_placeholders
from harness.core.tiers import Tier


def job(**keys: object) -> JobSpec:
    """Return a job with these keys set."""
    given: dict[str, object] = {"name": "j", "prompt": "p", "workspace": "/w", "agent_id": "j"}
    return JobSpec(**{**given, **keys})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({}, ()),
        ({"timeout_s": 1.0, "tiers": (Tier.CANONICAL,), "guard": ("a",)}, ()),
        ({"max_delay_s": 0.0, "expected_s": 60.0}, ("max_delay", "expected")),
        (
            {"spool": True, "must_deny": ("rm",), "budget": 1.0, "retries": 1},
            ("must_deny", "retries", "budget", "spool"),
        ),
        (
            {"schedule": "daily", "window": "22:00-06:00", "expose": ("/x",), "site": "s"},
            ("schedule", "window", "expose", "site"),
        ),
    ],
)
def test_keys_that_do_nothing_are_named(keys: dict[str, object], named: tuple[str, ...]) -> None:
    """Every key that a person set and nothing acts on is named; the others are not."""
    assert keys_without_effect(job(**keys)) == named


def test_only_the_date_is_filled_in() -> None:
    """A pattern knows `{date}`; whatever else stands in braces is told."""
    assert fill_date("a/{date}.md", date(2026, 1, 2)) == "a/2026-01-02.md"
    assert unknown_placeholders("a/{date}/{name}-{}.md") == ("{name}", "{}")
