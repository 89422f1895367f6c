"""The findings of an audit on a terminal: the worst first, each with its place and its remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cli.render import fields
from harness.core.audit.compare import AuditDiff, KeptFinding
from harness.core.audit.model import ORDER, AuditFinding, AuditVerdict
from harness.core.permissions import Level
from harness.core.text import bounded, one_line
from harness.services.audit import Audited, WouldOf

_STYLES = {
    Level.CRITICAL: "bold white on red",
    Level.UNKNOWN: "bold magenta",
    Level.HIGH: "bold red",
    Level.MEDIUM: "yellow",
    Level.LOW: "green",
    Level.NARROW: "green",
    Level.INERT: "dim",
}
_VERDICTS = {
    AuditVerdict.REFUSE: "canonical writes are refused",
    AuditVerdict.WARN: "canonical writes go on, with a warning",
    AuditVerdict.PASS: "nothing stands in the way of canonical writes",
}
_LEAST_WIDTH = 100
_TEXT_LIMIT = 400
_EXAMPLES = 3
#: Their examples are the rules that they name already, each with its place: for `--json`.
_NAMED_ALREADY = {
    *("ENV_PREFIX", "WRITE_AND_RUN", "READ_AND_SEND", "GIT_CONFIGURED"),
    "DENY_IGNORED_BY_COMMANDS",
}


def show_audit(audited: Audited, diff: AuditDiff | None) -> None:
    """Print the findings as a table, what changed where that was asked, and one line of sum."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(
            highlight=False, markup=False, emoji=False, width=max(console.width, _LEAST_WIDTH)
        )
    report = audited.report
    if report.findings:
        console.print(_table(report.findings))
    if diff is not None:
        for line in _diff_lines(diff):
            console.print(line)
    console.print(_summary(audited), style="bold", soft_wrap=True)


def would_text(answers: Sequence[WouldOf]) -> str:
    """Return what would become of a request, a block for each job."""
    blocks = []
    for each in answers:
        answer = each.answer
        decision = answer.decision.value
        if answer.headless is not answer.decision:
            decision += f" (in a headless run: {answer.headless.value})"
        pairs = [
            ("request", answer.request),
            *([("job", each.job)] if each.job is not None else []),
            ("decision", decision),
            *(
                ("by", f"{by.list}: {by.rule}  {_place(by.file, by.line)} {by.pointer}")
                if by.rule is not None
                else ("by", f"{_place(by.file, by.line)} {by.pointer}".strip())
                for by in answer.by
            ),
            ("why", answer.why),
        ]
        blocks.append(fields(pairs))
    return "\n\n".join(blocks)


def _table(findings: Sequence[AuditFinding]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), show_edge=False)
    table.add_column("level", no_wrap=True)
    table.add_column("what, where", ratio=2, overflow="fold")
    table.add_column("why, instead", ratio=3, overflow="fold")
    for finding in findings:
        table.add_row(
            Text(finding.level.value, style=_STYLES[finding.level]), _what(finding), _why(finding)
        )
    return table


def _what(finding: AuditFinding) -> Text:
    head = _safe(finding.rule or _words(finding.id))
    if finding.list is not None:
        head = f"{finding.list.value}: {head}"
    text = Text(head, style="bold")
    text.append("\n" + _safe(_place(finding.file, finding.line)), style="not bold cyan")
    if finding.pointer:
        text.append("\n" + _safe(finding.pointer), style="not bold dim")
    return text


def _why(finding: AuditFinding) -> Text:
    text = Text()
    if finding.id != "RULE" and finding.rule is not None:
        text.append(f"{finding.id}  ", style="dim")
    text.append(_safe(finding.why))
    evidence = _evidence(finding)
    if evidence:
        text.append("\n" + evidence, style="dim")
    if finding.narrower:
        text.append("\ninstead: ", style="dim")
        text.append(_safe(finding.narrower), style="green")
    if finding.accepted_until is not None:
        text.append(f"\naccepted until {finding.accepted_until}", style="dim")
    return text


def _evidence(finding: AuditFinding) -> str:
    """Return how many lines it covers with a few of them, or what else shows the finding."""
    if finding.id in _NAMED_ALREADY:
        return ""
    shown = "; ".join(_safe(each) for each in finding.examples[:_EXAMPLES])
    more = len(finding.examples) - _EXAMPLES
    rest = f" and {more} more" if more > 0 else ""
    if finding.covers_danger is None:
        return shown + rest
    if not finding.covers_danger:
        return ""
    lines = f"covers {finding.covers_danger} of 100 dangerous lines"
    return f"{lines}, such as {shown}" if shown else lines


def _summary(audited: Audited) -> str:
    report = audited.report
    counted = ", ".join(
        f"{report.counts[level.value]} {level.value}"
        for level in ORDER
        if report.counts[level.value]
    )
    judged = Counter(layer.file for subject in audited.subjects for layer in subject.view.layers)
    jobs = [subject.job for subject in audited.subjects if subject.job is not None]
    parts = [
        f"audit: {report.verdict.value}: {_VERDICTS[report.verdict]}"
        if audited.subjects
        else f"audit: {report.verdict.value}",
        counted or "no findings",
        *([f"{len(judged)} file{'s' * (len(judged) != 1)}"] if audited.subjects else []),
        *([f"jobs {', '.join(jobs)}"] if jobs else []),
        f"CLI {one_line(report.version) or 'unknown'}",
    ]
    return " · ".join(parts)


def _diff_lines(diff: AuditDiff) -> list[Text]:
    if diff.since is None:
        return [Text("no earlier audit to compare with", style="dim")]
    since = f"since {diff.since.astimezone():%Y-%m-%d %H:%M}"
    if not (diff.appeared or diff.gone or diff.changed):
        return [Text(f"{since}: nothing changed", style="dim")]
    lines = [Text(f"{since}:")]
    lines += [Text(f"+ {_kept(each)}", style="red") for each in diff.appeared]
    lines += [Text(f"- {_kept(each)}", style="green") for each in diff.gone]
    lines += [
        Text(f"~ {_kept(each.now)}, before {each.before.level.value}", style="yellow")
        for each in diff.changed
    ]
    return lines


def _kept(finding: KeptFinding) -> str:
    what = _safe(finding.rule or finding.id)
    listed = f"{finding.list}: " if finding.list else ""
    return f"{finding.level.value} {listed}{what}  {_safe(_place(finding.file, None))}"


def _place(file: str, line: int | None) -> str:
    """Return a place in one word."""
    return file if line is None else f"{file}:{line}"


def _words(id_: str) -> str:
    return id_.replace("_", " ").lower()


def _safe(text: str) -> str:
    """Return a text in one bounded line, with the user's home as `~` wherever a path begins so."""
    return bounded(one_line(text.replace(f"{Path.home()}/", "~/")), _TEXT_LIMIT)
