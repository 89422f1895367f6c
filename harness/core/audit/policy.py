"""What each level does to canonical writes, and which findings a person has accepted till when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from harness.core.audit.model import (
    ORDER,
    AuditFinding,
    AuditReport,
    AuditVerdict,
    Collector,
)
from harness.core.permissions import Level
from harness.core.settings import RuleSource


class Action(StrEnum):
    """What a finding does to canonical writes."""

    REFUSE = "refuse"
    UNLESS_ACCEPTED = "refuse-unless-accepted"
    WARN = "warn"
    PASS = "pass"  # noqa: S105 - an action


_STRICTNESS = {Action.PASS: 0, Action.WARN: 1, Action.UNLESS_ACCEPTED: 2, Action.REFUSE: 3}

SHIPPED: Mapping[Level, Action] = {
    Level.CRITICAL: Action.REFUSE,
    Level.UNKNOWN: Action.REFUSE,
    Level.HIGH: Action.UNLESS_ACCEPTED,
    Level.MEDIUM: Action.WARN,
    Level.LOW: Action.PASS,
    Level.NARROW: Action.PASS,
    Level.INERT: Action.PASS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A finding that a person has accepted.

    Attributes:
        rule: the finding's rule as written, or its id.
        until: the last day on which it counts.
        source: where it is written.
    """

    rule: str
    reason: str
    owner: str
    until: date
    source: RuleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPolicy:
    """`rules/audit.toml`, with the shipped values where it is silent.

    Attributes:
        trees: more files and folders that no agent may write, absolute.
        source: the file; for findings about the policy itself.
        for_this_call: the levels are those of one call, and say nothing of the home.
    """

    actions: Mapping[Level, Action]
    trees: tuple[str, ...] = ()
    accepted: tuple[Acceptance, ...] = ()
    source: RuleSource
    for_this_call: bool = False


def with_threshold(policy: AuditPolicy, level: Level) -> AuditPolicy:
    """Return a policy in which this level and every worse one refuses, and no other does."""
    actions = {
        each: _threshold_action(policy.actions[each], refuses=each >= level) for each in ORDER
    }
    return replace(policy, actions=actions, for_this_call=True)


def _threshold_action(action: Action, *, refuses: bool) -> Action:
    if refuses:
        return Action.REFUSE if action is Action.REFUSE else Action.UNLESS_ACCEPTED
    return action if action is Action.PASS else Action.WARN


def report_of(
    findings: Iterable[AuditFinding], policy: AuditPolicy, *, today: date, whole: bool = True
) -> AuditReport:
    """Return findings under a policy: accepted where a person accepted them, sorted, summed up.

    Args:
        findings: in any order; the same one twice counts once, at its worse level.
        policy: what the levels do.
        today: the day on which acceptances are looked at.
        whole: these are all findings there are, so that an acceptance of none of them is idle.
    """
    merged = _merged(findings)
    accepted = [_accepted(each, policy, today) for each in merged]
    about = _about_the_policy(merged, policy, today) if whole else []
    found = sorted([*accepted, *about], key=sort_key)
    counts = {level.name: sum(each.level is level for each in found) for level in ORDER}
    return AuditReport(verdict=_verdict(found, policy), counts=counts, findings=tuple(found))


def sort_key(finding: AuditFinding) -> tuple[int, str, int, str, str, str, str]:
    """Return what findings are ordered by: the worst first, then by place."""
    return (
        -finding.level.rank,
        finding.file,
        finding.line or 0,
        finding.pointer,
        finding.list or "",
        finding.rule or "",
        finding.id,
    )


def refuses(finding: AuditFinding, policy: AuditPolicy) -> bool:
    """Tell whether a finding stands in the way of canonical writes."""
    action = policy.actions[finding.level]
    if action is Action.UNLESS_ACCEPTED:
        return finding.accepted_until is None
    return action is Action.REFUSE


def exit_status(report: AuditReport, policy: AuditPolicy) -> int:
    """Return 1 where a finding other than UNKNOWN refuses, else 3 where one stands, else 0."""
    if any(refuses(each, policy) for each in report.findings if each.level is not Level.UNKNOWN):
        return 1
    return 3 if any(each.level is Level.UNKNOWN for each in report.findings) else 0


def _verdict(findings: Sequence[AuditFinding], policy: AuditPolicy) -> AuditVerdict:
    if any(refuses(each, policy) for each in findings):
        return AuditVerdict.REFUSE
    for each in findings:
        action = policy.actions[each.level]
        if action is Action.UNLESS_ACCEPTED or (
            action is Action.WARN and each.accepted_until is None
        ):
            return AuditVerdict.WARN
    return AuditVerdict.PASS


def _merged(findings: Iterable[AuditFinding]) -> list[AuditFinding]:
    """Return each finding once: several jobs may share a root, and find the same in it."""
    merged: dict[tuple[str | None, ...], AuditFinding] = {}
    for each in findings:
        key = (each.id, each.list, each.rule, each.file, each.pointer, str(each.line))
        known = merged.get(key)
        if known is None or each.level > known.level:
            merged[key] = each
        elif known.level is each.level and set(each.examples) - set(known.examples):
            examples = tuple(dict.fromkeys((*known.examples, *each.examples)))
            merged[key] = replace(known, examples=examples)
    return list(merged.values())


def _accepted(finding: AuditFinding, policy: AuditPolicy, today: date) -> AuditFinding:
    if policy.actions[finding.level] not in {Action.UNLESS_ACCEPTED, Action.WARN}:
        return finding
    ends = [each.until for each in policy.accepted if each.until >= today and _means(each, finding)]
    return replace(finding, accepted_until=max(ends).isoformat()) if ends else finding


def _means(acceptance: Acceptance, finding: AuditFinding) -> bool:
    return acceptance.rule in {finding.rule, finding.id}


def _about_the_policy(
    findings: Sequence[AuditFinding], policy: AuditPolicy, today: date
) -> list[AuditFinding]:
    """Return what is wrong with the policy itself: idle acceptances, weak levels."""
    collector = Collector()
    known: dict[str | None, list[AuditFinding]] = {}
    for each in findings:
        for name in {each.rule, each.id}:
            known.setdefault(name, []).append(each)
    for acceptance in policy.accepted:
        _about(acceptance, known.get(acceptance.rule, []), policy, today, collector)
    weak = [
        f'{level.name.lower()} = "{policy.actions[level].value}"'
        for level, shipped in SHIPPED.items()
        if level >= Level.HIGH and _STRICTNESS[policy.actions[level]] < _STRICTNESS[shipped]
    ]
    if weak and not policy.for_this_call:
        collector.add(
            "POLICY_WEAKENED",
            Level.MEDIUM,
            f"this home lets more pass than what is shipped: {', '.join(weak)}",
            source=replace(policy.source, pointer="/levels"),
        )
    return collector.found


def _about(
    acceptance: Acceptance,
    meant: Sequence[AuditFinding],
    policy: AuditPolicy,
    today: date,
    collector: Collector,
) -> None:
    said = f"{acceptance.rule}, accepted by {acceptance.owner} ({acceptance.reason})"
    if acceptance.until < today:
        collector.add(
            "ACCEPTANCE_EXPIRED",
            Level.MEDIUM,
            f"{said}, ended on {acceptance.until.isoformat()}: it counts no more",
            source=acceptance.source,
            rule=acceptance.rule,
            narrower="look at the rule again; then set a new until, or take the entry out",
        )
    elif not meant:
        collector.add(
            "ACCEPTANCE_IDLE",
            Level.LOW,
            f"{said}: nothing that was found is called so",
            source=acceptance.source,
            rule=acceptance.rule,
            narrower="take the entry out",
        )
    elif all(policy.actions[each.level] is Action.REFUSE for each in meant):
        collector.add(
            "ACCEPTANCE_WITHOUT_EFFECT",
            Level.MEDIUM,
            f"{said}: the finding is {meant[0].level.name}, which no acceptance lets pass",
            source=acceptance.source,
            rule=acceptance.rule,
            narrower="narrow the rule itself",
        )
