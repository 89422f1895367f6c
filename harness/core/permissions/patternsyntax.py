"""The syntax of RE2, read into the sequences of signs that a pattern can match.

The engine compiles a pattern between `^(?:` and `)$`, and so is it read here: a pattern such as
`a)|(?:.*` means more than it seems to. The work is bounded: where a pattern stands for too many
sequences, they end in a mark that says that anything may follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from itertools import product

from harness.core.permissions.regexes import compile_pattern

_DEEPEST = 60
_MOST = 64
"""Sequences that a pattern is followed into."""
_BUDGET = 20_000
"""Signs that are put together while a pattern is read."""
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_GROUP_NAME = re.compile(r"\(\?P?<\w+>")
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")
_CLASS = re.compile(r"\[\^?\]?(\[:\^?\w+:\]|\\.|[^\]\\])*\]", re.DOTALL)
_ESCAPE = re.compile(
    r"\\([pP](\{\^?\w+\}|\w)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[0-7]{1,3}|.)", re.DOTALL
)
_SMALL = re.compile(r"\[([^\^\\\[\]-][^\\\[\]-]{0,7})\]")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_SETS = frozenset("dDsSwWpPC")
_ANCHORS = frozenset("AzbBQE")


class UntranslatableError(Exception):
    """The pattern compiles, but what it can match cannot be told here."""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One sign of a set, or a run of them.

    Attributes:
        atom: the set, as the pattern writes it, with its flags.
        run: it may stand several times.
    """

    atom: str
    run: bool = False

    @property
    def few(self) -> str:
        """The signs of a small set that is written out; empty for a larger one or a run."""
        found = None if self.run else _SMALL.fullmatch(self.atom)
        return found[1] if found else ""

    def can_be(self, sign: str) -> bool:
        """Return whether the set holds a sign."""
        return compile_pattern(self.atom).matches(sign) is not False


class More(Enum):
    """The end of what can be told: anything may follow."""

    FOLLOWS = auto()


Item = str | AnyOf | More
Sequences = list[tuple[Item, ...]]
_END: tuple[Item, ...] = (More.FOLLOWS,)


@lru_cache(maxsize=512)
def read_pattern(pattern: str) -> tuple[Sequences, frozenset[str | AnyOf]]:
    """Return the sequences that a pattern stands for, and all its atoms.

    Raises:
        UntranslatableError: it is too deep, or written in a way that is not known.
    """
    reader = _Reader(f"^(?:{pattern})$")
    return reader.read(), frozenset(reader.atoms)


class _Reader:
    """Reads RE2 syntax into the sequences of signs that can match, up to a limit."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._depth = 0
        self._flags = ""
        self._budget = _BUDGET
        self.atoms: set[str | AnyOf] = set()

    def read(self) -> Sequences:
        """Return every sequence of signs and sets that the pattern stands for."""
        found = self._alternatives()
        if self._at < len(self._text):
            raise UntranslatableError
        return found

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _alternatives(self) -> Sequences:
        flags = self._flags
        found: Sequences = []
        while True:
            found = _limited([*found, *self._joined()])
            if self._peek() != "|":
                break
            self._at += 1
        self._flags = flags
        return found

    def _joined(self) -> Sequences:
        found: Sequences = [()]
        while self._peek() not in {"", "|", ")"}:
            following = self._repeated(self._atom())
            found = self._product(found, following)
        return found

    def _product(self, found: Sequences, following: Sequences) -> Sequences:
        """Return each sequence with each that may follow; too many end in what cannot be told."""
        self._budget -= len(following) * sum(map(len, found)) + len(found)
        if len(found) * len(following) > _MOST or self._budget < 0:
            following = [_END]
        return _limited(
            left if left[-1:] == _END else left + right for left, right in product(found, following)
        )

    def _atom(self) -> Sequences:
        here = self._peek()
        if here == "(":
            return self._group()
        if here == "[":
            return self._set(_CLASS)
        if here == "\\":
            return self._escape()
        self._at += 1
        if here in "^$":
            return [()]
        return [(self._any_of("."),)] if here == "." else [(self._sign(here),)]

    def _group(self) -> Sequences:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UntranslatableError
        flags = self._flags
        if opened := _FLAGS.match(self._text, self._at):
            self._at = opened.end()
            kept = "".join(one for one in self._flags + opened[1] if one not in (opened[2] or ""))
            self._flags = "".join(sorted(set(kept)))
            if opened[3] == ")":
                self._depth -= 1
                return [()]
        elif named := _GROUP_NAME.match(self._text, self._at):
            self._at = named.end()
        else:
            self._at += 1
        found = self._alternatives()
        if self._peek() != ")":
            raise UntranslatableError
        self._at += 1
        self._depth -= 1
        self._flags = flags
        return found

    def _set(self, form: re.Pattern[str]) -> Sequences:
        found = form.match(self._text, self._at)
        if found is None:
            raise UntranslatableError
        self._at = found.end()
        return [(self._any_of(found.group()),)]

    def _escape(self) -> Sequences:
        if self._text.startswith("\\Q", self._at):
            literal, _, _ = self._text[self._at + 2 :].partition("\\E")
            self._at = min(len(self._text), self._at + 4 + len(literal))
            return [tuple(self._sign(sign) for sign in literal)]
        found = _ESCAPE.match(self._text, self._at)
        if found is None:
            raise UntranslatableError
        kind = found[1][0]
        if kind in _SETS or kind in "x01234567":
            return self._set(_ESCAPE)
        self._at = found.end()
        return [()] if kind in _ANCHORS else [(self._sign(_PLAIN.get(kind, kind)),)]

    def _sign(self, sign: str) -> Item:
        self.atoms.add(sign)
        return sign.lower() if "i" in self._flags else sign

    def _any_of(self, atom: str) -> AnyOf:
        flags = "".join(one for one in self._flags if one in "is")
        found = AnyOf(f"(?{flags}){atom}" if flags else atom)
        self.atoms.add(found)
        return found

    def _repeated(self, found: Sequences) -> Sequences:
        while (counts := self._counts()) is not None:
            found = _limited(_repetitions(found, *counts))
        if len(found) == 1 and len(found[0]) == 1 and isinstance(found[0][0], AnyOf):
            return [(sign,) for sign in found[0][0].few] or found
        return found

    def _counts(self) -> tuple[int, int | None] | None:
        """Return how often the last atom may stand, and step over the sign that says so."""
        here = self._peek()
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        counts = simple.get(here)
        if counts is not None:
            self._at += 1
        elif here == "{" and (found := _REPEAT.match(self._text, self._at)):
            self._at = found.end()
            least = int(found[1])
            most = least if found[2] is None else int(found[3]) if found[3] else None
            counts = (least, most)
        if counts is not None and self._peek() == "?":
            self._at += 1
        return counts


def _limited(found: Iterable[tuple[Item, ...]]) -> Sequences:
    """Return the sequences without doubles; where they are too many, one that can be anything."""
    unique = dict.fromkeys(found)
    return list(unique) if len(unique) <= _MOST else [_END]


def _repetitions(found: Sequences, least: int, most: int | None) -> Iterator[tuple[Item, ...]]:
    """Yield what a repeated atom can be: nothing, once, and once with more of the like."""
    if least == 0 or most == 0:
        yield ()
    for items in found if most != 0 else ():
        if most == 1:
            yield items
        elif len(items) == 1 and isinstance(items[0], AnyOf):
            yield (replace(items[0], run=True),)
        elif most == least and len(items) * least <= _DEEPEST:
            yield items * least
        else:
            if least <= 1:
                yield items
            yield items if items[-1:] == _END else items + _END
