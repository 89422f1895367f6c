"""A flush before each acknowledgement: read off the order of system calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.crash import Ads
from tests.helpers.night import Night
from tests.helpers.syscalls import Call, Disk, hold_at, problem, traced


@pytest.fixture(autouse=True)
def strace() -> None:
    """Skip where system calls cannot be watched; where it was promised to be there, fail."""
    found = problem()
    if found is None:
        return
    if os.environ.get("CI") == "true" and "installed" in found:
        pytest.fail(f"{found}, and this check needs it")
    pytest.skip(found)


def prints(beginning: str) -> Callable[[Call], bool]:
    """Return what knows the call that prints a result."""
    return lambda call: (
        call.name == "write" and call.path == "stdout" and call.text.startswith(beginning)
    )


def all_safe(disk: Disk) -> None:
    """Hold that every byte and name that was written is flushed."""
    assert disk.unsafe == set()


def test_the_agent_is_answered_after_the_flush(night: Night, tmp_path: Path) -> None:
    """Between a request and its answer the WAL is written and flushed, each time anew."""
    Ads(night)
    night.enable()
    calls = traced(night, tmp_path / "trace", "run", Ads.NAME, "--json")
    wal, flushes = f"{night.home.database}-wal", [0]

    def flushed_since(disk: Disk) -> None:
        all_safe(disk)
        assert disk.flushed[wal] > flushes[-1]
        flushes.append(disk.flushed[wal])

    answers = [
        call for call in calls if call.name == "sendto" and call.text.startswith('{"result":{"appl')
    ]
    assert [call.path for call in answers] == ["socket", "socket"]
    assert hold_at(calls, night.home.state, lambda call: call in answers, flushed_since) == 2


def test_a_run_is_told_after_its_flush(night: Night, tmp_path: Path) -> None:
    """Outputs are flushed, then the verdict is committed and flushed, then it is printed."""
    night.job("plain", '[[steps]]\ntext = "All is well."\n')
    calls = traced(night, tmp_path / "trace", "run", "plain", "--json")
    assert hold_at(calls, night.home.state, prints('{"run_id"'), all_safe) == 1
    (folder,) = night.home.runs.iterdir()
    wal = f"{night.home.database}-wal"
    closing = max(
        place for place, call in enumerate(calls) if call.name == "pwrite64" and call.path == wal
    )
    for name in ("stdout", "stderr", "agy.log"):
        (flush,) = [
            place
            for place, call in enumerate(calls)
            if call.name == "fsync" and call.path == str(folder / name)
        ]
        assert flush < closing, f"{name} is flushed after the verdict was written"
    names = [
        place
        for place, call in enumerate(calls)
        if call.name == "fsync" and call.path == str(folder) and place < closing
    ]
    assert names, "the names of the outputs are not flushed before the verdict"


def test_nothing_is_started_before_claim_and_plan_are_flushed(night: Night, tmp_path: Path) -> None:
    """When the CLI is started, what a crash must know of it is on the disk."""
    night.job("plain", '[[steps]]\ntext = "All is well."\n')
    calls = traced(night, tmp_path / "trace", "run", "plain", "--json")
    (folder,) = night.home.runs.iterdir()
    plan = str(folder / "plan.json")
    planned = next(place for place, call in enumerate(calls) if call.path == plan)
    starts = [call for call in calls[planned:] if call.name in {"vfork", "clone", "clone3"}]
    disk = Disk(str(night.home.state))
    for call in calls:
        if call is starts[0]:
            break
        disk.see(call)
    assert disk.flushed[f"{night.home.database}-wal"] >= 1
    assert plan not in disk.unsafe
    all_safe(disk)


@pytest.mark.parametrize("name", ["approve", "reject", "gate", "journal"])
def test_a_decision_is_told_after_its_flush(night: Night, tmp_path: Path, name: str) -> None:
    """What a person reads as done is on the disk."""
    words = ("gate", "write", "a/b", "--tier", "canonical", "--value", "1", "--reason", "a test")
    waiting = night.harness(*words, "--json").json["pending_id"]
    commands = {
        "approve": ("approve", waiting, "--json"),
        "reject": ("reject", waiting, "--reason", "a test", "--json"),
        "gate": (*words[:2], "a/c", *words[3:], "--json"),
        "journal": ("journal", "append", "--scope", "a", "seen", "--json"),
    }
    calls = traced(night, tmp_path / "trace", *commands[name])
    wal = f"{night.home.database}-wal"

    def flushed(disk: Disk) -> None:
        all_safe(disk)
        assert disk.flushed.get(wal, 0) >= 1

    assert hold_at(calls, night.home.state, prints("{"), flushed) == 1
