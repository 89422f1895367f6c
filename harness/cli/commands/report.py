"""`harness report`: the morning."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

import click

from harness.cli.context import Options, common_options, home_elsewhere
from harness.cli.house import open_reading
from harness.cli.render import emit
from harness.cli.render_report import show_report
from harness.core.tiers import ProposalState
from harness.errors import UsageProblem
from harness.services.morning import change_of, gather, last_evening, last_time

_SHOWN_CHANGES = 20
_AGO = re.compile(r"([0-9]{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


@click.command(name="report")
@click.option(
    "--since",
    metavar="TIME",
    help="ISO 8601, without a zone local; or 18:00, the last one; or 90m, 2h, 3d ago. "
    "Default: the last 18:00.",
)
@click.option("--no-pager", is_flag=True, help="Print it all, also where the terminal is small.")
@common_options
def command(options: Options, since: str | None, *, no_pager: bool) -> None:
    """Tell the truth about the night: what bypassed, what waits, what failed, what was quiet."""
    with open_reading(options) as reading:
        now = reading.state.now()
        start = _time(since, now) if since else last_evening(now)
        notes = [
            "the store takes no writes (read-only, or full): nothing was settled or swept"
        ] * reading.read_only
        report = gather(reading.state, since=start, notes=notes)
        if options.as_json:
            emit(report, as_json=True)
            return
        waiting = [each for each in report.pending if each.state is ProposalState.PENDING]
        show_report(
            report,
            [change_of(reading.state, each) for each in waiting[:_SHOWN_CHANGES]],
            home=home_elsewhere(reading.home),
            more_changes=max(len(waiting) - _SHOWN_CHANGES, 0),
            paged=not no_pager,
        )


def _time(text: str, now: datetime) -> datetime:
    """Return the time that somebody means; raises `UsageProblem` for one that is none, or ahead."""
    try:
        found = _parsed(text, now)
    except (ValueError, OverflowError) as problem:
        raise UsageProblem(
            f"--since {text}: expected a time such as 2026-11-30T18:00, 2026-11-30T18:00:00Z, "
            "18:00, 90m or 2h"
        ) from problem
    if found > now:
        raise UsageProblem(f"--since {text}: is still ahead; nothing has happened since")
    return found


def _parsed(text: str, now: datetime) -> datetime:
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    if re.fullmatch(r"[0-9]{1,2}:[0-9]{2}", text):
        return last_time(time.fromisoformat(text.rjust(5, "0")), now).astimezone(UTC)
    return datetime.fromisoformat(text).astimezone(UTC)
