"""The first screen of the morning: the whole verdict in 24 lines, as words with a meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from harness.core.model import Outcome, Reason, RunRecord
from harness.core.report import TAKE_STOCK, URGENCY, MorningReport
from harness.core.text import one_line
from harness.core.tiers import Proposal, ProposalState

SCREEN_HEIGHT = 24
_PROMPT_LINES = 1


class Style(StrEnum):
    """What a piece of a line means; the renderer chooses how that looks."""

    PLAIN = "plain"
    TITLE = "title"
    DIM = "dim"
    COMMAND = "command"
    BYPASSED = "bypassed"
    HELD = "held"
    ERRORED = "errored"
    REFUSED = "refused"
    UNTOUCHED = "untouched"


Segment = tuple[Style, str]
Line = tuple[Segment, ...]


Row = tuple[Line, ...]
"""What belongs together: the line that must be seen, and lines that may be left out."""


@dataclass(slots=True)
class _Section:
    """A part of the screen; rows beyond `shown` are counted in one line.

    Attributes:
        brief: only the first line of each row is shown.
    """

    title: Line
    rows: Sequence[Row]
    more: str
    shown: int = 0
    brief: bool = False

    @property
    def height(self) -> int:
        return len(self.lines())

    def lines(self) -> list[Line]:
        result = [self.title]
        for row in self.rows[: self.shown]:
            result += row[:1] if self.brief else row
        hidden = len(self.rows) - self.shown
        if hidden:
            result.append(((Style.DIM, f"  … and {hidden} more: "), (Style.COMMAND, self.more)))
        return result


def screen(report: MorningReport, *, zone: tzinfo, height: int = SCREEN_HEIGHT) -> list[Line]:
    """Return the first screen: the whole verdict within `height` lines, a prompt included.

    Where not all fits, rows lose their second lines, the least urgent section first; then the
    longest sections give up rows and say how many are hidden.
    """
    head, foot = _head(report, zone), _foot(report)
    sections = [section for build in _SECTIONS if (section := build(report)) is not None]
    room = height - _PROMPT_LINES - len(head) - len(foot)
    _fit(sections, room)
    body = [section.lines() for section in sections]
    spare = room - sum(len(lines) for lines in body)
    gap: list[Line] = [()] if spare > len(body) else []
    return [*head, *(line for lines in body for line in (*gap, *lines)), *gap, *foot]


def _fit(sections: Sequence[_Section], room: int) -> None:
    for section in sections:
        section.shown = len(section.rows)
    for section in reversed(sections):
        if sum(each.height for each in sections) <= room:
            return
        section.brief = True
    while sum(section.height for section in sections) > room:
        longest = max(sections, key=lambda section: section.shown, default=None)
        if longest is None or longest.shown == 0:
            return
        # hiding the first row costs the line that says so: hide two at once
        longest.shown -= 2 if longest.shown == len(longest.rows) and longest.shown > 1 else 1


def _head(report: MorningReport, zone: tzinfo) -> list[Line]:
    since = report.since.astimezone(zone).strftime("%a %d %b %H:%M")
    until = report.until.astimezone(zone).strftime("%a %d %b %H:%M")
    total = len(report.runs)
    runs = f"{total} run{'' if total == 1 else 's'}"
    lines: list[Line] = [
        ((Style.TITLE, "The night "), (Style.PLAIN, f"{since} → {until} · {runs}")),
        _verdict(report),
        tuple(
            segment
            for outcome in URGENCY
            for segment in (
                (
                    Style(outcome.value) if report.counts[outcome] else Style.DIM,
                    f"{outcome.value} {report.counts[outcome]}",
                ),
                (Style.PLAIN, "   "),
            )
        ),
    ]
    lines.extend(((Style.ERRORED, f"note: {one_line(note)}"),) for note in report.notes[:2])
    return lines


def _verdict(report: MorningReport) -> Line:
    bypassed = report.counts[Outcome.BYPASSED]
    unwatched = sum(1 for run in report.runs if run.reason is Reason.UNWATCHED)
    waiting = sum(1 for proposal in report.pending if proposal.state is ProposalState.PENDING)
    if bypassed:
        runs = "1 run" if bypassed == 1 else f"{bypassed} runs"
        first: Segment = (Style.BYPASSED, f"{runs} changed canonical data past the gate.")
    elif not report.runs:
        first = (Style.ERRORED, "Nothing ran: no run ended in this time.")
    else:
        first = (Style.UNTOUCHED, "Nothing got past the gate.")
    rest = f" {waiting} waiting for you." if waiting else " Nothing waits for you."
    if unwatched:
        rest += f" {unwatched} could not be watched."
    return (first, (Style.PLAIN, rest))


def _bypassed(report: MorningReport) -> _Section | None:
    runs = [run for run in report.runs if run.outcome is Outcome.BYPASSED]
    if not runs:
        return None
    return _Section(
        title=((Style.BYPASSED, "BYPASSED"), (Style.DIM, "  changed without an approval")),
        rows=[_bypassed_row(run) for run in runs],
        more="harness runs list --outcome bypassed",
    )


def _bypassed_row(run: RunRecord) -> Row:
    what = ", ".join(_short_path(path) for path in run.evidence.changed_paths[:3])
    masked = run.masked
    would = f"  (else {masked.outcome.value}/{masked.reason.value})" if masked else ""
    return (
        (
            (Style.PLAIN, "  "),
            (Style.BYPASSED, run.job),
            (Style.PLAIN, f"  {one_line(what)}"),
            (Style.DIM, would),
        ),
        ((Style.DIM, "    look: "), (Style.COMMAND, f"harness runs show {run.run_id}")),
    )


def _short_path(path: str) -> str:
    return path if path.startswith("canonical:") else "/".join(path.rsplit("/", 2)[-2:])


def _held(report: MorningReport) -> _Section | None:
    waiting = [each for each in report.pending if each.state is ProposalState.PENDING]
    if not waiting:
        return None
    waiting.sort(key=lambda each: each.expires_at)
    return _Section(
        title=(
            (Style.HELD, "HELD"),
            (Style.DIM, "  decide: "),
            (Style.COMMAND, "harness approve ID…"),
            (Style.DIM, " or "),
            (Style.COMMAND, "harness reject ID… --reason WHY"),
        ),
        rows=[_held_row(proposal, report.until) for proposal in waiting],
        more="harness pending list",
    )


def _held_row(proposal: Proposal, now: datetime) -> Row:
    return (
        (
            (Style.HELD, f"  {proposal.id}"),
            (Style.PLAIN, f"  {proposal.key}"),
            (Style.DIM, f"  {proposal.job or 'by hand'}, {time_left(proposal, now)} left"),
        ),
        ((Style.PLAIN, f"    “{one_line(proposal.reason)}”"),),
    )


def _errored(report: MorningReport) -> _Section | None:
    runs = [run for run in report.runs if run.outcome is Outcome.ERRORED]
    quarantined = sum(1 for each in report.pending if each.state is ProposalState.QUARANTINED)
    if not runs and not quarantined:
        return None
    rows = [_failed_row(run, Style.ERRORED) for run in runs]
    if quarantined:
        what = "1 quarantined proposal" if quarantined == 1 else f"{quarantined} quarantined"
        line = ((Style.DIM, f"  {what} of such runs: "), (Style.COMMAND, "harness pending list"))
        rows.append((line,))
    return _Section(
        title=((Style.ERRORED, "ERRORED"),),
        rows=rows,
        more="harness runs list --outcome errored",
    )


def _failed_row(run: RunRecord, style: Style) -> Row:
    first = (
        (style, f"  {run.job}  {run.reason.value}"),
        (Style.DIM, f"  {one_line(run.detail)}" if run.detail else ""),
    )
    return (first, ((Style.DIM, f"    → {run.advice}"),)) if run.advice else (first,)


def _refused(report: MorningReport) -> _Section | None:
    runs = [run for run in report.runs if run.outcome is Outcome.REFUSED]
    if not runs:
        return None
    return _Section(
        title=((Style.REFUSED, "REFUSED"), (Style.DIM, "  never started")),
        rows=[_failed_row(run, Style.REFUSED) for run in runs],
        more="harness runs list --outcome refused",
    )


def _running(report: MorningReport) -> _Section | None:
    if not report.running:
        return None
    rows: list[Row] = [
        (
            (
                (Style.PLAIN, f"  {run.job}  "),
                (Style.DIM, f"for {span(report.until - run.started_at)}  {run.run_id}"),
            ),
        )
        for run in report.running
    ]
    return _Section(title=((Style.TITLE, "STILL RUNNING"),), rows=rows, more="harness runs list")


def _untouched(report: MorningReport) -> _Section | None:
    by_reason: dict[Reason, list[str]] = {}
    for run in report.runs:
        if run.outcome is Outcome.UNTOUCHED:
            by_reason.setdefault(run.reason, []).append(run.job)
    if not by_reason:
        return None
    quiet = by_reason.pop(Reason.NO_CHANGE, [])
    rows: list[Row] = [
        (((Style.PLAIN, f"  {reason.value}: "), (Style.PLAIN, _names(jobs))),)
        for reason, jobs in by_reason.items()
    ]
    if quiet:
        rows.append((((Style.DIM, f"  quiet ({len(quiet)}): "), (Style.DIM, _names(quiet))),))
    return _Section(
        title=((Style.UNTOUCHED, "UNTOUCHED"),),
        rows=rows,
        more="harness runs list --outcome untouched",
    )


def _names(jobs: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job] = counts.get(job, 0) + 1
    return ", ".join(job if count == 1 else f"{job} ×{count}" for job, count in counts.items())


def _foot(report: MorningReport) -> list[Line]:
    lines: list[Line] = []
    if report.expired:
        keys = ", ".join(proposal.key for proposal in report.expired)
        lines.append(
            (
                (Style.HELD, f"expired since {len(report.expired)}: "),
                (Style.PLAIN, one_line(keys)),
                (Style.DIM, "  (nobody decided within 3 days; nothing was written)"),
            )
        )
    if report.findings:
        kinds = dict.fromkeys(f"{finding.job} {finding.id}" for finding in report.findings)
        lines.append(
            ((Style.TITLE, f"findings {len(report.findings)}: "), (Style.PLAIN, ", ".join(kinds)))
        )
    if TAKE_STOCK in report.advice:
        lines.append(((Style.DIM, TAKE_STOCK),))
    return lines


_SECTIONS: tuple[Callable[[MorningReport], _Section | None], ...] = (
    _bypassed,
    _held,
    _errored,
    _refused,
    _running,
    _untouched,
)


def time_left(proposal: Proposal, now: datetime) -> str:
    """Return how long a proposal still waits, such as `2d 23h` or `41m`."""
    return span(max(proposal.expires_at - now, timedelta(0)))


def span(length: timedelta) -> str:
    """Return a duration in its two largest units."""
    seconds = int(length.total_seconds())
    for unit, size, smaller, fraction in (
        ("d", 86_400, "h", 3_600),
        ("h", 3_600, "m", 60),
        ("m", 60, "s", 1),
    ):
        if seconds >= size:
            rest = seconds % size // fraction
            return (
                f"{seconds // size}{unit} {rest}{smaller}" if rest else f"{seconds // size}{unit}"
            )
    return f"{seconds}s"
