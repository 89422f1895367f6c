"""SIGKILL before every durable write of a run, one after the other, none left out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.crash import Ads, Driver, Gone, forget, repaired
from tests.helpers.night import Night

SLICES = 4
CRASHED = "harness_crashed"


def whole_run(driver: Driver, ads: Ads, known: dict[str, Any]) -> Gone:
    """Run the job undisturbed and return what it reached."""
    gone = driver.go("run", ads.NAME)
    assert gone.status in {0, 4}, gone.err
    record = repaired(driver, ads, known, "not killed")
    assert record is not None
    forget(driver, ads, record)
    return gone


def commits(points: tuple[str, ...]) -> list[int]:
    """Return the numbers of the writes that make what came before them durable."""
    return [number for number, name in enumerate(points, 1) if name == "commit"]


@pytest.mark.parametrize("changes", [False, True], ids=["proposes", "bypasses"])
@pytest.mark.parametrize("part", range(SLICES))
def test_a_run_killed_at_any_write_is_repaired(
    night: Night, driver: Driver, part: int, *, changes: bool
) -> None:
    """Each crash ends in no trace or in one verdict; the next run of the job gets as far again."""
    ads = Ads(night, changes=changes)
    night.enable()
    known: dict[str, Any] = {}
    whole = whole_run(driver, ads, known).points
    first, *_, last = commits(whole)
    for number in range(part + 1, len(whole) + 1, SLICES):
        gone = driver.go("run", ads.NAME, at=number)
        assert gone.killed, gone.err
        assert gone.points == whole[:number]
        record = repaired(driver, ads, known, gone.where)
        if number <= first:
            assert record is None, gone.where
        elif number <= last:
            assert record is not None
            verdict = record["masked"] or record
            assert (verdict["outcome"], verdict["reason"]) == ("errored", CRASHED), gone.where
        else:
            assert record is not None
            verdict = record["masked"] or record
            assert (verdict["outcome"], verdict["reason"]) == ("held", "pending"), gone.where
        forget(driver, ads, record)
    assert whole_run(driver, ads, known).points == whole


def test_the_crash_points_are_all_that_a_run_writes(night: Night, driver: Driver) -> None:
    """Claim, inputs, spawn, both of the agent's writes, verdict and record are among them."""
    ads = Ads(night, changes=True)
    night.enable()
    points = whole_run(driver, ads, {}).points
    for name in (
        "run.claim",
        "prompt:replace",
        "guards.json:replace",
        "plan.json:replace",
        "spawn",
        "run.child",
        "proposal.insert",
        "journal.append",
        "copy:replace",
        "guards-after.json:replace",
        "run.close",
        "proposal.quarantined",
        "record.json:replace",
    ):
        assert name in points
