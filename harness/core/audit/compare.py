"""What changed since the last audit: findings that appeared, went, or changed their level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from harness.core.audit.model import AuditFinding
from harness.core.permissions import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFinding:
    """As much of a finding as is kept until the next audit; lines move, so they do not count."""

    id: str
    level: Level
    list: str | None
    rule: str | None
    file: str
    accepted_until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAudit:
    """The last audit of the same thing."""

    at: datetime
    fingerprint: str
    findings: tuple[KeptFinding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A finding whose level or acceptance is another one now."""

    before: KeptFinding
    now: KeptFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDiff:
    """The difference to the last audit; `since` is None where there was none."""

    since: datetime | None
    same_meaning: bool
    appeared: tuple[KeptFinding, ...]
    gone: tuple[KeptFinding, ...]
    changed: tuple[Moved, ...]


def kept(findings: Iterable[AuditFinding]) -> tuple[KeptFinding, ...]:
    """Return findings as they are kept."""
    return tuple(
        KeptFinding(
            id=each.id,
            level=each.level,
            list=each.list,
            rule=each.rule,
            file=each.file,
            accepted_until=each.accepted_until,
        )
        for each in findings
    )


def compare(last: KeptAudit | None, now: Sequence[KeptFinding], fingerprint: str) -> AuditDiff:
    """Return what changed; everything has appeared where there was no audit before."""
    old = _by_name(last.findings if last is not None else ())
    new = _by_name(now)
    return AuditDiff(
        since=last.at if last is not None else None,
        same_meaning=last is not None and last.fingerprint == fingerprint,
        appeared=tuple(each for name, each in new.items() if name not in old),
        gone=tuple(each for name, each in old.items() if name not in new),
        changed=tuple(
            Moved(before=old[name], now=each)
            for name, each in new.items()
            if name in old and old[name] != each
        ),
    )


def _by_name(findings: Iterable[KeptFinding]) -> dict[tuple[str, ...], KeptFinding]:
    """Return findings by what they are about; of several the first, which is the worst."""
    named: dict[tuple[str, ...], KeptFinding] = {}
    for each in findings:
        named.setdefault((each.id, each.list or "", each.rule or "", each.file), each)
    return named
