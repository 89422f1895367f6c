"""The sections of the first screen: what is open comes first, what was dealt with last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from harness.core.advice import command_and_words
from harness.core.layout import Row, Section, Style, span, time_left
from harness.core.model import Acknowledgement, Outcome, Reason, RunRecord
from harness.core.report import MorningReport
from harness.core.text import one_line
from harness.core.tiers import Proposal, ProposalState

_GOOD = (Outcome.HELD, Outcome.UNTOUCHED)
_DAY = timedelta(days=1)


def sections_of(report: MorningReport, zone: tzinfo) -> list[Section]:
    """Return the sections that have something to show, the most urgent first."""
    built = (
        _bypassed(report),
        _held(report),
        _failed(report, Outcome.ERRORED, Style.ERRORED),
        _failed(report, Outcome.REFUSED, Style.REFUSED),
        _quarantined(report),
        _running(report),
        _untouched(report),
        _acknowledged(report, zone),
    )
    return [section for section in built if section is not None]


def _bypassed(report: MorningReport) -> Section | None:
    runs = report.open_bypasses
    if not runs:
        return None
    return Section(
        title=((Style.BYPASSED, "BYPASSED"), (Style.DIM, "  changed without an approval")),
        rows=[_bypassed_row(run) for run in runs],
        more="harness runs list --outcome bypassed",
    )


def _bypassed_row(run: RunRecord) -> Row:
    masked = run.masked
    would = f"  (else {masked.outcome.value}/{masked.reason.value})" if masked else ""
    return (
        (
            (Style.PLAIN, "  "),
            (Style.BYPASSED, run.job),
            (Style.PLAIN, f"  {_changed(run)}"),
            (Style.DIM, would),
        ),
        ((Style.DIM, "    look: "), (Style.COMMAND, f"harness runs show {run.run_id}")),
    )


def _changed(run: RunRecord) -> str:
    return one_line(", ".join(_short_path(path) for path in run.evidence.changed_paths[:3]))


def _short_path(path: str) -> str:
    return path if path.startswith("canonical:") else "/".join(path.rsplit("/", 2)[-2:])


def _held(report: MorningReport) -> Section | None:
    waiting = [each for each in report.pending if each.state is ProposalState.PENDING]
    if not waiting:
        return None
    waiting.sort(key=lambda each: each.expires_at)
    return Section(
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


def _failed(report: MorningReport, outcome: Outcome, style: Style) -> Section | None:
    """Return the runs of one kind of failure: a row for each job and reason, the newest shown.

    What a later good run of the same job has made good stands dimmed below what is still open.
    """
    groups: dict[tuple[str, Reason], list[RunRecord]] = {}
    for run in report.runs:
        if run.outcome is outcome:
            groups.setdefault((run.job, run.reason), []).append(run)
    if not groups:
        return None
    open_rows, solved_rows = [], []
    for runs in groups.values():
        later = _later_good(report.runs, runs[0])
        if later is None:
            open_rows.append(_failed_row(runs[0], len(runs), style))
        else:
            solved_rows.append(_solved_row(runs[0], len(runs), later))
    never = ((Style.DIM, "  never started"),) if outcome is Outcome.REFUSED else ()
    return Section(
        title=((style, outcome.value.upper()), *never),
        rows=[*open_rows, *solved_rows],
        more=f"harness runs list --outcome {outcome.value}",
    )


def _later_good(runs: Sequence[RunRecord], failed: RunRecord) -> RunRecord | None:
    """Return the newest run of the same job that ended well after a failed one."""
    return next(
        (
            run
            for run in runs
            if run.job == failed.job and run.outcome in _GOOD and run.ended_at > failed.ended_at
        ),
        None,
    )


def _what(run: RunRecord, times: int) -> str:
    often = f" ×{times}" if times > 1 else ""
    return f"  {run.job}  {run.reason.value}{often}"


def _failed_row(run: RunRecord, times: int, style: Style) -> Row:
    detail = f"  {one_line(run.detail)}" if run.detail else ""
    first = ((style, _what(run, times)), (Style.DIM, detail))
    if not run.advice:
        return (first,)
    command, words = command_and_words(run.advice)
    said = f"  # {words}" if command and words else words
    return (first, ((Style.DIM, "    → "), (Style.COMMAND, command), (Style.DIM, said)))


def _solved_row(run: RunRecord, times: int, later: RunRecord) -> Row:
    return (((Style.DIM, f"{_what(run, times)}  later: {later.outcome.value}"),),)


def _quarantined(report: MorningReport) -> Section | None:
    rows: list[Row] = [
        (((Style.DIM, f"  {each.id}  {each.key}  {each.job or 'by hand'}"),),)
        for each in report.pending
        if each.state is ProposalState.QUARANTINED
    ]
    if not rows:
        return None
    count = "1 proposal" if len(rows) == 1 else f"{len(rows)} proposals"
    return Section(
        title=(
            (Style.TITLE, "QUARANTINED"),
            (Style.DIM, f"  {count} of runs that went wrong: "),
            (Style.COMMAND, "harness pending show ID"),
        ),
        rows=rows,
        more="harness pending list",
    )


def _running(report: MorningReport) -> Section | None:
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
    return Section(title=((Style.TITLE, "STILL RUNNING"),), rows=rows, more="harness runs list")


def _untouched(report: MorningReport) -> Section | None:
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
    return Section(
        title=((Style.UNTOUCHED, "UNTOUCHED"),),
        rows=rows,
        more="harness runs list --outcome untouched",
    )


def _names(jobs: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job] = counts.get(job, 0) + 1
    return ", ".join(job if count == 1 else f"{job} ×{count}" for job, count in counts.items())


def _acknowledged(report: MorningReport, zone: tzinfo) -> Section | None:
    words = {word.run_id: word for word in report.acknowledged}
    rows: list[Row] = [
        (
            ((Style.DIM, f"  {run.job}  {_changed(run)}"),),
            ((Style.DIM, f"    {acknowledged_text(words[run.run_id], report.until, zone)}"),),
        )
        for run in report.runs
        if run.run_id in words
    ]
    if not rows:
        return None
    return Section(
        title=((Style.DIM, "BYPASSED, and acknowledged"),),
        rows=rows,
        more="harness runs list --outcome bypassed",
    )


def acknowledged_text(word: Acknowledgement, now: datetime, zone: tzinfo) -> str:
    """Return who took note of a bypass, when and with which words, in one line."""
    form = "%H:%M" if now - word.at < _DAY else "%Y-%m-%d %H:%M"
    who = word.actor.partition("@")[0]
    return f"acknowledged {word.at.astimezone(zone):{form}} by {who}: {one_line(word.reason)}"
