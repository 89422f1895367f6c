"""Containers that stay small whatever an agent prints."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

#: How many errors, denials, paths and the like are kept of one run.
LIST_LIMIT = 100


def clip(text: str, limit: int) -> str:
    """Return the longest beginning of a text that is at most `limit` bytes of UTF-8.

    Lone surrogates, which have no UTF-8, become question marks.
    """
    if len(text) <= limit and text.isascii():
        return text
    return text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def fold(text: str) -> str:
    """Return a text with every run of white space as one space, none at the ends."""
    return " ".join(text.split())


def plain(text: str, limit: int) -> str:
    """Return a text fit for a line of progress: printable, folded, at most `limit` characters."""
    return fold("".join(c if c.isprintable() else " " for c in text[: limit * 2]))[:limit]


class BoundedList(Generic[T]):
    """A list of at most `LIST_LIMIT` items: the first ones, and always the newest.

    The newest is kept because of several AGY_ERROR lines the last decides.
    """

    def __init__(self) -> None:
        self._items: list[T] = []
        self._seen: set[T] = set()
        self.left_out = 0

    def add(self, item: T) -> None:
        """Keep an item, in the place of the newest one where the list is full."""
        if len(self._items) < LIST_LIMIT:
            self._items.append(item)
        else:
            self._items[-1] = item
            self.left_out += 1

    def add_once(self, item: T) -> None:
        """Keep an item that is not there yet."""
        if item in self._seen:
            return
        if len(self._seen) < LIST_LIMIT:
            self._seen.add(item)
        self.add(item)

    def __len__(self) -> int:
        return len(self._items)

    def values(self) -> tuple[T, ...]:
        """Return what was kept, in order."""
        return tuple(self._items)


class BoundedText:
    """A text that grows until a limit in bytes of UTF-8 and then takes no more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._size = 0
        self.cut = False

    def add(self, text: str) -> None:
        """Append as much of a text as fits; after the first cut, nothing."""
        if self.cut or not text:
            return
        piece = clip(text, self._limit - self._size)
        self._size += len(piece.encode())
        self._parts.append(piece)
        self.cut = len(piece) < len(text)

    def value(self) -> str:
        """Return the text."""
        return "".join(self._parts)
