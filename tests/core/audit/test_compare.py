"""What changed since the last audit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from harness.core.audit.compare import KeptAudit, compare, kept
from harness.core.audit.model import AuditFinding
from harness.core.permissions import Level
from harness.core.settings import ListName

AT = datetime(2026, 11, 30, 18, tzinfo=UTC)
FINDING = AuditFinding(
    id="RULE",
    level=Level.LOW,
    list=ListName.ALLOW,
    rule="command(ls)",
    file="/s.json",
    line=4,
    why="so",
)
OTHER = replace(FINDING, rule="command(git)", level=Level.CRITICAL)


def last(*findings: AuditFinding) -> KeptAudit:
    """Return an audit that found these."""
    return KeptAudit(at=AT, fingerprint="f", findings=kept(findings))


def test_everything_is_new_where_nothing_was() -> None:
    """Without an earlier audit there is no since, and all of it appeared."""
    diff = compare(None, kept([FINDING]), "f")
    assert (diff.since, diff.same_meaning) == (None, False)
    assert [each.rule for each in diff.appeared] == ["command(ls)"]


def test_what_appeared_went_and_changed() -> None:
    """A new rule, a rule that is gone, a level that moved."""
    worse = replace(FINDING, level=Level.HIGH)
    diff = compare(last(FINDING, OTHER), kept([worse, replace(OTHER, rule="command(x)")]), "g")
    assert [each.rule for each in diff.appeared] == ["command(x)"]
    assert [each.rule for each in diff.gone] == ["command(git)"]
    assert [(each.before.level, each.now.level) for each in diff.changed] == [
        (Level.LOW, Level.HIGH)
    ]
    assert diff.since == AT


def test_lines_move_without_meaning() -> None:
    """The CLI rewrites its files; another line or reason is no change."""
    diff = compare(last(FINDING), kept([replace(FINDING, line=9, why="else")]), "f")
    assert (diff.appeared, diff.gone, diff.changed) == ((), (), ())
    assert diff.same_meaning
