"""What lines a pattern can match: whether a chain can stand in one, and the shapes of its words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from harness.core.permissions.patternsyntax import AnyOf, Item, More, read_pattern
from harness.core.permissions.programs import AnyWord, Word

CHAIN_SIGNS = ";&|$`(){}<>\n"
"""What starts another command, opens a substitution or redirects."""
_FEW = 2
"""Open signs of a word that leave it what it seems."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The words of lines that a pattern matches.

    Attributes:
        words: from the first.
        more: further words may follow.
    """

    words: tuple[Word, ...]
    more: bool = False


@lru_cache(maxsize=512)
def shapes_of(pattern: str) -> tuple[Shape, ...]:
    """Return the shapes of the texts that a pattern matches.

    Raises:
        UntranslatableError: as `read_pattern`.
    """
    return tuple(dict.fromkeys(map(_shape, read_pattern(pattern)[0])))


@lru_cache(maxsize=512)
def word_choices(pattern: str) -> tuple[Word, ...]:
    """Return what one word of a command can be that has to match a pattern.

    Raises:
        UntranslatableError: as `read_pattern`.
    """
    return tuple(dict.fromkeys(_word(list(items)) for items in read_pattern(pattern)[0]))


@lru_cache(maxsize=512)
def chains(pattern: str) -> bool:
    """Return whether a sign that starts another command can stand in a match.

    Raises:
        UntranslatableError: as `read_pattern`.
    """
    return any(
        atom in CHAIN_SIGNS if isinstance(atom, str) else any(map(atom.can_be, CHAIN_SIGNS))
        for atom in read_pattern(pattern)[1]
    )


def _shape(items: tuple[Item, ...]) -> Shape:
    """Cut a sequence into words at its blanks."""
    words: list[Word] = []
    current: list[Item] = []
    for item in (*items, " "):
        if isinstance(item, More) or (isinstance(item, AnyOf) and _may_part(item)):
            rest = [_word([*current, More.FOLLOWS])] if current else []
            return Shape((*words, *rest), more=True)
        if item in {" ", "\t"} or (isinstance(item, AnyOf) and _parts(item)):
            if current:
                words.append(_word(current))
            current = []
        else:
            current.append(item)
    return Shape(tuple(words))


def _parts(item: AnyOf) -> bool:
    return item.can_be(" ") and not any(map(item.can_be, "a0-/."))


def _may_part(item: AnyOf) -> bool:
    return item.can_be(" ") and not _parts(item)


def _word(items: list[Item]) -> Word:
    if all(isinstance(item, str) for item in items):
        return "".join(str(item) for item in items)
    open_items = [item for item in items if not isinstance(item, str)]
    runs = [item for item in open_items if isinstance(item, More) or item.run]
    climbs = any(_can_be(item, "/") and _can_be(item, ".") for item in runs)
    signs = sum(_can_be(item, "/") for item in open_items)
    return AnyWord(
        dash=_can_be(items[0], "-"),
        anywhere=climbs or signs > _FEW or any(_can_be(items[0], sign) for sign in "/~"),
        many=bool(runs) or len(open_items) > _FEW,
    )


def _can_be(item: Item, sign: str) -> bool:
    match item:
        case str():
            return item == sign
        case AnyOf():
            return item.can_be(sign)
        case More.FOLLOWS:
            return True
