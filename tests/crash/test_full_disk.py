"""A disk that is full, that takes no writes, or that holds rubbish: clear words, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import count as numbers
from typing import Any

import pytest

from tests.helpers.crash import Ads, Driver, forget, repaired
from tests.helpers.crash_driver import FILLER, fill_disk
from tests.helpers.night import Night

SIZE = "8m"
SLICES = 3
STATUS = {"held": 0, "untouched": 0, "errored": 3, "bypassed": 4, "refused": 5}


@pytest.fixture
def small(night: Night) -> Iterator[Night]:
    """Return the night with its state on a disk of its own, a small one."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    state = night.home.state
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "harness-test", str(state)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine lets nobody mount: {done.stderr.strip()}")
    night.home.prepare_state()
    (night.home.root / "harness.toml").write_text('[state]\nmin_free = "0B"\n')
    yield night
    subprocess.run(["umount", "--lazy", str(state)], check=True)


def remount(night: Night, how: str) -> None:
    """Mount the small disk read-only (`ro`) or writable again (`rw`)."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(night.home.state)], check=True)


def one_error(err: str) -> str:
    """Return the one line that says what is wrong."""
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    return line


@pytest.mark.parametrize("part", range(SLICES))
def test_a_disk_that_is_full_from_any_write_on_loses_nothing_told(
    small: Night, driver: Driver, part: int
) -> None:
    """The run ends with a verdict or one clear line; with room again the next command settles."""
    ads, known = Ads(small, changes=True), dict[str, Any]()
    small.enable()
    filler = small.home.state / FILLER
    for number in numbers(part + 1, SLICES):
        gone = driver.go("run", ads.NAME, at=number, fill=small.home.state)
        where = f"full from {gone.where}"
        full = driver.go("command", "report", "--json")
        assert full.status == 0 or "full" in one_error(full.err), (where, full.err)
        filler.unlink(missing_ok=True)
        record = repaired(driver, ads, known, where)
        if gone.out:
            assert record is not None, where
            assert (record["run_id"], STATUS[record["outcome"]]) == (gone.out, gone.status), where
        elif gone.status == STATUS["refused"]:
            assert record is None, where
        else:
            assert gone.status == 1, (where, gone.err)
            assert one_error(gone.err)
        forget(driver, ads, record)
        if len(gone.points) < number:
            return


def test_a_full_disk_is_reported_from(small: Night, driver: Driver) -> None:
    """The morning is told of all that was settled before, and that nothing was settled now."""
    ads, known = Ads(small), dict[str, Any]()
    small.enable()
    driver.go("run", ads.NAME)
    assert repaired(driver, ads, known, "not full") is not None
    crashed = driver.go("run", ads.NAME, at="run.close", fill=small.home.state)
    assert crashed.status == 1
    fill_disk(small.home.state)  # also what the end of that process gave free
    report = driver.go("command", "report", "--json")
    assert report.status == 0, report.err
    assert "reading without settling" in report.err
    told = json.loads(report.out)
    assert told["counts"]["held"] == 1
    assert [run["job"] for run in told["running"]] == [ads.NAME]
    assert any("nothing was settled" in note for note in told["notes"])
    (small.home.state / FILLER).unlink()
    record = repaired(driver, ads, known, "full at the end")
    assert record is not None
    assert record["reason"] == "harness_crashed"


def test_a_disk_that_takes_no_writes_refuses_the_run(small: Night, driver: Driver) -> None:
    """Exit 5 and `store_unreachable`, told and not stored; the same home works again later."""
    ads, known = Ads(small), dict[str, Any]()
    small.enable()
    remount(small, "ro")
    gone = driver.go("command", "run", ads.NAME, "--json")
    assert (gone.status, json.loads(gone.out)["reason"]) == (5, "store_unreachable")
    assert driver.command("report")["runs"] == []
    for words in (("approve", "x"), ("pending", "list"), ("state", "check")):
        said = driver.go("command", *words)
        assert said.status == 1, words
        assert one_error(said.err)
    remount(small, "rw")
    assert repaired(driver, ads, known, "read-only") is None
    assert driver.go("run", ads.NAME).status == 0


@pytest.mark.parametrize(
    ("offset", "rubbish"),
    [(0, b"no database at all"), (100, b"\xff" * 400), (4096, b"\xff" * 4096 * 200)],
    ids=["header", "schema", "pages"],
)
def test_a_damaged_database_refuses_the_run_in_clear_words(
    night: Night, driver: Driver, offset: int, rubbish: bytes
) -> None:
    """Exit 5 and `store_unreachable` from `run`, one line from the others; nothing is deleted."""
    ads = Ads(night)
    night.enable()
    database = night.home.database
    with database.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(offset)
        file.write(rubbish[: size - offset])
    damaged = database.read_bytes()
    gone = driver.go("command", "run", ads.NAME, "--json")
    assert (gone.status, json.loads(gone.out)["reason"]) == (5, "store_unreachable"), gone.err
    assert str(database) in json.loads(gone.out)["detail"]
    for words in (("report",), ("approve", "x"), ("state", "check"), ("runs", "list")):
        said = driver.go("command", *words)
        assert said.status == 1, (words, said.out)
        assert str(database) in one_error(said.err), words
    assert database.read_bytes() == damaged
    assert [line for line in ads.said() if line["line"] == "turn"] == []
