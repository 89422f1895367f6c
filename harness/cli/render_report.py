"""The morning report on a terminal: one screen with the verdict, the details below it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from harness.cli.render import write_text
from harness.cli.render_changes import diff_text
from harness.core.layout import Line, Style
from harness.core.report import Change, MorningReport
from harness.core.screen import screen
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
_LEAST_WIDTH = 20
_LEAST_HEIGHT = 24
_ENDLESS = 1_000_000
_PAGER_FLAGS = "-FRX"
"""Of less: leave where all fits, let colours through, leave the text on the screen."""


def show_report(
    report: MorningReport,
    changes: Sequence[Change],
    *,
    home: str = "",
    more_changes: int = 0,
    paged: bool = True,
) -> None:
    """Print the report: at a terminal its first screen and the details, elsewhere all of it.

    Args:
        report: the night.
        changes: differences to show below.
        home: named in the first line where it is not empty.
        more_changes: how many differences are not shown.
        paged: a pager may be used where a terminal is too small.
    """
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    terminal = console.is_terminal
    width = max(console.width, _LEAST_WIDTH) if terminal else None
    height = max(console.height, _LEAST_HEIGHT) if terminal else _LEAST_HEIGHT
    zone = datetime.now().astimezone().tzinfo
    if zone is None:
        raise AssertionError("an aware local time has a zone")
    head: list[Line] = [((Style.DIM, f"home {home}"),)] if home else []
    first = screen(report, zone=zone, height=height - len(head), whole=not terminal)
    told = [*head, *first]
    told += [line for change in changes for line in _details(change)]
    if more_changes:
        more = f"… and {more_changes} more differences: "
        told += [(), ((Style.DIM, more), (Style.COMMAND, "harness pending show ID"))]
    lines = [text for line in told for text in _texts(line, width)]
    shown = _drawn(lines, console)
    if paged and terminal and sys.stdin.isatty() and len(lines) >= height:
        _page(shown, colours=console.color_system is not None)
    else:
        write_text(shown.removesuffix("\n"))


def _drawn(lines: Sequence[Text], console: Console) -> str:
    """Return the lines with their colours, whatever a locale could or could not write."""
    paper = Console(
        file=StringIO(),
        force_terminal=console.is_terminal,
        width=_ENDLESS,
        color_system="standard" if console.color_system else None,
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    with paper.capture() as captured:
        for line in lines:
            paper.print(line)
    return captured.get()


def _page(text: str, *, colours: bool) -> None:
    import click

    flags = os.environ.get("LESS")
    os.environ["LESS"] = _PAGER_FLAGS if flags is None else flags
    try:
        click.echo_via_pager(text, color=colours)
    finally:
        if flags is None:
            del os.environ["LESS"]


def _details(change: Change) -> list[Line]:
    said = "  the key has moved since it was proposed" if change.base_moved else ""
    new = "  new key" if change.new_key else ""
    head: Line = (
        (Style.TITLE, one_line(change.title)),
        (Style.DIM, new),
        (Style.ERRORED, said),
    )
    styles = {"+": Style.UNTOUCHED, "-": Style.ERRORED, "@": Style.DIM}
    body: list[Line] = [
        ((styles.get(line[:1], Style.PLAIN), "  " + neutralise(line)),)
        for line in diff_text(change.diff).splitlines()
    ]
    return [((Style.PLAIN, ""),), head, *body]


def _texts(line: Line, width: int | None) -> list[Text]:
    """Return one line as it fits the width: cut in prose, wrapped where a command would be cut."""
    text = Text()
    command_end = 0
    for style, words in line:
        text.append(neutralise(words).replace("\n", " "), style=_LOOK[style])
        if style is Style.COMMAND and words:
            command_end = cell_len(text.plain)
    if width is None or cell_len(text.plain) <= width:
        return [text]
    if command_end > width:
        return _wrapped(text, width)
    text.truncate(width, overflow="ellipsis")
    return [text]


def _wrapped(text: Text, width: int) -> list[Text]:
    """Return a line as several, those after the first one set in."""
    plain = text.plain
    indent = len(plain) - len(plain.lstrip(" ")) + 2
    first, *rest = text.wrap(Console(width=width), width - indent, overflow="fold")
    for line in rest:
        line.pad_left(indent)
    return [first, *rest]
