"""The first screen of the morning: the whole verdict in 24 lines, as words with a meaning."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from harness.core.findings import watched_whole
from harness.core.layout import Line, Section, Segment, Style
from harness.core.report import TAKE_STOCK, URGENCY, MorningReport
from harness.core.sections import sections_of
from harness.core.text import one_line
from harness.core.tiers import ProposalState

SCREEN_HEIGHT = 24
_PROMPT_LINES = 1


def screen(
    report: MorningReport, *, zone: tzinfo, height: int = SCREEN_HEIGHT, whole: bool = False
) -> list[Line]:
    """Return the first screen: the whole verdict within `height` lines, a prompt included.

    Where not all fits, rows lose their second lines, the least urgent section first; then the
    longest sections give up rows and say how many are hidden. With `whole` nothing is hidden,
    and it may be longer.
    """
    head, foot = _head(report, zone), _foot(report)
    sections = sections_of(report, zone)
    room = height - _PROMPT_LINES - len(head) - len(foot)
    for section in sections:
        section.shown = len(section.rows)
    if not whole:
        _fit(sections, room)
    body = [section.lines() for section in sections]
    spare = room - sum(len(lines) for lines in body)
    gap: list[Line] = [()] if spare > len(body) else []
    return [*head, *(line for lines in body for line in (*gap, *lines)), *gap, *foot]


def _fit(sections: Sequence[Section], room: int) -> None:
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
    bypassed = len(report.open_bypasses)
    waiting = sum(1 for proposal in report.pending if proposal.state is ProposalState.PENDING)
    unwatched = _runs(sum(1 for run in report.runs if not watched_whole(run)))
    rest = f" {waiting} waiting for you." if waiting else " Nothing waits for you."
    if report.earlier_bypasses and not waiting:
        rest = ""
    if bypassed:
        first: Segment = (
            Style.BYPASSED,
            f"{_runs(bypassed)} changed canonical data past the gate.",
        )
        if not waiting:
            rest = ""  # the bypass itself waits for a person
        if unwatched:
            rest += f" {unwatched} could not be watched whole."
    elif not report.runs:
        first = (Style.ERRORED, "Nothing ran: no run ended in this time.")
    else:
        first = _nothing_past(len(report.acknowledged), unwatched)
    return (first, (Style.PLAIN, rest))


def _nothing_past(known: int, unwatched: str) -> Segment:
    """Say that nothing got past the gate, as far as the evidence goes and no further."""
    new = "Nothing new" if known else "Nothing"
    if unwatched:
        words = f"{new} was seen to get past the gate; {unwatched} could not be watched whole."
        return (Style.ERRORED, words)
    count = "1 bypass" if known == 1 else f"{known} bypasses"
    acknowledged = f"; {count} acknowledged" if known else ""
    return (Style.UNTOUCHED, f"{new} got past the gate{acknowledged}.")


def _runs(count: int) -> str:
    if not count:
        return ""
    return "1 run" if count == 1 else f"{count} runs"


def _earlier(report: MorningReport) -> list[Line]:
    """Name the bypasses of earlier nights that still wait for a word, and suspend their jobs."""
    if not report.earlier_bypasses:
        return []
    newest = report.earlier_bypasses[0]
    count = len(report.earlier_bypasses)
    what = f"{newest.job} bypassed earlier" if count == 1 else f"{count} earlier bypasses"
    return [
        (
            (Style.BYPASSED, what),
            (Style.PLAIN, ", not acknowledged: "),
            (Style.COMMAND, f"harness runs show {newest.run_id}"),
        )
    ]


def _foot(report: MorningReport) -> list[Line]:
    lines = _earlier(report)
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
