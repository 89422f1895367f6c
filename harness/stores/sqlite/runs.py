"""The runs: claimed before the spawn, closed once, never changed afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from harness.core.model import Acknowledgement, Outcome, RunRecord
from harness.core.process import ProcessIdentity
from harness.core.tiers import sha256_of
from harness.errors import StoreProblem, UnknownName, UsageProblem
from harness.stores.protocols import Busy, Claimed, ClaimRequest, OpenRun
from harness.stores.sqlite import run_rows as sql
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import HARNESS, SqliteEvents
from harness.stores.sqlite.proposals import SqliteProposals
from harness.stores.sqlite.records import clean, decode_record, encode_record
from harness.stores.sqlite.times import to_text, to_time


class SqliteRuns:
    """The runs in the tables `runs` and `acknowledgements`."""

    def __init__(
        self, database: Database, events: SqliteEvents, proposals: SqliteProposals
    ) -> None:
        self._database = database
        self._events = events
        self._proposals = proposals

    def claim(self, request: ClaimRequest) -> Claimed | Busy:
        """Open a run, unless an open one shares its job, workspace or a guarded path."""
        with self._database.write():
            for row in self._database.rows(sql.UNFINISHED):
                shared = sql.shared_with(request, row)
                if shared is not None:
                    return Busy(run_id=row["run_id"], job=row["job"], what=shared)
            now = self._events.now()
            owner = request.owner
            self._database.change(
                "run.claim",
                sql.CLAIM,
                (
                    request.run_id,
                    request.job,
                    request.agent_id,
                    request.attempt,
                    request.retry_of,
                    request.workspace,
                    msgspec.json.encode([clean(path) for path in request.guards]).decode(),
                    owner.pid,
                    owner.started,
                    owner.boot_id,
                    to_text(now),
                ),
            )
            facts = {"job": request.job, "attempt": str(request.attempt), "pid": str(owner.pid)}
            self._record("run.claimed", request.run_id, HARNESS, **facts)
            return Claimed(run_id=request.run_id, started_at=now)

    def record_child(self, run_id: str, child: ProcessIdentity) -> None:
        """Note the CLI's process; a later one of the same run takes its place."""
        with self._database.write():
            process = (child.pid, child.started, child.boot_id, run_id)
            if not self._database.change("run.child", sql.CHILD, process):
                raise _not_open(run_id)
            self._record("run.spawned", run_id, HARNESS, pid=str(child.pid))

    def close(self, record: RunRecord) -> RunRecord:
        """Close an open run and release or quarantine its proposals, in one transaction."""
        with self._database.write():
            found = self._database.row(sql.OPEN_ONE, (record.run_id, record.job))
            if found is None:
                raise _not_open(record.run_id)
            held = record.outcome is Outcome.HELD
            settled = self._proposals.settle(record.run_id, record.job, held=held)
            stored = encode_record(
                replace(record, pending=settled.pending, quarantined=settled.quarantined)
            )
            ended = (to_text(record.ended_at), record.outcome, stored, record.run_id)
            self._database.change("run.close", sql.CLOSE, ended)
            self._record_verdict("run.closed", record, stored)
        return decode_record(stored)

    def record_refused(self, record: RunRecord) -> None:
        """Store a run that never started."""
        if record.outcome is not Outcome.REFUSED:
            raise StoreProblem(f"run {record.run_id} is {record.outcome}, not refused")
        stored = encode_record(record)
        with self._database.write():
            row = (
                record.run_id,
                record.job,
                record.attempt,
                record.retry_of,
                to_text(record.started_at),
                to_text(record.ended_at),
                record.outcome,
                stored,
            )
            self._database.change("run.refuse", sql.REFUSE, row)
            self._record_verdict("run.refused", record, stored)

    def get(self, run_id: str) -> RunRecord | None:
        """Return a closed run."""
        found = self._records(sql.GET, (run_id,))
        return found[0] if found else None

    def matching(self, prefix: str) -> Sequence[str]:
        """Return the ids, open or closed, that begin with a prefix; newest first, ten at most."""
        upper = prefix + "\U0010ffff"
        return [row["run_id"] for row in self._database.rows(sql.MATCHING, (prefix, upper))]

    def recent(
        self, *, job: str | None = None, outcome: Outcome | None = None, limit: int = 20
    ) -> list[RunRecord]:
        """Return closed runs, newest first."""
        most = max(0, limit)
        if job is not None and outcome is not None:
            return self._records(sql.RECENT_OF_JOB_AND_OUTCOME, (job, outcome, most))
        if job is not None:
            return self._records(sql.RECENT_OF_JOB, (job, most))
        if outcome is not None:
            return self._records(sql.RECENT_OF_OUTCOME, (outcome, most))
        return self._records(sql.RECENT, (most,))

    def ended_since(self, since: datetime) -> list[RunRecord]:
        """Return the runs that ended at or after a time, newest first."""
        return self._records(sql.ENDED_SINCE, (to_text(since),))

    def unfinished(self) -> list[OpenRun]:
        """Return every open run, oldest first."""
        return [sql.open_run(row) for row in self._database.rows(sql.UNFINISHED)]

    def acknowledge(self, run_id: str, *, reason: str, actor: str) -> Acknowledgement:
        """Take note of a bypass, so that the job may propose again; the first word stands."""
        with self._database.write():
            record = self.get(run_id)
            if record is None:
                raise UnknownName(f"there is no closed run {run_id}")
            if record.outcome is not Outcome.BYPASSED:
                raise UsageProblem(
                    f"run {run_id} is {record.outcome}; only a bypassed run is acknowledged"
                )
            now, words = to_text(self._events.now()), clean(reason)
            word = (run_id, now, clean(actor), words)
            if self._database.change("run.acknowledge", sql.ACKNOWLEDGE, word):
                self._record("run.acknowledged", run_id, actor, reason_sha256=sha256_of(words))
            noted = self.acknowledgement(run_id)
        if noted is None:
            raise StoreProblem(f"the acknowledgement of run {run_id} cannot be read back")
        return noted

    def acknowledgement(self, run_id: str) -> Acknowledgement | None:
        """Return what a person said about a bypassed run; None where nobody did."""
        row = self._database.row(sql.ACKNOWLEDGEMENT, (run_id,))
        if row is None:
            return None
        return Acknowledgement(
            run_id=run_id, at=to_time(row["at"]), actor=row["actor"], reason=row["reason"]
        )

    def unacknowledged_bypasses(self) -> list[RunRecord]:
        """Return bypassed runs that nobody has acknowledged, newest first."""
        return self._records(sql.UNACKNOWLEDGED, ())

    def _records(self, query: str, parameters: tuple[object, ...]) -> list[RunRecord]:
        return [decode_record(row["record"]) for row in self._database.rows(query, parameters)]

    def _record(self, kind: str, run_id: str, actor: str, **facts: str) -> None:
        self._events.append(kind, actor=actor, subject=run_id, facts=facts)

    def _record_verdict(self, kind: str, record: RunRecord, stored: str) -> None:
        self._record(
            kind,
            record.run_id,
            HARNESS,
            job=record.job,
            outcome=record.outcome,
            reason=record.reason,
            record_sha256=sha256_of(stored),
        )


def _not_open(run_id: str) -> StoreProblem:
    return StoreProblem(
        f"run {run_id} is not open, nothing was stored",
        hint=f"see what became of it with `harness runs show {run_id}`",
    )
