"""What the CLI prints: text, one JSON object, or a stream of JSON lines."""

from __future__ import annotations

import os
from collections.abc import Mapping

from harness.testing.behaviour import Behaviour, Trait
from harness.testing.go import marshal

STDOUT = 1
STDERR = 2
CONTROL = "".join(chr(number) for number in range(1, 32))


def encode(text: str) -> bytes:
    """Return UTF-8; characters that stand for stray bytes become those bytes again."""
    return text.encode(errors="surrogateescape")


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however often the kernel takes less."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Voice:
    """Stdout and stderr of one start.

    Attributes:
        form: `text`, `json` or `stream-json`.
        cut_last: how many bytes the last line is short of; 0 for none.
    """

    def __init__(self, form: str, behaviour: Behaviour) -> None:
        self.form = form
        self.cut_last = 0
        self._raw = "" if behaviour.has(Trait.ESCAPES_NEWLINES) else "\n"
        self._line_open = False

    def out(self, data: bytes) -> None:
        """Write bytes to stdout as they are."""
        write_all(STDOUT, data)

    def complain(self, text: str) -> None:
        """Write lines to stderr."""
        write_all(STDERR, encode(text + "\n"))

    def event(self, content: Mapping[str, object], *, raw: str = "") -> None:
        """Write one event; the other formats have none."""
        if self.form == "stream-json":
            self._json(content, raw)

    def step(self, content: Mapping[str, object], *, raw: str = "") -> None:
        """Write a `step_update` event."""
        self.event({"event": "step_update", "step_update": content}, raw=raw)

    def say(self, text: str) -> None:
        """Write text of the answer as it comes; the other formats wait for the result."""
        if self.form == "text" and text:
            self.out(encode(text))
            self._line_open = not text.endswith("\n")

    def result(self, content: Mapping[str, object]) -> None:
        """Write the result of a turn; in text, end the line of the answer."""
        if self.form == "text":
            if self._line_open and not self.cut_last:
                self.out(b"\n")
            self._line_open = False
        elif self.form == "json":
            self._json(content, "", last=True)
        else:
            self._json({"event": "result", "result": content}, "", last=True)

    def _json(self, content: Mapping[str, object], raw: str, *, last: bool = False) -> None:
        line = encode(marshal(content, raw=raw or self._raw) + "\n")
        if last and self.cut_last:
            line = line[: -self.cut_last - 1]
        self.out(line)
