"""Where shipped data stands."""

from __future__ import annotations

import pytest

from harness.errors import HostProblem
from harness.stores.shipped import shipped_folder


def test_rules_are_shipped() -> None:
    """The gate's policy comes with the package, in a checkout and in a wheel."""
    assert (shipped_folder("rules") / "gate.toml").is_file()


def test_an_incomplete_installation_is_named() -> None:
    """A folder that is missing gives a clear error instead of an empty home."""
    with pytest.raises(HostProblem, match="incomplete"):
        shipped_folder("nothing-of-this-name")
