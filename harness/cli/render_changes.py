"""Proposals and differences as text for a person.

Apart from `render_runs`: a run is told of without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from harness.cli.render import fields, table
from harness.cli.render_runs import local
from harness.core.diffs import Diff
from harness.core.layout import time_left
from harness.core.model import RunRecord
from harness.core.report import Change
from harness.core.restored import RestoreResult
from harness.core.tiers import Proposal, ProposalState


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
    headings = ["id", "state", "job", "key", "left", "reason"]
    return table(headings, rows, flexible=["job", "key", "reason"])


def proposal_text(proposal: Proposal, change: Change, now: datetime, run: RunRecord | None) -> str:
    """Return one proposal with what it would change; `run` is the one that it came from."""
    pairs = [
        ("id", proposal.id),
        ("state", proposal.state.value),
        ("key", proposal.key),
        ("job", proposal.job or "by hand"),
        ("run", proposal.run_id or ""),
        ("quarantined", _quarantined(proposal, run)),
        ("to approve", _to_approve(proposal)),
        ("left", time_left(proposal, now) if proposal.decided_at is None else ""),
        ("base", f"version {proposal.base_version}" + _moved(change)),
        ("sha256", proposal.value_sha256),
        ("decided", _decided(proposal)),
        ("reason", f"“{proposal.reason}” (the writer's own words)"),
    ]
    block = fields([(name, value) for name, value in pairs if value])
    return f"{block}\n{diff_text(change.diff)}"


def _quarantined(proposal: Proposal, run: RunRecord | None) -> str:
    if proposal.state is not ProposalState.QUARANTINED:
        return ""
    if run is None:
        return "its run did not end well"
    return f"its run is {run.outcome.value} / {run.reason.value}: harness runs show {run.run_id}"


def _to_approve(proposal: Proposal) -> str:
    match proposal.state:
        case ProposalState.QUARANTINED:
            return f"harness approve {proposal.id} --quarantined"
        case ProposalState.PENDING:
            return f"harness approve {proposal.id} --sha256 {proposal.value_sha256}"
        case _:
            return ""


def _moved(change: Change) -> str:
    if change.base_moved:
        return ", and the key has moved since: approving will end in a conflict"
    return ", a new key" if change.new_key else ""


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
