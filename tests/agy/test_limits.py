"""When a run is ended: the rules, one by one and all together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agy.limits import Limits, Moment, exceeded
from harness.core.model import Killed

LIMITS = Limits(
    timeout_s=100, idle_timeout_s=10, exit_grace_s=5, memory_bytes=1000, max_output_bytes=500
)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (Moment(), None),
        (Moment(elapsed_s=99.9, idle_s=9.9), None),
        (Moment(elapsed_s=100), Killed.TIMEOUT),
        (Moment(elapsed_s=100, idle_s=50), Killed.TIMEOUT),
        (Moment(idle_s=10), Killed.IDLE),
        (Moment(idle_s=19, tool_running=True), None),
        (Moment(idle_s=20, tool_running=True), Killed.IDLE),
        (Moment(rss_bytes=1000, output_bytes=500), None),
        (Moment(rss_bytes=1001), Killed.MEMORY),
        (Moment(output_bytes=501), Killed.OUTPUT_LIMIT),
        (Moment(stop=True, rss_bytes=1001, elapsed_s=1000), Killed.INTERRUPTED),
        (Moment(complete_s=4.9, settled_s=4.9, idle_s=50), None),
        (Moment(complete_s=5, settled_s=5), Killed.EXIT_HANG),
        (Moment(complete_s=60, settled_s=None, elapsed_s=90), None),
        (Moment(complete_s=60, settled_s=4), None),
        (Moment(complete_s=1, settled_s=1, elapsed_s=100), Killed.EXIT_HANG),
        (Moment(complete_s=1, settled_s=None, elapsed_s=100), Killed.EXIT_HANG),
    ],
)
def test_each_limit_ends_the_run(moment: Moment, expected: Killed | None) -> None:
    """Each limit has its cause, and the one that matters most is named."""
    assert exceeded(LIMITS, moment) is expected


def test_background_tasks_have_their_own_grace() -> None:
    """Background tasks that never end are ended half an hour after the result."""
    limits = Limits(timeout_s=1e6, idle_timeout_s=1, exit_grace_s=5)
    assert exceeded(limits, Moment(complete_s=1799.0)) is None
    assert exceeded(limits, Moment(complete_s=1800.0)) is Killed.EXIT_HANG


def test_without_a_memory_limit_memory_ends_nothing() -> None:
    """No limit means no limit."""
    limits = Limits(timeout_s=10, idle_timeout_s=10, exit_grace_s=10)
    assert exceeded(limits, Moment(rss_bytes=1 << 50)) is None


@given(
    elapsed_s=st.floats(0, 200),
    idle_s=st.floats(0, 50),
    complete_s=st.none() | st.floats(0, 2000),
    tool_running=st.booleans(),
)
def test_after_the_deadline_no_run_goes_on(
    *, elapsed_s: float, idle_s: float, complete_s: float | None, tool_running: bool
) -> None:
    """Past the deadline a run is always ended, and never called idle after its result."""
    moment = Moment(
        elapsed_s=elapsed_s, idle_s=idle_s, complete_s=complete_s, tool_running=tool_running
    )
    killed = exceeded(LIMITS, moment)
    assert killed is not None or elapsed_s < LIMITS.timeout_s
    if complete_s is not None:
        assert killed in (None, Killed.EXIT_HANG)
