"""Every backend: canonical data and what the audit trail explains of it."""

from __future__ import annotations

import pytest

from harness.core.evidence import ApprovedChange, Head
from harness.core.tiers import CanonicalValue, sha256_of
from harness.errors import GateRefused, StoreProblem
from harness.stores.protocols import Applied, Conflict, State
from tests.helpers.states import START, HandClock, kinds


def write(
    state: State, key: str, value: str, expected: int, operation: str | None = None
) -> Applied | Conflict:
    """Apply a write whose operation key is its own unless given."""
    return state.canonical.apply(
        key,
        value,
        operation_key=operation or f"{key}@{expected}",
        expected_version=expected,
        actor="ada@cli",
        run_id="r1",
    )


def test_versions_count_from_one(state: State, clock: HandClock) -> None:
    """Each write is the next version; the newest is read, all of them are kept."""
    assert state.canonical.read("a") is None
    assert write(state, "a", "one", 0) == Applied(version=1)
    clock.forward(seconds=1)
    assert write(state, "a", "two", 1) == Applied(version=2)
    assert write(state, "b", "else", 0) == Applied(version=1)
    newest = state.canonical.read("a")
    assert newest == CanonicalValue(
        key="a",
        value="two",
        version=2,
        sha256=sha256_of("two"),
        updated_at=clock.at,
        operation_key="a@1",
        run_id="r1",
        actor="ada@cli",
    )
    history = state.canonical.history("a")
    assert [(value.version, value.value) for value in history] == [(2, "two"), (1, "one")]
    assert history[1].updated_at == START


def test_a_write_needs_no_run(state: State) -> None:
    """What a person writes from a shell belongs to no run."""
    state.canonical.apply(
        "a", "one", operation_key="o", expected_version=0, actor="ada@cli", run_id=None
    )
    newest = state.canonical.read("a")
    assert newest is not None
    assert newest.run_id is None
    assert "run_id" not in state.events.listed()[0].facts


@pytest.mark.parametrize("expected", [0, 2, -1])
def test_a_moved_base_is_a_conflict(state: State, expected: int) -> None:
    """Against any other version than the present one nothing is written."""
    write(state, "a", "one", 0)
    before = state.events.head()
    assert write(state, "a", "two", expected, "o") == Conflict(version=1)
    assert state.events.head() == before
    assert state.canonical.operation("o") is None


def test_a_base_that_is_not_there_is_a_conflict(state: State) -> None:
    """A key that does not exist has version 0."""
    assert write(state, "a", "one", 1) == Conflict(version=0)


def test_an_operation_happens_once(state: State) -> None:
    """The same operation again, even after later versions, answers what it did the first time."""
    write(state, "a", "one", 0, "op")
    write(state, "a", "two", 1)
    assert write(state, "a", "one", 0, "op") == Applied(version=1)
    assert state.canonical.operation("op") == Applied(version=1)
    assert state.canonical.operation("other") is None
    assert len(state.canonical.history("a")) == 2
    assert kinds(state) == ["canonical.applied"] * 2


@pytest.mark.parametrize(("key", "value"), [("a", "other"), ("b", "one")])
def test_an_operation_key_stands_for_one_write(state: State, key: str, value: str) -> None:
    """An operation key used for something else is an error, never a false 'applied'."""
    write(state, "a", "one", 0, "op")
    with pytest.raises(StoreProblem, match="another value"):
        write(state, key, value, 0, "op")


@pytest.mark.parametrize(("key", "value"), [("/a", "v"), ("a", "\ud800")])
def test_what_cannot_be_stored_is_refused(state: State, key: str, value: str) -> None:
    """The bounds of keys and values hold for this way in too."""
    with pytest.raises(GateRefused):
        write(state, key, value, 0)


def test_heads_show_what_stands(state: State) -> None:
    """Every key has one head: its newest version and the digest of that value."""
    assert state.canonical.heads() == {}
    write(state, "a", "one", 0)
    write(state, "a", "zwei ☃", 1)
    write(state, "b", "", 0)
    assert state.canonical.heads() == {
        "a": Head(version=2, sha256=sha256_of("zwei ☃")),
        "b": Head(version=1, sha256=sha256_of("")),
    }


def test_applied_writes_are_explained(state: State) -> None:
    """approved_since names the writes after an event, in order."""
    write(state, "a", "one", 0)
    since, _ = state.events.head()
    write(state, "b", "two", 0)
    write(state, "a", "three", 1)
    changes = [
        ApprovedChange(location="canonical:b", sha256=sha256_of("two")),
        ApprovedChange(location="canonical:a", sha256=sha256_of("three")),
    ]
    assert state.canonical.approved_since(since) == changes
    assert len(state.canonical.approved_since(0)) == 3
    assert state.canonical.approved_since(state.events.head()[0]) == []


def test_an_event_alone_explains_nothing(state: State) -> None:
    """A link that names a version which is not there, or holds else, is no approval."""
    write(state, "a", "one", 0)
    since, _ = state.events.head()
    for version, value in (("2", "one"), ("1", "two")):
        state.events.append(
            "canonical.applied",
            actor="eve@cli",
            subject="a",
            facts={"version": version, "sha256": sha256_of(value)},
        )
    assert state.canonical.approved_since(since) == []
    assert state.check() != []
