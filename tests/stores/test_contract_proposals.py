"""Every backend: the queue of canonical writes."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from harness.core.tiers import (
    PROPOSAL_LIFETIME,
    VALUE_LIMIT,
    Proposal,
    ProposalState,
    Tier,
    sha256_of,
)
from harness.errors import GateRefused, StoreProblem, UnknownName
from harness.stores.protocols import Applied, NewProposal, Refusal, State
from tests.helpers.states import (
    START,
    HandClock,
    approving,
    claimed,
    kinds,
    pending,
    present,
    proposed,
    quarantined,
    ran,
    record,
)

OPEN_MAKERS = {"pending": pending, "quarantined": quarantined}


def begin(state: State, proposal_id: str, **changes: object) -> Proposal | Refusal:
    """Ask to apply, without a digest and without --quarantined unless said otherwise."""
    values: dict[str, object] = {"value_sha256": None, "quarantined": False, "actor": "ada@cli"}
    return state.proposals.begin_apply(proposal_id, **(values | changes))  # type: ignore[arg-type]


def refused(answer: object) -> Refusal:
    """Return the refusal that an answer must be."""
    assert isinstance(answer, Refusal)
    return answer


def test_a_proposal_holds_the_whole_wish(state: State) -> None:
    """Key, value, digest, base, reason, times: everything a person judges by is stored."""
    claimed(state, "r1")
    state.canonical.apply(
        "a/b", "one", operation_key="o1", expected_version=0, actor="ada@cli", run_id=None
    )
    new = NewProposal(run_id="r1", job="deps", key="a/b", value="zwei\n☃\u0000", reason="why")
    made = state.proposals.propose(new)
    assert re.fullmatch("[0-9a-f]{8}", made.id)
    assert made == Proposal(
        id=made.id,
        run_id="r1",
        job="deps",
        key="a/b",
        state=ProposalState.PROPOSED,
        reason="why",
        value="zwei\n☃\u0000",
        base_version=1,
        value_sha256=sha256_of("zwei\n☃\u0000"),
        created_at=START,
        expires_at=START + timedelta(seconds=259_200),
        tier=Tier.CANONICAL,
    )
    assert state.proposals.get(made.id) == made
    assert state.proposals.get("ffffffff!") is None


def test_the_trail_holds_no_text_of_an_agent(state: State) -> None:
    """Values and reasons, of agents and persons, stand in the events by digest only."""
    claimed(state, "r1")
    made = state.proposals.propose(
        NewProposal(run_id="r1", job="deps", key="k", value="SECRET-V", reason="SECRET-R")
    )
    state.journal.append(
        agent_id="deps", scope="SECRET-S", entry="SECRET-E", decision="SECRET-D", run_id="r1"
    )
    state.runs.close(record(state, "r1", response="SECRET-A"))
    state.proposals.reject(made.id, reason="SECRET-N", actor="ada@cli")
    state.switches.set("paused", on=True, actor="ada@cli", detail="SECRET-W")
    assert "SECRET" not in repr(state.events.listed())


def test_the_same_wish_is_one_proposal(state: State) -> None:
    """A retry of the same key and value returns what is there, whatever came between."""
    claimed(state, "r1")
    first = proposed(state, "r1", "a", "x")
    proposed(state, "r1", "b", "x")
    assert proposed(state, "r1", "a", "x") == first
    assert len(state.proposals.of_run("r1")) == 2
    assert kinds(state).count("proposal.proposed") == 2


def test_another_value_supersedes_within_the_run(state: State) -> None:
    """A run's later value for a key takes the place of its earlier one."""
    claimed(state, "r1")
    first = proposed(state, "r1", "a", "x")
    second = proposed(state, "r1", "a", "y")
    assert present(state, first.id).state is ProposalState.SUPERSEDED
    assert second.state is ProposalState.PROPOSED
    assert state.runs.close(record(state, "r1")).pending == (second.id,)


def test_the_last_word_of_a_run_counts(state: State) -> None:
    """A, then B, then A again: the first proposal is back, the second superseded."""
    claimed(state, "r1")
    first = proposed(state, "r1", "a", "x")
    second = proposed(state, "r1", "a", "y")
    assert proposed(state, "r1", "a", "x") == first
    assert present(state, second.id).state is ProposalState.SUPERSEDED
    assert state.check() == []


def test_a_rejected_wish_is_not_queued_again(state: State) -> None:
    """The same key and value after a rejection in the same run is refused with the decision."""
    claimed(state, "r1")
    first = proposed(state, "r1", "a", "x")
    state.proposals.reject(first.id, reason="too high", actor="ada@cli")
    with pytest.raises(GateRefused, match=f"ada@cli rejected .* {first.id}: too high"):
        proposed(state, "r1", "a", "x")
    assert present(state, first.id).state is ProposalState.REJECTED
    assert [each.id for each in state.proposals.of_run("r1")] == [first.id]
    assert proposed(state, "r1", "a", "y").state is ProposalState.PROPOSED


def test_an_expired_wish_is_not_queued_again(state: State, clock: HandClock) -> None:
    """The same write of a run whose time ran out is refused, not answered as held."""
    claimed(state, "r1")
    first = proposed(state, "r1", "a", "x")
    clock.forward(days=3)
    with pytest.raises(GateRefused, match=f"expired as {first.id}"):
        proposed(state, "r1", "a", "x")


def test_an_open_run_does_not_touch_what_waits(state: State) -> None:
    """While a run has no verdict, an older proposal of its job stays open."""
    older = pending(state, "r1", "a", "x")
    claimed(state, "r2")
    proposed(state, "r2", "a", "y")
    assert present(state, older.id).state is ProposalState.PENDING


def test_a_write_from_a_shell_waits_at_once(state: State) -> None:
    """Without a run there is no verdict to wait for; a later one of the key replaces it."""
    first = proposed(state, None, "a", "x")
    assert (first.state, first.run_id, first.job) == (ProposalState.PENDING, None, None)
    assert first.released_at == START
    of_a_job = pending(state, "r1", "a", "x")
    second = proposed(state, None, "a", "x")
    assert present(state, first.id).state is ProposalState.SUPERSEDED
    assert second.state is ProposalState.PENDING
    assert present(state, of_a_job.id).state is ProposalState.PENDING


@pytest.mark.parametrize("run_id", ["r1", "nobody"])
def test_a_run_that_is_not_open_proposes_nothing(state: State, run_id: str) -> None:
    """A closed or unknown run is refused and nothing is queued."""
    ran(state, "r1")
    with pytest.raises(GateRefused, match="not open"):
        proposed(state, run_id)
    assert state.proposals.listed() == []


def test_a_run_speaks_for_its_own_job(state: State) -> None:
    """The job of a proposal is the run's; another one is refused, none is filled in."""
    claimed(state, "r1")
    with pytest.raises(GateRefused, match="belongs to job deps"):
        proposed(state, "r1", job="site")
    assert proposed(state, "r1", job=None).job == "deps"


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("", "v", ""),
        ("/a", "v", ""),
        ("a/../b", "v", ""),
        ("ä", "v", ""),
        ("k" * 513, "v", ""),
        ("k", "\ud800", ""),
        ("k", "x" * (VALUE_LIMIT + 1), ""),
        ("k", "v", "\ud800"),
        ("k", "v", "x" * (VALUE_LIMIT + 1)),
    ],
)
def test_what_cannot_be_stored_is_refused(state: State, key: str, value: str, reason: str) -> None:
    """A bad key, value or reason is refused before anything is written."""
    new = NewProposal(run_id=None, job=None, key=key, value=value, reason=reason)
    with pytest.raises(GateRefused):
        state.proposals.propose(new)
    assert (state.proposals.listed(), kinds(state)) == ([], [])


def test_the_largest_value_fits(state: State) -> None:
    """A value of exactly one MiB is taken."""
    assert len(proposed(state, None, "k", "x" * VALUE_LIMIT).value) == VALUE_LIMIT


def test_approving_takes_three_steps(state: State, clock: HandClock) -> None:
    """Begin, write, finish: the decision, its author and the version stand at the end."""
    made = pending(state, "r1")
    clock.forward(hours=1)
    begun = begin(state, made.id, value_sha256=made.value_sha256)
    assert isinstance(begun, Proposal)
    assert begun.state is ProposalState.APPLYING
    assert (begun.decided_at, begun.decided_by) == (clock.at, "ada@cli")
    applied = state.canonical.apply(
        made.key,
        made.value,
        operation_key=f"approve:{made.id}",
        expected_version=made.base_version,
        actor="ada@cli",
        run_id=made.run_id,
    )
    assert applied == Applied(version=1)
    done = state.proposals.finish_apply(
        made.id, state=ProposalState.APPROVED, version=1, actor="ada@cli"
    )
    assert (done.state, done.applied_version) == (ProposalState.APPROVED, 1)
    assert state.proposals.get(made.id) == done
    assert kinds(state)[-3:] == ["proposal.approving", "canonical.applied", "proposal.approved"]
    assert state.check() == []


def test_a_proposal_without_verdict_is_not_approved(state: State) -> None:
    """While its run is on, a proposal is refused, --quarantined or not."""
    claimed(state, "r1")
    made = proposed(state, "r1")
    for flag in (False, True):
        answer = refused(begin(state, made.id, quarantined=flag))
        assert answer.state is ProposalState.PROPOSED
        assert "no verdict yet" in answer.error


def test_a_quarantined_proposal_must_be_asked_for(state: State) -> None:
    """Only --quarantined approves what a failed run left."""
    made = quarantined(state, "r1")
    answer = refused(begin(state, made.id))
    assert answer.state is ProposalState.QUARANTINED
    assert "--quarantined" in answer.error
    assert isinstance(begin(state, made.id, quarantined=True), Proposal)


def test_another_digest_is_refused(state: State) -> None:
    """What was shown must be what is approved."""
    made = pending(state, "r1")
    answer = refused(begin(state, made.id, value_sha256=sha256_of("else")))
    assert answer.state is ProposalState.PENDING
    assert made.value_sha256 in answer.error
    assert present(state, made.id) == made


def test_an_unknown_id_is_refused(state: State) -> None:
    """An id that stands for nothing is a refusal without a state."""
    for answer in (
        begin(state, "ffffffff"),
        state.proposals.reject("ffffffff", reason="", actor="ada@cli"),
    ):
        assert refused(answer) == Refusal(state=None, error="there is no proposal ffffffff")
    with pytest.raises(UnknownName):
        state.proposals.finish_apply(
            "ffffffff", state=ProposalState.APPROVED, version=1, actor="ada@cli"
        )


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (ProposalState.APPLYING, "ada@cli is applying it"),
        (ProposalState.APPROVED, "ada@cli approved it already, as version 1"),
        (ProposalState.CONFLICT, "its base has moved"),
        (ProposalState.REJECTED, "ada@cli rejected it already"),
        (ProposalState.EXPIRED, "it expired at 2026-12-03 02:30:00 UTC"),
        (ProposalState.SUPERSEDED, "a later proposal has taken its place"),
    ],
)
def test_a_decided_proposal_says_what_became_of_it(
    state: State, clock: HandClock, end: ProposalState, words: str
) -> None:
    """Approve and reject on a proposal that is no longer open tell who or what was first."""
    made = pending(state, "r1")
    if end is ProposalState.REJECTED:
        state.proposals.reject(made.id, reason="no", actor="ada@cli")
    elif end is ProposalState.EXPIRED:
        clock.forward(days=3)
    elif end is ProposalState.SUPERSEDED:
        pending(state, "r2", value="newer")
    else:
        approving(state, made.id)
        if end is not ProposalState.APPLYING:
            version = 1 if end is ProposalState.APPROVED else None
            state.proposals.finish_apply(made.id, state=end, version=version, actor="ada@cli")
    before = state.events.head()
    for answer in (
        begin(state, made.id),
        state.proposals.reject(made.id, reason="", actor="bob@cli"),
    ):
        assert refused(answer).state is end
        assert words in refused(answer).error
    assert state.events.head() == before


@pytest.mark.parametrize("maker", sorted(OPEN_MAKERS))
def test_expiry_is_exact(state: State, clock: HandClock, maker: str) -> None:
    """A millisecond before its time a proposal can be approved; exactly then it has expired."""
    made = OPEN_MAKERS[maker](state, "r1")
    assert made.expires_at == made.created_at + PROPOSAL_LIFETIME
    clock.at = made.expires_at
    assert refused(begin(state, made.id, quarantined=True)).state is ProposalState.EXPIRED
    answer = state.proposals.reject(made.id, reason="", actor="ada@cli")
    assert refused(answer).state is ProposalState.EXPIRED


@pytest.mark.parametrize("maker", sorted(OPEN_MAKERS))
def test_until_its_expiry_a_proposal_is_open(state: State, clock: HandClock, maker: str) -> None:
    """The last millisecond belongs to the person."""
    made = OPEN_MAKERS[maker](state, "r1")
    clock.at = made.expires_at - timedelta(milliseconds=1)
    assert isinstance(begin(state, made.id, quarantined=True), Proposal)


def test_expiry_shows_before_it_is_swept(state: State, clock: HandClock) -> None:
    """get, listed, of_run and expired_since show the expiry; sweep only writes it down."""
    made = pending(state, "r1", "a")
    clock.forward(days=1)
    young = pending(state, "r2", "b")
    clock.at = made.expires_at
    for _ in range(2):
        assert present(state, made.id).state is ProposalState.EXPIRED
        assert [p.state for p in state.proposals.of_run("r1")] == [ProposalState.EXPIRED]
        assert [p.id for p in state.proposals.listed([ProposalState.EXPIRED])] == [made.id]
        assert [p.id for p in state.proposals.listed([ProposalState.PENDING])] == [young.id]
        assert [p.id for p in state.proposals.expired_since(made.expires_at)] == [made.id]
        later = made.expires_at + timedelta(milliseconds=1)
        assert state.proposals.expired_since(later) == []
        state.proposals.sweep()
    assert kinds(state).count("proposal.expired") == 1


def test_sweep_tells_what_it_wrote(state: State, clock: HandClock) -> None:
    """Every open state expires; a second sweep finds nothing; decided ones stay."""
    rejected = pending(state, "r0", "r")
    state.proposals.reject(rejected.id, reason="", actor="ada@cli")
    due = [pending(state, "r1", "a"), quarantined(state, "r2", "b")]
    claimed(state, "r3")
    due.append(proposed(state, "r3", "c"))
    assert state.proposals.sweep() == []
    clock.forward(days=3)
    swept = state.proposals.sweep()
    assert [p.id for p in swept] == [p.id for p in due]
    assert {p.state for p in swept} == {ProposalState.EXPIRED}
    assert state.proposals.sweep() == []
    assert present(state, rejected.id).state is ProposalState.REJECTED


@pytest.mark.parametrize("maker", sorted(OPEN_MAKERS))
def test_after_a_crash_a_proposal_goes_back_to_where_it_waited(state: State, maker: str) -> None:
    """Giving an apply back restores the wait as it was, without a decision."""
    made = OPEN_MAKERS[maker](state, "r1")
    approving(state, made.id)
    back = state.proposals.finish_apply(
        made.id, state=ProposalState.PENDING, version=None, actor="harness"
    )
    assert back == made
    assert kinds(state)[-1] == "proposal.returned"


def test_what_goes_back_too_late_is_superseded(state: State) -> None:
    """When a later proposal of the job and key was released meanwhile, that one stands."""
    made = pending(state, "r1")
    approving(state, made.id)
    pending(state, "r2", value="newer")
    back = state.proposals.finish_apply(
        made.id, state=ProposalState.PENDING, version=None, actor="harness"
    )
    assert back.state is ProposalState.SUPERSEDED


def test_an_apply_under_way_is_not_superseded(state: State) -> None:
    """A later run leaves a proposal alone that is being written."""
    made = pending(state, "r1")
    approving(state, made.id)
    pending(state, "r2", value="newer")
    assert present(state, made.id).state is ProposalState.APPLYING


def test_finishing_twice_is_no_harm(state: State) -> None:
    """The same end again returns the proposal; another end is an error."""
    made = pending(state, "r1")
    approving(state, made.id)
    ends = [
        state.proposals.finish_apply(
            made.id, state=ProposalState.CONFLICT, version=None, actor="ada@cli"
        )
        for _ in range(2)
    ]
    assert ends[0] == ends[1]
    assert kinds(state).count("proposal.conflict") == 1
    with pytest.raises(StoreProblem, match="conflict"):
        state.proposals.finish_apply(
            made.id, state=ProposalState.APPROVED, version=1, actor="ada@cli"
        )


def test_an_apply_ends_in_one_of_three_ways(state: State) -> None:
    """An end that no write can have is an error, and the apply stays open."""
    made = pending(state, "r1")
    approving(state, made.id)
    with pytest.raises(StoreProblem, match="cannot end as rejected"):
        state.proposals.finish_apply(
            made.id, state=ProposalState.REJECTED, version=None, actor="ada@cli"
        )
    assert present(state, made.id).state is ProposalState.APPLYING


def test_a_rejection_is_recorded(state: State, clock: HandClock) -> None:
    """Who, when and why stand with the rejected proposal."""
    made = pending(state, "r1")
    clock.forward(minutes=1)
    answer = state.proposals.reject(made.id, reason="too \ud800 bold", actor="ada@cli")
    assert isinstance(answer, Proposal)
    assert answer.state is ProposalState.REJECTED
    assert (answer.decided_at, answer.decided_by) == (clock.at, "ada@cli")
    assert answer.decision_reason == "too ? bold"


def test_ids_are_found_by_their_beginning(state: State) -> None:
    """A prefix finds ids newest first, ten at most, and nothing by pattern."""
    made = [proposed(state, None, f"k{number}").id for number in range(12)]
    assert list(state.proposals.matching("")) == made[:1:-1]
    assert list(state.proposals.matching(made[3])) == [made[3]]
    assert list(state.proposals.matching("_")) == []


def test_lists_are_oldest_first(state: State) -> None:
    """All states by default, only those asked for otherwise."""
    first = pending(state, "r1", "a")
    second = quarantined(state, "r2", "b")
    third = proposed(state, None, "c")
    assert [p.id for p in state.proposals.listed()] == [first.id, second.id, third.id]
    wanted = [ProposalState.PENDING, ProposalState.APPLYING]
    assert [p.id for p in state.proposals.listed(wanted)] == [first.id, third.id]
    assert state.proposals.listed([]) == []
