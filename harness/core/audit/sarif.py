"""Findings as SARIF 2.1.0, for whatever shows findings of other tools."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from harness.core.audit.model import AuditFinding, AuditReport
from harness.core.permissions import Level

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: Mapping[Level, str] = {
    Level.CRITICAL: "error",
    Level.UNKNOWN: "error",
    Level.HIGH: "error",
    Level.MEDIUM: "warning",
    Level.LOW: "note",
    Level.NARROW: "none",
    Level.INERT: "none",
}
_RULE_TEXTS: Mapping[str, str] = {
    "RULE": "A permission rule and how broad it is",
    "RULE_NOT_IN_FORCE": "A rule that the CLI does not obey where it stands",
    "MODE": "A setting that decides without a rule",
    "ARGUMENT": "An argument of a job that is not known",
    "ENV_PREFIX": "Variables and options that ride on prefix rules",
    "WRITE_AND_RUN": "A write grant beside a rule that runs what is written",
    "READ_AND_SEND": "A wide read beside a way out",
    "GIT_CONFIGURED": "Git's configuration beside git",
    "DENY_BYPASSED": "A deny rule beside an allow rule that walks around it",
}

_Json = dict[str, object]


def sarif_of(report: AuditReport, *, version: str) -> dict[str, object]:
    """Return a report as a SARIF log; `version` is the harness's own."""
    ids = sorted({each.id for each in report.findings})
    index = {id_: position for position, id_ in enumerate(ids)}
    driver: _Json = {
        "name": "harness audit",
        "version": version,
        "rules": [
            {"id": id_, "shortDescription": {"text": _RULE_TEXTS.get(id_, _words(id_))}}
            for id_ in ids
        ],
    }
    run: _Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, index[each.id]) for each in report.findings],
        "properties": {
            "verdict": report.verdict.value,
            "counts": dict(report.counts),
            "fingerprint": report.fingerprint,
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: AuditFinding, index: int) -> _Json:
    level = _LEVELS[finding.level]
    result: _Json = {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": level,
        "kind": "informational" if level == "none" else "fail",
        "message": {"text": _message(finding)},
        "partialFingerprints": {"finding/v1": _fingerprint(finding)},
        "properties": {
            "level": finding.level.value,
            "list": finding.list.value if finding.list is not None else None,
            "rule": finding.rule,
            "coversDanger": finding.covers_danger,
            "coversBenign": finding.covers_benign,
            "examples": list(finding.examples),
            "narrower": finding.narrower,
        },
    }
    location = _location(finding)
    if location:
        result["locations"] = [location]
    if finding.accepted_until is not None:
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": f"accepted until {finding.accepted_until}",
            }
        ]
    return result


def _location(finding: AuditFinding) -> _Json:
    location: _Json = {}
    if finding.file.startswith("/"):
        uri = "file://" + quote(finding.file, safe="/", errors="surrogateescape")
        physical: _Json = {"artifactLocation": {"uri": uri}}
        if finding.line is not None:
            physical["region"] = {"startLine": finding.line}
        location["physicalLocation"] = physical
    name = finding.pointer if finding.file.startswith("/") else finding.file + finding.pointer
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    return location


def _message(finding: AuditFinding) -> str:
    parts: Sequence[str] = [
        *([f"{finding.list.value}: "] if finding.list is not None else []),
        *([f"{finding.rule}: "] if finding.rule else []),
        finding.why,
        *([f"\nInstead: {finding.narrower}"] if finding.narrower else []),
    ]
    return "".join(parts)


def _fingerprint(finding: AuditFinding) -> str:
    parts = (finding.id, finding.list or "", finding.rule or "", finding.file)
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def _words(id_: str) -> str:
    return id_.replace("_", " ").capitalize()
