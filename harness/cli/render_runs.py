"""Runs as text for a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from harness.cli.render import fields, table
from harness.core.advice import command_and_words
from harness.core.layout import span
from harness.core.model import Acknowledgement, RunRecord
from harness.services.run_files import RunFiles
from harness.stores.protocols import OpenRun

if TYPE_CHECKING:
    from harness.services.dry_run import DryRun

_ANSWER_LINES = 12


def local(at: datetime) -> str:
    """Return a time on this machine's clock, to the minute."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def run_text(
    record: RunRecord,
    *,
    recorded: bool = True,
    acknowledged: Acknowledgement | None = None,
    said_by: str = "",
) -> str:
    """Return one run as a block: the verdict first, then only what there is.

    Args:
        record: the run.
        recorded: it is stored, so that its id leads somewhere.
        acknowledged: what a person said about it.
        said_by: the command that prints this; it is not advised once more.
    """
    masked = record.masked
    pairs = [
        ("outcome", f"{record.outcome.value} / {record.reason.value}"),
        ("masked", f"{masked.outcome.value} / {masked.reason.value}" if masked else ""),
        ("acknowledged", _acknowledged(acknowledged)),
        ("cause", record.detail),
        ("next", "" if acknowledged else _next(record.advice, said_by)),
        ("run", record.run_id if recorded else ""),
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


def _acknowledged(word: Acknowledgement | None) -> str:
    if word is None:
        return ""
    return f"{local(word.at)} by {word.actor}: {word.reason}"


def _next(advice: str, said_by: str) -> str:
    command, words = command_and_words(advice)
    if command != said_by:
        return advice
    return f"run it again: {words}" if said_by.startswith("harness run ") else words


def open_run_text(run: OpenRun, files: RunFiles, now: datetime) -> str:
    """Return what is known of a run that is still on."""
    return fields(
        [
            ("outcome", "none yet: this run is still on"),
            ("run", run.run_id),
            ("job", run.job),
            ("started", f"{local(run.started_at)}, {span(now - run.started_at)} ago"),
            ("workspace", run.workspace),
            ("stdout", files.stdout),
            ("stderr", files.stderr),
            ("log", files.log),
        ]
    )


def dry_run_text(plan: DryRun) -> str:
    """Return what a run would do."""
    if plan.reason is not None:
        return f"{plan.job} would be refused: {plan.reason.value}: {plan.detail}"
    import shlex

    pairs = [
        ("cli", f"{plan.cli.path} {plan.cli.version or ''}".rstrip()),
        ("isolation", plan.isolation),
        ("workspace", plan.workspace),
        ("guards", ", ".join(plan.guards) or "none"),
        ("environment", " ".join(plan.environment)),
        ("command", shlex.join(plan.argv)),
        *(("finding", f"{each.id}: {each.detail}") for each in plan.findings),
    ]
    return f"{plan.job} would start now\n{fields(pairs)}"


def _ending(record: RunRecord) -> str:
    parts = []
    if record.exit_code is not None:
        parts.append(f"exit {record.exit_code}")
    if record.signal is not None:
        parts.append(f"signal {record.signal}")
    if record.killed is not None:
        parts.append(f"ended by the harness ({record.killed.value})")
    return ", ".join(parts)


def runs_text(records: Sequence[RunRecord], running: Sequence[OpenRun], *, filtered: bool) -> str:
    """Return runs as a table, those still on first.

    Args:
        records: closed runs, newest first.
        running: runs that are on.
        filtered: only some of all runs were asked for.
    """
    if not records and not running:
        return "no such runs" if filtered else "no runs yet; start one: harness run JOB"
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
    headings = ["run", "job", "outcome", "reason", "started", "took"]
    return table(headings, rows, flexible=["reason"], optional=["job", "took"])
