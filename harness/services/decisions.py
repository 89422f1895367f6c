"""Decisions of a person on several proposals at once: each stands or falls by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.errors import HarnessError
from harness.services.gate import DecisionResult, find
from harness.services.house import House


def decide(
    house: House, names: Iterable[str], act: Callable[[str], DecisionResult]
) -> list[DecisionResult]:
    """Return what became of each proposal named, once each; what fails is an error of its own.

    Each decision holds the home's lock, so that none meets another, or a command that settles.
    """
    results: dict[str, DecisionResult] = {}
    for name in names:
        proposal_id = name
        try:
            proposal_id = find(house.state, name)
            if proposal_id not in results:
                with house.lock():
                    results[proposal_id] = act(proposal_id)
        except HarnessError as problem:
            told = f"{problem}; {problem.hint}" if problem.hint else str(problem)
            failed = DecisionResult(id=proposal_id, state=None, error=told)
            results.setdefault(proposal_id, failed)
    return list(results.values())
