"""Checks as a list for a person."""

from __future__ import annotations

from harness.cli.render import emit
from harness.core.text import one_line
from harness.services.doctor import CheckReport


def show_checks(report: CheckReport, *, as_json: bool) -> int:
    """Print checks; returns the exit status: 1 where one does not hold."""
    width = max((len(check.name) for check in report.checks), default=0)
    lines = []
    for check in report.checks:
        mark = "ok " if check.ok else "BAD"
        lines.append(f"{mark} {check.name:<{width}}  {one_line(check.detail)}")
        if not check.ok and check.hint:
            lines.append(f"    {'':<{width}}  → {one_line(check.hint)}")
    emit(report, as_json=as_json, text="\n".join(lines))
    return 0 if report.ok else 1
