"""Every backend: audit trail, store time, transactions, journal, switches, guards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from harness.core.evidence import FileDigest, PathKind
from harness.core.tiers import JOURNAL_LIFETIME, VALUE_LIMIT
from harness.errors import GateRefused, StoreProblem
from harness.stores.protocols import State, Switch
from tests.helpers.states import START, HandClock, claimed, kinds, pending, proposed, record


class Pulled(BaseException):
    """The plug, as far as one process can tell."""


def test_links_hang_together(state: State, clock: HandClock) -> None:
    """Ids count from 1, each link holds the hash of the one before, and the chain verifies."""
    assert state.events.head() == (0, "")
    assert state.events.verify() is None
    first = state.events.append("run.claimed", actor="harness", subject="r1")
    clock.forward(seconds=1)
    second = state.events.append(
        "run.closed", actor="ada\ud800@cli", subject="r1", facts={"b": "2", "a": "1"}
    )
    assert (first.id, first.previous, first.facts) == (1, "", {})
    assert (second.id, second.previous) == (2, first.hash)
    assert (second.at, second.actor, dict(second.facts)) == (
        clock.at,
        "ada?@cli",
        {"a": "1", "b": "2"},
    )
    assert len({first.hash, second.hash}) == 2
    assert state.events.head() == (2, second.hash)
    assert state.events.listed() == [first, second]
    assert state.events.listed(after=1) == [second]
    assert state.events.listed(limit=1) == [first]
    assert state.events.listed(limit=-1) == []
    assert state.events.verify() is None


def test_a_long_chain_verifies(state: State) -> None:
    """More links than are read at once are verified all the same."""
    with state.transaction():
        for number in range(1203):
            state.events.append("x.done", actor="harness", subject=str(number))
    assert state.events.verify() is None
    assert len(state.events.listed()) == 1000


def test_store_time_does_not_go_back(state: State, clock: HandClock) -> None:
    """When the clock goes back, time stands still at the last stored time and the lag is told."""
    assert (state.now(), state.clock_lag_s()) == (START, 0.0)
    claimed(state, "r1")
    clock.forward(hours=-1)
    assert (state.now(), state.clock_lag_s()) == (START, 3600.0)
    made = proposed(state, "r1")
    assert made.created_at == START
    clock.forward(hours=2)
    assert state.now() == START + timedelta(hours=1)
    assert state.clock_lag_s() == 0.0


def test_a_clock_that_goes_back_gives_no_extra_time(state: State, clock: HandClock) -> None:
    """A proposal that was past its time by stored time stays so."""
    made = pending(state, "r1")
    clock.at = made.expires_at
    state.switches.set("paused", on=True, actor="ada@cli")
    clock.at = START
    answer = state.proposals.begin_apply(
        made.id, value_sha256=None, quarantined=False, actor="ada@cli"
    )
    assert "expired" in repr(answer)


def test_times_are_utc_milliseconds(state: State, clock: HandClock) -> None:
    """Whatever zone and precision the clock has, what is returned is what will be read."""
    east = timezone(timedelta(hours=9))
    clock.at = datetime(2026, 12, 1, 0, 0, 0, 123_999, tzinfo=east)
    made = state.events.append("x.done", actor="harness", subject="x")
    assert made.at == datetime(2026, 11, 30, 15, 0, 0, 123_000, tzinfo=UTC)
    assert state.events.listed() == [made]


def test_a_transaction_joins_writes(state: State, reopen: Callable[..., State]) -> None:
    """Nobody else sees the first write before the last one is committed."""
    other = reopen()
    with state.transaction():
        claimed(state, "r1")
        with state.transaction():
            proposed(state, "r1")
        assert other.runs.unfinished() == []
    assert len(other.runs.unfinished()) == 1
    assert kinds(other) == ["run.claimed", "proposal.proposed"]


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_failed_transaction_leaves_nothing(state: State, problem: type[BaseException]) -> None:
    """Any exception, an interrupt included, takes everything back and leaves the state usable."""

    def fail() -> None:
        with state.transaction():
            claimed(state, "r1")
            proposed(state, "r1")
            raise problem

    with pytest.raises(problem):
        fail()
    assert (state.runs.unfinished(), kinds(state)) == ([], [])
    claimed(state, "r1")


def test_an_inner_failure_takes_back_its_own_part(state: State) -> None:
    """Who catches the failure of one write may still commit the others."""

    def propose_and_fail() -> None:
        with state.transaction():
            proposed(state, "r1")
            state.runs.close(record(state, "nobody"))

    with state.transaction():
        claimed(state, "r1")
        with pytest.raises(StoreProblem):
            propose_and_fail()
        claimed(state, "r2", "site")
    assert kinds(state) == ["run.claimed", "run.claimed"]
    assert state.proposals.listed() == []
    assert state.check() == []


def test_every_write_can_fail_without_harm(reopen: Callable[..., State]) -> None:
    """Stopped before any single write of a claim, the store holds nothing of it and goes on."""
    left = -1

    def pull(_name: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Pulled

    state = reopen(pull)
    stops = 0
    for count in range(1, 10):
        left = count
        try:
            claimed(state, "r1")
        except Pulled:
            stops += 1
            assert (state.runs.unfinished(), kinds(state)) == ([], [])
        else:
            break
    left = -1
    assert stops == 3
    assert kinds(state) == ["run.claimed"]
    assert state.check() == []


def test_a_sound_state_has_no_contradictions(state: State) -> None:
    """Check is empty for a state that only this program has written."""
    pending(state, "r1")
    proposed(state, None, "other")
    state.switches.set("paused", on=False, actor="ada@cli")
    assert state.check() == []


def test_journal_entries_last_thirty_days(state: State, clock: HandClock) -> None:
    """An entry is listed until its lifetime is over, then it is gone."""
    made = state.journal.append(
        agent_id="deps", scope="notes", entry="did it", decision="do it", run_id="r1"
    )
    assert (made.agent_id, made.scope, made.entry) == ("deps", "notes", "did it")
    assert (made.decision, made.run_id) == ("do it", "r1")
    assert made.expires_at == made.created_at + JOURNAL_LIFETIME
    clock.at = made.expires_at - timedelta(milliseconds=1)
    assert state.journal.listed() == [made]
    clock.at = made.expires_at
    assert state.journal.listed() == []
    young = state.journal.append(
        agent_id="deps", scope="notes", entry="new", decision=None, run_id=None
    )
    assert state.journal.listed() == [young]
    assert state.journal.count_of_run("r1") == (0, 0)


def test_the_journal_is_listed_newest_first(state: State) -> None:
    """By agent, by scope, by both, or all; as many as asked for."""
    for agent, scope, entry in (("a", "x", "1"), ("b", "x", "2"), ("a", "y", "3"), ("a", "x", "4")):
        state.journal.append(agent_id=agent, scope=scope, entry=entry, decision=None, run_id=None)

    def entries(**question: str) -> str:
        return "".join(found.entry for found in state.journal.listed(**question))  # type: ignore[arg-type]

    assert entries() == "4321"
    assert entries(agent_id="a") == "431"
    assert entries(scope="x") == "421"
    assert entries(agent_id="a", scope="x") == "41"
    assert entries(agent_id="nobody") == ""
    assert [found.entry for found in state.journal.listed(limit=2)] == ["4", "3"]
    assert state.journal.listed(limit=-1) == []


def test_a_runs_journal_is_counted_in_bytes(state: State) -> None:
    """Entries of one run, and their UTF-8 bytes, a NUL included."""
    for entry in ("äb", "\u0000☃"):
        state.journal.append(agent_id="a", scope="s", entry=entry, decision=None, run_id="r1")
    state.journal.append(agent_id="a", scope="s", entry="x", decision=None, run_id="r2")
    assert state.journal.count_of_run("r1") == (2, 7)
    assert state.journal.count_of_run("r3") == (0, 0)


@pytest.mark.parametrize(
    ("entry", "decision"), [("\ud800", None), ("x" * (VALUE_LIMIT + 1), None), ("x", "\ud800")]
)
def test_the_journal_is_bounded(state: State, entry: str, decision: str | None) -> None:
    """What is no text or too long is refused."""
    with pytest.raises(GateRefused, match="journal"):
        state.journal.append(agent_id="a", scope="s", entry=entry, decision=decision, run_id=None)
    assert state.journal.listed() == []


def test_switches_remember_who(state: State, clock: HandClock) -> None:
    """A switch holds its last throw; the trail holds every one."""
    assert state.switches.get("paused") is None
    thrown = state.switches.set("paused", on=True, actor="ada@cli", detail="holiday")
    assert thrown == Switch(name="paused", on=True, at=START, actor="ada@cli", detail="holiday")
    assert state.switches.get("paused") == thrown
    clock.forward(days=1)
    state.switches.set("paused", on=False, actor="bob@cli")
    assert state.switches.get("paused") == Switch(
        name="paused", on=False, at=clock.at, actor="bob@cli", detail=""
    )
    assert kinds(state) == ["switch.set", "switch.set"]
    assert [event.facts["on"] for event in state.events.listed()] == ["true", "false"]


def digest(text: str, **changes: int) -> FileDigest:
    """A file's digest that differs by its text."""
    values: dict[str, int] = {"mode": 0o644, "inode": 2**64 - 1, "mtime_ns": -5}
    return FileDigest(kind=PathKind.FILE, sha256=text, **(values | changes))


def test_guards_are_remembered_below_their_roots(state: State) -> None:
    """Known is what stands at and below the roots, whatever bytes the names are made of."""
    odd = "/srv/a/caf\udce9 \n☃"
    tree = {"/srv/a": digest("1"), "/srv/a/x": digest("2"), odd: digest("3")}
    beside = {"/srv/a.txt": digest("4"), "/srv/a0": digest("5"), "/srv/ab/x": digest("6")}
    state.guards.remember(["/srv/a"], tree)
    state.guards.remember(list(beside), beside)
    assert state.guards.known(["/srv/a"]) == tree
    assert state.guards.known(["/srv/a/"]) == tree
    assert state.guards.known(["/srv/a/x"]) == {"/srv/a/x": digest("2")}
    assert state.guards.known(["/srv/a.txt", "/srv/ab"]) == {
        "/srv/a.txt": digest("4"),
        "/srv/ab/x": digest("6"),
    }
    assert state.guards.known(["/"]) == tree | beside
    assert state.guards.known(["/nothing"]) == {}
    assert state.guards.known([]) == {}
    assert state.check() == []


def test_a_snapshot_replaces_what_was_known(state: State) -> None:
    """Paths that are gone are forgotten, below these roots only; no change writes nothing."""
    state.guards.remember(
        ["/a", "/b"], {"/a/x": digest("1"), "/a/y": digest("2"), "/b": digest("3")}
    )
    new = {"/a/x": digest("1", mode=0o600), "/a/z": digest("4")}
    state.guards.remember(["/a"], new)
    assert state.guards.known(["/a", "/b"]) == new | {"/b": digest("3")}
    before = state.events.head()
    state.guards.remember(["/a"], new)
    assert state.events.head() == before
    state.guards.remember(["/a"], {})
    assert state.guards.known(["/a"]) == {}
    assert kinds(state) == ["guards.remembered"] * 3
    told = [set(event.facts) for event in state.events.listed()]
    assert told == [{"paths", "/a", "/b"}, {"paths", "/a"}, {"paths", "/a"}]
    assert state.check() == []
