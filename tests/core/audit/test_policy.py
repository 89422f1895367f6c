"""What findings do to canonical writes, and what a person may accept till when."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.audit.model import ORDER, AuditFinding, AuditReport, AuditVerdict
from harness.core.audit.policy import (
    SHIPPED,
    Acceptance,
    Action,
    AuditPolicy,
    exit_status,
    report_of,
    with_threshold,
)
from harness.core.permissions import Level
from harness.core.settings import ListName, RuleSource

TODAY = date(2026, 12, 1)
SOURCE = RuleSource(file="/h/rules/audit.toml")
POLICY = AuditPolicy(actions=SHIPPED, source=SOURCE)


def finding(level: Level, rule: str = "command(x)", **fields: object) -> AuditFinding:
    """Return a finding about a rule."""
    found = AuditFinding(
        id="RULE", level=level, list=ListName.ALLOW, rule=rule, file="/s.json", why="so it is"
    )
    return replace(found, **fields)  # type: ignore[arg-type]


def accepting(rule: str, until: date, **fields: object) -> AuditPolicy:
    """Return the shipped policy with one acceptance."""
    entry = Acceptance(rule=rule, reason="needed", owner="ada", until=until, source=SOURCE)
    return replace(POLICY, accepted=(entry,), **fields)  # type: ignore[arg-type]


def report(*findings: AuditFinding, policy: AuditPolicy = POLICY) -> AuditReport:
    """Return the report of these findings today."""
    return report_of(findings, policy, today=TODAY)


def ids(found: AuditReport) -> list[str]:
    """Return the ids of a report's findings about the policy itself."""
    return [each.id for each in found.findings if each.id != "RULE"]


@pytest.mark.parametrize(
    ("levels", "verdict", "status"),
    [
        ([], AuditVerdict.PASS, 0),
        ([Level.LOW, Level.NARROW, Level.INERT], AuditVerdict.PASS, 0),
        ([Level.MEDIUM, Level.LOW], AuditVerdict.WARN, 0),
        ([Level.HIGH], AuditVerdict.REFUSE, 1),
        ([Level.UNKNOWN, Level.MEDIUM], AuditVerdict.REFUSE, 3),
        ([Level.UNKNOWN, Level.HIGH], AuditVerdict.REFUSE, 1),
        ([Level.CRITICAL], AuditVerdict.REFUSE, 1),
    ],
)
def test_the_shipped_policy(levels: list[Level], verdict: AuditVerdict, status: int) -> None:
    """CRITICAL and UNKNOWN refuse, HIGH unless accepted, MEDIUM warns, the rest passes."""
    found = report(*(finding(level, f"command({level})") for level in levels))
    assert found.verdict is verdict
    assert exit_status(found, POLICY) == status


def test_every_level_is_counted() -> None:
    """The counts name all levels, the worst first, those without a finding too."""
    found = report(finding(Level.LOW, "a"), finding(Level.LOW, "b"), finding(Level.CRITICAL, "c"))
    assert list(found.counts) == [level.value for level in ORDER]
    assert [found.counts[name] for name in ("CRITICAL", "HIGH", "LOW")] == [1, 0, 2]


def test_an_accepted_finding_lets_pass_until_its_day_is_over() -> None:
    """The last day counts; the day after, the finding refuses again and the end is told."""
    for until, status in ((TODAY, 0), (date(2026, 11, 30), 1)):
        policy = accepting("command(x)", until)
        found = report(finding(Level.HIGH), policy=policy)
        assert exit_status(found, policy) == status
    assert found.findings[0].accepted_until is None
    assert ids(found) == ["ACCEPTANCE_EXPIRED"]
    fresh = report(finding(Level.HIGH), policy=accepting("command(x)", TODAY))
    assert fresh.findings[0].accepted_until == "2026-12-01"
    assert fresh.verdict is AuditVerdict.WARN


def test_a_finding_is_accepted_by_its_id_too() -> None:
    """A standing finding has no rule; its id names it."""
    policy = accepting("ENV_PREFIX", TODAY)
    found = report(finding(Level.HIGH, id="ENV_PREFIX", rule=None), policy=policy)
    assert exit_status(found, policy) == 0


def test_an_accepted_warning_warns_no_more() -> None:
    """What a person has looked at is no news."""
    assert report(finding(Level.MEDIUM)).verdict is AuditVerdict.WARN
    accepted = report(finding(Level.MEDIUM), policy=accepting("command(x)", TODAY))
    assert accepted.verdict is AuditVerdict.PASS


@pytest.mark.parametrize("level", [Level.CRITICAL, Level.UNKNOWN])
def test_nobody_accepts_the_worst(level: Level) -> None:
    """An acceptance of what always refuses does nothing, and that is told."""
    policy = accepting("command(x)", TODAY)
    found = report(finding(level), policy=policy)
    assert found.verdict is AuditVerdict.REFUSE
    assert ids(found) == ["ACCEPTANCE_WITHOUT_EFFECT"]


def test_an_idle_acceptance_is_told() -> None:
    """An entry that meets nothing is left over from something."""
    assert ids(report(policy=accepting("command(gone)", TODAY))) == ["ACCEPTANCE_IDLE"]
    some = report_of([], accepting("command(gone)", TODAY), today=TODAY, whole=False)
    assert some.findings == ()


def test_a_weaker_policy_is_told() -> None:
    """A home that lets more pass than what is shipped says so in every report."""
    weak = replace(POLICY, actions={**SHIPPED, Level.CRITICAL: Action.WARN})
    found = report(finding(Level.CRITICAL), policy=weak)
    assert found.verdict is AuditVerdict.WARN
    assert ids(found) == ["POLICY_WEAKENED"]
    strict = replace(POLICY, actions=dict.fromkeys(ORDER, Action.REFUSE))
    assert ids(report(policy=strict)) == []


def test_unknown_stands_whatever_the_policy_makes_of_it() -> None:
    """Exit status 3 says that something could not be judged, refused or not."""
    lax = replace(POLICY, actions={**SHIPPED, Level.UNKNOWN: Action.PASS})
    assert exit_status(report(finding(Level.UNKNOWN), policy=lax), lax) == 3


@pytest.mark.parametrize(
    ("threshold", "level", "status"),
    [
        (Level.LOW, Level.LOW, 1),
        (Level.LOW, Level.NARROW, 0),
        (Level.MEDIUM, Level.MEDIUM, 1),
        (Level.CRITICAL, Level.HIGH, 0),
        (Level.CRITICAL, Level.CRITICAL, 1),
        (Level.CRITICAL, Level.UNKNOWN, 3),
    ],
)
def test_a_threshold_takes_the_place_of_the_policys_levels(
    threshold: Level, level: Level, status: int
) -> None:
    """This level and every worse one refuses, and no other."""
    policy = with_threshold(POLICY, threshold)
    assert exit_status(report(finding(level), policy=policy), policy) == status


def test_a_threshold_is_no_word_about_the_home() -> None:
    """What one call asks for does not make the home's policy a weak one."""
    assert ids(report(policy=with_threshold(POLICY, Level.CRITICAL))) == []


def test_what_is_accepted_passes_a_threshold() -> None:
    """An acceptance counts for the levels that may be accepted."""
    policy = with_threshold(accepting("command(x)", TODAY), Level.MEDIUM)
    assert exit_status(report(finding(Level.MEDIUM), policy=policy), policy) == 0


def test_the_same_finding_of_two_jobs_is_one_at_its_worse_level() -> None:
    """Jobs that share a root find the same in it; the worse of two levels stands."""
    found = report(finding(Level.LOW), finding(Level.HIGH), finding(Level.MEDIUM))
    assert [each.level for each in found.findings] == [Level.HIGH]
    both = report(
        finding(Level.LOW, examples=("/a",)),
        finding(Level.LOW, examples=("/b", "/a")),
        finding(Level.LOW, examples=("/a",)),
    )
    assert both.findings[0].examples == ("/a", "/b")


@given(st.lists(st.sampled_from(ORDER), max_size=6), st.randoms())
def test_the_order_of_findings_depends_on_nothing_else(levels: list[Level], random: object) -> None:
    """Sorted by level, then place: the same findings give the same report in any order."""
    findings = [finding(level, f"r{index}", line=index) for index, level in enumerate(levels)]
    shuffled = list(findings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert report(*findings) == report(*shuffled)
    ranks = [each.level.rank for each in report(*findings).findings]
    assert ranks == sorted(ranks, reverse=True)
