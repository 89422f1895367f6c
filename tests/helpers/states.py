"""Backends to hold to the Protocols of the stores, and the values that their tests write."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.core.model import Outcome, Reason, RunRecord
from harness.core.process import ProcessIdentity
from harness.core.tiers import Proposal
from harness.stores.protocols import (
    BeforeWrite,
    Claimed,
    ClaimRequest,
    NewProposal,
    State,
    ignore_write,
)
from harness.stores.sqlite import open_state

START = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
Opener = Callable[..., State]


def open_sqlite(folder: Path, clock: HandClock, before_write: BeforeWrite = ignore_write) -> State:
    """Open the SQLite backend whose file lies in a folder."""
    return open_state(folder / "state" / "harness.db", clock=clock, before_write=before_write)


BACKENDS: dict[str, Opener] = {"sqlite": open_sqlite}


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def forward(self, **amount: float) -> None:
        """Move the clock on; a negative amount moves it back."""
        self.at += timedelta(**amount)


OWNER = ProcessIdentity(pid=4711, started=1_764_470_000.25, boot_id="d2e9eb52")


def request(run_id: str, job: str = "deps", **changes: object) -> ClaimRequest:
    """Return the claim of a run whose workspace is its job's own."""
    values: dict[str, object] = {
        "run_id": run_id,
        "job": job,
        "agent_id": job,
        "attempt": 1,
        "retry_of": None,
        "workspace": f"/srv/{job}",
        "guards": (),
        "owner": OWNER,
    }
    return ClaimRequest(**(values | changes))  # type: ignore[arg-type]


def claimed(state: State, run_id: str, job: str = "deps", **changes: object) -> Claimed:
    """Claim a run that must not be busy."""
    answer = state.runs.claim(request(run_id, job, **changes))
    assert isinstance(answer, Claimed)
    return answer


REASONS = {
    Outcome.HELD: Reason.PENDING,
    Outcome.ERRORED: Reason.TIMEOUT,
    Outcome.UNTOUCHED: Reason.NO_CHANGE,
    Outcome.BYPASSED: Reason.UNEXPLAINED,
    Outcome.REFUSED: Reason.PAUSED,
}


def record(
    state: State,
    run_id: str,
    job: str = "deps",
    outcome: Outcome = Outcome.HELD,
    **changes: object,
) -> RunRecord:
    """Return the record of a run that ends now."""
    now = state.now()
    values: dict[str, object] = {
        "run_id": run_id,
        "job": job,
        "outcome": outcome,
        "reason": REASONS[outcome],
        "rule": str(outcome),
        "started_at": now,
        "ended_at": now,
        "duration_s": 0.0,
    }
    return RunRecord(**(values | changes))  # type: ignore[arg-type]


def ran(
    state: State, run_id: str, job: str = "deps", outcome: Outcome = Outcome.UNTOUCHED
) -> RunRecord:
    """Claim and close a run."""
    claimed(state, run_id, job)
    return state.runs.close(record(state, run_id, job, outcome))


def proposed(
    state: State,
    run_id: str | None,
    key: str = "site/title",
    value: str = "new",
    job: str | None = "deps",
) -> Proposal:
    """Propose a write."""
    new = NewProposal(
        run_id=run_id, job=job if run_id else None, key=key, value=value, reason="because"
    )
    return state.proposals.propose(new)


def pending(
    state: State, run_id: str, key: str = "site/title", value: str = "new", job: str = "deps"
) -> Proposal:
    """Return a proposal that a held run has released."""
    claimed(state, run_id, job)
    made = proposed(state, run_id, key, value, job)
    state.runs.close(record(state, run_id, job))
    return present(state, made.id)


def quarantined(state: State, run_id: str, key: str = "site/title", value: str = "new") -> Proposal:
    """Return a proposal whose run ended in an error."""
    claimed(state, run_id)
    made = proposed(state, run_id, key, value)
    state.runs.close(record(state, run_id, outcome=Outcome.ERRORED))
    return present(state, made.id)


def present(state: State, proposal_id: str) -> Proposal:
    """Return a proposal that must exist."""
    found = state.proposals.get(proposal_id)
    assert found is not None
    return found


def approving(state: State, proposal_id: str, actor: str = "ada@cli") -> Proposal:
    """Move a proposal to `applying`, which must work."""
    answer = state.proposals.begin_apply(
        proposal_id, value_sha256=None, quarantined=True, actor=actor
    )
    assert isinstance(answer, Proposal)
    return answer


def kinds(state: State) -> list[str]:
    """Return the names of all events in order."""
    return [event.kind for event in state.events.listed()]
