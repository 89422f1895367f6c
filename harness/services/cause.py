"""The cause of an outcome in one bounded line, as far as one is known."""

from __future__ import annotations

import os
import stat

from harness.core.model import Reason, RunRecord
from harness.core.text import bounded, one_line
from harness.services.run_files import RunFiles

_LIMIT = 300
_TAIL_BYTES = 4096
_FAILED_ROWS = (2, 3)


def cause_of(record: RunRecord, files: RunFiles, *, spawn_problem: str | None, begun: bool) -> str:
    """Return why a run came to what it did; '' where there is nothing to add.

    Args:
        record: the run, judged.
        files: where the CLI's last words stand.
        spawn_problem: why the process could not be started.
        begun: the CLI was started.
    """
    return bounded(one_line(spawn_problem or _cause(record, files, begun=begun)), _LIMIT)


def _cause(record: RunRecord, files: RunFiles, *, begun: bool) -> str:
    evidence = record.evidence
    if evidence.changed_paths:
        return "changed: " + ", ".join(evidence.changed_paths)
    if record.reason is Reason.HARNESS_CRASHED:
        return crash_words(evidence.survivors_killed, _last_line(files.stderr), begun=begun)
    if record.agy_errors:
        return record.agy_errors[-1].short_error or record.agy_errors[-1].raw
    if record.table_row in _FAILED_ROWS and (line := _last_line(files.stderr)):
        return line
    return _undone(record)


def _undone(record: RunRecord) -> str:
    if record.denied:
        return "denied: " + ", ".join(
            f"{denial.action}({denial.target or ''})" for denial in record.denied
        )
    if record.evidence.missing_artefacts:
        return "missing: " + ", ".join(record.evidence.missing_artefacts)
    return ""


def crash_words(survivors: int, last_line: str, *, begun: bool) -> str:
    """Return what is known of a run whose harness died."""
    words = "the harness was killed"
    if not begun:
        return f"{words}; the CLI had not been started"
    if survivors:
        each = "process" if survivors == 1 else "processes"
        words += f"; {survivors} {each} of the run had to be ended"
    else:
        words += "; no process of the run was left"
    return f"{words}; last on stderr: {last_line}" if last_line else words


def _last_line(path: str) -> str:
    """Return the last words of a file; '' where the agent put something else in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        data = os.pread(descriptor, _TAIL_BYTES, max(0, found.st_size - _TAIL_BYTES))
    finally:
        os.close(descriptor)
    lines = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
