"""Checks as a list for a person."""

from __future__ import annotations

from harness.cli.render import emit, terminal_width
from harness.core.columns import pairs
from harness.core.text import one_line
from harness.services.doctor import CheckReport


def show_checks(report: CheckReport, *, as_json: bool) -> int:
    """Print checks; returns the exit status: 1 where one does not hold."""
    named = []
    for check in report.checks:
        mark = "ok " if check.ok else "BAD"
        named.append((f"{mark} {check.name}", one_line(check.detail)))
        if not check.ok and check.hint:
            named.append(("", f"→ {one_line(check.hint)}"))
    emit(report, as_json=as_json, text="\n".join(pairs(named, terminal_width())))
    return 0 if report.ok else 1
