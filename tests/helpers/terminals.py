"""A terminal for tests: what a person would see who gives a command."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def in_terminal(
    *words: str,
    environment: Mapping[str, str],
    columns: int = 80,
    lines: int = 24,
    keys: str = "",
    pager: str = "cat",
) -> str:
    """Give a command at a terminal of this size, type keys, and return all that it showed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "harness", *words],
        env={**environment, "TERM": "xterm-256color", "PAGER": pager},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        os.write(ours, keys.encode())
        shown = bytearray()
        with contextlib.suppress(OSError):  # the terminal closes with its last user
            while chunk := os.read(ours, 65536):
                shown += chunk
        process.wait(timeout=60)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    """Return a text without its colours and movements."""
    return CONTROL.sub("", text)
