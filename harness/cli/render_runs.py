"""Runs and proposals as text for a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from harness.cli.render import fields, table
from harness.core.diffs import Diff
from harness.core.model import RunRecord
from harness.core.report import Change
from harness.core.restored import RestoreResult
from harness.core.screen import time_left
from harness.core.tiers import Proposal
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


def pending_text(proposals: Sequence[Proposal], now: datetime) -> str:
    """Return proposals as a table, the most urgent first."""
    if not proposals:
        return "nothing waits for you"
    rows = [
        [
            each.id,
            each.state.value,
            each.job or "by hand",
            each.key,
            time_left(each, now) if each.decided_at is None else "",
            each.reason,
        ]
        for each in sorted(proposals, key=lambda each: each.expires_at)
    ]
    return table(["id", "state", "job", "key", "left", "reason"], rows)


def proposal_text(proposal: Proposal, change: Change, now: datetime) -> str:
    """Return one proposal with what it would change."""
    pairs = [
        ("id", proposal.id),
        ("state", proposal.state.value),
        ("key", proposal.key),
        ("job", proposal.job or "by hand"),
        ("run", proposal.run_id or ""),
        ("left", time_left(proposal, now) if proposal.decided_at is None else ""),
        ("base", f"version {proposal.base_version}" + _moved(change)),
        ("sha256", proposal.value_sha256),
        ("decided", _decided(proposal)),
        ("reason", f"“{proposal.reason}” (the writer's own words)"),
    ]
    block = fields([(name, value) for name, value in pairs if value])
    return f"{block}\n{diff_text(change.diff)}"


def _moved(change: Change) -> str:
    return ", and the key has moved since: approving will end in a conflict" * change.base_moved


def _decided(proposal: Proposal) -> str:
    if proposal.decided_at is None:
        return ""
    reason = f": {proposal.decision_reason}" if proposal.decision_reason else ""
    return f"{local(proposal.decided_at)} by {proposal.decided_by or 'the harness'}{reason}"


def diff_text(diff: Diff) -> str:
    """Return a diff in its usual form."""
    lines = [f"{line.kind.value}{line.text}" for line in diff.lines]
    if diff.truncated:
        lines.append("… the rest of the difference is longer than what is shown")
    return "\n".join(lines)


def restore_text(result: RestoreResult) -> str:
    """Return what became of each guarded path."""
    rows = [[each.result.value, each.path, each.detail] for each in result.paths]
    return table(["result", "path", "detail"], rows)
