"""Bytes in any chunks → whole lines, in linear time and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

#: The longest line that is kept whole.
LINE_LIMIT = 16 * 1024 * 1024

#: At most this much is handed on as one block of whole lines.
BLOCK_LIMIT = 256 * 1024


class LineSplitter:
    """Hands on whole lines, in blocks where that is cheap.

    A block is either several lines of one chunk together, at most `BLOCK_LIMIT` bytes, or one
    line that was put together from several chunks. A line over the limit is skipped to its
    newline, or cut to its beginning where `keep_head` is set, and counted in `too_long`.
    """

    def __init__(self, *, limit: int = LINE_LIMIT, keep_head: bool = False) -> None:
        self._limit = max(limit, BLOCK_LIMIT)
        self._keep_head = keep_head
        self._held = bytearray()
        self._over = False
        self.too_long = 0

    @property
    def held(self) -> bytes | bytearray:
        """The unfinished last line; empty while one over the limit is skipped."""
        return b"" if self._over else self._held

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that a chunk completes, each with its newline; exhaust it."""
        for start in range(0, len(data), BLOCK_LIMIT):
            yield from self._split(data[start : start + BLOCK_LIMIT])

    def finish(self) -> Iterator[bytes]:
        """Yield the last line if its newline never came."""
        if self._held or self._over:
            yield from self._release(b"")

    def _split(self, piece: bytes) -> Iterator[bytes]:
        if self._held or self._over:
            end = piece.find(b"\n")
            if end < 0:
                self._hold(piece)
                return
            self._hold(piece[:end])
            yield from self._release(b"\n")
            piece = piece[end + 1 :]
        end = piece.rfind(b"\n") + 1
        if end:
            yield piece[:end]
        if end < len(piece):
            self._hold(piece[end:])

    def _hold(self, piece: bytes) -> None:
        room = self._limit - len(self._held)
        if self._over or len(piece) > room:
            if not self._over and self._keep_head:
                self._held += piece[:room]
            elif not self._keep_head:
                self._held = bytearray()
            self._over = True
            return
        self._held += piece

    def _release(self, newline: bytes) -> Iterator[bytes]:
        # The buffer is replaced, not cleared: what was decoded from it may still look into it.
        held, over = self._held, self._over
        self._held, self._over = bytearray(), False
        if over:
            self.too_long += 1
        if not over or self._keep_head:
            held += newline
            line = bytes(held)
            del held
            yield line
