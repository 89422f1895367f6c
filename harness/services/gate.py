"""The gate: what an agent or a person may write, and what becomes of it.

A canonical write is never carried out here. It becomes a proposal; a person's approval applies it
once, by compare-and-swap against the base that was shown.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.frames import JournalAnswer, ValueAnswer, WriteAnswer
from harness.core.limits import GateLimits
from harness.core.tiers import VALUE_LIMIT, Proposal, ProposalState, Tier, key_problem
from harness.errors import GateRefused, UnknownName
from harness.stores.protocols import Applied, Conflict, NewProposal, Refusal, State

JOURNAL_PAGE_LIMIT = 1000
JOURNAL_PAGE_BYTES = 4 * VALUE_LIMIT
_JOURNAL_HINT = "write less; a person can raise {} in rules/gate.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who asks: a run through its door, or a person at a shell (`run_id` None).

    Attributes:
        agent_id: the namespace of the journal.
        tiers: what the writer may touch; a run has what its job declares.
    """

    agent_id: str
    tiers: tuple[Tier, ...]
    run_id: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult:
    """What became of one approval or rejection; `error` None where it was carried out."""

    id: str
    state: ProposalState | None
    version: int | None = None
    error: str | None = None


class Gate:
    """The writes of one writer, within the bounds of one home."""

    def __init__(self, state: State, limits: GateLimits, writer: Writer) -> None:
        self._state = state
        self._limits = limits
        self._writer = writer
        self._ephemeral: dict[str, str] = {}
        self._ephemeral_bytes = 0
        self._proposed: set[str] | None = None

    def write(self, key: str, tier: Tier, value: str, reason: str) -> WriteAnswer:
        """Take one write. Raises `GateRefused` where it is not taken; nothing is stored then."""
        _refuse(key_problem(key))
        self._check_text("value", value, self._limits.value_bytes)
        self._check_reason(reason)
        self._check_tier(tier)
        match tier:
            case Tier.CANONICAL:
                return self._propose(key, value, reason)
            case Tier.JOURNAL:
                return self.append(key, value, None, reason=reason)
            case Tier.EPHEMERAL:
                return self._keep(key, value)

    def append(
        self, scope: str, entry: str, decision: str | None, *, reason: str | None = None
    ) -> WriteAnswer:
        """Note one entry in the writer's journal; it is there for 30 days."""
        self._check_tier(Tier.JOURNAL)
        _refuse(key_problem(scope))
        self._check_text("entry", entry, self._limits.journal_entry_bytes)
        if decision is not None:
            self._check_text("decision", decision, self._limits.reason_bytes)
        run_id = self._writer.run_id
        with self._state.transaction():
            if run_id is not None:
                self._check_journal_budget(run_id, len(entry.encode()))
            stored = self._state.journal.append(
                agent_id=self._writer.agent_id,
                scope=scope,
                entry=entry,
                decision=decision if decision is not None else reason,
                run_id=run_id,
            )
        return WriteAnswer(applied=True, id=stored.id, expires_at=stored.expires_at)

    def entries(self, scope: str | None, limit: int) -> JournalAnswer:
        """Return the writer's own journal, newest first.

        Raises `GateRefused` where so many entries would be too long for one answer.
        """
        if not 1 <= limit <= JOURNAL_PAGE_LIMIT:
            raise GateRefused(f"limit is 1 to {JOURNAL_PAGE_LIMIT}, not {limit}")
        found = self._state.journal.listed(agent_id=self._writer.agent_id, scope=scope, limit=limit)
        size = sum(len(each.entry.encode()) + len((each.decision or "").encode()) for each in found)
        if size > JOURNAL_PAGE_BYTES:
            raise GateRefused(
                f"these {len(found)} entries hold {size} bytes, and an answer is at most "
                f"{JOURNAL_PAGE_BYTES}",
                hint="ask for fewer with --limit, or for one --scope",
            )
        return JournalAnswer(entries=tuple(found))

    def _propose(self, key: str, value: str, reason: str) -> WriteAnswer:
        run_id = self._writer.run_id
        new = NewProposal(run_id=run_id, job=self._writer.job, key=key, value=value, reason=reason)
        with self._state.transaction():
            proposal = self._state.proposals.propose(new)
            if run_id is not None:
                self._check_proposal_budget(run_id, proposal.id)
        if self._proposed is not None:
            self._proposed.add(proposal.id)
        return WriteAnswer(applied=False, pending_id=proposal.id, expires_at=proposal.expires_at)

    def _check_proposal_budget(self, run_id: str, proposal_id: str) -> None:
        """Refuse a proposal over the bound; raised inside the transaction, which takes it back."""
        if self._proposed is None:
            known = {each.id for each in self._state.proposals.of_run(run_id)}
            self._proposed = known - {proposal_id}
        if len(self._proposed | {proposal_id}) > self._limits.proposals_per_run:
            raise GateRefused(
                f"a run may propose {self._limits.proposals_per_run} canonical writes; "
                "this one is over it",
                hint="propose fewer; a person can raise proposals_per_run in rules/gate.toml",
            )

    def _keep(self, key: str, value: str) -> WriteAnswer:
        if self._writer.run_id is None:
            raise GateRefused(
                "ephemeral state lives within one run, and this is none",
                hint="use --tier journal to keep something between runs",
            )
        before = self._ephemeral.get(key)
        size = self._ephemeral_bytes + len(key) + len(value.encode())
        if before is not None:
            size -= len(key) + len(before.encode())
        if size > self._limits.journal_bytes_per_run:
            raise GateRefused(
                f"the run's ephemeral state is full: it holds {self._limits.journal_bytes_per_run} "
                "bytes at most"
            )
        self._ephemeral[key] = value
        self._ephemeral_bytes = size
        return WriteAnswer(applied=True)

    def _check_tier(self, tier: Tier) -> None:
        if tier not in self._writer.tiers:
            allowed = ", ".join(self._writer.tiers) or "none"
            raise GateRefused(
                f"this job does not declare the {tier} tier (it declares: {allowed})",
                hint="a person can add it to `tiers` in the job's file",
            )

    def _check_reason(self, reason: str) -> None:
        if not reason.strip():
            raise GateRefused("a reason is required: say why, in a sentence")
        self._check_text("reason", reason, self._limits.reason_bytes)

    @staticmethod
    def _check_text(what: str, text: str, limit: int) -> None:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as problem:
            raise GateRefused(
                f"{what}: expected UTF-8 text; this one holds a lone surrogate"
            ) from problem
        most = min(limit, VALUE_LIMIT)
        if size > most:
            raise GateRefused(f"{what}: at most {most} bytes of UTF-8, this one has {size}")

    def _check_journal_budget(self, run_id: str, size: int) -> None:
        count, total = self._state.journal.count_of_run(run_id)
        if count >= self._limits.journal_entries_per_run:
            raise GateRefused(
                f"a run may write {self._limits.journal_entries_per_run} journal entries, "
                "and this one has",
                hint=_JOURNAL_HINT.format("journal_entries_per_run"),
            )
        if total + size > self._limits.journal_bytes_per_run:
            raise GateRefused(
                f"a run may write {self._limits.journal_bytes_per_run} bytes of journal; "
                f"with this entry it would be {total + size}",
                hint=_JOURNAL_HINT.format("journal_bytes_per_run"),
            )


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise GateRefused(problem)


def canonical_value(state: State, key: str) -> ValueAnswer:
    """Return the present value of a key; raises `GateRefused` for a key that cannot be one."""
    _refuse(key_problem(key))
    found = state.canonical.read(key)
    if found is None:
        return ValueAnswer(key=key, value=None, version=0, sha256=None, updated_at=None)
    return ValueAnswer(
        key=key,
        value=found.value,
        version=found.version,
        sha256=found.sha256,
        updated_at=found.updated_at,
        target=found.target,
    )


def find(state: State, prefix: str) -> str:
    """Return the proposal that an id or its unique beginning names, or raise `UnknownName`."""
    if state.proposals.get(prefix) is not None:
        return prefix
    candidates = state.proposals.matching(prefix) if prefix else ()
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise UnknownName(f"{prefix} is the beginning of {', '.join(candidates)}: say more of it")
    raise UnknownName(
        f"no proposal is called {prefix!r}", hint="harness pending list --all shows every one"
    )


def approve(
    state: State, proposal_id: str, *, actor: str, value_sha256: str | None, quarantined: bool
) -> DecisionResult:
    """Apply one proposal, once, if its base still stands; the caller holds the home's lock."""
    begun = state.proposals.begin_apply(
        proposal_id, value_sha256=value_sha256, quarantined=quarantined, actor=actor
    )
    if isinstance(begun, Refusal):
        return DecisionResult(id=proposal_id, state=begun.state, error=begun.error)
    return _apply(state, begun, actor)


def _apply(state: State, proposal: Proposal, actor: str) -> DecisionResult:
    done = state.canonical.apply(
        proposal.key,
        proposal.value,
        operation_key=operation_key(proposal.id),
        expected_version=proposal.base_version,
        actor=actor,
        run_id=proposal.run_id,
    )
    match done:
        case Applied(version=version):
            state.proposals.finish_apply(
                proposal.id, state=ProposalState.APPROVED, version=version, actor=actor
            )
            return DecisionResult(id=proposal.id, state=ProposalState.APPROVED, version=version)
        case Conflict(version=version):
            state.proposals.finish_apply(
                proposal.id, state=ProposalState.CONFLICT, version=None, actor=actor
            )
            return DecisionResult(
                id=proposal.id,
                state=ProposalState.CONFLICT,
                version=version,
                error=f"{proposal.key} moved from version {proposal.base_version} to {version} "
                "since this was proposed; nothing was written",
            )


def operation_key(proposal_id: str) -> str:
    """Return the key under which an approved proposal is applied once."""
    return f"proposal:{proposal_id}"


def reject(state: State, proposal_id: str, *, actor: str, reason: str) -> DecisionResult:
    """Decide against one proposal; an empty reason is refused."""
    if not reason.strip():
        raise GateRefused("a reason is required: say why, in a sentence")
    done = state.proposals.reject(proposal_id, reason=reason, actor=actor)
    if isinstance(done, Refusal):
        return DecisionResult(id=proposal_id, state=done.state, error=done.error)
    return DecisionResult(id=proposal_id, state=done.state)


def settle_applying(state: State) -> list[DecisionResult]:
    """Finish what a crash left in `applying`, by asking the target; the caller holds the lock."""
    return [
        _settle(state, proposal) for proposal in state.proposals.listed([ProposalState.APPLYING])
    ]


def _settle(state: State, proposal: Proposal) -> DecisionResult:
    done = state.canonical.operation(operation_key(proposal.id))
    version = done.version if done is not None else None
    # Where nothing was applied the store gives it back to whichever state it waited in.
    ended = ProposalState.PENDING if done is None else ProposalState.APPROVED
    after = state.proposals.finish_apply(proposal.id, state=ended, version=version, actor="harness")
    return DecisionResult(id=proposal.id, state=after.state, version=version)
