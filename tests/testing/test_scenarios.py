"""The shipped scenarios: complete, well described, and playing out as they say."""

from __future__ import annotations

import re
import signal

import pytest

from harness.core.job import parse_duration
from harness.core.model import Killed, Outcome, Reason
from harness.testing.decode import ScenarioProblem
from harness.testing.scenarios import load, names
from tests.helpers.stand_in import StandIn, wait_until

REPORTED = (
    "empty-success",
    "open-stdin",
    "silent-server-error",
    "no-log-file",
    "deaf-process",
    "old-timeout",
    "retry-storm",
    "silent-after-init",
    "held-open-models",
    "background-command-killed",
    "rule-ignored",
    "schema-run-denied",
    "outside-write",
    "claims-without-doing",
    "signed-out",
    "wrong-directory",
    "self-update",
    "long-prompt",
    "slow-start",
    "poisoned-conversation",
    "model-switched",
    "quota-on-1-2-2",
    "green-while-empty",
    "queue-without-event",
    "event-without-queue",
    "sticky-error",
    "partial-then-error",
    "held",
    "guard-bypass",
    "answer",
    "hang-after-result",
    "idle-second-result",
    "tty",
    "panic",
    "usage-error",
    "interrupted",
    "memory-hog",
    "output-flood",
    "daemon-holds-stdout",
    "double-fork-daemon",
    "invalid-utf8",
    "control-characters",
    "eight-megabyte-line",
    "cut-last-line",
    "old-timed-out",
    "exit-3-without-line",
    "killed-by-signal",
)
ENDED_FROM_OUTSIDE = [
    name for name in names() if (expected := load(name).expected) and expected.killed
]
END_BY_THEMSELVES = [name for name in names() if name not in ENDED_FROM_OUTSIDE]


def test_nothing_is_missing() -> None:
    """Every reported behaviour has its scenario."""
    assert set(REPORTED) <= set(names())


@pytest.mark.parametrize("name", names())
def test_each_is_described(name: str) -> None:
    """Each has a kebab-case name, a sentence, a version, and an expectation in our own words."""
    scenario = load(name)
    expected = scenario.expected
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert scenario.description
    assert scenario.version
    assert expected is not None
    assert Outcome(expected.outcome)
    assert Reason(expected.reason)
    assert not expected.killed or Killed(expected.killed)
    assert not expected.masked or Reason(expected.masked)
    assert (expected.exit_code is None) is (expected.signal is not None)
    assert set(expected.job) <= {
        "exit_grace",
        "guard",
        "idle_timeout",
        "max_output",
        "memory",
        "model",
        "produces",
        "retries",
        "tiers",
        "timeout",
    }
    for key in ("timeout", "idle_timeout", "exit_grace"):
        assert parse_duration(str(expected.job.get(key, "1s")))


def test_unknown_names_are_refused() -> None:
    """A name that is not shipped is refused with a hint."""
    with pytest.raises(ScenarioProblem, match="lists them"):
        load("nothing")


@pytest.mark.parametrize("name", END_BY_THEMSELVES)
def test_each_ends_as_it_says(agy: StandIn, name: str) -> None:
    """Played alone with a short print-timeout, it ends with the exit status it names."""
    scenario = load(name)
    expected = scenario.expected
    assert expected is not None
    formats = [] if scenario.version < "1.1.8" else ["--output-format=stream-json"]
    ended = agy.run(
        *formats,
        "--print-timeout=700ms",
        f"--add-dir={agy.workspace}",
        "--print=Tidy up",
        FAKE_AGY_SCENARIO=name,
        FAKE_AGY_TIME_SCALE="0.01",
    )
    assert ended.code == (-expected.signal if expected.signal else expected.exit_code)
    assert b"Traceback" not in ended.out
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("name", ENDED_FROM_OUTSIDE)
def test_the_rest_waits_to_be_ended(agy: StandIn, name: str) -> None:
    """What is expected to be killed runs on until it is, and ends as it says."""
    expected = load(name).expected
    assert expected is not None
    process = agy.start(
        "--print-timeout=300ms" if expected.reason != "memory" else "--sandbox",
        "--output-format=stream-json",
        f"--add-dir={agy.workspace}",
        "--print=Tidy up",
        FAKE_AGY_SCENARIO=name,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    assert b'"init"' in first
    if expected.reason == "output_limit":
        assert len(process.stdout.read(2 << 20)) == 2 << 20
    assert process.poll() is None
    if expected.signal:
        process.kill()
    else:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == (-expected.signal if expected.signal else expected.exit_code)
    assert wait_until(lambda: process.poll() is not None)
