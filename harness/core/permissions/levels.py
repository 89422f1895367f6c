"""The values of the audit: how broad a rule is, what it brings along, what is decided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a rule gives away; members compare by breadth, the broadest is the greatest."""

    CRITICAL = "CRITICAL"  #: code, files, the CLI's or the harness's own state: refused
    UNKNOWN = "UNKNOWN"  #: cannot be judged: refused
    HIGH = "HIGH"  #: damage with a common argument: refused without a dated exception
    MEDIUM = "MEDIUM"  #: warned
    LOW = "LOW"  #: a prefix rule of a harmless program
    NARROW = "NARROW"  #: exact lines, one tool, one file
    INERT = "INERT"  #: matches nothing

    @property
    def rank(self) -> int:
        """Breadth as a number; 0 for a rule that matches nothing."""
        return _RANKS[self.value]

    def __lt__(self, other: str) -> bool:
        return self.rank < _RANKS[other]

    def __le__(self, other: str) -> bool:
        return self.rank <= _RANKS[other]

    def __gt__(self, other: str) -> bool:
        return self.rank > _RANKS[other]

    def __ge__(self, other: str) -> bool:
        return self.rank >= _RANKS[other]


_RANKS = {
    name: rank
    for rank, name in enumerate(("INERT", "NARROW", "LOW", "MEDIUM", "HIGH", "UNKNOWN", "CRITICAL"))
}


class Decision(StrEnum):
    """What the CLI does with a request; without a terminal, asking is a denial."""

    ALLOW = "ALLOW"
    ASK = "ASK"
    DENY = "DENY"


class Trait(StrEnum):
    """What a rule contributes to a combination with another rule."""

    PREFIX = "prefix"  #: environment prefixes and `--output` ride on it
    EVERY_COMMAND = "every_command"
    WORKSPACE_CODE = "workspace_code"  #: runs what lies in the workspace
    WORKSPACE_WRITE = "workspace_write"
    WIDE_READ = "wide_read"
    EGRESS = "egress"
    GIT = "git"
    GIT_CONFIGURATION = "git_configuration"  #: writes `.git` or runs `git config`


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason for a level.

    Attributes:
        level: how broad.
        why: one sentence, or a clause of one.
        traits: what it brings to combinations.
    """

    level: Level
    why: str
    traits: frozenset[Trait] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is known of one rule.

    Attributes:
        level: how broad it is.
        why: the reason, one sentence.
        covers_danger: how many of the dangerous lines of the corpus it covers.
        covers_benign: how many of the benign ones.
        examples: dangerous lines that it covers, three at most.
        narrower: a rule that does the useful part with less; None where none is known.
        traits: what it brings to combinations with other rules.
    """

    level: Level
    why: str
    covers_danger: int = 0
    covers_benign: int = 0
    examples: tuple[str, ...] = ()
    narrower: str | None = None
    traits: frozenset[Trait] = frozenset()


def broadest(findings: list[Finding]) -> Finding:
    """Return the first of the broadest findings, with the traits of all; the list has one."""
    worst = max(findings, key=lambda finding: finding.level.rank)
    together = frozenset[Trait]().union(*(finding.traits for finding in findings))
    return Finding(level=worst.level, why=worst.why, traits=together)
