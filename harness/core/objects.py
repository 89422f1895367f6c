"""Objects out of the lines of stdout: fast where they are clean, patient where they are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import Generic, TypeVar

import msgspec

from harness.core.lines import BLOCK_LIMIT, LINE_LIMIT
from harness.core.loose_json import UNREADABLE, decode_fields, decode_loosely

S = TypeVar("S", bound=msgspec.Struct)

#: Above this, a line is decoded field by field, so that no string of it is built whole.
LONG_LINE = 2 * BLOCK_LIMIT

_IN_STRING = re.compile(rb'\\.|"', re.DOTALL)
_OUTSIDE = re.compile(rb'["{}\[\]]')
_NEXT_IS_NO_OBJECT = re.compile(rb"\n(?!\{|\Z)")
_AT_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?P<brace>\{)")
_ANYWHERE = re.compile(rb'(?P<brace>\{)(?=\s*(?:"|\Z))')


class ObjectScanner:
    """Finds the end of one object that may be spread over several pieces."""

    def __init__(self) -> None:
        self.inside_string = False
        self._depth = 0

    def scan(self, piece: bytes, start: int) -> int | None:
        """Return where the object ends in this piece (behind its brace), or None."""
        position = start
        while True:
            pattern = _IN_STRING if self.inside_string else _OUTSIDE
            match = pattern.search(piece, position)
            if match is None:
                return None
            position = match.end()
            token = match[0]
            if token == b'"':
                self.inside_string = not self.inside_string
            elif token in (b"{", b"["):
                self._depth += 1
            elif token in (b"}", b"]"):
                self._depth -= 1
                if self._depth <= 0:
                    return position


class ObjectAssembler:
    """Cuts objects out of lines that hold noise too, or only a part of an object.

    Args:
        anywhere: an object may begin in the middle of a line; else only at its start.
    """

    def __init__(self, *, anywhere: bool) -> None:
        self._opening = _ANYWHERE if anywhere else _AT_START
        self._anywhere = anywhere
        self._parts: bytearray | None = None
        self._scanner = ObjectScanner()
        self.noise = 0

    @property
    def pending(self) -> bool:
        """True while an object has begun and not ended."""
        return self._parts is not None

    def abandon(self) -> None:
        """Give up an object whose end never came."""
        if self._parts is not None:
            self._parts = None
            self.noise += 1

    def feed(self, line: bytes) -> Iterator[bytes]:
        """Yield the objects that a line completes; exhaust it."""
        if self._parts is not None and self._scanner.inside_string and line.startswith(b'{"'):
            # Inside a string this quote would be escaped: a new object begins.
            self.abandon()
        position = 0
        while True:
            if self._parts is None:
                brace = self._next_brace(line, position)
                if brace is None:
                    self.noise += bool(line[position:].strip())
                    return
                position = brace
                self._parts, self._scanner = bytearray(), ObjectScanner()
            end = self._scanner.scan(line, position)
            self._parts += line[position:end]
            if len(self._parts) > LINE_LIMIT:
                self.abandon()
                return
            if end is None:
                return
            found = bytes(self._parts)
            self._parts, position = None, end
            yield found

    def _next_brace(self, line: bytes, position: int) -> int | None:
        match = (
            self._opening.search(line, position)
            if self._anywhere
            else self._opening.match(line, position)
        )
        return None if match is None else match.start("brace")


class ObjectReader(Generic[S]):
    """Decodes the objects of one kind from blocks of lines.

    Args:
        kind: what to decode; of a foreign object every field keeps its default.
        meant: whether a decoded object is one of those that the CLI prints.
        on_noise: called with each line that holds no object.
        anywhere: an object may begin in the middle of a line.
    """

    def __init__(
        self,
        kind: type[S],
        *,
        meant: Callable[[S], bool],
        on_noise: Callable[[bytes], None],
        anywhere: bool,
    ) -> None:
        self._kind = kind
        self._decoder = msgspec.json.Decoder(kind)
        self._meant = meant
        self._on_noise = on_noise
        self._assembler = ObjectAssembler(anywhere=anywhere)
        self._undecodable = 0

    @property
    def unreadable(self) -> int:
        """How many lines or objects could not be read."""
        return self._assembler.noise + self._undecodable

    def read(self, block: bytes) -> Iterable[S]:
        """Return the objects of a block of whole lines, in order; exhaust it."""
        clean = self._read_clean(block)
        return self._read_lines(block) if clean is None else clean

    def peek(self, line: bytes | bytearray) -> S | None:
        """Return what an unfinished last line would mean, without taking note of it."""
        return None if self._assembler.pending else self._whole(bytes(line))

    def finish(self) -> None:
        """Give up what never ended."""
        self._assembler.abandon()

    def _read_clean(self, block: bytes) -> list[S] | None:
        """Decode many lines at once; None where they have to be read one by one.

        Every line must begin with a brace: then the decoder, which takes line breaks for any
        white space, sees the same objects as a reading line by line does.
        """
        if self._assembler.pending or len(block) > BLOCK_LIMIT or not block.startswith(b"{"):
            return None
        if _NEXT_IS_NO_OBJECT.search(block):
            return None
        try:
            return self._decoder.decode_lines(block)
        except UNREADABLE:
            return None

    def _read_lines(self, block: bytes) -> Iterator[S]:
        for line in BytesIO(block):
            yield from self._read_line(line)

    def _read_line(self, line: bytes) -> Iterator[S]:
        assembler = self._assembler
        found = self._whole(line) if _AT_START.match(line) else None
        if found is not None and (not assembler.pending or self._meant(found)):
            assembler.abandon()
            yield found
            return
        noise = assembler.noise
        for piece in assembler.feed(line):
            found = self._whole(piece) or decode_loosely(piece, self._kind)
            if found is None:
                self._undecodable += 1
            else:
                yield found
        if assembler.noise > noise:
            self._on_noise(line)

    def _whole(self, line: bytes) -> S | None:
        """Decode a line that is nothing but one object; a long one with its strings cut."""
        if len(line) > LONG_LINE:
            return decode_fields(line, self._kind)
        try:
            return self._decoder.decode(line)
        except UNREADABLE:
            return None
