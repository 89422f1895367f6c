"""What to do next: every verdict gives a command that exists, or nothing where nothing helps."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from harness.cli.group import COMMANDS
from harness.core.advice import advise, command_and_words
from harness.core.model import AgyError, ErrorKind, Outcome, Reason, RunRecord

AT = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
GROUPS = {
    Outcome.REFUSED: (Reason.BAD_JOB, Reason.QUOTA),
    Outcome.BYPASSED: (Reason.ALLOW_RULE, Reason.UNEXPLAINED),
    Outcome.ERRORED: (Reason.SPAWN, Reason.EMPTY_OUTPUT),
    Outcome.HELD: (Reason.PENDING_PARTIAL, Reason.PENDING),
    Outcome.UNTOUCHED: (Reason.DENIED, Reason.NO_CHANGE),
}


def record(outcome: Outcome, reason: Reason, **changes: object) -> RunRecord:
    """Return a record with this verdict."""
    facts: dict[str, object] = {
        "run_id": "20261130T0230-ads-3f9c",
        "job": "ads",
        "outcome": outcome,
        "reason": reason,
        "rule": "any",
        "started_at": AT,
        "ended_at": AT,
        "duration_s": 1.0,
        **changes,
    }
    return RunRecord(**facts)  # type: ignore[arg-type]


def cases() -> list[tuple[Outcome, Reason]]:
    """Return every outcome with every reason of its own."""
    order = list(Reason)
    return [
        (outcome, reason)
        for outcome, (first, last) in GROUPS.items()
        for reason in order[order.index(first) : order.index(last) + 1]
    ]


def test_every_reason_belongs_to_one_outcome() -> None:
    """The groups of reasons cover all of them, once."""
    assert sorted(reason for _, reason in cases()) == sorted(Reason)


@pytest.mark.parametrize(("outcome", "reason"), cases())
def test_each_verdict_has_a_next_step(outcome: Outcome, reason: Reason) -> None:
    """Only a quiet night needs none; every command named is a command, nothing is left unfilled."""
    errors = ()
    if reason.value.startswith("agy_error."):
        errors = (AgyError(kind=ErrorKind(reason.value.partition(".")[2])),)
    advice = advise(record(outcome, reason, agy_errors=errors))
    assert bool(advice) == (reason is not Reason.NO_CHANGE)
    assert "{" not in advice
    assert "\n" not in advice
    for name in re.findall(r"harness ([a-z]+)", advice):
        assert name in COMMANDS


def test_a_quota_says_when_it_resets() -> None:
    """The reset is told as a time, so that nobody has to add hours in the morning."""
    error = AgyError(kind=ErrorKind.QUOTA, resets_in_s=5 * 3600 + 12 * 60)
    told = advise(record(Outcome.ERRORED, Reason.AGY_ERROR_QUOTA, agy_errors=(error,)))
    assert "2026-11-30T07:42Z" in told
    assert "harness run ads" in told


def test_braces_of_a_hostile_name_are_left_alone() -> None:
    """A job's name cannot make the text fail or reach into the record."""
    told = advise(record(Outcome.ERRORED, Reason.TIMEOUT, job="{run.__class__}"))
    assert "{run.__class__}" in told


def test_the_command_comes_first() -> None:
    """An advice is a command that a shell takes as it is, with its reason as a comment."""
    told = advise(record(Outcome.ERRORED, Reason.TIMEOUT))
    assert command_and_words(told)[0] == "harness run ads"
    assert command_and_words("harness resume") == ("harness resume", "")
    assert command_and_words("some words") == ("", "some words")


def test_a_job_that_does_not_exist_has_no_file_to_mend() -> None:
    """Whoever mistyped a name is sent to the names."""
    told = advise(record(Outcome.REFUSED, Reason.BAD_JOB, detail="no job dead-link in /h"))
    assert told.startswith("harness jobs list")
