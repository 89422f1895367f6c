"""SIGKILL before every durable write of what a person decides, and of settling itself."""

from __future__ import annotations

from itertools import count as numbers
from typing import Any

import pytest

from tests.helpers.crash import Ads, Driver, Gone, applied_of, count, forget, repaired
from tests.helpers.night import Night

SLICES = 3
VERSIONS = "SELECT COUNT(*) FROM canonical WHERE key = ?"
REJECTIONS = "SELECT COUNT(*) FROM events WHERE kind = 'proposal.rejected' AND subject = ?"
EDITS = "printf after > data/prices; printf new > data/added; rm -r data/gone"
STAYS = "[[steps]]\nsleep = 60\n"


def propose(driver: Driver, key: str) -> str:
    """Queue a write from a shell, as a person does."""
    words = ("gate", "write", key, "--tier", "canonical", "--value", "1", "--reason", "a test")
    return str(driver.command(*words)["pending_id"])


def state_of(driver: Driver, proposal_id: str) -> str:
    """Return where the next command finds a proposal."""
    return str(driver.command("pending", "show", proposal_id)["state"])


def was_last(gone: Gone, number: int) -> bool:
    """Tell whether this go came through: it has no write of that number any more."""
    assert gone.killed == (len(gone.points) == number), (gone.status, gone.err)
    return not gone.killed


def test_an_approval_killed_at_any_write_applies_once(night: Night, driver: Driver) -> None:
    """Approved with one version or pending with none; a second approval makes it one."""
    for number in numbers(1):
        key = f"ads/floor-{number}"
        proposal_id = propose(driver, key)
        gone = driver.go("approve", proposal_id, at=number)
        state, versions = state_of(driver, proposal_id), count(night, VERSIONS, key)
        assert (state, versions) in {("approved", 1), ("pending", 0)}, gone.where
        again = driver.go("approve", proposal_id)
        assert again.status == (1 if state == "approved" else 0), (gone.where, again.out)
        assert count(night, VERSIONS, key) == 1, gone.where
        assert driver.command("state", "check")["ok"], gone.where
        if was_last(gone, number):
            return


@pytest.mark.parametrize("part", range(SLICES))
def test_an_approval_from_quarantine_killed_at_any_write_goes_back_there(
    night: Night, driver: Driver, part: int
) -> None:
    """What a crashed run proposed is quarantined again or approved, and never just released."""
    ads, known = Ads(night), dict[str, Any]()
    night.enable()
    for number in numbers(part + 1, SLICES):
        crashed = driver.go("run", ads.NAME, at="run.close")
        record = repaired(driver, ads, known, crashed.where)
        assert record is not None
        (proposal_id,) = record["quarantined"]
        gone = driver.go("approve", proposal_id, "--quarantined", at=number)
        state, applied = state_of(driver, proposal_id), applied_of(night, record["run_id"])
        assert (state, applied) in {("approved", 1), ("quarantined", 0)}, gone.where
        assert driver.go("approve", proposal_id).status == 1, gone.where
        again = driver.go("approve", proposal_id, "--quarantined")
        assert again.status == (1 if state == "approved" else 0), (gone.where, again.out)
        assert applied_of(night, record["run_id"]) == 1, gone.where
        if not gone.killed:
            break
    assert driver.command("state", "check")["ok"]


def test_a_rejection_killed_at_any_write_is_made_or_not(night: Night, driver: Driver) -> None:
    """Rejected or pending as before, with nothing applied; a second rejection makes it one."""
    for number in numbers(1):
        proposal_id = propose(driver, f"ads/floor-{number}")
        gone = driver.go("reject", proposal_id, at=number)
        state = state_of(driver, proposal_id)
        assert state in {"rejected", "pending"}, gone.where
        assert driver.go("reject", proposal_id).status == (1 if state == "rejected" else 0)
        assert count(night, REJECTIONS, proposal_id) == 1, gone.where
        if was_last(gone, number):
            break
    assert count(night, "SELECT COUNT(*) FROM canonical") == 0
    assert driver.command("state", "check")["ok"]


@pytest.mark.parametrize("part", range(SLICES))
def test_settling_killed_at_any_write_is_settled_again(
    night: Night, driver: Driver, part: int
) -> None:
    """A crash in settling a crash: the run is bypassed all the same, recorded once, and gone."""
    ads, known = Ads(night, changes=True, last=STAYS), dict[str, Any]()
    night.enable()
    for number in numbers(part + 1, SLICES):
        crashed = driver.go("run", ads.NAME, at="journal.append")
        assert crashed.killed
        gone = driver.go("settle", at=number)
        where = f"{crashed.where}, and then in settling: {gone.where}"
        record = repaired(driver, ads, known, where)
        assert record is not None, where
        assert (record["outcome"], record["masked"]["reason"]) == ("bypassed", "harness_crashed")
        forget(driver, ads, record)
        if not gone.killed:
            return


def test_a_restore_killed_at_any_write_is_finished_by_the_next(
    night: Night, driver: Driver
) -> None:
    """A path is what the run left or what stood before, whole; the next restore ends it."""
    data = night.workspace / "data"
    (data / "gone").mkdir(parents=True)
    (data / "prices").write_text("before")
    (data / "gone" / "old").write_text("old")
    night.job(
        "edits",
        f"[[steps]]\ncommand = '{EDITS}'",
        guard=["data"],
    )
    record = night.run("edits")[1]
    assert record["outcome"] == "bypassed"
    for number in numbers(1):
        gone = driver.go("restore", record["run_id"], at=number)
        assert (data / "prices").read_text() in {"before", "after"}, gone.where
        result = driver.command("runs", "restore", record["run_id"])
        assert {each["result"] for each in result["paths"]} <= {
            "already",
            "restored",
            "recreated",
            "moved_aside",
            "mode",
        }, gone.where
        assert (data / "prices").read_text() == "before", gone.where
        assert (data / "gone" / "old").read_text() == "old", gone.where
        assert sorted(path.name for path in data.rglob("*")) == ["gone", "old", "prices"]
        kept = night.home.run_folder(record["run_id"]) / "restored-aside"
        texts = {path.read_text() for path in kept.rglob("*") if path.is_file()}
        assert {"after", "new"} <= texts, gone.where
        assert driver.command("state", "check")["ok"], gone.where
        if was_last(gone, number):
            return
        (data / "prices").write_text("after")
        (data / "added").write_text("new")
        (data / "gone" / "old").unlink()
        (data / "gone").rmdir()


def test_the_first_command_killed_at_any_write_leaves_a_home_for_the_next(
    night: Night, driver: Driver
) -> None:
    """A database made half is made whole, or anew, by the command after it."""
    for number in numbers(1):
        for path in night.home.state.glob("harness.db*"):
            path.unlink()
        gone = driver.go("settle", at=number)
        assert driver.command("state", "check")["ok"], gone.where
        assert state_of(driver, propose(driver, "ads/floor")) == "pending", gone.where
        if was_last(gone, number):
            return
