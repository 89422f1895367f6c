"""A million runs must not slow a night: each repeated query names the index that serves it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from harness.core.tiers import ProposalState
from harness.stores.sqlite import canonical, events, guards, journal, proposal_rows, run_rows
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.opening import open_database


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """An empty database."""
    path = tmp_path_factory.mktemp("plans") / "harness.db"
    with closing(open_database(path)) as opened:
        yield opened


def plan(database: Database, sql: str) -> str:
    """Return the query plan of a statement, one line a step."""
    parameters = (None,) * sql.count("?")
    rows = database.rows(f"EXPLAIN QUERY PLAN {sql}", parameters)
    return "\n".join(row["detail"] for row in rows)


IN_ORDER = {
    "RECENT": (run_rows.RECENT, "runs_ended"),
    "RECENT_OF_OUTCOME": (run_rows.RECENT_OF_OUTCOME, "runs_outcome_ended"),
    "RECENT_OF_JOB": (run_rows.RECENT_OF_JOB, "runs_job_started"),
    "RECENT_OF_JOB_AND_OUTCOME": (run_rows.RECENT_OF_JOB_AND_OUTCOME, "runs_job_started"),
    "ENDED_SINCE": (run_rows.ENDED_SINCE, "runs_ended"),
    "UNFINISHED": (run_rows.UNFINISHED, "runs_"),
    "UNACKNOWLEDGED": (run_rows.UNACKNOWLEDGED, "runs_outcome_ended"),
    "LISTED_OF_AGENT": (journal.LISTED_OF_AGENT, "journal_agent"),
    "LISTED_OF_SCOPE": (journal.LISTED_OF_SCOPE, "journal_scope"),
    "LISTED_OF_AGENT_AND_SCOPE": (journal.LISTED_OF_AGENT_AND_SCOPE, "journal_agent_scope"),
    "READ": (canonical.READ, "sqlite_autoindex_canonical_2"),
    "HISTORY": (canonical.HISTORY, "sqlite_autoindex_canonical_2"),
    "APPLIED_SINCE": (canonical.APPLIED_SINCE, "INTEGER PRIMARY KEY"),
    "EVENTS_AFTER": (events._AFTER, "INTEGER PRIMARY KEY"),
}
"""Queries whose index also gives the order: they stop as soon as they have enough."""

BY_INDEX = {
    "GET": (run_rows.GET, "sqlite_autoindex_runs_1"),
    "OPEN_ONE": (run_rows.OPEN_ONE, "sqlite_autoindex_runs_1"),
    "CLOSE": (run_rows.CLOSE, "sqlite_autoindex_runs_1"),
    "CHILD": (run_rows.CHILD, "sqlite_autoindex_runs_1"),
    "MATCHING_RUNS": (run_rows.MATCHING, "sqlite_autoindex_runs_1"),
    "ONE": (proposal_rows.ONE, "sqlite_autoindex_proposals_1"),
    "OF_RUN": (proposal_rows.OF_RUN, "proposals_run_key"),
    "SAME_IN_RUN": (proposal_rows.SAME_IN_RUN, "proposals_run_key"),
    "PROPOSED_OF_RUN": (proposal_rows.PROPOSED_OF_RUN, "proposals_"),
    "OPEN_OF_RUN_KEY": (proposal_rows.OPEN_OF_RUN_KEY, "proposals_"),
    "OPEN_OF_JOB_KEY": (proposal_rows.OPEN_OF_JOB_KEY, "proposals_"),
    "QUARANTINED_OF_JOB": (proposal_rows.QUARANTINED_OF_JOB, "proposals_"),
    "LATER_OF_JOB_KEY": (proposal_rows.LATER_OF_JOB_KEY, "proposals_"),
    "DUE": (proposal_rows.DUE, "proposals_state"),
    "RAN_OUT_SINCE": (proposal_rows.RAN_OUT_SINCE, "proposals_state"),
    "LISTED": (proposal_rows.in_states([ProposalState.PENDING])[0], "proposals_state"),
    "BEGIN_APPLY": (proposal_rows.BEGIN_APPLY, "sqlite_autoindex_proposals_1"),
    "OPERATION": (canonical.OPERATION, "sqlite_autoindex_canonical_1"),
    "NEWEST": (canonical.NEWEST, "sqlite_autoindex_canonical_2"),
    "STANDS": (canonical.STANDS, "sqlite_autoindex_canonical_2"),
    "COUNT_OF_RUN": (journal.COUNT_OF_RUN, "journal_run"),
    "OVERDUE": (journal.OVERDUE, "journal_expires"),
    "FORGET": (journal.FORGET, "journal_expires"),
    "BELOW": (guards.BELOW, "PRIMARY KEY"),
}


@pytest.mark.parametrize("name", sorted(IN_ORDER))
def test_history_comes_in_order_from_its_index(database: Database, name: str) -> None:
    """The plan names the index and neither sorts nor walks a table."""
    sql, index = IN_ORDER[name]
    steps = plan(database, sql)
    assert index in steps
    assert "TEMP B-TREE" not in steps


@pytest.mark.parametrize("name", sorted(BY_INDEX))
def test_each_query_is_served_by_an_index(database: Database, name: str) -> None:
    """The plan names the index, and no step walks a whole table."""
    sql, index = BY_INDEX[name]
    steps = plan(database, sql)
    assert index in steps
    walks = [step for step in steps.splitlines() if step.startswith("SCAN") and "USING" not in step]
    assert walks in ([], ["SCAN (subquery-1)"])


def test_the_last_event_is_at_hand(database: Database) -> None:
    """Store time and the head of the trail take one step from the end of the table."""
    assert plan(database, events._LAST) == "SCAN events"
    assert plan(database, journal.LISTED) == "SCAN journal"
