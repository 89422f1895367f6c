"""Runs as rows: the queries, the way back into values, and what two runs may not share."""

from __future__ import annotations

import os.path
import sqlite3
from pathlib import PurePath

import msgspec

from harness.core.process import ProcessIdentity
from harness.stores.protocols import ClaimRequest, OpenRun
from harness.stores.sqlite.faults import damaged
from harness.stores.sqlite.times import to_time

CLAIM = """INSERT INTO runs (
        run_id, job, agent_id, attempt, retry_of, workspace, guards,
        owner_pid, owner_started, owner_boot, started_at
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
CHILD = """UPDATE runs SET child_pid = ?, child_started = ?, child_boot = ?
    WHERE run_id = ? AND ended_at IS NULL"""
OPEN_ONE = "SELECT 1 FROM runs WHERE run_id = ? AND job = ? AND ended_at IS NULL"
CLOSE = """UPDATE runs SET ended_at = ?, outcome = ?, record = ?
    WHERE run_id = ? AND ended_at IS NULL"""
REFUSE = """INSERT INTO runs (
        run_id, job, agent_id, attempt, retry_of, workspace, guards,
        started_at, ended_at, outcome, record
    ) VALUES (?, ?, '', ?, ?, '', '[]', ?, ?, ?, ?)"""
ACKNOWLEDGE = """INSERT INTO acknowledgements (run_id, at, actor, reason)
    VALUES (?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING"""

GET = "SELECT record FROM runs WHERE run_id = ? AND ended_at IS NOT NULL"
# Ids begin with their time: the inner order is nearly the outer one, and stops early.
MATCHING = """SELECT run_id FROM (
        SELECT run_id, seq FROM runs WHERE run_id >= ? AND run_id < ?
        ORDER BY run_id DESC LIMIT 500
    ) ORDER BY seq DESC LIMIT 10"""
RECENT = """SELECT record FROM runs WHERE ended_at IS NOT NULL
    ORDER BY ended_at DESC, seq DESC LIMIT ?"""
RECENT_OF_OUTCOME = """SELECT record FROM runs WHERE outcome = ?
    ORDER BY ended_at DESC, seq DESC LIMIT ?"""
# A job's runs do not overlap, so their starts are in the order of their ends.
RECENT_OF_JOB = """SELECT record FROM runs WHERE job = ? AND ended_at IS NOT NULL
    ORDER BY started_at DESC, seq DESC LIMIT ?"""
# `+outcome`: the job's index, which is in the right order, not the one of the outcome.
RECENT_OF_JOB_AND_OUTCOME = """SELECT record FROM runs WHERE job = ? AND +outcome = ?
    ORDER BY started_at DESC, seq DESC LIMIT ?"""
ENDED_SINCE = """SELECT record FROM runs WHERE ended_at >= ?
    ORDER BY ended_at DESC, seq DESC"""
UNFINISHED = "SELECT * FROM runs WHERE ended_at IS NULL ORDER BY seq"
UNACKNOWLEDGED = """SELECT record FROM runs
    WHERE outcome = 'bypassed'
        AND NOT EXISTS (SELECT 1 FROM acknowledgements AS word WHERE word.run_id = runs.run_id)
    ORDER BY ended_at DESC, seq DESC"""
ACKNOWLEDGEMENT = "SELECT * FROM acknowledgements WHERE run_id = ?"


def open_run(row: sqlite3.Row) -> OpenRun:
    """Return the open run of a row; raises `StoreDamaged` where the row does not hold one."""
    try:
        started_at = to_time(row["started_at"])
        return OpenRun(
            run_id=row["run_id"],
            job=row["job"],
            agent_id=row["agent_id"],
            attempt=row["attempt"],
            retry_of=row["retry_of"],
            workspace=row["workspace"],
            started_at=started_at,
            owner=_owner(row, "owner"),
            child=None if row["child_pid"] is None else _owner(row, "child"),
            guards=tuple(_guards(row)),
        )
    except (TypeError, ValueError) as error:
        raise damaged(f"run {row['run_id']}", error) from error


def _owner(row: sqlite3.Row, role: str) -> ProcessIdentity:
    return ProcessIdentity(
        pid=row[f"{role}_pid"], started=row[f"{role}_started"], boot_id=row[f"{role}_boot"]
    )


def shared_with(request: ClaimRequest, row: sqlite3.Row) -> str | None:
    """Return what a run would share with an open one, in words, or None.

    Folders are shared where one is, or holds, the other. A guarded path inside the other's
    workspace counts too: what that agent may rightly write there would look like a bypass.
    """
    if row["job"] == request.job:
        return f"job {request.job}"
    if _overlap(row["workspace"], request.workspace):
        return f"workspace {row['workspace']}"
    for theirs in _guards(row):
        if any(_overlap(theirs, path) for path in (request.workspace, *request.guards)):
            return f"guarded path {theirs}"
    for ours in request.guards:
        if _overlap(ours, row["workspace"]):
            return f"guarded path {ours}"
    return None


def _guards(row: sqlite3.Row) -> list[str]:
    try:
        return msgspec.json.decode(row["guards"], type=list[str])
    except msgspec.DecodeError as error:
        raise damaged(f"run {row['run_id']}", error) from error


def _overlap(one: str, other: str) -> bool:
    first, second = PurePath(os.path.normpath(one)), PurePath(os.path.normpath(other))
    return first.is_relative_to(second) or second.is_relative_to(first)
