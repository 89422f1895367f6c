"""The rules of the gate: bounds, tiers, proposals, and what approving may and may not do."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.core.frames import WriteAnswer
from harness.core.limits import GateLimits
from harness.core.model import Outcome
from harness.core.tiers import (
    VALUE_LIMIT,
    JournalEntry,
    Proposal,
    ProposalState,
    Tier,
    sha256_of,
)
from harness.errors import GateRefused, StoreProblem, UnknownName
from harness.services import gate as gate_module
from harness.services.gate import (
    DecisionResult,
    Gate,
    Writer,
    approve,
    canonical_value,
    find,
    operation_key,
    reject,
    settle_applying,
)
from harness.stores.protocols import State
from tests.helpers.doors import RUN, Scene, short_folder, write
from tests.helpers.states import (
    HandClock,
    approving,
    claimed,
    kinds,
    open_sqlite,
    pending,
    present,
    proposed,
    quarantined,
    record,
)

LIFETIME_S = 259_200
ADA = "ada@cli"


@pytest.fixture
def clock() -> HandClock:
    """A clock that the test moves."""
    return HandClock()


@pytest.fixture
def state(tmp_path: Path, clock: HandClock) -> Iterator[State]:
    """A real store."""
    made = open_sqlite(tmp_path, clock)
    yield made
    made.close()


def gate_of(state: State, run_id: str | None = RUN, **limits: int) -> Gate:
    """Return the gate of a run that may touch every tier."""
    if run_id is not None:
        claimed(state, run_id)
    writer = Writer(
        agent_id="deps", tiers=tuple(Tier), run_id=run_id, job="deps" if run_id else None
    )
    return Gate(state, GateLimits(**limits), writer)


def propose(gate: Gate, key: str = "ads/floor", value: str = "1", reason: str = "why") -> str:
    """Propose a canonical write and return its id."""
    answer = gate.write(key, Tier.CANONICAL, value, reason)
    assert answer.pending_id is not None
    return answer.pending_id


def said_yes(state: State, proposal_id: str, **changes: Any) -> DecisionResult:
    """Approve as a person at a shell."""
    values = {"actor": ADA, "value_sha256": None, "quarantined": False, **changes}
    return approve(state, proposal_id, **values)


def nothing_stored(state: State) -> bool:
    """Return whether neither a proposal nor an entry nor a value is there."""
    return not (
        state.proposals.listed() or state.journal.listed(limit=10) or state.canonical.heads()
    )


# --- what a write may be ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/a",
        "a/../b",
        "..",
        "a b",
        "a\n",
        "ä",
        "a\0",
        "k" * 513,
        "\u202ea",
        "a\x1b[2J",
        "%2e%2e",
    ],
)
@pytest.mark.parametrize("tier", list(Tier))
def test_a_key_that_is_none_is_refused(state: State, tier: Tier, key: str) -> None:
    """Every tier takes the same keys, and says what a key is."""
    gate = gate_of(state)
    with pytest.raises(GateRefused, match="a key"):
        gate.write(key, tier, "v", "why")
    assert nothing_stored(state)


@pytest.mark.parametrize("key", ["a", "k" * 512, "A-Z.0_9:/x", "a.b", ".", "-", "a//b", ":"])
def test_keys_up_to_the_edge_are_taken(state: State, key: str) -> None:
    """The longest and the oddest keys pass, and come back as they were given."""
    proposal_id = propose(gate_of(state), key)
    assert present(state, proposal_id).key == key


@pytest.mark.parametrize("reason", ["", " ", "\n\t ", "\u2003\u00a0"])
def test_a_write_needs_a_reason(state: State, reason: str) -> None:
    """Blanks are no reason, in any tier."""
    gate = gate_of(state)
    for tier in Tier:
        with pytest.raises(GateRefused, match="a reason is required"):
            gate.write("k", tier, "v", reason)
    assert nothing_stored(state)


def test_values_up_to_the_bound_are_taken_and_one_byte_more_is_refused(state: State) -> None:
    """Bytes of UTF-8 count, not characters; the message names both numbers."""
    gate = gate_of(state, value_bytes=10)
    propose(gate, value="é" * 5)
    with pytest.raises(GateRefused, match=r"^value: at most 10 bytes of UTF-8, this one has 11$"):
        propose(gate, value="é" * 5 + "x")
    assert len(state.proposals.listed()) == 1


def test_no_rule_lets_a_value_over_the_limit_of_the_store(state: State) -> None:
    """A bound that somebody set too high does not lift what every store can hold."""
    gate = gate_of(state, value_bytes=VALUE_LIMIT * 2)
    with pytest.raises(GateRefused, match=f"at most {VALUE_LIMIT}"):
        propose(gate, value="x" * (VALUE_LIMIT + 1))
    propose(gate, value="x" * VALUE_LIMIT)


@pytest.mark.parametrize("value", ["", "\0", "\x1b[2J", "\u202e", "a\r\nb", "\ufffe", "{", "🎌"])
def test_any_text_is_a_value_byte_for_byte(state: State, value: str) -> None:
    """Empty, NUL, escapes and non-characters are held as they are; showing them is another's."""
    made = present(state, propose(gate_of(state), value=value, reason=f"because {value}."))
    assert (made.value, made.reason) == (value, f"because {value}.")
    assert made.value_sha256 == sha256_of(value)
    assert state.check() == []


def test_a_lone_surrogate_is_no_text(state: State) -> None:
    """What cannot be UTF-8 is refused by the name of the field it stands in."""
    gate = gate_of(state)
    with pytest.raises(GateRefused, match=r"^value: expected UTF-8"):
        propose(gate, value="\ud800")
    with pytest.raises(GateRefused, match=r"^reason: expected UTF-8"):
        propose(gate, reason="a\udfff")
    with pytest.raises(GateRefused, match=r"^entry: expected UTF-8"):
        gate.append("s", "\ud800", None)
    with pytest.raises(GateRefused, match=r"^decision: expected UTF-8"):
        gate.append("s", "e", "\ud800")
    assert nothing_stored(state)


def test_a_reason_has_a_bound(state: State) -> None:
    """A reason is for a person to read; one over the bound is refused, not cut."""
    gate = gate_of(state, reason_bytes=8)
    propose(gate, reason="12345678")
    with pytest.raises(GateRefused, match=r"^reason: at most 8 bytes .* this one has 9$"):
        propose(gate, "other", reason="123456789")
    with pytest.raises(GateRefused, match=r"^decision: at most 8 bytes"):
        gate.append("s", "e", "123456789")
    assert len(state.proposals.listed()) == 1


def test_a_writer_touches_only_its_tiers(state: State) -> None:
    """The refusal names the tier and those that the job declares; nothing is stored."""
    claimed(state, RUN)
    for tiers in ((Tier.JOURNAL,), (Tier.CANONICAL,), ()):
        gate = Gate(state, GateLimits(), Writer(agent_id="a", tiers=tiers, run_id=RUN, job="deps"))
        for tier in set(Tier) - set(tiers):
            with pytest.raises(GateRefused, match=f"does not declare the {tier} tier") as refused:
                gate.write("k", tier, "v", "why")
            assert refused.value.hint
            assert ", ".join(tiers) or "none" in str(refused.value)
        if Tier.JOURNAL not in tiers:
            with pytest.raises(GateRefused, match="journal"):
                gate.append("s", "e", None)
    assert nothing_stored(state)


# --- proposals of a run ----------------------------------------------------------------------


def test_a_run_proposes_up_to_its_bound(state: State) -> None:
    """One over the bound is taken back whole: not stored, nothing superseded, nothing logged."""
    gate = gate_of(state, proposals_per_run=3)
    ids = [propose(gate, f"k/{number}") for number in range(3)]
    events = len(kinds(state))
    for key in ("k/3", "k/0"):
        with pytest.raises(GateRefused, match="a run may propose 3 canonical writes"):
            propose(gate, key, "another")
    assert [each.id for each in state.proposals.of_run(RUN)] == ids
    assert {each.state for each in state.proposals.of_run(RUN)} == {ProposalState.PROPOSED}
    assert len(kinds(state)) == events
    assert propose(gate, "k/0") == ids[0]


def test_the_bound_counts_what_the_run_proposed_before(state: State) -> None:
    """A second gate of the same run goes on counting where the first one stopped."""
    gate = gate_of(state, proposals_per_run=2)
    propose(gate, "k/0")
    propose(gate, "k/1")
    second = Gate(state, gate._limits, gate._writer)
    with pytest.raises(GateRefused, match="over it"):
        propose(second, "k/2")
    assert propose(second, "k/1") in {each.id for each in state.proposals.of_run(RUN)}


def test_a_write_that_the_disk_refuses_does_not_count(state: State) -> None:
    """What was not stored leaves its room to what comes after."""
    gate = gate_of(state, proposals_per_run=2)
    propose(gate, "k/0")
    connection = state.database.connection  # type: ignore[attr-defined]
    connection.execute(
        f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}"
    )
    with pytest.raises(StoreProblem, match="full"):
        propose(gate, "k/1", "v" * 500_000)
    connection.execute("PRAGMA max_page_count = 1000000")
    propose(gate, "k/1", "v" * 500_000)


def test_the_same_word_twice_is_one_proposal(state: State) -> None:
    """Same key, same value, another reason: the first proposal stands."""
    gate = gate_of(state)
    first = propose(gate, reason="one")
    assert propose(gate, reason="two") == first
    assert present(state, first).reason == "one"


def test_fifty_clients_with_one_word_make_one_proposal(state: State) -> None:
    """All of them hear the same id, and one row is stored."""
    with short_folder() as runtime:
        scene = Scene(state, runtime)
        answers: list[str] = []

        def ask() -> None:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(scene.door.path)
                connection.sendall(json.dumps(write()).encode() + b"\n")
                reply = connection.makefile("rb").readline()
            answers.append(json.loads(reply)["result"]["pending_id"])

        clients = [threading.Thread(target=ask) for _ in range(50)]
        for client in clients:
            client.start()
        scene.turn_until(lambda: len(answers) == 50)
        for client in clients:
            client.join()
        scene.close()
    assert len(set(answers)) == 1
    assert [each.id for each in state.proposals.of_run(RUN)] == [answers[0]]


def test_a_later_word_of_a_run_supersedes_its_own(state: State) -> None:
    """The last value of a key is the one a person decides on; going back to the first counts."""
    gate = gate_of(state)
    first, second = propose(gate, value="1"), propose(gate, value="2")
    assert present(state, first).state is ProposalState.SUPERSEDED
    assert propose(gate, value="1") == first
    assert present(state, first).state is ProposalState.PROPOSED
    assert present(state, second).state is ProposalState.SUPERSEDED
    closed = state.runs.close(record(state, RUN))
    assert closed.pending == (first,)
    assert not said_yes(state, second).version
    assert said_yes(state, first).state is ProposalState.APPROVED


def test_a_run_that_is_over_proposes_nothing(state: State) -> None:
    """After the verdict the gate refuses, for a proposal would wait for no release."""
    gate = gate_of(state)
    state.runs.close(record(state, RUN, outcome=Outcome.UNTOUCHED))
    with pytest.raises(GateRefused, match="not open"):
        propose(gate)
    assert nothing_stored(state)


def test_a_person_proposes_without_a_run(state: State) -> None:
    """A write from a shell waits at once, and is bounded by no run."""
    gate = gate_of(state, None, proposals_per_run=1)
    for number in range(3):
        made = present(state, propose(gate, f"k/{number}"))
        assert (made.state, made.run_id) == (ProposalState.PENDING, None)


# --- journal and ephemeral state -------------------------------------------------------------


def test_a_run_has_so_many_entries(state: State) -> None:
    """The entry over the bound is refused; the bound is named, and where to raise it."""
    gate = gate_of(state, journal_entries_per_run=2)
    gate.append("s", "one", None)
    assert gate.write("k", Tier.JOURNAL, "two", "why").applied is True
    with pytest.raises(GateRefused, match="2 journal entries") as refused:
        gate.append("s", "three", None)
    assert "journal_entries_per_run" in refused.value.hint
    assert [each.entry for each in state.journal.listed()] == ["two", "one"]


def test_a_run_has_so_many_bytes_of_journal(state: State) -> None:
    """Exactly full is full; one byte more is refused, and a shorter entry would still fit."""
    gate = gate_of(state, journal_bytes_per_run=10)
    gate.append("s", "é" * 4, None)
    with pytest.raises(GateRefused, match="10 bytes of journal; with this entry it would be 11"):
        gate.append("s", "123", None)
    gate.append("s", "12", None)
    with pytest.raises(GateRefused, match="journal"):
        gate.append("s", "1", None)
    assert state.journal.count_of_run(RUN) == (2, 10)


def test_an_entry_has_a_bound_of_its_own(state: State) -> None:
    """Neither way into the journal takes an entry over it."""
    gate = gate_of(state, journal_entry_bytes=4)
    gate.append("s", "1234", None)
    for attempt in (
        lambda: gate.append("s", "12345", None),
        lambda: gate.write("s", Tier.JOURNAL, "12345", "why"),
    ):
        with pytest.raises(GateRefused, match=r"^entry: at most 4 bytes"):
            attempt()
    assert len(state.journal.listed()) == 1


def test_a_person_writes_a_journal_without_a_runs_bounds(state: State) -> None:
    """The bounds are those of one run; a person at a shell is none."""
    gate = gate_of(state, None, journal_entries_per_run=1, journal_bytes_per_run=1)
    for _ in range(3):
        gate.append("s", "entry", "decision")
    assert len(state.journal.listed(agent_id="deps")) == 3


def test_a_journal_is_its_agents_own(state: State, clock: HandClock) -> None:
    """Others' entries are not shown, and those of 30 days ago are gone."""
    gate = gate_of(state)
    gate.append("ads", "mine", "kept")
    state.journal.append(agent_id="other", scope="ads", entry="x", decision=None, run_id=None)
    entries = gate.entries("ads", 10).entries
    assert [(each.entry, each.decision) for each in entries] == [("mine", "kept")]
    assert gate.entries("web", 10).entries == ()
    clock.forward(days=30)
    assert gate.entries(None, 10).entries == ()


@pytest.mark.parametrize("limit", [0, -1, 1001, 2**70])
def test_a_page_has_a_limit(state: State, limit: int) -> None:
    """A page holds 1 to 1000 entries."""
    with pytest.raises(GateRefused, match="1 to 1000"):
        gate_of(state).entries(None, limit)


def test_a_page_that_is_too_long_to_answer_is_refused(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is cut: the refusal says how much it is, and fewer entries are given."""
    gate = gate_of(state)
    for number in range(4):
        gate.append("s", f"{number}" * 100, "d" * 20)
    monkeypatch.setattr(gate_module, "JOURNAL_PAGE_BYTES", 240)
    with pytest.raises(GateRefused, match="these 4 entries hold 480 bytes") as refused:
        gate.entries(None, 10)
    assert "--limit" in refused.value.hint
    assert [each.entry[0] for each in gate.entries(None, 2).entries] == ["3", "2"]


def test_ephemeral_state_is_bounded_with_its_keys(state: State) -> None:
    """Keys count as well as values, and replacing a value gives its room back."""
    gate = gate_of(state, journal_bytes_per_run=10)
    for value in ("12345678", "x", "12345678"):
        assert gate.write("ab", Tier.EPHEMERAL, value, "why") == WriteAnswer(applied=True)
    for key, value in (("c", ""), ("ab", "123456789")):
        with pytest.raises(GateRefused, match="full: it holds 10 bytes"):
            gate.write(key, Tier.EPHEMERAL, value, "why")
    gate.write("ab", Tier.EPHEMERAL, "", "why")
    gate.write("c", Tier.EPHEMERAL, "1234567", "why")
    assert nothing_stored(state)


def test_ephemeral_state_needs_a_run(state: State) -> None:
    """A person's shell has no run whose state it could be."""
    with pytest.raises(GateRefused, match="within one run") as refused:
        gate_of(state, None).write("k", Tier.EPHEMERAL, "v", "why")
    assert "journal" in refused.value.hint


# --- reading ---------------------------------------------------------------------------------


def test_canonical_data_is_read_with_its_version(state: State) -> None:
    """A key without a value is version 0; a key that cannot be one is refused."""
    assert canonical_value(state, "k").version == 0
    said_yes(state, propose(gate_of(state, None), "k", "v"))
    found = canonical_value(state, "k")
    assert (found.value, found.version, found.sha256) == ("v", 1, sha256_of("v"))
    with pytest.raises(GateRefused, match="a key"):
        canonical_value(state, "../k")


def test_a_proposal_is_found_by_the_beginning_of_its_id(state: State) -> None:
    """A unique beginning is enough; an ambiguous, an empty or an unknown one is named."""
    gate = gate_of(state, None)
    ids = [propose(gate, f"k/{number}") for number in range(40)]
    assert find(state, ids[0]) == ids[0]
    assert find(state, ids[0][:7]) == ids[0]
    first = max((each[0] for each in ids), key=[each[0] for each in ids].count)
    with pytest.raises(UnknownName, match="is the beginning of"):
        find(state, first)
    for unknown in ("", "zzz", "%", "' OR 1=1 --"):
        with pytest.raises(UnknownName, match="no proposal"):
            find(state, unknown)


# --- approving -------------------------------------------------------------------------------


def test_an_approval_applies_what_was_shown_once(state: State) -> None:
    """The value lands as the next version; a second yes is told that it is done."""
    made = pending(state, RUN)
    done = said_yes(state, made.id, value_sha256=made.value_sha256)
    assert done == DecisionResult(id=made.id, state=ProposalState.APPROVED, version=1)
    again = said_yes(state, made.id)
    assert again.state is ProposalState.APPROVED
    assert "approved it already, as version 1" in (again.error or "")
    assert len(state.canonical.history(made.key)) == 1
    assert state.check() == []


def test_another_digest_than_the_shown_one_is_refused(state: State) -> None:
    """A person says yes to bytes, not to an id."""
    made = pending(state, RUN)
    for digest in (sha256_of("other"), "", made.value_sha256.upper(), made.value_sha256[:12]):
        refused = said_yes(state, made.id, value_sha256=digest)
        assert made.value_sha256 in (refused.error or "")
    assert present(state, made.id).state is ProposalState.PENDING
    assert state.canonical.read(made.key) is None


def test_a_value_that_was_altered_behind_the_gate_is_refused(state: State) -> None:
    """Bytes that no longer match their digest are not applied, whatever digest is given."""
    made = pending(state, RUN)
    connection: sqlite3.Connection = state.database.connection  # type: ignore[attr-defined]
    connection.execute("DROP TRIGGER IF EXISTS proposals_frozen")
    for (name,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'proposals'"
    ).fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("UPDATE proposals SET value = 'evil' WHERE id = ?", (made.id,))
    assert "altered" in (said_yes(state, made.id).error or "")
    assert state.canonical.read(made.key) is None


def test_what_a_running_run_proposed_cannot_be_approved(state: State) -> None:
    """No yes before the verdict, not even with --quarantined."""
    claimed(state, RUN)
    made = proposed(state, RUN)
    for flag in (False, True):
        refused = said_yes(state, made.id, quarantined=flag)
        assert refused.state is ProposalState.PROPOSED
        assert "no verdict yet" in (refused.error or "")
    assert state.canonical.read(made.key) is None


def test_quarantine_takes_a_second_word(state: State) -> None:
    """What a failed run proposed needs --quarantined, and is then applied like any other."""
    made = quarantined(state, RUN)
    assert "--quarantined" in (said_yes(state, made.id).error or "")
    assert said_yes(state, made.id, quarantined=True).version == 1


@pytest.mark.parametrize("make", [pending, quarantined], ids=["pending", "quarantined"])
def test_time_runs_out_to_the_second(state: State, clock: HandClock, make: Any) -> None:
    """At 259,199 s a yes counts; at 259,200 s it does not, though nothing swept it yet."""
    made: Proposal = make(state, RUN)
    other: Proposal = make(state, "20261130T0231-other-aaaa", key="other/key")
    clock.forward(seconds=LIFETIME_S - 1)
    assert said_yes(state, made.id, quarantined=True).state is ProposalState.APPROVED
    clock.forward(seconds=1)
    late = said_yes(state, other.id, quarantined=True)
    assert late.state is ProposalState.EXPIRED
    assert "expired at 2026-12-03 02:30:00 UTC" in (late.error or "")
    assert reject(state, other.id, actor=ADA, reason="no").state is ProposalState.EXPIRED
    assert state.canonical.read("other/key") is None


def test_a_clock_that_goes_back_brings_nothing_back(state: State, clock: HandClock) -> None:
    """Stored time never goes back: what has expired stays so."""
    made = pending(state, RUN)
    clock.forward(seconds=LIFETIME_S)
    state.proposals.sweep()
    clock.forward(seconds=-LIFETIME_S)
    assert said_yes(state, made.id).state is ProposalState.EXPIRED


def test_a_later_held_run_supersedes(state: State) -> None:
    """The newer word of the job on a key is the one that can be approved."""
    old = pending(state, RUN, value="old")
    new = pending(state, "20261201T0230-deps-aaaa", value="new")
    refused = said_yes(state, old.id)
    assert refused.state is ProposalState.SUPERSEDED
    assert "later proposal" in (refused.error or "")
    assert said_yes(state, new.id).version == 1


def test_a_moved_base_is_a_conflict(state: State) -> None:
    """The key changed since the proposal: nothing is written, and both versions are named."""
    mine = pending(state, RUN, job="deps")
    theirs = pending(state, "20261130T0300-other-aaaa", value="theirs", job="other")
    assert said_yes(state, theirs.id).version == 1
    refused = said_yes(state, mine.id)
    assert (refused.state, refused.version) == (ProposalState.CONFLICT, 1)
    assert "from version 0 to 1" in (refused.error or "")
    again = said_yes(state, mine.id)
    assert again.state is ProposalState.CONFLICT
    found = state.canonical.read(mine.key)
    assert found is not None
    assert found.value == "theirs"


def test_unknown_ids_are_refused(state: State) -> None:
    """Approving or rejecting what is not there has no state and an error."""
    assert said_yes(state, "nosuch").state is None
    assert reject(state, "nosuch", actor=ADA, reason="no").error


def test_a_rejection_needs_a_reason_and_is_final(state: State) -> None:
    """Blanks are none; after a no there is no yes."""
    made = pending(state, RUN)
    with pytest.raises(GateRefused, match="a reason"):
        reject(state, made.id, actor=ADA, reason=" \n")
    assert present(state, made.id).state is ProposalState.PENDING
    assert reject(state, made.id, actor=ADA, reason="no") == DecisionResult(
        id=made.id, state=ProposalState.REJECTED
    )
    assert "rejected it already" in (said_yes(state, made.id).error or "")


# --- after a crash in the middle of approving --------------------------------------------------


def test_an_apply_that_landed_is_settled_as_approved(state: State) -> None:
    """The effect is there, the record is not: the store is asked, and nothing happens twice."""
    made = pending(state, RUN)
    approving(state, made.id)
    state.canonical.apply(
        made.key,
        made.value,
        operation_key=operation_key(made.id),
        expected_version=0,
        actor=ADA,
        run_id=RUN,
    )
    assert settle_applying(state) == [
        DecisionResult(id=made.id, state=ProposalState.APPROVED, version=1)
    ]
    assert settle_applying(state) == []
    assert len(state.canonical.history(made.key)) == 1
    assert state.check() == []


def test_an_apply_that_did_not_land_waits_again(state: State) -> None:
    """No effect: the proposal is as it was, and can be approved."""
    made = pending(state, RUN)
    approving(state, made.id)
    assert "applying it" in (said_yes(state, made.id).error or "")
    assert settle_applying(state) == [DecisionResult(id=made.id, state=ProposalState.PENDING)]
    assert said_yes(state, made.id).version == 1


def test_a_quarantined_apply_that_did_not_land_is_quarantined_again(state: State) -> None:
    """The crash does not lift the quarantine."""
    made = quarantined(state, RUN)
    approving(state, made.id)
    assert settle_applying(state) == [DecisionResult(id=made.id, state=ProposalState.QUARANTINED)]
    assert "--quarantined" in (said_yes(state, made.id).error or "")


def test_an_apply_that_a_later_run_overtook_is_superseded(state: State) -> None:
    """Given back after a newer word of the job: the newer one stands."""
    made = pending(state, RUN, value="old")
    approving(state, made.id)
    pending(state, "20261201T0230-deps-aaaa", value="new")
    (settled,) = settle_applying(state)
    assert settled.state is ProposalState.SUPERSEDED


def test_entries_keep_their_times(state: State, clock: HandClock) -> None:
    """An entry says when it was written and when it will be gone."""
    answer = gate_of(state).append("s", "e", None)
    (entry,) = (
        gate_module.Gate(state, GateLimits(), Writer(agent_id="deps", tiers=tuple(Tier)))
        .entries(None, 1)
        .entries
    )
    assert isinstance(entry, JournalEntry)
    assert (entry.id, entry.created_at, entry.expires_at) == (
        answer.id,
        clock.at,
        answer.expires_at,
    )
