"""When a run is ended by the harness: one pure function over what is known at a moment."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.model import Killed

BACKGROUND_GRACE_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may take.

    Attributes:
        timeout_s: wall clock of the machine's waking time, from the start.
        idle_timeout_s: without growth of stdout, log or transcript; doubled while a tool runs.
        exit_grace_s: for the process to leave after a complete result.
        background_grace_s: the same while background tasks run.
        memory_bytes: resident memory of the whole tree; None for no limit.
        max_output_bytes: stdout, stderr and log together.
    """

    timeout_s: float
    idle_timeout_s: float
    exit_grace_s: float
    background_grace_s: float = BACKGROUND_GRACE_S
    memory_bytes: int | None = None
    max_output_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A run as it stands now.

    Attributes:
        elapsed_s: since the start.
        idle_s: since the last growth that counts.
        complete_s: since the complete result; None before it.
        settled_s: since the complete result with no background task running.
        stop: somebody told the harness to stop.
    """

    elapsed_s: float = 0.0
    idle_s: float = 0.0
    complete_s: float | None = None
    settled_s: float | None = None
    tool_running: bool = False
    output_bytes: int = 0
    rss_bytes: int = 0
    stop: bool = False


def exceeded(limits: Limits, moment: Moment) -> Killed | None:
    """Return why the run must be ended now, or None.

    After a complete result every cause but a request to stop is `exit_hang`: the turn is over,
    and only the process did not leave. The other causes mean that none had come.
    """
    if moment.stop:
        return Killed.INTERRUPTED
    cause = _spent(limits, moment)
    if moment.complete_s is not None:
        settled = moment.settled_s is not None and moment.settled_s >= limits.exit_grace_s
        hangs = settled or moment.complete_s >= limits.background_grace_s
        return Killed.EXIT_HANG if cause is not None or hangs else None
    if cause is not None:
        return cause
    patience_s = limits.idle_timeout_s * (2 if moment.tool_running else 1)
    return Killed.IDLE if moment.idle_s >= patience_s else None


def _spent(limits: Limits, moment: Moment) -> Killed | None:
    """Return which bound is passed that holds whatever the CLI has said."""
    if limits.memory_bytes is not None and moment.rss_bytes > limits.memory_bytes:
        return Killed.MEMORY
    if moment.output_bytes > limits.max_output_bytes:
        return Killed.OUTPUT_LIMIT
    return Killed.TIMEOUT if moment.elapsed_s >= limits.timeout_s else None
