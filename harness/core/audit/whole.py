"""The whole audit of one subject, in one order."""

from __future__ import annotations

from harness.core.audit.code import audit_code
from harness.core.audit.combinations import audit_combinations
from harness.core.audit.defaults import audit_defaults
from harness.core.audit.files import audit_files
from harness.core.audit.model import AuditFinding, Collector, Subject
from harness.core.audit.modes import audit_modes
from harness.core.audit.rules import judge_rules


def audit_subject(subject: Subject) -> list[AuditFinding]:
    """Return everything that is found about one run's permissions; unsorted, nothing accepted."""
    judged = judge_rules(subject)
    collector = Collector()
    collector.found.extend(judged.findings)
    audit_modes(subject, collector)
    audit_files(subject, judged.rules, collector)
    audit_code(subject, collector)
    audit_defaults(subject, judged.rules, collector)
    audit_combinations(subject, judged.rules, collector)
    return collector.found
