"""The gate as a person's shell has it: every tier that makes sense there, no run."""

from __future__ import annotations

from harness.core.tiers import Tier
from harness.services.gate import Gate, Writer
from harness.services.house import House


def person_gate(house: House, agent_id: str | None = None) -> Gate:
    """Return the gate for somebody at a shell; their journal is under their own name."""
    name = agent_id or house.actor.partition("@")[0]
    writer = Writer(agent_id=name, tiers=tuple(Tier))
    return Gate(house.state, house.limits, writer)
