"""Readers of stdout, one per output format of the CLI; each tells what it saw of the turn."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

import msgspec

from harness.core.bounded import BoundedText
from harness.core.events import Event, Result
from harness.core.lines import LINE_LIMIT, LineSplitter
from harness.core.model import ANSWER_LIMIT
from harness.core.objects import ObjectReader
from harness.core.turn import TurnFacts

S = TypeVar("S", bound=msgspec.Struct)

_NO_TERMINAL = "CLI error: bubbletea: could not open TTY"


class StdoutReader(Protocol):
    """What reads stdout in one format."""

    @property
    def turn(self) -> TurnFacts:
        """What has been seen of the turn."""
        ...

    @property
    def tty(self) -> bool:
        """True where the interactive form was started without a terminal."""
        ...

    @property
    def result_complete(self) -> bool:
        """True once a complete result is there, its newline or not."""
        ...

    @property
    def answer(self) -> tuple[str, bool]:
        """The answer, and whether it was cut."""
        ...

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        ...

    def finish(self) -> None:
        """Take the last line as it is."""
        ...

    def notes(self) -> list[str]:
        """Return what is worth a finding."""
        ...


class ObjectOutput(Generic[S]):
    """stdout that holds objects: one per line, or a single one.

    Args:
        kind: what the objects are decoded to.
        take: how the turn takes them.
        meant: whether a decoded object is one of those that the CLI prints.
        anywhere: an object may begin in the middle of a line.
    """

    def __init__(
        self,
        kind: type[S],
        *,
        take: Callable[[TurnFacts, Iterable[S]], None],
        meant: Callable[[S], bool],
        anywhere: bool,
    ) -> None:
        self.turn = TurnFacts()
        self.tty = False
        self._take = take
        self._lines = LineSplitter()
        self._objects = ObjectReader(kind, meant=meant, on_noise=self._hear, anywhere=anywhere)
        self._peeked = (0, False)

    @property
    def answer(self) -> tuple[str, bool]:
        """The answer of the turn, and whether it was cut."""
        return self.turn.answer

    @property
    def result_complete(self) -> bool:
        """True once a complete result is there; its newline may never come."""
        if self.turn.result_complete:
            return True
        held = self._lines.held
        if held[-1:] != b"}":
            return False
        if self._peeked[0] != len(held):
            self._peeked = (len(held), self._would_complete(held))
        return self._peeked[1]

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for block in self._lines.feed(data):
            self._read(block)

    def finish(self) -> None:
        """Take the last line as it is."""
        for block in self._lines.finish():
            self._read(block)
        self._objects.finish()

    def notes(self) -> list[str]:
        """Return what is worth a finding."""
        notes = []
        if self._objects.unreadable:
            notes.append(f"stdout: {self._objects.unreadable} line(s) could not be read")
        if self._lines.too_long:
            limit = LINE_LIMIT // 1024**2
            notes.append(f"stdout: {self._lines.too_long} line(s) over {limit} MiB were skipped")
        return notes

    def _read(self, block: bytes) -> None:
        self._take(self.turn, self._objects.read(block))

    def _would_complete(self, line: bytes | bytearray) -> bool:
        found, scratch = self._objects.peek(line), TurnFacts()
        if found is not None:
            self._take(scratch, [found])
        return scratch.result_complete

    def _hear(self, line: bytes) -> None:
        self.tty |= line.lstrip().startswith(_NO_TERMINAL.encode())


class TextOutput:
    """stdout that is the answer itself."""

    def __init__(self) -> None:
        self.turn = TurnFacts()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = BoundedText(ANSWER_LIMIT)

    @property
    def answer(self) -> tuple[str, bool]:
        """All of stdout, and whether it was cut."""
        return self._text.value(), self._text.cut

    @property
    def tty(self) -> bool:
        """True where a line of stdout says that there was no terminal."""
        return any(
            line.lstrip().startswith(_NO_TERMINAL) for line in self._text.value().splitlines()
        )

    @property
    def result_complete(self) -> bool:
        """False: a text has no sign of its end."""
        return False

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._text.cut:
            self._text.add(self._decoder.decode(data[: 2 * ANSWER_LIMIT]))

    def finish(self) -> None:
        """Take what is left of a cut character."""
        self._text.add(self._decoder.decode(b"", final=True))

    def notes(self) -> list[str]:
        """Return nothing: every text can be read."""
        return []


def event_output() -> StdoutReader:
    """Return a reader of the format `stream-json`."""
    return ObjectOutput(
        Event,
        take=TurnFacts.take_events,
        meant=lambda event: event.event is not None,
        anywhere=False,
    )


def json_output() -> StdoutReader:
    """Return a reader of the format `json`: one result, noise around it."""
    return ObjectOutput(
        Result,
        take=TurnFacts.take_results,
        meant=lambda result: result.says_something,
        anywhere=True,
    )
