"""The morning report on a terminal: one screen with the verdict, the details below it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from harness.cli.render_changes import diff_text
from harness.core.report import Change, MorningReport
from harness.core.screen import Line, Style, screen
from harness.core.text import neutralise, one_line

_LOOK = {
    Style.PLAIN: "",
    Style.TITLE: "bold",
    Style.DIM: "dim",
    Style.COMMAND: "cyan",
    Style.BYPASSED: "bold white on red",
    Style.HELD: "bold yellow",
    Style.ERRORED: "bold red",
    Style.REFUSED: "bold magenta",
    Style.UNTOUCHED: "bold green",
}
_LEAST_WIDTH = 80
_LEAST_HEIGHT = 24


def show_report(report: MorningReport, changes: Sequence[Change]) -> None:
    """Print the report; through a pager where a terminal is too small for all of it."""
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    terminal = console.is_terminal
    width = max(console.width, 20) if terminal else max(console.width, _LEAST_WIDTH)
    height = max(console.height, _LEAST_HEIGHT) if terminal else _LEAST_HEIGHT
    zone = datetime.now().astimezone().tzinfo
    if zone is None:
        raise AssertionError("an aware local time has a zone")
    lines = [_text(line, width) for line in screen(report, zone=zone, height=height)]
    lines += [_text(line, width) for change in changes for line in _details(change)]
    if terminal and sys.stdin.isatty() and len(lines) >= height:
        _page(lines, console)
        return
    for line in lines:
        console.print(line)


def _page(lines: Sequence[Text], console: Console) -> None:
    import click

    buffer = StringIO()
    paper = Console(
        file=buffer,
        force_terminal=True,
        width=console.width,
        color_system="standard" if console.color_system else None,
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    for line in lines:
        paper.print(line)
    click.echo_via_pager(buffer.getvalue(), color=console.color_system is not None)


def _details(change: Change) -> list[Line]:
    moved = ((Style.ERRORED, "  the key has moved since it was proposed"),)
    head: Line = ((Style.TITLE, one_line(change.title)), *(moved if change.base_moved else ()))
    styles = {"+": Style.UNTOUCHED, "-": Style.ERRORED, "@": Style.DIM}
    body: list[Line] = [
        ((styles.get(line[:1], Style.PLAIN), "  " + neutralise(line)),)
        for line in diff_text(change.diff).splitlines()
    ]
    return [((Style.PLAIN, ""),), head, *body]


def _text(line: Line, width: int) -> Text:
    """Return one line that fits the width; what is too long ends in an ellipsis."""
    text = Text()
    for style, words in line:
        text.append(neutralise(words).replace("\n", " "), style=_LOOK[style])
    if cell_len(text.plain) > width:
        text.truncate(width, overflow="ellipsis")
    return text
