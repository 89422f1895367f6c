"""The shipped scenarios by name, for tests that go through all of them."""

from __future__ import annotations

from harness.testing.scenario import SHIPPED, Scenario, build, shipped_table


def names() -> tuple[str, ...]:
    """Return the names of all shipped scenarios, sorted."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def load(name: str) -> Scenario:
    """Return a shipped scenario; raise `ScenarioProblem` where there is none of that name."""
    return build(shipped_table(name, "scenario"), name)
