"""Keys of a job that nothing acts on: the record of each run says so."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.night import Night


def test_a_run_names_the_keys_that_did_nothing(tmp_path: Path) -> None:
    """One finding names them all, and the outcome is what it would have been."""
    night = Night(tmp_path)
    night.job("idle", "answer", window="22:00-06:00", must_deny=["command(rm)"])
    status, record = night.run("idle")
    assert (status, record["outcome"]) == (0, "untouched")
    (finding,) = [each for each in record["findings"] if each["id"] == "key_without_effect"]
    assert finding["detail"].startswith("window, must_deny: ")
