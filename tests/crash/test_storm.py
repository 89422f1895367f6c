"""SIGKILL at any moment at all: between two instructions, in a system call, in the watch loop."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from tests.helpers.crash import Ads, Driver, forget, repaired
from tests.helpers.night import Night

SEEDS = range(2)
LINGERS = "[[steps]]\nsleep = 0.3\n"


@pytest.mark.parametrize("goes", [5, pytest.param(100, marks=pytest.mark.storm)])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_killed_at_random_is_repaired(
    night: Night, driver: Driver, seed: int, goes: int
) -> None:
    """Whenever it is: no trace or one verdict, all that was acknowledged stored, nothing alive."""
    chance = random.Random(seed)  # noqa: S311 - a test that can be repeated
    ads, known = Ads(night, changes=bool(seed % 2), last=LINGERS), dict[str, Any]()
    night.enable()
    began = time.monotonic()
    assert not driver.go("run", ads.NAME).killed
    whole_s = time.monotonic() - began
    forget(driver, ads, repaired(driver, ads, known, "not killed"))
    for _ in range(goes):
        after_s = chance.uniform(0, 1.1 * whole_s)
        gone = driver.go("run", ads.NAME, after_s=after_s)
        where = f"seed {seed}: killed after {after_s:.3f} s, {gone.where}"
        forget(driver, ads, repaired(driver, ads, known, where))
    gone = driver.go("run", ads.NAME)
    assert not gone.killed
    record = repaired(driver, ads, known, "not killed")
    assert record is not None
    assert (record["masked"] or record)["outcome"] == "held"
