"""A database with many recorded runs, filled fast with rows as the store itself writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from harness.core.model import (
    AgyError,
    CliIdentity,
    Denial,
    ErrorKind,
    Finding,
    Outcome,
    Peak,
    Reason,
    RunRecord,
    Usage,
)
from harness.core.tiers import sha256_of
from harness.stores.sqlite import open_state
from harness.stores.sqlite.events import HARNESS, link_hash
from harness.stores.sqlite.records import decode_record, encode_canonical, encode_record
from harness.stores.sqlite.times import to_text

NIGHTS = 730
JOBS = 40
_BATCH = 10_000
_RUN_ID = "20000101T0000-job-00-000000"
_EARLY = "2000-01-01T00:00:00Z"
_LATE = "2000-01-01T00:00:01Z"
_RUN = """INSERT INTO runs (
        run_id, job, agent_id, attempt, workspace, guards, owner_pid, owner_started, owner_boot,
        child_pid, child_started, child_boot, started_at, ended_at, outcome, record
    ) VALUES (?, ?, ?, 1, '/srv/work', '[]', 1, 1.0, 'filled', 2, 1.0, 'filled', ?, ?, ?, ?)"""
_EVENT = """INSERT INTO events (id, at, kind, actor, subject, facts, previous, hash)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""


def fill(path: Path, count: int, *, until: datetime) -> None:
    """Record runs spread evenly over the nights before a time; the last one ends there."""
    state = open_state(path, clock=lambda: until)
    connection = state.database.connection
    connection.execute("PRAGMA synchronous = OFF")
    runs = _runs(count, until)
    number, previous = 0, ""
    while batch := list(islice(runs, _BATCH)):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_RUN, [row for row, _ in batch])
        links = []
        for row, facts in batch:
            for kind, at, fact in facts:
                number += 1
                content = (number, at, kind, HARNESS, row[0], fact)
                link = link_hash(previous, content)
                links.append((*content, previous, link))
                previous = link
        connection.executemany(_EVENT, links)
        connection.execute("COMMIT")
    newest = state.runs.recent(limit=1)[0]
    assert newest.run_id.endswith(f"{count - 1:06x}"), newest.run_id
    state.close()


_Row = tuple[str, str, str, str, str, str, str]
_Facts = list[tuple[str, str, str]]


def _runs(count: int, until: datetime) -> Iterator[tuple[_Row, _Facts]]:
    templates = [(record.outcome.value, encode_record(record)) for record in _templates()]
    step = timedelta(days=NIGHTS) / count
    for number in range(count):
        ended = until - step * (count - 1 - number)
        started = ended - timedelta(seconds=1)
        job = f"job-{number % JOBS:02}"
        run_id = f"{started:%Y%m%dT%H%M}-{job}-{number:06x}"
        outcome, text = templates[number % len(templates)]
        early, late = to_text(started), to_text(ended)
        text = (
            text.replace(_RUN_ID, run_id)
            .replace(_EARLY, early)
            .replace(_LATE, late)
            .replace("job-00", job)
        )
        if number < len(templates):
            assert encode_record(decode_record(text)).count(run_id) == text.count(run_id)
        claimed = encode_canonical({"job": job, "attempt": "1", "pid": "1"})
        closed = encode_canonical(
            {"job": job, "outcome": outcome, "record_sha256": sha256_of(text)}
        )
        yield (
            (run_id, job, job, early, late, outcome, text),
            [
                ("run.claimed", early, claimed),
                ("run.spawned", early, '{"pid":"2"}'),
                ("run.closed", late, closed),
            ],
        )


def _templates() -> list[RunRecord]:
    """Return a run of each kind, in the mix of an ordinary night."""
    start, end = datetime.fromisoformat(_EARLY), datetime.fromisoformat(_LATE)
    quiet = RunRecord(
        run_id=_RUN_ID,
        job="job-00",
        outcome=Outcome.UNTOUCHED,
        reason=Reason.NO_CHANGE,
        rule="untouched",
        table_row=4,
        exit_code=0,
        cli=CliIdentity(path="/usr/local/bin/agy", version="1.3.3", sha256="0" * 64, known=True),
        usage=Usage(input_tokens=10_302, output_tokens=582, total_tokens=10_884, tool_calls=7),
        peak=Peak(rss_bytes=180_000_000, context_tokens=10_302),
        response="Looked at every site; each answers, and nothing needs to be done. " * 6,
        log_tail="I0101 00:00:00.000000 print_mode.go:1] Print mode: starting turn\n" * 4,
        conversation_ids=("5b0c9a52-7a61-4f0e-9d43-0c6f2f1d7e88",),
        started_at=start,
        ended_at=end,
        duration_s=1.0,
        advice="take stock of the allow rules",
    )
    errored = replace(
        quiet,
        outcome=Outcome.ERRORED,
        reason=Reason.AGY_ERROR_QUOTA,
        rule="agy_error",
        table_row=2,
        exit_code=3,
        agy_errors=(AgyError(short_error="quota reached", kind=ErrorKind.QUOTA, raw="AGY_ERROR"),),
        response="",
        advice="wait for the quota, then run it again",
    )
    denied = replace(
        quiet,
        reason=Reason.DENIED,
        denied=(Denial(action="command", target="npm test", source="log"),),
        findings=(Finding(id="cli_newer_than_known", detail="judged as the newest known"),),
    )
    return [quiet, quiet, denied, quiet, errored, quiet, quiet, denied, quiet, quiet]
