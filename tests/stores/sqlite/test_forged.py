"""Decisions that nobody made, written into the database by hand: the check names each."""

# ruff: noqa: S608 - a forger's statements are made of ids that the harness gave

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.core.evidence import FileDigest, PathKind
from harness.core.model import Outcome
from harness.core.tiers import ProposalState
from harness.stores.sqlite import SqliteState, open_state
from tests.helpers.forging import unguarded
from tests.helpers.states import (
    HandClock,
    approving,
    claimed,
    pending,
    proposed,
    quarantined,
    ran,
    record,
)

ACKNOWLEDGED = "acknowledgement of run bypass: the audit trail"
STATE = "proposal {}: its state is not the one that the audit trail gives it"
FACTS = "proposal {}: key, run, base or times are not those that the audit trail gives it"
GONE = "the audit trail names it, but it is not there"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database lies."""
    return tmp_path / "harness.db"


@pytest.fixture
def clock() -> HandClock:
    """A clock that a test moves."""
    return HandClock()


@pytest.fixture
def state(path: Path, clock: HandClock) -> Iterator[SqliteState]:
    """A state in which everything was decided once; sound until somebody forges it."""
    with closing(open_state(path, clock=clock)) as opened:
        ran(opened, "bypass", "site", Outcome.BYPASSED)
        opened.runs.acknowledge("bypass", reason="seen", actor="ada@cli")
        opened.switches.set("paused", on=False, actor="ada@cli")
        opened.switches.set("accepted:deps", on=True, actor="ada@cli", detail="d1")
        opened.journal.append(agent_id="a", scope="s", entry="e", decision="d", run_id="bypass")
        opened.guards.remember(
            ["/w/data", "/w/.git"],
            {
                "/w/data": FileDigest(kind=PathKind.FOLDER),
                "/w/data/x": FileDigest(kind=PathKind.FILE, sha256="1"),
            },
        )
        yield opened
        opened.close()


def forged(path: Path, state: SqliteState, *statements: str) -> list[str]:
    """Return what the check says after statements that no rule stopped."""
    assert state.check() == []
    unguarded(path, *statements)
    return state.check()


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        (
            "UPDATE acknowledgements SET reason = 'fine'",
            f"{ACKNOWLEDGED} does not say so",
        ),
        ("UPDATE acknowledgements SET actor = 'eve'", f"{ACKNOWLEDGED} does not say so"),
        ("DELETE FROM acknowledgements", f"{ACKNOWLEDGED} names it, but it is not there"),
        (
            "UPDATE switches SET detail = 'd2' WHERE name = 'accepted:deps'",
            "switch accepted:deps: it does not stand as the audit trail says",
        ),
        (
            "INSERT INTO switches VALUES ('accepted:evil', 1, '', 'ada@cli', 'd9')",
            "switch accepted:evil: it does not stand as the audit trail says",
        ),
        (
            "UPDATE switches SET is_on = 1 WHERE name = 'paused'",
            "switch paused: it does not stand as the audit trail says",
        ),
        (
            "UPDATE switches SET is_on = 7 WHERE name = 'paused'",
            "switch paused: it does not stand as the audit trail says",
        ),
        (
            "UPDATE switches SET actor = 'eve' WHERE name = 'paused'",
            "switch paused: it does not stand as the audit trail says",
        ),
        ("DELETE FROM switches WHERE name = 'paused'", f"switch paused: {GONE}"),
        ("UPDATE journal SET id = 'j', entry = 'f'", "journal entry j: it does not match"),
        ("UPDATE journal SET agent_id = 'b'", "it does not match the audit trail"),
        ("UPDATE journal SET scope = 't'", "it does not match the audit trail"),
        ("UPDATE journal SET decision = NULL", "it does not match the audit trail"),
        ("UPDATE journal SET run_id = 'other'", "it does not match the audit trail"),
        (
            "UPDATE journal SET expires_at = '2099-01-01T00:00:00.000Z'",
            "it does not match the audit trail",
        ),
        ("DELETE FROM journal", GONE),
        (
            "UPDATE guard_digests SET digest = replace(digest, '\"1\"', '\"2\"')",
            "guard /w/data: what is known of it is not what the audit trail says",
        ),
        (
            "DELETE FROM guard_digests WHERE path = CAST('/w/data/x' AS BLOB)",
            "guard /w/data: what is known of it is not what the audit trail says",
        ),
        (
            """INSERT INTO guard_digests
                SELECT CAST('/etc/x' AS BLOB), digest FROM guard_digests LIMIT 1""",
            "guard /etc/x: no link of the audit trail put it there",
        ),
        ("DELETE FROM runs", f"run bypass: {GONE}"),
        (
            "UPDATE runs SET ended_at = NULL, outcome = NULL, record = NULL",
            "run bypass: it is open, but the audit trail says that it was closed",
        ),
    ],
)
def test_a_forged_row_is_named(
    path: Path, state: SqliteState, statement: str, finding: str
) -> None:
    """What no event of the trail stands behind is a contradiction."""
    assert any(finding in said for said in forged(path, state, statement))


def test_a_proposal_has_the_state_of_its_last_event(path: Path, state: SqliteState) -> None:
    """Every move of a proposal leaves the row and the trail in agreement."""
    waiting = pending(state, "r1", "a").id
    bad = quarantined(state, "r2", "b").id
    claimed(state, "r3", "other")
    new = proposed(state, "r3", "c", job="other").id
    changed = proposed(state, "r3", "c", "again", job="other").id
    applying = pending(state, "r4", "d", job="fourth").id
    approving(state, applying)
    shell = proposed(state, None, "e").id
    findings = forged(
        path,
        state,
        f"UPDATE proposals SET state = 'rejected' WHERE id = '{waiting}'",
        f"UPDATE proposals SET state = 'pending' WHERE id = '{bad}'",
        f"UPDATE proposals SET state = 'proposed' WHERE id = '{new}'",
        f"UPDATE proposals SET state = 'quarantined' WHERE id = '{changed}'",
        f"UPDATE proposals SET state = 'pending' WHERE id = '{applying}'",
        f"UPDATE proposals SET state = 'proposed' WHERE id = '{shell}'",
    )
    forgeries = (waiting, bad, new, changed, applying, shell)
    assert {STATE.format(each) for each in forgeries} <= set(findings)


def test_ends_of_a_proposal_agree_with_the_trail(
    path: Path, state: SqliteState, clock: HandClock
) -> None:
    """Rejected, given back, approved, in conflict, expired: sound as the harness writes them."""
    rejected = pending(state, "r1", "a").id
    state.proposals.reject(rejected, reason="no", actor="ada@cli")
    returned = quarantined(state, "r2", "b").id
    approving(state, returned)
    state.proposals.finish_apply(
        returned, state=ProposalState.PENDING, version=None, actor="ada@cli"
    )
    conflict = pending(state, "r3", "c", job="third").id
    approving(state, conflict)
    state.proposals.finish_apply(
        conflict, state=ProposalState.CONFLICT, version=None, actor="harness"
    )
    approved = pending(state, "r5", "e", job="fifth").id
    approving(state, approved)
    applied = state.canonical.apply(
        "e", "new", operation_key="op", expected_version=0, actor="ada@cli", run_id="r5"
    )
    state.proposals.finish_apply(
        approved, state=ProposalState.APPROVED, version=applied.version, actor="ada@cli"
    )
    expired = pending(state, "r6", "f", job="sixth").id
    clock.forward(days=4)
    state.proposals.sweep()
    findings = forged(
        path,
        state,
        f"UPDATE proposals SET decision_reason = 'yes' WHERE id = '{rejected}'",
        f"UPDATE proposals SET state = 'pending' WHERE id = '{returned}'",
        f"UPDATE proposals SET state = 'approved' WHERE id = '{conflict}'",
        f"UPDATE proposals SET applied_version = 2 WHERE id = '{approved}'",
        f"UPDATE proposals SET state = 'pending' WHERE id = '{expired}'",
    )
    forgeries = (rejected, returned, conflict, approved, expired)
    assert {STATE.format(each) for each in forgeries} <= set(findings)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("key = 'prod/secret'", FACTS),
        ("run_id = 'r9'", FACTS),
        ("base_version = 3", FACTS),
        ("expires_at = '2099-01-01T00:00:00.000Z'", FACTS),
        ("created_at = '2026-12-02T02:30:00.000Z', expires_at = '2026-12-05T02:30:00.000Z'", FACTS),
        ("decided_by = 'eve'", "proposal {}: who decided is not who the audit trail names"),
    ],
)
def test_what_a_proposal_says_of_itself_is_held_too(
    path: Path, state: SqliteState, change: str, finding: str
) -> None:
    """Key, run, base, life and the person who decided stand in the trail."""
    made = pending(state, "r1", "a").id
    approving(state, made)
    assert finding.format(made) in forged(path, state, f"UPDATE proposals SET {change}")


def test_a_deleted_proposal_is_named(path: Path, state: SqliteState) -> None:
    """A proposal that is not there any more was taken away by somebody."""
    made = pending(state, "r1", "a").id
    findings = forged(path, state, "DELETE FROM proposals")
    assert f"proposal {made}: {GONE}" in findings


def test_forgotten_entries_and_paths_are_no_contradiction(
    state: SqliteState, clock: HandClock
) -> None:
    """What the harness itself forgets, or remembers anew above or below, is sound."""
    clock.forward(days=31)
    state.journal.append(agent_id="a", scope="s", entry="f", decision=None, run_id=None)
    state.guards.remember(["/w/data/x"], {"/w/data/x": FileDigest(kind=PathKind.FILE, sha256="2")})
    assert state.check() == []
    state.guards.remember(["/w"], {"/w/y": FileDigest(kind=PathKind.FILE, sha256="3")})
    assert state.check() == []
    state.runs.record_refused(record(state, "r7", "site", Outcome.REFUSED))
    assert state.check() == []


def test_a_link_of_the_guards_that_makes_no_sense_is_damage(path: Path, state: SqliteState) -> None:
    """The rows cannot be held to a link that cannot be read, and that is said."""
    findings = forged(path, state, "UPDATE events SET facts = '7' WHERE kind LIKE 'guards.%'")
    assert any("of the audit trail" in said and "was altered" not in said for said in findings)
