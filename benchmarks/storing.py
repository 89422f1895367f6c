"""What the store costs: recorded runs beside bare commits, and questions to a million of them."""

from __future__ import annotations

import os
import sqlite3
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from filling import fill
from measuring import Figure, Samples, Size, interleaved, python
from stage import Stage, make_stage

from harness.cli.context import Options
from harness.cli.house import open_house
from harness.core.model import Outcome, Reason, RunRecord
from harness.core.process import ProcessIdentity
from harness.services.house import House
from harness.services.settle import settle
from harness.stores.protocols import Claimed, ClaimRequest, State
from harness.stores.sqlite import open_state

RECORDED_GOAL = 4.0
REPORT_GOAL = 3.0
SETTLE_GOAL = 3.0
_OWNER = ProcessIdentity(pid=1, started=1.0, boot_id="benchmark")
_TEN = range(10)


def measure_recording(size: Size, folder: Path) -> list[Figure]:
    """Measure a recorded run (claim and close) beside a bare commit and a bare disk write."""
    state = open_state(folder / "harness.db", clock=lambda: datetime.now(UTC))
    recorder = Recorder(state)
    with _bare_database(folder / "bare.db") as commit, _bare_file(folder / "bare") as write:
        samples = interleaved(
            {
                "disk": lambda: [write() for _ in _TEN],
                "commit": lambda: [commit() for _ in _TEN],
                "run": lambda: [recorder.record() for _ in _TEN],
            },
            size.pick(smoke=2, quick=60, full=200),
            size.patience_s,
        )
    state.close()
    return [
        _rate("4 kB write and fdatasync", samples["disk"]),
        _rate("bare SQLite commit (WAL, FULL)", samples["commit"]),
        _rate("recorded runs (claim and close)", samples["run"]),
        Figure(
            name="a recorded run / a bare commit",
            value=statistics.median(samples["run"].wall)
            / statistics.median(samples["commit"].wall),
            unit="×",
            at_most=RECORDED_GOAL,
            note="median of the clock; a run is two commits of several rows each",
        ),
    ]


def measure_history(size: Size, folder: Path) -> list[Figure]:
    """Measure the report and the settling of a run over more and more recorded runs."""
    counts = {
        Size.SMOKE: (1000, 2000),
        Size.QUICK: (1, 1000, 100_000),
        Size.FULL: (1, 1000, 100_000, 1_000_000),
    }[size]
    stages = {count: _filled(folder / str(count), count) for count in counts}
    reports = interleaved(
        {f"{count}": _reporting(stage) for count, stage in stages.items()},
        size.pick(smoke=1, quick=7, full=9),
        size.patience_s,
    )
    with ExitStack() as stack:
        houses = {
            count: stack.enter_context(open_house(Options(home=str(stage.home.root))))
            for count, stage in stages.items()
        }
        recorded = interleaved(
            {f"{count}": _settling(house) for count, house in houses.items()},
            size.pick(smoke=2, quick=50, full=100),
            size.patience_s,
        )
    few, most = "1000", f"{counts[-1]}"
    return [
        *(reports[f"{count}"].figure(f"report --json over {count:,} runs") for count in counts),
        Figure(
            name=f"report over {counts[-1]:,} runs / over 1,000",
            value=min(reports[most].cpu) / min(reports[few].cpu),
            unit="×",
            at_most=REPORT_GOAL,
            note="processor; by the clock "
            f"{min(reports[most].wall) / min(reports[few].wall):.2f}; "
            "the last night holds a 730th of the runs",
        ),
        *(
            recorded[f"{count}"].figure(f"settle, claim and close over {count:,} runs")
            for count in counts
        ),
        Figure(
            name=f"settle, claim and close over {counts[-1]:,} / over 1,000",
            value=statistics.median(recorded[most].wall) / statistics.median(recorded[few].wall),
            unit="×",
            at_most=SETTLE_GOAL,
        ),
    ]


@dataclass(slots=True)
class Recorder:
    """Records one run after the other in a store."""

    state: State
    count: int = 0

    def record(self) -> None:
        """Claim a run and close it."""
        self.count += 1
        run_id = f"20991231T0000-bench-{self.count:08x}"
        request = ClaimRequest(
            run_id=run_id,
            job="bench",
            agent_id="bench",
            attempt=1,
            retry_of=None,
            workspace="/srv/benchmark",
            guards=(),
            owner=_OWNER,
        )
        claimed = self.state.runs.claim(request)
        assert isinstance(claimed, Claimed)
        self.state.runs.close(replace(_RECORD, run_id=run_id, started_at=claimed.started_at))


_RECORD = RunRecord(
    run_id="",
    job="bench",
    outcome=Outcome.UNTOUCHED,
    reason=Reason.NO_CHANGE,
    rule="untouched",
    table_row=4,
    response="Nothing needs to be done.",
    started_at=datetime(2099, 12, 31, tzinfo=UTC),
    ended_at=datetime(2099, 12, 31, tzinfo=UTC),
    duration_s=1.0,
)


def _settling(house: House) -> Callable[[], object]:
    recorder = Recorder(house.state)

    def act() -> None:
        settle(house)
        recorder.record()

    return act


def _reporting(stage: Stage) -> Callable[[], object]:
    return lambda: python("-m", "harness", "report", "--json", environment=stage.environment)


def _filled(folder: Path, count: int) -> Stage:
    stage = make_stage(folder)
    fill(stage.home.database, count, until=datetime.now(UTC))
    return stage


def _rate(name: str, samples: Samples) -> Figure:
    return Figure(
        name=name,
        value=len(_TEN) / statistics.median(samples.wall),
        unit="/s",
        note=f"best {len(_TEN) / min(samples.wall):,.0f}; "
        f"{min(samples.cpu) / len(_TEN) * 1e6:,.0f} µs of processor each",
    )


@contextmanager
def _bare_database(path: Path) -> Iterator[Callable[[], object]]:
    """Yield what commits one row of a run's size."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY, job TEXT, record TEXT)")
    try:
        yield lambda: connection.execute(
            "INSERT INTO runs (job, record) VALUES (?, ?)", ("bench", "r" * 1500)
        )
    finally:
        connection.close()


@contextmanager
def _bare_file(path: Path) -> Iterator[Callable[[], object]]:
    """Yield what writes 4 kB and waits for the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    page = b"p" * 4096

    def write() -> None:
        os.write(descriptor, page)
        os.fdatasync(descriptor)

    try:
        yield write
    finally:
        os.close(descriptor)
