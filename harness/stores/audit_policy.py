"""`rules/audit.toml`: what the audit's levels do, and what a person has accepted till when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path

import msgspec

from harness.core.audit.model import ORDER
from harness.core.audit.policy import SHIPPED, Acceptance, Action, AuditPolicy
from harness.core.permissions import Level
from harness.core.settings import RuleSource
from harness.stores.homes import Home
from harness.stores.shipped import shipped_folder
from harness.stores.toml_files import Findings, decode_table, decode_tables, parse_toml, read_text

NAME = "audit.toml"
_ACCEPTED = "accepted"
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*accepted[ \t]*\]\]", re.MULTILINE)
_UNTIL = "a date such as 2027-01-31, without quotes"


class _LevelsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    critical: str | None = None
    unknown: str | None = None
    high: str | None = None
    medium: str | None = None
    low: str | None = None
    narrow: str | None = None
    inert: str | None = None


class _ProtectedTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    trees: list[str] | None = None


class _AcceptedTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule: str | None = None
    reason: str | None = None
    owner: str | None = None
    until: object = None


def load_audit_policy(home: Home | None) -> AuditPolicy:
    """Read `rules/audit.toml` of a home; where it is absent, the one that is shipped.

    Raises:
        ConfigurationProblem: it is wrong; a line per mistake.
    """
    path = home.rules / NAME if home is not None else None
    if path is None or not path.exists():
        path = shipped_folder("rules") / NAME
    return read_policy(path)


def read_policy(path: Path) -> AuditPolicy:
    """Read one policy; raises like `load_audit_policy`."""
    findings = Findings(file=str(path))
    text = read_text(path, findings)
    raw = None if text is None else parse_toml(text, findings)
    findings.raise_any()
    tables = dict(raw or {})
    entries = tables.pop(_ACCEPTED, [])
    rest = decode_tables(tables, {"levels": None, "protected": None}, findings)
    policy = AuditPolicy(
        actions=_actions(rest["levels"], findings),
        trees=_trees(rest["protected"], findings),
        accepted=_acceptances(entries, path, text or "", findings),
        source=RuleSource(file=str(path)),
    )
    findings.raise_any()
    return policy


def _actions(raw: Mapping[str, object], findings: Findings) -> Mapping[Level, Action]:
    table = decode_table(raw, _LevelsTable, findings, prefix="levels.")
    choices = ", ".join(f'"{action.value}"' for action in Action)
    actions = dict(SHIPPED)
    for level in ORDER:
        given = getattr(table, level.value.lower())
        if given is None:
            continue
        if given in list(Action):
            actions[level] = Action(given)
        else:
            findings.expected(f"levels.{level.value.lower()}", f"one of {choices}", given)
    return actions


def _trees(raw: Mapping[str, object], findings: Findings) -> tuple[str, ...]:
    table = decode_table(raw, _ProtectedTable, findings, prefix="protected.")
    found = []
    for given in table.trees or []:
        try:
            path = Path(given).expanduser()
        except RuntimeError:
            path = Path()  # ~name of nobody
        if path.is_absolute() and "\0" not in given:
            found.append(str(path))
        else:
            expected = "absolute paths, or ones that begin with ~/"
            findings.expected("protected.trees", expected, given)
    return tuple(found)


def _acceptances(
    entries: object, path: Path, text: str, findings: Findings
) -> tuple[Acceptance, ...]:
    if not isinstance(entries, list):
        findings.expected(_ACCEPTED, "tables, each written [[accepted]]", entries)
        return ()
    lines = [text.count("\n", 0, header.start()) + 1 for header in _HEADER.finditer(text)]
    found = []
    for index, entry in enumerate(entries):
        source = RuleSource(
            file=str(path),
            pointer=f"/{_ACCEPTED}/{index}",
            line=lines[index] if len(lines) == len(entries) else None,
        )
        acceptance = _acceptance(entry, index, source, findings)
        if acceptance is not None:
            found.append(acceptance)
    return tuple(found)


def _acceptance(
    entry: object, index: int, source: RuleSource, findings: Findings
) -> Acceptance | None:
    prefix = f"{_ACCEPTED}[{index}]"
    if not isinstance(entry, dict):
        findings.expected(prefix, "a table, written [[accepted]]", entry)
        return None
    table = decode_table(entry, _AcceptedTable, findings, prefix=f"{prefix}.")
    whole = True
    for key in ("rule", "reason", "owner"):
        given = getattr(table, key)
        if (given is None or not given.strip()) and not findings.has(f"{prefix}.{key}"):
            findings.add(f"{prefix}.{key}", "missing: each acceptance says rule, reason, owner")
            whole = False
    until = table.until
    if not isinstance(until, date) or isinstance(until, datetime):
        findings.expected(f"{prefix}.until", _UNTIL, until if until is not None else "nothing")
        return None
    if not whole or not (table.rule and table.reason and table.owner):
        return None
    return Acceptance(
        rule=table.rule, reason=table.reason, owner=table.owner, until=until, source=source
    )
