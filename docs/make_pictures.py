"""Draw docs/night.svg from the real output of a demo night: `python docs/make_pictures.py`."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "night.svg"
COLUMNS, LINES = 80, 24
_WEB_FONT = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)


def demo_report() -> str:
    """Play the demo night and return what its `harness report` prints on an 80-column terminal."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLUMNS": str(COLUMNS),
            "LINES": str(LINES),
            "PAGER": "cat",
        }
        demo = [sys.executable, "-m", "harness", "demo", "--dir", str(Path(folder) / "demo")]
        said = _in_terminal(demo, environment)
    report = said[said.index("$ harness report") : said.index("$ harness approve")]
    # where the stage stood means nothing to a reader of the picture
    lines = [line for line in report.strip().splitlines() if str(folder) not in line]
    return "\n".join(lines).replace(" --no-pager", "")


def _in_terminal(command: list[str], environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        said = bytearray()
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the terminal closes with its last user
                break
            if not chunk:
                break
            said += chunk
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def draw(text: str) -> str:
    """Return the picture of a terminal that shows a text, without anything from a network."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text), soft_wrap=True)
    picture = _WEB_FONT.sub("", console.export_svg(title="the morning after"))
    # blanks at the beginning of a piece of text are part of the picture
    return picture.replace("<svg ", '<svg xml:space="preserve" ', 1)


if __name__ == "__main__":
    PICTURE.write_text(draw(demo_report()) + "\n", encoding="utf-8")
