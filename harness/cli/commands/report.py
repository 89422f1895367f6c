"""`harness report`: the morning."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from harness.cli.context import Options, common_options
from harness.cli.house import open_reading
from harness.cli.render import emit
from harness.cli.render_report import show_report
from harness.core.tiers import ProposalState
from harness.errors import UsageProblem
from harness.services.morning import change_of, gather, last_evening

_SHOWN_CHANGES = 20


@click.command(name="report")
@click.option(
    "--since", metavar="TIME", help="ISO 8601; without a zone, local. Default: the last 18:00."
)
@common_options
def command(options: Options, since: str | None) -> None:
    """Tell the truth about the night: what bypassed, what waits, what failed, what was quiet."""
    with open_reading(options) as reading:
        start = _time(since) if since else last_evening(reading.state.now())
        notes = [
            "the store takes no writes (read-only, or full): nothing was settled or swept"
        ] * reading.read_only
        report = gather(reading.state, since=start, notes=notes)
        if options.as_json:
            emit(report, as_json=True)
            return
        waiting = [each for each in report.pending if each.state is ProposalState.PENDING]
        changes = [change_of(reading.state, each) for each in waiting[:_SHOWN_CHANGES]]
        show_report(report, changes)


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError as problem:
        raise UsageProblem(
            f"--since {text}: expected a time such as 2026-11-30T18:00 or 2026-11-30T18:00:00Z"
        ) from problem
