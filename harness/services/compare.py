"""What a run changed: guarded paths, canonical keys and the agents' own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.agy.artefacts import missing, stand
from harness.agy.guards import LIMIT_S, Limit, TooLarge, snapshot
from harness.core.evidence import (
    FileDigest,
    PathKind,
    below,
    changed_keys,
    changed_paths,
    is_watched,
    missing_guards,
    outside_paths,
    unexplained,
    unreadable_paths,
)
from harness.core.findings import unwatched_configuration
from harness.core.model import Evidence, Finding, OutputReport
from harness.services.house import House
from harness.services.plan import RunPlan

CONFIGURATION_S = 10.0
"""Seconds for `.agents/` and git's hooks, which are few files where nobody floods them."""
_HURRIED_S = 40.0
"""Seconds for the guards where the harness itself was told to stop and must answer in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Evidence, and what remembering and restoring need of it.

    Attributes:
        after: what stands at `seen_roots` and below them now.
        changed: guarded paths that differ, with what stands there now.
        watched_changes: paths of `.agents/` and git's hooks that differ.
        missing_guards: guarded paths at which nothing stood before or after.
    """

    evidence: Evidence
    after: Mapping[str, FileDigest]
    seen_roots: tuple[str, ...]
    changed: Mapping[str, FileDigest]
    watched_changes: tuple[str, ...]
    missing_guards: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guarded:
    """What became of the guards: `flooded` where there are more files than may be digested."""

    after: Mapping[str, FileDigest]
    flooded: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def compare(
    house: House,
    plan: RunPlan,
    before: Mapping[str, FileDigest],
    report: OutputReport,
    *,
    survivors_killed: int,
    hurried: bool,
) -> Comparison:
    """Look at everything that a run's plan names and compare it with before."""
    guarded = _guards(plan, before, hurried=hurried)
    configuration, findings = _configuration(plan, before)
    guards_before = {path: each for path, each in before.items() if below(path, plan.guard_roots)}
    seen = not guarded.flooded and not guarded.unread
    changes = changed_paths(guards_before, guarded.after) if seen else []
    heads = house.state.canonical.heads()
    found = unexplained(
        changes,
        changed_keys(plan.heads, heads),
        heads,
        house.state.canonical.approved_since(plan.last_event),
    )
    gone = missing_guards(plan.guard_roots, before, guarded.after) if seen else []
    changed = (*guarded.flooded, *found)
    evidence = Evidence(
        canonical_changed=bool(changed),
        changed_paths=changed,
        outside_paths=tuple(outside_paths(report.written_paths, plan.workspace)),
        missing_artefacts=missing(plan.artefacts, stand(plan.artefacts)),
        survivors_killed=survivors_killed,
        changed_between_runs=plan.changed_between_runs,
        unreadable=(*guarded.unread, *unreadable_paths(guarded.after)),
        watched=plan.before_known
        and (bool(guarded.flooded) or is_watched(plan.guard_roots, before, guarded.after)),
    )
    return Comparison(
        evidence=evidence,
        after={**(configuration or {}), **guarded.after},
        seen_roots=(
            *(plan.guard_roots if seen else ()),
            *(plan.watched_roots if configuration is not None else ()),
        ),
        changed={each.path: each.after or FileDigest(kind=PathKind.ABSENT) for each in changes},
        watched_changes=_configuration_changes(plan, before, configuration),
        missing_guards=tuple(gone),
        findings=findings,
    )


def _guards(plan: RunPlan, before: Mapping[str, FileDigest], *, hurried: bool) -> _Guarded:
    after = snapshot(plan.guard_roots, before, limit_s=_HURRIED_S if hurried else LIMIT_S)
    if not isinstance(after, TooLarge):
        return _Guarded(after=after)
    if after.what is Limit.FILES:  # they were few enough before: somebody put more there
        return _Guarded(after={}, flooded=plan.guard_roots)
    return _Guarded(after={}, unread=plan.guard_roots)


def _configuration(
    plan: RunPlan, before: Mapping[str, FileDigest]
) -> tuple[Mapping[str, FileDigest] | None, tuple[Finding, ...]]:
    """Return what stands at `.agents/` and git's hooks; None where that is too much."""
    after = snapshot(plan.watched_roots, before, limit_s=CONFIGURATION_S)
    if not isinstance(after, TooLarge):
        return after, ()
    return None, (unwatched_configuration(plan.watched_roots, after.count, after.what),)


def _configuration_changes(
    plan: RunPlan,
    before: Mapping[str, FileDigest],
    after: Mapping[str, FileDigest] | None,
) -> tuple[str, ...]:
    if after is None:
        return ()
    own = {path: each for path, each in before.items() if below(path, plan.watched_roots)}
    changes = changed_paths(own, after)
    return tuple(each.path for each in changes if not below(each.path, plan.guard_roots))
