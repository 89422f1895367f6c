"""What a person has switched: pauses, canonical writes, accepted jobs; and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.stores.protocols import State, Switch

PAUSED = "paused"
CANONICAL = "canonical"


def accepted(job: str) -> str:
    """Return the name of the switch that holds the accepted digest of a job."""
    return f"accepted:{job}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """Why canonical writes of a job are suspended, and the command that clears it."""

    why: str
    clear: str


def paused(state: State) -> Switch | None:
    """Return the pause that is on, or None."""
    switch = state.switches.get(PAUSED)
    return switch if switch is not None and switch.on else None


def accepted_digest(state: State, job: str) -> str | None:
    """Return the digest that a person accepted for a job, or None."""
    switch = state.switches.get(accepted(job))
    return switch.detail if switch is not None and switch.on else None


def canonical_enabled(state: State) -> bool:
    """Return whether a person has enabled canonical writes; they start disabled."""
    switch = state.switches.get(CANONICAL)
    return switch is not None and switch.on


def suspension(state: State, job: str) -> Suspension | None:
    """Return what suspends a job's canonical writes, or None where nothing does."""
    if not canonical_enabled(state):
        return Suspension(
            why="canonical writes are switched off", clear="to switch on: harness canonical enable"
        )
    for run in state.runs.unacknowledged_bypasses():
        if run.job == job:
            return Suspension(
                why=f"run {run.run_id} of this job bypassed the gate and nobody acknowledged it",
                clear=f"to clear: harness runs ack {run.run_id} --reason …",
            )
    return None
