"""The bounds of one run's writes."""

from __future__ import annotations

from harness.core.limits import GateLimits
from harness.core.tiers import VALUE_LIMIT


def test_the_default_value_bound_is_what_the_store_takes() -> None:
    """The gate lets nothing through that the store would refuse for its size."""
    assert GateLimits().value_bytes == VALUE_LIMIT
