"""Times, records, ids and error codes on their way into the database and back."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.model import (
    AgyError,
    Denial,
    Evidence,
    Finding,
    Outcome,
    Reason,
    RunRecord,
    Usage,
    Verdict,
)
from harness.errors import StoreDamaged, StoreProblem
from harness.stores.sqlite import SqliteState, open_state
from harness.stores.sqlite.events import SqliteEvents
from harness.stores.sqlite.faults import sqlite_problem, system_problem
from harness.stores.sqlite.opening import open_database
from harness.stores.sqlite.proposals import SqliteProposals, random_id
from harness.stores.sqlite.records import clean, decode_record, encode_record
from harness.stores.sqlite.times import to_millisecond, to_text, to_time, to_time_or_none
from tests.helpers.states import START, HandClock, proposed, record

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(
    min_value=START.replace(year=1970, tzinfo=None),
    max_value=START.replace(year=9999, tzinfo=None),
    timezones=ZONES,
)
TEXT = st.text(max_size=40)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
COUNTS = st.integers(0, 2**63)


@given(TIMES, TIMES)
def test_stored_times_sort_as_times_do(one: datetime, other: datetime) -> None:
    """Text order is time order, to the millisecond; width and zone are fixed."""
    first, second = to_text(one), to_text(other)
    assert len(first) == len("2026-11-30T02:30:00.123Z")
    assert first.endswith("Z")
    assert (first < second) == (to_millisecond(one) < to_millisecond(other))
    assert timedelta(0) <= one - to_time(first) < timedelta(milliseconds=1)


def test_a_stored_time_reads_as_agreed() -> None:
    """One example of the format, and the refusal of a time without a zone."""
    at = datetime(2026, 11, 30, 2, 30, 0, 123_456, tzinfo=UTC)
    assert to_text(at) == "2026-11-30T02:30:00.123Z"
    assert to_time_or_none(None) is None
    assert to_time_or_none("2026-11-30T02:30:00.123Z") == to_millisecond(at)
    with pytest.raises(ValueError, match="needs a zone"):
        to_text(at.replace(tzinfo=None))


def records(text: st.SearchStrategy[str]) -> st.SearchStrategy[RunRecord]:
    """Records whose free texts come from a strategy."""
    optional = st.none() | text
    verdicts = st.builds(
        Verdict,
        outcome=st.sampled_from(Outcome),
        reason=st.sampled_from(Reason),
        rule=text,
        table_row=st.none() | st.integers(1, 4),
        masked=st.none(),
    )
    return st.builds(
        RunRecord,
        run_id=st.uuids().map(str),
        job=text,
        outcome=st.just(Outcome.REFUSED),
        reason=st.sampled_from(Reason),
        rule=text,
        masked=st.none() | verdicts,
        exit_code=st.none() | st.integers(-(2**31), 2**31),
        agy_errors=st.lists(
            st.builds(AgyError, short_error=text, raw=text, error_code=st.none() | COUNTS),
            max_size=2,
        ).map(tuple),
        denied=st.lists(st.builds(Denial, action=text, target=optional, source=text)).map(tuple),
        evidence=st.builds(Evidence, changed_paths=st.lists(text, max_size=3).map(tuple)),
        findings=st.lists(st.builds(Finding, id=text, detail=text), max_size=2).map(tuple),
        usage=st.builds(Usage, input_tokens=COUNTS, total_tokens=COUNTS),
        cpu_s=st.floats(0, 1e9),
        response=text,
        log_tail=text,
        started_at=st.just(START),
        ended_at=st.datetimes(timezones=st.just(UTC)),
        duration_s=st.floats(0, 1e9),
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteState]:
    """One state for many examples."""
    path = tmp_path_factory.mktemp("values") / "harness.db"
    with closing(open_state(path, clock=HandClock())) as state:
        yield state


@given(given_record=records(TEXT))
def test_any_record_survives_the_store(shared: SqliteState, given_record: RunRecord) -> None:
    """What is read is equal to what was stored, to the microsecond and the last digit."""
    fresh = replace(given_record, run_id=str(uuid4()))
    shared.runs.record_refused(fresh)
    assert shared.runs.get(fresh.run_id) == fresh


@given(hostile=records(ANY_TEXT))
def test_hostile_text_is_stored_as_near_as_can_be(hostile: RunRecord) -> None:
    """Text that UTF-8 cannot hold is replaced, and what is stored is stable."""
    stored = decode_record(encode_record(hostile))
    assert stored.response == clean(hostile.response)
    assert decode_record(encode_record(stored)) == stored


def test_keys_of_a_newer_harness_are_ignored(shared: SqliteState) -> None:
    """A record with a key more is read; one with a key less is damage."""
    text = encode_record(record(shared, "r1"))
    assert decode_record(text[:-1] + ',"moon_phase":"full"}').run_id == "r1"
    with pytest.raises(StoreDamaged, match="a run's record cannot be read back"):
        decode_record(text.replace('"run_id"', '"id"'))


def test_an_id_that_is_taken_is_drawn_again(tmp_path: Path) -> None:
    """Two proposals never share an id, whatever the generator says."""
    ids = iter(["aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "bbbbbbbb"])
    with closing(open_database(tmp_path / "harness.db")) as database:
        proposals = SqliteProposals(
            database, SqliteEvents(database, HandClock()), new_id=lambda: next(ids)
        )
        state = SqliteState(database, HandClock())
        state.proposals = proposals
        assert [proposed(state, None, key).id for key in "kl"] == ["aaaaaaaa", "bbbbbbbb"]
    assert len({random_id() for _ in range(50)}) > 1


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (sqlite3.SQLITE_BUSY, StoreProblem, "another process holds the database"),
        (sqlite3.SQLITE_BUSY | 2 << 8, StoreProblem, "another process holds the database"),
        (sqlite3.SQLITE_LOCKED, StoreProblem, "this process holds the database"),
        (sqlite3.SQLITE_FULL, StoreProblem, "the disk is full"),
        (sqlite3.SQLITE_READONLY, StoreProblem, "cannot be written"),
        (sqlite3.SQLITE_IOERR | 3 << 8, StoreProblem, "the disk does not read or write"),
        (sqlite3.SQLITE_PERM, StoreProblem, "denies access"),
        (sqlite3.SQLITE_CORRUPT, StoreDamaged, "the database is damaged"),
        (sqlite3.SQLITE_NOTADB, StoreDamaged, "not a database"),
        (sqlite3.SQLITE_NOMEM, StoreProblem, "cannot be used"),
        (None, StoreProblem, "cannot be used"),
    ],
)
def test_each_code_of_sqlite_has_its_words(
    code: int | None, kind: type[StoreProblem], words: str
) -> None:
    """Extended codes mean what their primary code means; every message has path, cause and hint."""
    error = sqlite3.OperationalError("its own words")
    if code is not None:
        error.sqlite_errorcode = code
    problem = sqlite_problem(error, Path("/home/harness.db"))
    assert type(problem) is kind
    assert str(problem).startswith("/home/harness.db: ")
    assert words in str(problem)
    assert "its own words" in str(problem)
    assert problem.hint
    assert "\n" not in f"{problem}{problem.hint}"


@pytest.mark.parametrize(
    ("number", "hint"),
    [(errno.ENOSPC, "make room"), (errno.EROFS, "writable"), (errno.EACCES, "who owns")],
)
def test_each_refusal_of_the_system_has_its_hint(number: int, hint: str) -> None:
    """No space, read-only media and missing rights are told apart."""
    problem = system_problem(OSError(number, "refused"), Path("/home/harness.db"))
    assert str(problem) == "/home/harness.db: the database cannot be created (refused)"
    assert hint in problem.hint
