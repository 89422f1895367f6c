"""Regular expressions of rules, compiled as the engine does: Go's RE2, anchored at both ends.

What never compiles there makes a rule inert. What this side refuses for its size alone may well
compile there, so it counts as unknown, never as inert.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, lru_cache
from typing import Any

LONGEST_PATTERN = 2000
"""Characters; longer patterns are not compiled."""
_LARGEST_PROGRAM = 6000
"""Instructions; matching costs this many steps a character at worst."""
_MEMORY = 4 * 1024 * 1024
_TOO_LARGE = "too large"
_MISSING = "the library google-re2 is not installed"
_BOUND = 24
"""Bytes of the bounds that matches lie between."""


class Fate(Enum):
    """What became of a pattern."""

    COMPILED = auto()
    INERT = auto()  #: never compiles in the engine either
    UNKNOWN = auto()  #: cannot be told here


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern, compiled or not.

    Attributes:
        fate: what became of it.
        why: the reason where it did not compile; empty otherwise.
        search: the compiled expression; answers None for a text that does not match.
        least: no text that matches has bytes that sort before these.
        most: none sorts after these; None where nothing is known.
    """

    fate: Fate
    why: str = ""
    search: Callable[[str], object] = lambda _: None
    least: bytes = b""
    most: bytes | None = None

    def matches(self, text: str) -> bool | None:
        """Return whether the whole text matches; None where that cannot be told."""
        if self.fate is Fate.UNKNOWN:
            return None
        return self.search(text) is not None

    def may_match(self, text: bytes) -> bool:
        """Return False for a text, as UTF-8, that certainly does not match; cheap to ask."""
        return self.most is None or self.least <= text <= self.most


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """Return `^(?:pattern)$` compiled. Text joined like this is what the engine compiles, too."""
    if len(pattern) > LONGEST_PATTERN:
        return Pattern(fate=Fate.UNKNOWN, why=f"the pattern has more than {LONGEST_PATTERN} signs")
    library = _library()
    if library is None:
        return Pattern(fate=Fate.UNKNOWN, why=_MISSING)
    module, options = library
    try:
        compiled = module.compile(f"^(?:{pattern})$", options)
    except module.error as problem:
        return _refused(problem)
    if compiled.programsize > _LARGEST_PROGRAM:
        return Pattern(fate=Fate.UNKNOWN, why="the pattern is too large to be tried")
    least, most = _bounds(module, pattern, compiled)
    return Pattern(fate=Fate.COMPILED, search=compiled.search, least=least, most=most)


def _bounds(module: Any, pattern: str, compiled: Any) -> tuple[bytes, bytes | None]:
    """Return what matches lie between; only a pattern that is one between its anchors has that."""
    try:
        module.compile(pattern, compiled.options)
        least, most = compiled.possiblematchrange(_BOUND)
    except module.error:
        return b"", None
    return bytes(least), bytes(most)


def _refused(problem: Exception) -> Pattern:
    text = problem.args[0] if problem.args else b""
    why = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    if _TOO_LARGE in why:
        return Pattern(fate=Fate.UNKNOWN, why="the pattern is too large to be tried")
    return Pattern(fate=Fate.INERT, why=why)


def missing() -> str:
    """Return what keeps patterns from being tried; empty where nothing does."""
    return "" if _library() is not None else _MISSING


@cache
def _library() -> tuple[Any, Any] | None:
    """Return the module and its options; None where it cannot be imported."""
    try:
        module = importlib.import_module("re2")
    except ImportError:
        return None
    options = module.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    return module, options
