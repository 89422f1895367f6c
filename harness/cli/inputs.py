"""Values that come as a file or on standard input: bounded, and UTF-8 or refused."""

from __future__ import annotations

import sys

from harness.core.tiers import VALUE_LIMIT
from harness.errors import UsageProblem


def text_from_stdin() -> str:
    """Return standard input as text. Raises `UsageProblem` where it is too long or no UTF-8."""
    return _decoded(sys.stdin.buffer.read(VALUE_LIMIT + 1), "standard input")


def text_from_file(path: str) -> str:
    """Return a file as text. Raises `UsageProblem` where it cannot be read as a value."""
    from pathlib import Path

    try:
        with Path(path).open("rb") as file:
            data = file.read(VALUE_LIMIT + 1)
    except OSError as problem:
        raise UsageProblem(f"{path}: cannot be read: {problem.strerror}") from problem
    return _decoded(data, path)


def _decoded(data: bytes, where: str) -> str:
    if len(data) > VALUE_LIMIT:
        raise UsageProblem(f"{where}: a value is at most {VALUE_LIMIT} bytes, this is longer")
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise UsageProblem(
            f"{where}: a value is UTF-8 text; byte {problem.start} is none"
        ) from problem
