"""Every reported behaviour of the CLI comes, through `harness run` itself, to what it must."""

from __future__ import annotations

import time

import pytest

from harness.testing.scenarios import load, names
from tests.helpers.night import Night, marked

GRACE_S = 15.0
RUNNABLE = [name for name in names() if load(name).expected is not None]


def test_every_scenario_says_what_must_be_concluded() -> None:
    """No shipped scenario is without an expectation, so none escapes the next test."""
    assert sorted(names()) == sorted(RUNNABLE)


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_scenario_gets_the_outcome_of_the_table(night: Night, name: str) -> None:
    """Outcome, reason, findings and denials are the table's; in time; and no process is left."""
    scenario = load(name)
    expected = scenario.expected
    assert expected is not None
    for path, content in expected.files.items():
        target = night.workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(str(content), encoding="utf-8")
    keys = {"tiers": ["journal", "canonical"], "timeout": "20s", **expected.job}
    if scenario.version < "1.1.3" or not scenario.version[0].isdigit():
        keys["tiers"] = ["journal"]
    night.job("job", name, **keys)
    if "canonical" in keys["tiers"]:
        night.enable()
    began = time.monotonic()
    status, record = night.run("job")
    took = time.monotonic() - began
    assert (record["outcome"], record["reason"]) == (expected.outcome, expected.reason), record
    assert (record["killed"] or "") == expected.killed
    assert (record["masked"] or {}).get("reason", "") == expected.masked
    assert {found["id"] for found in record["findings"]} >= set(expected.findings)
    assert {found["action"] for found in record["denied"]} >= set(expected.denied)
    assert record["exit_code"] == expected.exit_code
    assert record["signal"] == expected.signal
    assert status == {"held": 0, "untouched": 0, "errored": 3, "bypassed": 4}[record["outcome"]]
    assert took < seconds(keys["timeout"]) + GRACE_S
    assert marked(record["run_id"]) == []
    shown = night.harness("runs", "show", record["run_id"], "--json")
    assert shown.json == record


def seconds(text: object) -> float:
    """Return the seconds of a duration such as `20s`."""
    return float(str(text).removesuffix("s"))
