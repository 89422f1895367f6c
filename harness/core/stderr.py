"""What stderr says: failures, denials, timeouts; and what of it means nothing."""

from __future__ import annotations

import re
from io import BytesIO

from harness.core.agy_errors import MARKER, parse_agy_error
from harness.core.bounded import BoundedList, clip, fold
from harness.core.denials import NoticeReader
from harness.core.lines import LineSplitter
from harness.core.loose_json import decode_utf8
from harness.core.model import AgyError, Denial

_LINE_LIMIT = 1024 * 1024
_LOOK_AT = 8192
_NOTE_LIMIT = 300

#: Blocks without any of these are passed over unread.
_SIGNS = (
    *(MARKER, b"jetski:", b"rror:", b"RROR:", b"[agy]", b"panic:", b"goroutine "),
    *(b"background task", b"warning: conversation"),
)

_PRINT_TIMEOUT = "[agy] print timeout after "
_OLD_TIMEOUTS = (
    "error: timeout waiting for response",
    "error: timed out waiting for response",
)
_AUTH = "error: authentication "
_CRASH = re.compile(r"panic:|goroutine \d{1,12} \[")
_TERMINATING = re.compile(r"terminating (\d{1,9}) background task")
_WAITING = re.compile(r"waiting (?:up to \S+ )?for (\d{1,9}) background task")
_TASKS_ENDED = re.compile(r"background task\(?s?\)? (?:\w+ )?(?:completed|finished|ended|done)")
_NO_CONVERSATION = re.compile(r'warning: conversation "([^"]{0,200})" not found')


class StderrReader:
    """Reads stderr line by line; every attribute is what has been seen so far.

    Attributes:
        truncated, timed_out, auth_failed, crash: as in `OutputReport`.
        tasks_killed: background work was ended with the process.
        background_tasks: the CLI waits for background work.
        errors: the AGY_ERROR lines.
        denials: the soft denials.
        error_line: the last line for humans that begins with `error:`.
    """

    def __init__(self) -> None:
        self._lines = LineSplitter(limit=_LINE_LIMIT, keep_head=True)
        self._notice = NoticeReader()
        self.truncated = False
        self.timed_out = False
        self.auth_failed = False
        self.crash = False
        self.tasks_killed = False
        self.background_tasks = False
        self.errors: BoundedList[AgyError] = BoundedList()
        self.denials: BoundedList[Denial] = BoundedList()
        self.error_line = ""
        self._unknown_conversation: str | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for block in self._lines.feed(data):
            self._read(block)

    def finish(self) -> None:
        """Take the last line as it is."""
        for block in self._lines.finish():
            self._read(block)
        self._deny(self._notice.finish())

    def notes(self) -> list[str]:
        """Return what is worth a finding."""
        notes = []
        # beside an AGY_ERROR line the human line only says the same again
        if self.error_line and not self.errors.values():
            notes.append(f"stderr says: {self.error_line}")
        if self._unknown_conversation is not None:
            notes.append(
                f'conversation "{self._unknown_conversation}" was not found; a new one was begun'
            )
        if self._lines.too_long:
            notes.append(f"stderr: {self._lines.too_long} line(s) over 1 MiB were cut")
        return notes

    def _read(self, block: bytes) -> None:
        if not self._notice.begun and not any(sign in block for sign in _SIGNS):
            return
        for line in BytesIO(block):
            if line.startswith(MARKER):
                error = parse_agy_error(line)
                if error is not None:
                    self.errors.add(error)
            else:
                self._read_text(decode_utf8(line[:_LOOK_AT]).rstrip("\r\n"))

    def _read_text(self, line: str) -> None:
        self._deny(self._notice.feed(line))
        start = line.casefold()
        if start.startswith("error:"):
            self.error_line = clip(fold(line), _NOTE_LIMIT)
            self.timed_out |= start.startswith(_OLD_TIMEOUTS)
            self.auth_failed |= start.startswith(_AUTH)
        self.truncated |= line.startswith(_PRINT_TIMEOUT)
        self.crash |= _CRASH.match(line) is not None
        if "background task" in line:
            self._read_tasks(line)
        missing = _NO_CONVERSATION.match(line)
        if missing:
            self._unknown_conversation = missing[1]

    def _read_tasks(self, line: str) -> None:
        killed, waiting = _TERMINATING.search(line), _WAITING.search(line)
        if killed:
            self.tasks_killed |= int(killed[1]) > 0
            self.background_tasks = False
        elif waiting:
            self.background_tasks = int(waiting[1]) > 0
        elif _TASKS_ENDED.search(line):
            self.background_tasks = False

    def _deny(self, denials: list[Denial]) -> None:
        for denial in denials:
            self.denials.add_once(denial)
