"""A reader of output that a test can look into, for what is below the decoding."""

from __future__ import annotations

from harness.core.model import Usage
from harness.core.output import Stream

LONGEST_LINE = 1000


class PlainReader:
    """Keeps what it is fed; lines of stdout set the rest.

    `result` completes, `tool` and `tool-end` start and end a tool, `background` and
    `background-end` a background task, `conversation <id>` names a conversation.
    """

    def __init__(self) -> None:
        self.fed: dict[Stream, bytearray] = {stream: bytearray() for stream in Stream}
        self.lines: list[str] = []  #: of stdout; long ones are passed over
        self.largest = 0
        self.usage = Usage(total_tokens=7)
        self._rest = b""

    def feed(self, stream: Stream, data: bytes) -> None:
        """Keep the piece."""
        self.fed[stream] += data
        self.largest = max(self.largest, len(data))
        if stream is Stream.STDOUT:
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._rest = self._rest[-LONGEST_LINE:]
            self.lines += [line.decode() for line in whole if len(line) < LONGEST_LINE]

    @property
    def last_event(self) -> str:
        """The last whole line of stdout."""
        return self.lines[-1] if self.lines else ""

    @property
    def result_complete(self) -> bool:
        """A line `result` was read."""
        return "result" in self.lines

    @property
    def tool_running(self) -> bool:
        """A tool was started and has not ended."""
        return "tool" in self.lines and "tool-end" not in self.lines

    @property
    def background_tasks(self) -> bool:
        """A background task was started and has not ended."""
        return "background" in self.lines and "background-end" not in self.lines

    @property
    def conversation_ids(self) -> tuple[str, ...]:
        """The conversations named so far."""
        return tuple(line.split()[1] for line in self.lines if line.startswith("conversation "))
