"""What a backend of the durable state must do; the contract tests hold each one to it.

Every write here is durable when the call returns. Times come from the backend's own clock,
which never goes back: the later of the clock it was given and the last time it stored.
`actor` is the operating-system user and the channel, such as `ada@cli`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from harness.core.evidence import ApprovedChange, FileDigest, Head
from harness.core.model import Acknowledgement, Outcome, RunRecord
from harness.core.process import ProcessIdentity
from harness.core.tiers import CanonicalValue, JournalEntry, Proposal, ProposalState

BeforeWrite = Callable[[str], None]
"""Called with a short name right before each statement that writes and right before each commit.

A crash test ends the process in it; one that raises takes the whole transaction back.
"""


def ignore_write(name: str) -> None:
    """Let every write happen: the collaborator of production."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """What a run needs to exclude others: its job, its workspace and its guarded paths."""

    run_id: str
    job: str
    agent_id: str
    attempt: int
    retry_of: str | None
    workspace: str
    guards: tuple[str, ...]
    owner: ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The claim stands; `started_at` is the run's start by the store's clock."""

    run_id: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Another open run holds the job, the workspace or a guarded path."""

    run_id: str
    job: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that is not closed yet."""

    run_id: str
    job: str
    agent_id: str
    attempt: int
    retry_of: str | None
    workspace: str
    started_at: datetime
    owner: ProcessIdentity
    child: ProcessIdentity | None
    guards: tuple[str, ...] = ()


class Runs(Protocol):
    """The runs: claimed before the spawn, closed once, never changed afterwards."""

    def claim(self, request: ClaimRequest) -> Claimed | Busy:
        """Open a run, unless an open one shares its job, workspace or a guarded path.

        Folders are shared where one is, or holds, the other; a guarded path inside the other's
        workspace counts. Paths are compared as text: give them absolute, with links resolved.
        """
        ...

    def record_child(self, run_id: str, child: ProcessIdentity) -> None:
        """Note the CLI's process, so that a later start can end it; a later one replaces it.

        Raises `StoreProblem` where the run is not open.
        """
        ...

    def close(self, record: RunRecord) -> RunRecord:
        """Close an open run and release or quarantine its proposals, in one transaction.

        Held runs release their proposals (`pending`), supersede older open ones of the same
        job and key, and every quarantined one of the job; every other outcome quarantines them.
        Returns the record as stored, with `pending` and `quarantined` filled in; a lone surrogate
        in a text is stored as `?`. Raises `StoreProblem` where the run is not open.
        """
        ...

    def record_refused(self, record: RunRecord) -> None:
        """Store a run that never started; raises `StoreProblem` for any other outcome."""
        ...

    def get(self, run_id: str) -> RunRecord | None:
        """Return a closed run."""
        ...

    def matching(self, prefix: str) -> Sequence[str]:
        """Return the ids, open or closed, that begin with a prefix; newest first, ten at most."""
        ...

    def recent(
        self, *, job: str | None = None, outcome: Outcome | None = None, limit: int = 20
    ) -> list[RunRecord]:
        """Return closed runs, newest first: by their end; those of one job by their start."""
        ...

    def ended_since(self, since: datetime) -> list[RunRecord]:
        """Return the runs that ended at or after a time, newest first."""
        ...

    def unfinished(self) -> list[OpenRun]:
        """Return every open run."""
        ...

    def acknowledge(self, run_id: str, *, reason: str, actor: str) -> Acknowledgement:
        """Take note of a bypass, so that the job may propose again; the first word stands.

        Raises `UnknownName` where there is no such closed run, `UsageProblem` where it was no
        bypass.
        """
        ...

    def acknowledgement(self, run_id: str) -> Acknowledgement | None:
        """Return what a person said about a bypassed run; None where nobody did."""
        ...

    def unacknowledged_bypasses(self) -> list[RunRecord]:
        """Return bypassed runs that nobody has acknowledged, newest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProposal:
    """A canonical write as asked for; `run_id` None comes from a person's shell."""

    run_id: str | None
    job: str | None
    key: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A change that was not made, in words for a person; `state` is where the proposal stands."""

    state: ProposalState | None
    error: str


class Proposals(Protocol):
    """The queue of canonical writes that wait for a person."""

    def propose(self, new: NewProposal) -> Proposal:
        """Queue a write against the key's version now.

        Same key and value of one run is one proposal; another value supersedes it, and the first
        value again brings the first proposal back. A write without a run is `pending` at once.
        Raises `GateRefused` for a run that is not open, for a bad key or value, and for the same
        write of a run again once it was rejected or has expired.
        """
        ...

    def get(self, proposal_id: str) -> Proposal | None:
        """Return one proposal, expired by predicate even where nothing swept it yet."""
        ...

    def matching(self, prefix: str) -> Sequence[str]:
        """Return the ids that begin with a prefix, newest first, ten at most."""
        ...

    def listed(self, states: Iterable[ProposalState] | None = None) -> list[Proposal]:
        """Return proposals in these states (default: all), oldest first."""
        ...

    def of_run(self, run_id: str) -> list[Proposal]:
        """Return all proposals of one run, oldest first."""
        ...

    def begin_apply(
        self, proposal_id: str, *, value_sha256: str | None, quarantined: bool, actor: str
    ) -> Proposal | Refusal:
        """Move an open, unexpired proposal to `applying` by compare-and-swap.

        Refuses `proposed` ones, quarantined ones unless asked for, a digest other than the one
        that was shown, and a value that was altered in the store. Exactly at `expires_at` it has
        expired.
        """
        ...

    def finish_apply(
        self, proposal_id: str, *, state: ProposalState, version: int | None, actor: str
    ) -> Proposal:
        """Move `applying` to `approved`, `conflict`, or back to `pending` after a crash.

        Back means where it waited: a proposal that was never released is `quarantined` again,
        and one whose place a later one has taken is `superseded`. The same end again is no harm;
        anything else raises `StoreProblem`.
        """
        ...

    def reject(self, proposal_id: str, *, reason: str, actor: str) -> Proposal | Refusal:
        """Decide against an open, unexpired proposal, `proposed` ones included."""
        ...

    def sweep(self) -> list[Proposal]:
        """Write down every expiry that has come; returns what expired by this call."""
        ...

    def expired_since(self, since: datetime) -> list[Proposal]:
        """Return the proposals whose time ran out at or after `since`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The write stands, by this call or an earlier one with the same operation key."""

    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The base moved: nothing was written."""

    version: int


class Canonical(Protocol):
    """Canonical data: append-only versions by key; the default target."""

    def read(self, key: str) -> CanonicalValue | None:
        """Return the newest version of a key."""
        ...

    def history(self, key: str) -> list[CanonicalValue]:
        """Return all versions of a key, newest first."""
        ...

    def apply(
        self,
        key: str,
        value: str,
        *,
        operation_key: str,
        expected_version: int,
        actor: str,
        run_id: str | None,
    ) -> Applied | Conflict:
        """Write the next version if the key still has the expected one; once per operation.

        An operation key that has written something else raises `StoreProblem`, a bad key or
        value `GateRefused`.
        """
        ...

    def operation(self, operation_key: str) -> Applied | None:
        """Return what an operation did, or None where it did nothing."""
        ...

    def heads(self) -> dict[str, Head]:
        """Return the head of every key, its digest computed from the value itself."""
        ...

    def approved_since(self, event_id: int) -> list[ApprovedChange]:
        """Return the writes that the audit trail records after an event, and that really stand."""
        ...


class Journal(Protocol):
    """The agents' memory, 30 days."""

    def append(
        self, *, agent_id: str, scope: str, entry: str, decision: str | None, run_id: str | None
    ) -> JournalEntry:
        """Store one entry; gone after `JOURNAL_LIFETIME`.

        Raises `GateRefused` for a text that is no value by `value_problem`.
        """
        ...

    def listed(
        self, *, agent_id: str | None = None, scope: str | None = None, limit: int = 50
    ) -> list[JournalEntry]:
        """Return unexpired entries, newest first; None means every agent or scope."""
        ...

    def count_of_run(self, run_id: str) -> tuple[int, int]:
        """Return how many entries a run wrote, and how many bytes they hold."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One link of the audit trail.

    Attributes:
        id: counts from 1 without holes.
        kind: a dotted past-tense name, such as `run.claimed`.
        subject: the run, proposal or key that it is about.
        facts: small facts of the harness's own; agents' texts stand as digests.
        hash: hex SHA-256 over the previous link's hash and this link's content.
    """

    id: int
    at: datetime
    kind: str
    actor: str
    subject: str
    facts: Mapping[str, str]
    previous: str
    hash: str


class Events(Protocol):
    """The audit trail: append-only, hash-chained."""

    def append(
        self, kind: str, *, actor: str, subject: str, facts: Mapping[str, str] | None = None
    ) -> Event:
        """Add one link."""
        ...

    def head(self) -> tuple[int, str]:
        """Return the id and hash of the last link; (0, '') for an empty trail."""
        ...

    def listed(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return links in order."""
        ...

    def verify(self) -> str | None:
        """Return what is wrong with the chain, or None."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A setting that a person throws, with who and when; `detail` is free text."""

    name: str
    on: bool
    at: datetime
    actor: str
    detail: str = ""


class Switches(Protocol):
    """What a person has switched: `paused`, `canonical`, accepted jobs as `accepted:<job>`."""

    def get(self, name: str) -> Switch | None:
        """Return a switch, or None where nobody ever threw it."""
        ...

    def set(self, name: str, *, on: bool, actor: str, detail: str = "") -> Switch:
        """Throw a switch and record who did."""
        ...


class Guards(Protocol):
    """The last known digest of every guarded path, across runs."""

    def known(self, roots: Sequence[str]) -> dict[str, FileDigest]:
        """Return the last known digests at and below these absolute paths."""
        ...

    def remember(self, roots: Sequence[str], snapshot: Mapping[str, FileDigest]) -> None:
        """Replace what is known at and below these paths by a snapshot."""
        ...


class State(Protocol):
    """One backend: the stores that share a transaction."""

    runs: Runs
    proposals: Proposals
    canonical: Canonical
    journal: Journal
    events: Events
    switches: Switches
    guards: Guards

    def now(self) -> datetime:
        """Return the later of the clock and the last stored time."""
        ...

    def clock_lag_s(self) -> float:
        """Return by how many seconds the clock is behind the last stored time; 0 if it is not."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Join several writes into one commit; nests.

        An inner one that fails takes back its own writes only; the outer one may go on.
        """
        ...

    def check(self) -> list[str]:
        """Return every contradiction found: damage, broken chain, digests that do not match."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...
