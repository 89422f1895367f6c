"""What the CLI's log file says: the model, denials with their targets, and its last lines."""

from __future__ import annotations

import re
from io import BytesIO

from harness.core.bounded import BoundedList
from harness.core.denials import denials_in_log
from harness.core.lines import LineSplitter
from harness.core.loose_json import decode_utf8
from harness.core.model import Denial

TAIL_LIMIT = 4096
_LINE_LIMIT = 1024 * 1024
_LOOK_AT = 8192

#: Blocks without any of these are passed over unread.
_SIGNS = (
    b"soft-denying",
    b"permission check failed",
    b"Propagating selected model",
    b"API error (attempt",
    b"token refresh failed",
)
_MODEL = re.compile(r'Propagating selected model override to backend: label="([^"]{1,200})"')
_NETWORK = "token refresh failed due to network error"


class LogReader:
    """Reads the log; every attribute is what has been seen so far.

    Attributes:
        model: the model last propagated; None where the log names none.
        denials: the soft denials.
    """

    def __init__(self) -> None:
        self._lines = LineSplitter(limit=_LINE_LIMIT, keep_head=True)
        self._tail = b""
        self._total = 0
        self.model: str | None = None
        self.denials: BoundedList[Denial] = BoundedList()
        self._api_errors = 0
        self._network_failed = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._total += len(data)
        self._tail = (self._tail + data[-TAIL_LIMIT:])[-TAIL_LIMIT:]
        for block in self._lines.feed(data):
            self._read(block)

    def finish(self) -> None:
        """Take the last line as it is."""
        for block in self._lines.finish():
            self._read(block)

    def tail(self) -> str:
        """Return the last whole lines, at most `TAIL_LIMIT` bytes."""
        tail = self._tail
        if self._total > len(tail):
            tail = tail[tail.find(b"\n") + 1 :]
        return decode_utf8(tail).encode()[-TAIL_LIMIT:].decode("utf-8", "ignore")

    def notes(self) -> list[str]:
        """Return what is worth a finding."""
        notes = []
        if self._api_errors:
            notes.append(f"the log shows {self._api_errors} failed attempt(s) at the API")
        if self._network_failed:
            notes.append("the login could not be refreshed because of the network")
        return notes

    def _read(self, block: bytes) -> None:
        if not any(sign in block for sign in _SIGNS):
            return
        for line in BytesIO(block):
            self._read_text(decode_utf8(line[:_LOOK_AT]))

    def _read_text(self, line: str) -> None:
        for denial in denials_in_log(line):
            self.denials.add_once(denial)
        match = _MODEL.search(line)
        if match:
            self.model = match[1]
        self._api_errors += "API error (attempt" in line
        self._network_failed |= _NETWORK in line
