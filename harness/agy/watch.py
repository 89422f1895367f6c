"""One loop that sees a run through: the CLI, the run's door, requests to stop, and the clock."""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.agy.collect import Reader, Tails
from harness.agy.host import identity_of_row
from harness.agy.limits import Limits, Moment, exceeded
from harness.agy.process import Child
from harness.agy.stop import Stop
from harness.agy.tree import Swept
from harness.core.model import Killed
from harness.core.process import ProcessIdentity

ROUND_S = 0.25
"""How often output is read and limits are looked at."""
SAMPLE_S = 1.0
"""How often the memory of the tree is measured, where no limit asks for more."""
PROGRESS_S = 1.0
"""How often progress is told."""
RUNAWAY_POLITE_S = 1.0
"""How long what fills the disk or the memory is asked politely, SIGINT and SIGTERM each."""
_CATCH_UP_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is, told about once a second."""

    elapsed_s: float
    last_event: str
    total_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended.

    Attributes:
        exit_code, signal: what was really seen, also where the harness ended the process;
            both None where the system does not know.
        killed: why the harness ended it; None where it ended by itself. `exit_hang` says that
            a complete result had come before; the other causes say that none had, or that it
            did not matter. `interrupted` also where the CLI went first, without a complete
            result, of a request to stop that went to both, as systemd's does.
        survivors_killed: processes that outlived the CLI and were killed.
        survivors_left: processes that could not be killed in time; 0 is the rule.
        peak_rss_bytes: of the whole tree by samples, or of one process that was larger.
        cpu_s: of the whole tree.
        sync_problem: which output could not be made durable; empty where all could.
    """

    exit_code: int | None
    signal: int | None
    killed: Killed | None = None
    survivors_killed: int = 0
    survivors_left: int = 0
    peak_rss_bytes: int = 0
    cpu_s: float = 0.0
    sync_problem: str = ""


def no_tick() -> None:
    """Do nothing at each round."""


def no_progress(progress: Progress) -> None:
    """Tell nobody."""


def no_census(members: Sequence[ProcessIdentity]) -> None:
    """Note nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Who is told how a run goes.

    Attributes:
        tick: called at every round, at most `ROUND_S` apart, for the caller's own timers.
        progress: called about once a second.
        census: called with the run's processes whenever they are found to be others.
    """

    tick: Callable[[], None] = no_tick
    progress: Callable[[Progress], None] = no_progress
    census: Callable[[Sequence[ProcessIdentity]], None] = no_census


def watch(
    child: Child,
    *,
    reader: Reader,
    tails: Tails,
    limits: Limits,
    selector: selectors.BaseSelector,
    stop: Stop,
    listeners: Listeners | None = None,
) -> Ending:
    """See a run through until its last process is gone and its output is read and durable.

    Args:
        child: the CLI, just started.
        reader: takes the output.
        tails: the output files; they are not closed here.
        limits: when to end the run.
        selector: may hold descriptors of the caller's; their data is called with the file
            object and the mask, also while the run is being ended.
        stop: ends the run as `interrupted`.
        listeners: who is told how it goes.

    Where a call of the caller's raises, the run is ended before that goes on its way.
    """
    return _Watch(child, reader, tails, limits, selector, stop, listeners or Listeners()).run()


class _Watch:
    """What the loop remembers from one round to the next."""

    def __init__(
        self,
        child: Child,
        reader: Reader,
        tails: Tails,
        limits: Limits,
        selector: selectors.BaseSelector,
        stop: Stop,
        listeners: Listeners,
    ) -> None:
        self._child, self._reader, self._tails = child, reader, tails
        self._limits, self._selector, self._stop = limits, selector, stop
        self._listeners = listeners
        self._counted: frozenset[tuple[int, float]] = frozenset()
        self._started = self._grown = time.monotonic()
        self._complete_at: float | None = None
        self._settled_at: float | None = None
        self._next_round = self._next_sample = self._next_progress = self._started
        self._rss = self._peak_rss = 0
        self._sampled_cpu = 0.0

    def run(self) -> Ending:
        over = False
        try:
            with self._registered():
                killed = self._until_over()
                swept = self._end(killed)
                over = True
        finally:
            if not over:
                self._child.tree.end(exited=self._child.exited, pause=time.sleep, polite_s=0.0)
                self._child.reap()
        status = self._child.reap()
        self._tails.drain(self._reader)
        return Ending(
            exit_code=status.exit_code,
            signal=status.signal,
            killed=killed or self._stopped_along(),
            survivors_killed=swept.killed,
            survivors_left=swept.left,
            peak_rss_bytes=max(
                self._peak_rss, status.peak_rss_bytes, self._child.tree.reaped_peak_rss_bytes
            ),
            cpu_s=max(self._sampled_cpu, status.cpu_s + self._child.tree.reaped_cpu_s),
            sync_problem=self._tails.sync(),
        )

    def _stopped_along(self) -> Killed | None:
        if self._stop.requested is None or self._reader.result_complete:
            return None
        return Killed.INTERRUPTED

    @contextlib.contextmanager
    def _registered(self) -> Iterator[None]:
        self._selector.register(
            self._stop.fileno(), selectors.EVENT_READ, lambda _file, _mask: self._stop.acknowledge()
        )
        if self._child.handle is not None:
            self._selector.register(self._child.handle, selectors.EVENT_READ, self._child_ended)
        try:
            yield
        finally:
            self._selector.unregister(self._stop.fileno())
            self._forget_child()

    def _child_ended(self, _file: object, _mask: int) -> None:
        # Its handle stays readable for good: it would wake every further wait at once.
        self._forget_child()
        self._next_round = 0.0

    def _forget_child(self) -> None:
        if self._child.handle is not None:
            with contextlib.suppress(KeyError):
                self._selector.unregister(self._child.handle)

    def _until_over(self) -> Killed | None:
        """Serve until the CLI has ended, or must be: then return why."""
        while True:
            self._serve(self._next_round - time.monotonic())
            if self._stop.requested is None and time.monotonic() < self._next_round:
                continue
            self._round()
            if self._tails.backlog:
                self._next_round = 0.0
            if self._child.exited():
                return None
            killed = self._verdict()
            if killed is not None:
                return killed

    def _verdict(self) -> Killed | None:
        killed = exceeded(self._limits, self._moment())
        if killed in (Killed.TIMEOUT, Killed.IDLE):
            # The result may stand in the file already, behind what has not been read.
            self._tails.drain(self._reader, within_s=_CATCH_UP_S)
            self._note_result()
            if self._child.exited():
                return None
            killed = exceeded(self._limits, self._moment())
        return killed

    def _serve(self, seconds: float) -> None:
        """Wait for events at most so long, and hand each to its owner."""
        for key, mask in self._selector.select(max(0.0, min(seconds, ROUND_S))):
            if callable(key.data):
                key.data(key.fileobj, mask)

    def _pause(self, seconds: float) -> None:
        """Wait while the run is being ended: its last words still reach the caller's owners."""
        until = time.monotonic() + seconds
        self._serve(seconds)
        self._listeners.tick()
        while (left := until - time.monotonic()) > 0:
            self._serve(left)

    def _round(self) -> None:
        now = time.monotonic()
        self._next_round = now + ROUND_S
        if self._tails.read(self._reader):
            self._grown = now
        self._note_result()
        self._listeners.tick()
        if now >= self._next_sample:
            self._next_sample = now + self._sample_pause(now)
            self._sample()
        if now >= self._next_progress:
            self._next_progress = now + PROGRESS_S
            self._tell(now)

    def _sample_pause(self, now: float) -> float:
        # A short run must be seen before it is over, and a limit before it is far behind.
        watchful = self._limits.memory_bytes is not None or now - self._started < SAMPLE_S
        return ROUND_S if watchful else SAMPLE_S

    def _note_result(self) -> None:
        now = time.monotonic()
        if self._reader.result_complete and self._complete_at is None:
            self._complete_at = now
        if self._complete_at is None or self._reader.background_tasks:
            self._settled_at = None
        elif self._settled_at is None:
            self._settled_at = now

    def _sample(self) -> None:
        rows = self._child.tree.members()
        self._rss = sum(row.rss_bytes for row in rows)
        self._peak_rss = max(self._peak_rss, self._rss)
        cpu = sum(row.cpu_s for row in rows) + self._child.tree.reaped_cpu_s
        self._sampled_cpu = max(self._sampled_cpu, cpu)
        keys = frozenset(row.key for row in rows)
        if keys != self._counted:
            self._counted = keys
            self._listeners.census([identity_of_row(row) for row in rows])

    def _tell(self, now: float) -> None:
        self._listeners.progress(
            Progress(
                elapsed_s=now - self._started,
                last_event=self._reader.last_event,
                total_tokens=self._reader.usage.total_tokens,
            )
        )

    def _moment(self) -> Moment:
        now = time.monotonic()
        return Moment(
            elapsed_s=now - self._started,
            idle_s=now - self._grown,
            complete_s=None if self._complete_at is None else now - self._complete_at,
            settled_s=None if self._settled_at is None else now - self._settled_at,
            tool_running=self._reader.tool_running,
            output_bytes=self._tails.output_bytes,
            rss_bytes=self._rss,
            stop=self._stop.requested is not None,
        )

    def _end(self, killed: Killed | None) -> Swept:
        tree = self._child.tree
        if killed is None:
            return tree.finish(pause=self._pause)
        runaway = killed in (Killed.MEMORY, Killed.OUTPUT_LIMIT)
        polite_s = RUNAWAY_POLITE_S if runaway else None
        return tree.end(exited=self._child.exited, pause=self._pause, polite_s=polite_s)
