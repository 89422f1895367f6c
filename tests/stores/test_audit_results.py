"""The last audit, kept to tell what changed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.core.audit.compare import KeptAudit, KeptFinding
from harness.core.permissions import Level
from harness.errors import HostProblem
from harness.stores.audit_results import keep_audit, last_audit
from tests.helpers.homes import new_home

AUDIT = KeptAudit(
    at=datetime(2026, 12, 1, tzinfo=UTC),
    fingerprint="f",
    findings=(
        KeptFinding(id="RULE", level=Level.HIGH, list="allow", rule="command(x)", file="/s.json"),
    ),
)


def test_an_audit_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    """Each subject has its own; another's is left alone."""
    home = new_home(tmp_path / "home")
    assert last_audit(home, "a") is None
    keep_audit(home, "a", AUDIT)
    keep_audit(home, "b", AUDIT)
    assert last_audit(home, "a") == last_audit(home, "b") == AUDIT
    assert last_audit(home, "c") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"form": 99, "audits": {}}', '{"audits": 1}'])
def test_what_cannot_be_read_is_no_earlier_audit(tmp_path: Path, text: str) -> None:
    """A damaged file costs a comparison, never an audit."""
    home = new_home(tmp_path / "home")
    path = home.state / "audit.json"
    path.write_text(text, encoding="utf-8")
    assert last_audit(home, "a") is None
    keep_audit(home, "a", AUDIT)
    assert last_audit(home, "a") == AUDIT


def test_a_write_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    """The file is replaced as a whole, or not at all."""
    home = new_home(tmp_path / "home")
    keep_audit(home, "a", AUDIT)

    def fail(_: str) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(HostProblem):
        keep_audit(home, "b", AUDIT, before_write=fail)
    assert last_audit(home, "a") == AUDIT
