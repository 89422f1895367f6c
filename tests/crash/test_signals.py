"""A request to stop, at any moment of a run: a recorded verdict or no trace, and soon."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from itertools import count as numbers
from typing import Any

import pytest

from tests.helpers.crash import Ads, Driver, Gone, count, forget, repaired
from tests.helpers.night import Night, wait_until

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
OPEN = "SELECT COUNT(*) FROM runs WHERE ended_at IS NULL"
LINGERS = "[[steps]]\nsleep = 0.3\n"
SOON_S = 60.0
ASLEEP = """#!/bin/sh
echo $$ > "$0.pid"
exec sleep 100
"""
STARTS = """
import sys
from harness.cli import main
def tell(event, facts):
    if event == "import" and facts[0] == "click":
        sys.stdout.write("here\\n")
        sys.stdout.flush()
sys.addaudithook(tell)
main(["run", "ads", "--json"])
"""


def hold_stopped(driver: Driver, ads: Ads, known: dict[str, Any], gone: Gone, where: str) -> None:
    """Hold that a run came to its end by itself, before any other command could settle it."""
    assert gone.status in {0, 3, 4, 130, *(-number for number in STOPS)}, (where, gone.err)
    assert count(driver.night, OPEN) == 0, f"{where}: left open"
    record = repaired(driver, ads, known, where)
    if record is None:
        assert gone.status in {130, *(-number for number in STOPS)}, (where, gone.err)
        return
    verdict = record["masked"] or record
    assert (verdict["outcome"], verdict["reason"]) in {
        ("held", "pending"),
        ("errored", "interrupted"),
    }, where
    forget(driver, ads, record)


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_before_any_write_is_recorded_or_leaves_no_trace(
    night: Night, driver: Driver, number: signal.Signals
) -> None:
    """Before the claim there is no run; from then on a verdict, the true one while it closes."""
    ads, known = Ads(night), dict[str, Any]()
    night.enable()
    for place in numbers(1 + STOPS.index(number), len(STOPS)):  # the others take what is between
        gone = driver.go("run", ads.NAME, at=place, number=number)
        hold_stopped(driver, ads, known, gone, f"{number.name} {gone.where}")
        if len(gone.points) < place:
            return


@pytest.mark.parametrize("goes", [3, pytest.param(40, marks=pytest.mark.storm)])
@pytest.mark.parametrize("number", STOPS)
def test_a_stop_at_random_is_recorded_or_leaves_no_trace(
    night: Night, driver: Driver, number: signal.Signals, goes: int
) -> None:
    """The whole command, told to stop at any moment: never left open, never a traceback."""
    chance = random.Random(int(number))  # noqa: S311 - a test that can be repeated
    ads, known = Ads(night, changes=True, last=LINGERS), dict[str, Any]()
    night.enable()
    began = time.monotonic()
    driver.go("command", "run", ads.NAME, "--json")
    whole_s = time.monotonic() - began
    forget(driver, ads, repaired(driver, ads, known, "not stopped"))
    for _ in range(goes):
        after_s = chance.uniform(0, whole_s)
        began = time.monotonic()
        gone = driver.go("command", "run", ads.NAME, "--json", after_s=after_s, number=number)
        assert time.monotonic() - began < SOON_S
        hold_stopped(driver, ads, known, gone, f"{number.name} after {after_s:.3f} s")


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_while_the_version_is_asked_for_leaves_nothing(
    night: Night, number: signal.Signals
) -> None:
    """A CLI that hangs on `--version` is ended with the harness; no run is recorded."""
    night.job("ads", "held")
    agy = night.binaries / "asleep"
    agy.write_text(ASLEEP)
    agy.chmod(0o755)
    note = night.binaries / "asleep.pid"
    process = night.start("run", "ads", "--json", "--agy", str(agy))
    wait_until(lambda: note.exists() and note.read_text().endswith("\n"))
    process.send_signal(number)
    out, err = process.communicate(timeout=SOON_S)
    assert (process.returncode, out) == (130, "")
    assert "nothing was started" in err
    assert len(err.splitlines()) <= 2
    pid = int(note.read_text())
    wait_until(
        lambda: (
            not subprocess.run(
                ["ps", "-p", str(pid)], capture_output=True, check=False
            ).stdout.count(b"sleep")
        )
    )
    assert night.harness("runs", "list", "--json").json == []


def test_an_interrupt_while_the_command_loads_is_no_traceback(night: Night) -> None:
    """Ctrl-C from the first import on ends the command with 130 and without a word of Python."""
    night.job("ads", "[[steps]]\nsleep = 60\n")
    night.harness("report")
    chance = random.Random(2)  # noqa: S311 - a test that can be repeated
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", STARTS],
            env={**night.environment, **night.scenario_of("ads")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=night.folder,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.3))
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=SOON_S)
        assert b"Traceback" not in err, err.decode()
        assert process.returncode in {3, 130}, err.decode()
    assert count(night, OPEN) == 0
