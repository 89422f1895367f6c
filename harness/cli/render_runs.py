"""Runs as text for a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from harness.cli.render import fields, table
from harness.core.model import RunRecord
from harness.stores.protocols import OpenRun

_ANSWER_LINES = 12


def local(at: datetime) -> str:
    """Return a time on this machine's clock, to the minute."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def run_text(record: RunRecord) -> str:
    """Return one run as a block: the verdict first, then only what there is."""
    masked = record.masked
    pairs = [
        ("outcome", f"{record.outcome.value} / {record.reason.value}"),
        ("masked", f"{masked.outcome.value} / {masked.reason.value}" if masked else ""),
        ("cause", record.detail),
        ("next", record.advice),
        ("run", record.run_id),
        ("job", record.job),
        ("started", f"{local(record.started_at)}, took {record.duration_s:.1f} s"),
        ("ended", _ending(record)),
        ("cli", f"{record.cli.version or 'unknown'} {record.cli.path or ''}".strip()),
        ("model", record.model or ""),
        ("isolation", record.isolation),
        ("pending", ", ".join(record.pending)),
        ("quarantined", ", ".join(record.quarantined)),
        ("denied", ", ".join(f"{each.action}({each.target or ''})" for each in record.denied)),
        ("changed", ", ".join(record.evidence.changed_paths)),
        ("missing", ", ".join(record.evidence.missing_artefacts)),
        ("tokens", str(record.usage.total_tokens) if record.usage.total_tokens else ""),
        ("memory", f"{record.peak.rss_bytes // 1024**2} MiB" if record.peak.rss_bytes else ""),
        *(("finding", f"{finding.id}: {finding.detail}") for finding in record.findings),
    ]
    block = fields([(name, value) for name, value in pairs if value])
    answer = record.response.strip().splitlines()
    if not answer:
        return block
    shown = "\n".join(f"  | {line}" for line in answer[:_ANSWER_LINES])
    more = len(answer) - _ANSWER_LINES
    tail = f"\n  … {more} more lines" if more > 0 else ""
    return f"{block}\nthe agent's own words:\n{shown}{tail}"


def _ending(record: RunRecord) -> str:
    parts = []
    if record.exit_code is not None:
        parts.append(f"exit {record.exit_code}")
    if record.signal is not None:
        parts.append(f"signal {record.signal}")
    if record.killed is not None:
        parts.append(f"ended by the harness ({record.killed.value})")
    return ", ".join(parts)


def runs_text(records: Sequence[RunRecord], running: Sequence[OpenRun]) -> str:
    """Return runs as a table, those still on first."""
    if not records and not running:
        return "no runs yet; start one: harness run JOB"
    rows = [[run.run_id, run.job, "running", "", local(run.started_at), ""] for run in running]
    rows += [
        [
            record.run_id,
            record.job,
            record.outcome.value,
            record.reason.value,
            local(record.started_at),
            f"{record.duration_s:.0f} s",
        ]
        for record in records
    ]
    return table(["run", "job", "outcome", "reason", "started", "took"], rows)
