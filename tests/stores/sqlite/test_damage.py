"""Full disks, altered rows, broken pages: told in one line, never acknowledged, never hidden."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.core.evidence import FileDigest, PathKind
from harness.core.tiers import ProposalState, sha256_of
from harness.errors import StoreDamaged, StoreProblem
from harness.stores.protocols import Refusal
from harness.stores.sqlite import SqliteState, open_state
from tests.helpers.forging import outside, unguarded
from tests.helpers.states import (
    HandClock,
    approving,
    claimed,
    kinds,
    pending,
    present,
    proposed,
    ran,
    record,
)

MIB = "x" * 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database lies."""
    return tmp_path / "harness.db"


@pytest.fixture
def state(path: Path) -> Iterator[SqliteState]:
    """A state with an approved write, a waiting proposal, an entry, a switch and a guard."""
    with closing(open_state(path, clock=HandClock())) as opened:
        made = pending(opened, "r1", "a", "one")
        approving(opened, made.id)
        opened.canonical.apply(
            "a", "one", operation_key="op", expected_version=0, actor="ada@cli", run_id="r1"
        )
        opened.proposals.finish_apply(
            made.id, state=ProposalState.APPROVED, version=1, actor="ada@cli"
        )
        pending(opened, "r2", "b", "two")
        opened.journal.append(agent_id="a", scope="s", entry="e", decision=None, run_id="r1")
        opened.switches.set("paused", on=True, actor="ada@cli")
        opened.guards.remember(["/a"], {"/a": FileDigest(kind=PathKind.FILE)})
        assert opened.check() == []
        yield opened


def fill(state: SqliteState) -> None:
    """Leave the database no further page."""
    pages = state.database.rows("PRAGMA page_count")[0][0]
    state.database.rows(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_stores_nothing(state: SqliteState) -> None:
    """A write that does not fit is a clear error, and nothing of it is there."""
    before = kinds(state)
    fill(state)
    with pytest.raises(StoreProblem, match="the disk is full, nothing was stored") as caught:
        proposed(state, None, "big", MIB)
    assert "make room" in caught.value.hint
    assert kinds(state) == before
    assert state.check() == []
    state.database.rows("PRAGMA max_page_count = 100000")
    proposed(state, None, "big", MIB)


def test_a_full_disk_takes_the_whole_transaction(state: SqliteState) -> None:
    """Even where somebody swallows the error, no part of the outer transaction is committed."""
    before = kinds(state)

    def swallow() -> None:
        with state.transaction():
            claimed(state, "r3", "other")
            fill(state)
            with pytest.raises(StoreProblem, match="disk is full"):
                proposed(state, "r3", "big", MIB, job="other")
            if not state.database.connection.in_transaction:
                claimed(state, "r4", "third")
            raise KeyboardInterrupt

    with pytest.raises((StoreProblem, KeyboardInterrupt)):
        swallow()
    assert kinds(state) == before
    assert state.runs.unfinished() == []


def test_a_lost_transaction_is_not_continued(state: SqliteState) -> None:
    """After SQLite has ended a transaction by itself no statement commits on its own."""

    def lose_and_go_on() -> None:
        with state.transaction():
            claimed(state, "r3", "other")
            state.database.connection.execute("ROLLBACK")
            with pytest.raises(StoreProblem, match="the transaction is gone"):
                claimed(state, "r4", "third")

    with pytest.raises(StoreProblem, match="no transaction is active"):
        lose_and_go_on()
    assert state.runs.unfinished() == []
    claimed(state, "r5", "third")


def test_a_loss_inside_a_joined_write_is_told(state: SqliteState) -> None:
    """An inner write whose transaction is gone passes its own error on."""

    def lose_inside() -> None:
        with state.transaction(), state.transaction():
            state.database.connection.execute("ROLLBACK")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lose_inside()
    claimed(state, "r3", "other")


def test_a_statement_outside_a_transaction_is_refused(state: SqliteState) -> None:
    """Nothing can be changed but inside write()."""
    with pytest.raises(StoreProblem, match="transaction is gone"):
        state.database.change("x", "DELETE FROM journal")
    with pytest.raises(StoreProblem, match="transaction is gone"):
        state.database.change_many("x", "DELETE FROM journal WHERE id = ?", [("a",)])


def test_a_connection_that_cannot_roll_back_is_closed(state: SqliteState) -> None:
    """Better no connection than one with a transaction of unknown content."""
    wanted = state.database.connection

    class Stubborn:
        in_transaction = True

        def execute(self, sql: str, parameters: tuple[object, ...] = ()) -> sqlite3.Cursor:
            if sql in {"ROLLBACK", "COMMIT"}:
                raise sqlite3.OperationalError("disk I/O error")
            return wanted.execute(sql, parameters)

        def close(self) -> None:
            wanted.close()

    state.database.connection = Stubborn()  # type: ignore[assignment]
    with pytest.raises(StoreProblem, match="disk I/O error"):
        claimed(state, "r3", "other")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        wanted.execute("SELECT 1")


def test_a_locked_database_is_told_after_the_wait(path: Path, state: SqliteState) -> None:
    """A writer that never ends makes ours fail, with nothing stored."""
    state.database.rows("PRAGMA busy_timeout = 20")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreProblem, match="another process holds the database"):
            claimed(state, "r3", "other")
    claimed(state, "r3", "other")


def test_a_page_of_garbage_is_found(path: Path, state: SqliteState) -> None:
    """A damaged file is named as such by check and by whatever reads the page."""
    with state.transaction():
        for number in range(300):
            state.events.append("x.done", actor="harness", subject=f"{number}-{'y' * 400}")
    state.close()
    content = bytearray(path.read_bytes())
    for start in range(20 * 4096, len(content) - 4096, 8192):
        content[start : start + 2048] = b"\xff" * 2048
    path.write_bytes(content)
    with closing(open_state(path, clock=HandClock())) as damaged:
        findings = damaged.check()
        assert findings
        with pytest.raises(StoreDamaged, match="the database is damaged"):
            damaged.events.verify()


def test_text_that_no_utf8_can_hold_is_refused(state: SqliteState) -> None:
    """A lone surrogate in an id or a question is one clear line."""
    with pytest.raises(StoreProblem, match="lone surrogate"):
        state.runs.get("r\ud800")
    with pytest.raises(StoreProblem, match="lone surrogate"):
        claimed(state, "r\ud800", "other")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE events SET actor = 'eve'", "append-only"),
        ("DELETE FROM events WHERE id = 1", "append-only"),
        ("INSERT OR REPLACE INTO events SELECT * FROM events WHERE id = 2", "no holes"),
        (
            """INSERT INTO events SELECT 999, at, kind, actor, subject, facts, previous, hash
                FROM events WHERE id = 1""",
            "no holes",
        ),
        ("UPDATE canonical SET value = 'x'", "append-only"),
        ("DELETE FROM canonical", "append-only"),
        ("INSERT OR REPLACE INTO canonical SELECT * FROM canonical", "count by one"),
        (
            """INSERT INTO canonical SELECT 9, key, 5, value, sha256, updated_at, 'o', run_id, actor
                FROM canonical""",
            "count by one",
        ),
        (
            """INSERT OR REPLACE INTO canonical SELECT seq, 'z', 1, value, sha256, updated_at, 'o',
                run_id, actor FROM canonical""",
            "count by one",
        ),
        (
            """INSERT OR REPLACE INTO canonical SELECT 9, 'z', 1, value, sha256, updated_at,
                operation_key, run_id, actor FROM canonical""",
            "count by one",
        ),
        ("UPDATE runs SET outcome = 'untouched'", "never changes"),
    ],
)
def test_the_database_itself_holds_the_rules(
    path: Path, state: SqliteState, statement: str, words: str
) -> None:
    """Trail, history and closed runs cannot be rewritten by ordinary statements of any program."""
    with pytest.raises(sqlite3.IntegrityError, match=words):
        outside(path, statement)
    assert state.check() == []


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("UPDATE events SET facts = '{}' WHERE id = 3", "link 3 of the audit trail was altered"),
        ("UPDATE events SET hash = 'x' WHERE id = 3", "link 3 of the audit trail was altered"),
        (
            "UPDATE events SET previous = 'x' WHERE id = 3",
            "link 3 of the audit trail does not follow the one before it",
        ),
        ("DELETE FROM events WHERE id = 3", "link 3 of the audit trail is missing"),
        (
            "UPDATE canonical SET value = 'eve'",
            "canonical a version 1: its value does not match its digest",
        ),
        (
            "UPDATE canonical SET value = 'eve', sha256 = sha256('eve')",
            "canonical a version 1: no link of the audit trail put it there",
        ),
        (
            "DELETE FROM canonical",
            "canonical a version 1: the audit trail names it, but it is not there",
        ),
        (
            """INSERT INTO canonical SELECT 9, key, 2, value, sha256, updated_at, 'o', run_id, actor
                FROM canonical""",
            "canonical a version 2: no link of the audit trail put it there",
        ),
        (
            "UPDATE runs SET outcome = 'untouched' WHERE run_id = 'r1'",
            "run r1: its record does not match the audit trail",
        ),
        (
            "UPDATE runs SET record = replace(record, 'r1', 'r9') WHERE run_id = 'r1'",
            "run r1: its record does not match the audit trail",
        ),
        (
            "CREATE TRIGGER mine BEFORE INSERT ON runs BEGIN SELECT 1; END",
            "mine in the schema is not of the harness",
        ),
        ("DROP INDEX runs_open", "runs_open is missing from the schema"),
        (
            "INSERT INTO acknowledgements VALUES ('nobody', '', '', '')",
            "a row of acknowledgements names nothing in runs",
        ),
    ],
)
def test_check_finds_what_was_altered(
    path: Path, state: SqliteState, statement: str, finding: str
) -> None:
    """Whoever goes around the triggers and puts them back leaves a contradiction."""
    unguarded(path, statement)
    assert finding in state.check()


def test_check_finds_altered_proposals(path: Path, state: SqliteState) -> None:
    """A proposal's value cannot be exchanged, not even together with its digest."""
    approved, waiting = state.proposals.listed()
    outside(path, "UPDATE proposals SET value = 'eve' WHERE state = 'pending'")
    assert state.check() == [f"proposal {waiting.id}: its value does not match its digest"]
    outside(path, "UPDATE proposals SET value_sha256 = sha256('eve') WHERE state = 'pending'")
    assert state.check() == [f"proposal {waiting.id}: no link of the audit trail records it"]
    outside(path, "UPDATE proposals SET state = 'approved'")
    assert f"proposal {waiting.id}: approved, but the audit trail does not say so" in state.check()
    assert present(state, approved.id).state is ProposalState.APPROVED


def test_an_altered_value_is_not_approved(path: Path, state: SqliteState) -> None:
    """What no longer matches the digest that was shown is refused, with the reason."""
    waiting = state.proposals.listed()[1]
    outside(path, "UPDATE proposals SET value = 'eve' WHERE state = 'pending'")
    answer = state.proposals.begin_apply(
        waiting.id, value_sha256=waiting.value_sha256, quarantined=False, actor="ada@cli"
    )
    assert isinstance(answer, Refusal)
    assert "altered in the database" in answer.error


def test_check_finds_triggers_that_were_weakened(path: Path, state: SqliteState) -> None:
    """A trigger of the same name that lets everything pass is an altered one."""
    outside(
        path,
        "DROP TRIGGER events_no_update",
        "CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT 1; END",
    )
    assert state.check() == ["events_no_update in the schema was altered"]


def test_heads_tell_what_really_stands(path: Path, state: SqliteState) -> None:
    """A value altered behind the digest shows in the head, even where it is no text any more."""
    unguarded(path, "UPDATE canonical SET value = CAST(x'ff00' AS TEXT)")
    head = state.canonical.heads()["a"]
    assert head.sha256 != sha256_of("one")
    assert state.canonical.approved_since(0) == []
    with pytest.raises(StoreDamaged, match="not UTF-8"):
        state.canonical.read("a")


def test_many_findings_are_cut_short(path: Path, state: SqliteState) -> None:
    """A long list names the first ones and counts the rest."""
    for number in range(30):
        proposed(state, None, f"k{number}")
    outside(path, "UPDATE proposals SET value = 'eve'")
    findings = state.check()
    assert len(findings) == 21
    assert findings[-1] == "proposal …: its value does not match its digest (12 more)"


def test_facts_that_are_no_json_are_a_finding(path: Path, state: SqliteState) -> None:
    """A part of the check that cannot run is itself a finding."""
    unguarded(path, "UPDATE events SET facts = '{' WHERE kind = 'canonical.applied'")
    assert any("malformed JSON" in finding for finding in state.check())


READS: dict[str, tuple[str, Callable[[SqliteState], object]]] = {
    "events.facts": ("UPDATE events SET facts = '[]'", lambda state: state.events.listed()),
    "events.at": ("UPDATE events SET at = 'soon'", lambda state: state.now()),
    "events.at listed": ("UPDATE events SET at = 'x'", lambda state: state.events.listed()),
    "applied facts": (
        "UPDATE events SET facts = '{}'",
        lambda state: state.canonical.approved_since(0),
    ),
    "runs.record": ("UPDATE runs SET record = '{}'", lambda state: state.runs.recent()),
    "runs.started_at": (
        "UPDATE runs SET started_at = 'x', ended_at = NULL, outcome = NULL, record = NULL",
        lambda state: state.runs.unfinished(),
    ),
    "runs.guards": (
        "UPDATE runs SET guards = '7', ended_at = NULL, outcome = NULL, record = NULL",
        lambda state: claimed(state, "r9", "other"),
    ),
    "proposals.state": (
        "UPDATE proposals SET state = 'maybe'",
        lambda state: state.proposals.listed(),
    ),
    "proposals.expires_at": (
        "UPDATE proposals SET expires_at = 'never'",
        lambda state: state.proposals.of_run("r1"),
    ),
    "canonical.value": (
        "UPDATE canonical SET value = x'00'",
        lambda state: state.canonical.read("a"),
    ),
    "journal.created_at": (
        "UPDATE journal SET created_at = 'x'",
        lambda state: state.journal.listed(),
    ),
    "switches.at": ("UPDATE switches SET at = 'x'", lambda state: state.switches.get("paused")),
    "guards": ("UPDATE guard_digests SET digest = '7'", lambda state: state.guards.known(["/a"])),
}


@pytest.mark.parametrize("name", sorted(READS))
def test_a_row_that_makes_no_sense_is_damage(path: Path, state: SqliteState, name: str) -> None:
    """A column that does not hold what this program writes is an error, never a guess."""
    statement, read = READS[name]
    unguarded(path, "DROP INDEX runs_open", statement)
    with pytest.raises(StoreDamaged):
        read(state)


def test_a_run_recorded_twice_is_refused_by_the_database(state: SqliteState) -> None:
    """A broken rule of the database is told as such."""
    run = record(state, "r1")
    ran(state, "r8", "other")
    with pytest.raises(StoreProblem, match="breaks its rules"), state.transaction():
        state.database.change("x", "UPDATE runs SET record = NULL WHERE run_id = ?", (run.run_id,))
