"""The queue of canonical writes that wait for a person.

Every move is one UPDATE that names the state it moves from, and whose row count tells
whether it happened. Whether a proposal has expired is part of that same statement.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from harness.core.tiers import (
    OPEN_STATES,
    PROPOSAL_LIFETIME,
    Proposal,
    ProposalState,
    key_problem,
    sha256_of,
    value_problem,
)
from harness.errors import GateRefused, StoreProblem, UnknownName
from harness.stores.protocols import NewProposal, Refusal
from harness.stores.sqlite import proposal_rows as sql
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import HARNESS, SqliteEvents
from harness.stores.sqlite.records import clean
from harness.stores.sqlite.times import to_text

NewId = Callable[[], str]
_FINISHED_AS = {
    ProposalState.APPROVED: "proposal.approved",
    ProposalState.CONFLICT: "proposal.conflict",
}


def random_id() -> str:
    """Return eight hex characters: short enough to type, checked for a collision when used."""
    return secrets.token_hex(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What closing a run did to its proposals: ids, oldest first."""

    pending: tuple[str, ...]
    quarantined: tuple[str, ...]


class SqliteProposals:
    """The queue in the table `proposals`."""

    def __init__(self, database: Database, events: SqliteEvents, new_id: NewId = random_id) -> None:
        self._database = database
        self._events = events
        self._new_id = new_id

    def propose(self, new: NewProposal) -> Proposal:
        """Queue a write against the key's version now."""
        _require_storable(new)
        with self._database.write():
            job = new.job if new.run_id is None else self._job_of_open_run(new)
            existing = self._same_in_run(new)
            if existing is None:
                proposal_id = self._insert(new, job)
            elif existing.state is ProposalState.SUPERSEDED:
                # The agent changed its mind twice: the first proposal is its word again.
                proposal_id = existing.id
                self._database.change("proposal.revive", sql.REVIVE, (proposal_id,))
                self._record("proposal.proposed", existing, HARNESS)
            else:
                _require_undecided(existing)
                return existing
            self._supersede_older(proposal_id, job, new)
            return self._present(proposal_id)

    def get(self, proposal_id: str) -> Proposal | None:
        """Return one proposal, expired by predicate even where nothing swept it yet."""
        row = self._database.row(sql.ONE, (proposal_id,))
        return None if row is None else sql.proposal(row, self._events.now())

    def matching(self, prefix: str) -> Sequence[str]:
        """Return the ids that begin with a prefix, newest first, ten at most."""
        upper = prefix + "\U0010ffff"
        return [row["id"] for row in self._database.rows(sql.MATCHING, (prefix, upper))]

    def listed(self, states: Iterable[ProposalState] | None = None) -> list[Proposal]:
        """Return proposals in these states (default: all), oldest first."""
        if states is None:
            return self._shown(self._database.rows(sql.ALL))
        wanted = set(states)
        stored = wanted | set(OPEN_STATES) if ProposalState.EXPIRED in wanted else wanted
        query, parameters = sql.in_states(stored)
        shown = self._shown(self._database.rows(query, parameters))
        return [proposal for proposal in shown if proposal.state in wanted]

    def of_run(self, run_id: str) -> list[Proposal]:
        """Return all proposals of one run, oldest first."""
        return self._shown(self._database.rows(sql.OF_RUN, (run_id,)))

    def begin_apply(
        self, proposal_id: str, *, value_sha256: str | None, quarantined: bool, actor: str
    ) -> Proposal | Refusal:
        """Move an open, unexpired proposal to `applying` by compare-and-swap."""
        with self._database.write():
            now = to_text(self._events.now())
            swap = (now, clean(actor), proposal_id, now, quarantined, value_sha256, value_sha256)
            if not self._database.change("proposal.begin_apply", sql.BEGIN_APPLY, swap):
                return self._why_not_applied(proposal_id, value_sha256)
            proposal = self._present(proposal_id)
            self._record("proposal.approving", proposal, actor)
            return proposal

    def finish_apply(
        self, proposal_id: str, *, state: ProposalState, version: int | None, actor: str
    ) -> Proposal:
        """Move `applying` to `approved`, `conflict`, or back to where it waited."""
        with self._database.write():
            before = self._present(proposal_id)
            if before.state == state and before.applied_version == version:
                return before
            if before.state is not ProposalState.APPLYING:
                raise StoreProblem(
                    f"proposal {proposal_id} is {before.state}, so no write of it can be finished",
                    hint=f"look at it with `harness pending show {proposal_id}`",
                )
            if state == ProposalState.PENDING:
                return self._give_back(before, actor)
            if state not in _FINISHED_AS:
                raise StoreProblem(f"a write cannot end as {state}")
            self._database.change("proposal.finish", sql.FINISH, (state, version, proposal_id))
            after = self._present(proposal_id)
            self._record(_FINISHED_AS[state], after, actor, version=str(version))
            return after

    def reject(self, proposal_id: str, *, reason: str, actor: str) -> Proposal | Refusal:
        """Decide against an open proposal."""
        with self._database.write():
            now, words = to_text(self._events.now()), clean(reason)
            swap = (now, clean(actor), words, proposal_id, now)
            if not self._database.change("proposal.reject", sql.REJECT, swap):
                found = self.get(proposal_id)
                if found is None:
                    return sql.missing_refusal(proposal_id)
                return sql.closed_refusal(found)
            proposal = self._present(proposal_id)
            digest = sha256_of(words)
            self._record("proposal.rejected", proposal, actor, reason_sha256=digest)
            return proposal

    def sweep(self) -> list[Proposal]:
        """Write down every expiry that has come; returns what expired by this call."""
        if not self._database.row(sql.DUE, (to_text(self._events.now()),)):
            return []
        with self._database.write():
            due = self._database.rows(sql.DUE, (to_text(self._events.now()),))
            return [self._move(row["id"], "expired", HARNESS) for row in due]

    def expired_since(self, since: datetime) -> list[Proposal]:
        """Return the proposals whose time ran out at or after `since`, oldest first."""
        shown = self._shown(self._database.rows(sql.RAN_OUT_SINCE, (to_text(since),)))
        return [proposal for proposal in shown if proposal.state is ProposalState.EXPIRED]

    def settle(self, run_id: str, job: str, *, held: bool) -> Settled:
        """Release or quarantine what a run proposed; part of closing it, inside its transaction."""
        self.sweep()
        own = [row["id"] for row in self._database.rows(sql.PROPOSED_OF_RUN, (run_id,))]
        if not held:
            for proposal_id in own:
                self._move(proposal_id, "quarantined", HARNESS)
            return Settled(pending=(), quarantined=tuple(own))
        for row in self._database.rows(sql.QUARANTINED_OF_JOB, (job, run_id)):
            self._move(row["id"], "superseded", HARNESS, by=run_id)
        for proposal_id in own:
            self._release(proposal_id)
        return Settled(pending=tuple(own), quarantined=())

    def _job_of_open_run(self, new: NewProposal) -> str:
        row = self._database.row(sql.JOB_OF_OPEN_RUN, (new.run_id,))
        if row is None:
            raise GateRefused(
                f"run {new.run_id} is not open, so it cannot propose a write of {new.key}",
                hint="a run may propose from its start until its verdict",
            )
        if new.job not in (None, row["job"]):
            raise GateRefused(f"run {new.run_id} belongs to job {row['job']}, not to {new.job}")
        return str(row["job"])

    def _same_in_run(self, new: NewProposal) -> Proposal | None:
        if new.run_id is None:
            return None
        wanted = (new.run_id, new.key, sha256_of(new.value))
        row = self._database.row(sql.SAME_IN_RUN, wanted)
        return None if row is None else sql.proposal(row, self._events.now())

    def _insert(self, new: NewProposal, job: str | None) -> str:
        now = self._events.now()
        proposal_id = self._free_id()
        waits = new.run_id is None
        row = (
            proposal_id,
            new.run_id,
            job,
            new.key,
            ProposalState.PENDING if waits else ProposalState.PROPOSED,
            new.reason,
            new.value,
            sha256_of(new.value),
            new.key,
            to_text(now),
            to_text(now + PROPOSAL_LIFETIME),
            to_text(now) if waits else None,
        )
        self._database.change("proposal.insert", sql.INSERT, row)
        self._record("proposal.proposed", self._present(proposal_id), HARNESS)
        return proposal_id

    def _free_id(self) -> str:
        while True:
            proposal_id = self._new_id()
            if self._database.row(sql.ONE, (proposal_id,)) is None:
                return proposal_id

    def _supersede_older(self, proposal_id: str, job: str | None, new: NewProposal) -> None:
        """A run's new word replaces its own older one; a person's shell, what it queued before."""
        if new.run_id is None:
            older = self._database.rows(sql.OPEN_OF_JOB_KEY, (job, new.key, proposal_id))
        else:
            older = self._database.rows(sql.OPEN_OF_RUN_KEY, (new.run_id, new.key, proposal_id))
        for row in older:
            self._move(row["id"], "superseded", HARNESS, by=proposal_id)

    def _release(self, proposal_id: str) -> None:
        now = to_text(self._events.now())
        self._database.change("proposal.release", sql.RELEASE, (now, proposal_id))
        released = self._present(proposal_id)
        self._record("proposal.released", released, HARNESS)
        older = (released.job, released.key, proposal_id)
        for row in self._database.rows(sql.OPEN_OF_JOB_KEY, older):
            self._move(row["id"], "superseded", HARNESS, by=proposal_id)

    def _give_back(self, before: Proposal, actor: str) -> Proposal:
        """Return a proposal to the state it waited in, unless a later one has taken its place."""
        waited = ProposalState.QUARANTINED if before.released_at is None else ProposalState.PENDING
        self._database.change("proposal.give_back", sql.GIVE_BACK, (waited, before.id))
        after = self._present(before.id)
        self._record("proposal.returned", after, actor)
        later = self._database.row(sql.LATER_OF_JOB_KEY, (before.job, before.key, before.id))
        if later is not None:
            return self._move(before.id, "superseded", HARNESS, by=later["id"])
        return after

    def _move(self, proposal_id: str, state: str, actor: str, **facts: str) -> Proposal:
        """Write an end of the wait that no person decided."""
        self._database.change(f"proposal.{state}", sql.MOVE, (state, proposal_id))
        proposal = self._present(proposal_id)
        self._record(f"proposal.{state}", proposal, actor, **facts)
        return proposal

    def _why_not_applied(self, proposal_id: str, value_sha256: str | None) -> Refusal:
        found = self.get(proposal_id)
        if found is None:
            return sql.missing_refusal(proposal_id)
        return sql.apply_refusal(found, value_sha256, sha256_of(found.value))

    def _present(self, proposal_id: str) -> Proposal:
        found = self.get(proposal_id)
        if found is None:
            raise UnknownName(f"there is no proposal {proposal_id}")
        return found

    def _shown(self, rows: list[sqlite3.Row]) -> list[Proposal]:
        now = self._events.now()
        return [sql.proposal(row, now) for row in rows]

    def _record(self, kind: str, proposal: Proposal, actor: str, **facts: str) -> None:
        own = {
            "key_sha256": sha256_of(proposal.key),
            "value_sha256": proposal.value_sha256,
            "base_version": str(proposal.base_version),
        }
        if proposal.run_id is not None:
            own["run_id"] = proposal.run_id
        self._events.append(kind, actor=actor, subject=proposal.id, facts=own | facts)


def _require_undecided(existing: Proposal) -> None:
    """Refuse the same write again where it was decided, or its time ran out: nothing is held."""
    if existing.state is ProposalState.REJECTED:
        words = f"{existing.decided_by} rejected this very write as {existing.id}"
        if existing.decision_reason:
            words += f": {existing.decision_reason}"
    elif existing.state is ProposalState.EXPIRED:
        words = f"this very write expired as {existing.id}; nobody decided in time"
    else:
        return
    raise GateRefused(words, hint="nothing was stored; another value is another proposal")


def _require_storable(new: NewProposal) -> None:
    """Refuse what is no key, no value, or too much of a reason."""
    problem = key_problem(new.key) or value_problem(new.value)
    if problem is None and (wrong := value_problem(new.reason)):
        problem = f"the reason: {wrong}"
    if problem is not None:
        raise GateRefused(f"{new.key[:80]!r}: {problem}", hint="nothing was stored")
