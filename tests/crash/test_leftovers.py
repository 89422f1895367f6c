"""What a killed harness leaves lying about, and who takes it away."""

from __future__ import annotations

import os
import time
from itertools import count as numbers
from pathlib import Path
from typing import Any

from tests.helpers.crash import Ads, Driver, repaired
from tests.helpers.night import Night

STAYS = "[[steps]]\nsleep = 60\n"
LONG = "A prompt that fits no argument. " * 5000
OLD = 'version = "1.1.14"\n[[steps]]\ntext = "All is well."\n'


def test_a_long_prompt_does_not_stay_in_the_workspace(night: Night, driver: Driver) -> None:
    """Killed at any write up to the spawn, whole or half-written: the next command removes it."""
    night.job("long", OLD, prompt=LONG)
    seen = set[str]()
    for place in numbers(1):
        gone = driver.go("run", "long", at=place)
        seen.update(path.suffix for path in night.workspace.iterdir())
        driver.command("report")
        assert list(night.workspace.iterdir()) == [], gone.where
        for folder in night.home.runs.iterdir():
            assert [path for path in folder.iterdir() if path.suffix == ".tmp"] == [], gone.where
        if not gone.killed:
            break
    assert seen == {".md", ".tmp"}


def test_a_socket_without_a_harness_goes_with_the_next_run(night: Night, driver: Driver) -> None:
    """The folder of a killed run's socket is nobody's: a later run takes it away."""
    ads, known = Ads(night, last=STAYS), dict[str, Any]()
    night.enable()
    assert driver.go("run", ads.NAME, at="journal.append").killed
    runtime = Path(night.environment["XDG_RUNTIME_DIR"]) / "harness"
    (left,) = runtime.iterdir()
    repaired(driver, ads, known, "killed with its door open")
    aged = time.time() - 3600
    os.utime(left, (aged, aged))
    night.job("plain", '[[steps]]\ntext = "All is well."\n')
    assert driver.go("run", "plain").status == 0
    assert list(runtime.iterdir()) == []


def test_the_record_of_a_run_is_written_though_another_ended_after_it(
    night: Night, driver: Driver
) -> None:
    """Two runs that lack their file, as after two crashes at once, both get it back."""
    night.job("plain", '[[steps]]\ntext = "All is well."\n')
    for _ in range(3):
        assert driver.go("run", "plain").status == 0
    files = sorted(night.home.runs.glob("*/record.json"))
    texts = [path.read_bytes() for path in files]
    for path in files[:2]:
        path.unlink()
    driver.command("report")
    assert [path.read_bytes() for path in files] == texts


def test_a_change_that_could_not_be_kept_is_no_change_denied(night: Night, driver: Driver) -> None:
    """Without a place for copies: verdict and digests from before stand, restore says why."""
    copies = night.home.archive / "guards"
    ads = Ads(night, changes=True, last=f"[[steps]]\ncommand = 'rm -r {copies}; : > {copies}'\n")
    night.enable()
    assert driver.go("run", ads.NAME).status == 4
    (record,) = driver.runs().values()
    assert "change_not_kept" in {finding["id"] for finding in record["findings"]}
    assert (night.home.run_folder(record["run_id"]) / "guards.json").exists()
    said = driver.go("command", "runs", "restore", record["run_id"])
    assert said.status == 2
    assert "could not be kept" in said.err
    assert "prices.json" in said.err
