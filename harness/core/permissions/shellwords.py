"""The words of a command rule's target, as the engine's own shell parser sees them.

The engine parses a target as a shell line. Where that works and gives one simple command, its
words are the rule; where it gives several, the rule has no words and works on whole lines only;
where it fails, the text is split at blanks. Which of the three a text meets decides whether a
pattern such as `[^;&|]*` covers everything, so the small grammar here follows that parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

_BLANK = " \t\r"
_BREAKS = frozenset(_BLANK + "\n;&|()<>")
_OPERATORS = ("&>>", "<<<", "&&", "||", "|&", "&>", ">>", "<<", ">&", "<&", ">|", "<>")
_REDIRECTS = frozenset({"&>>", "<<<", "&>", ">>", "<<", ">&", "<&", ">|", "<>", "<", ">"})
_JOINS = frozenset({"&&", "||", "|", "|&"})
_ENDS = frozenset({";", "&", "\n"})
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"}
    | {"select", "function", "{", "}", "[["}
)
DECLARATIONS = frozenset({"export", "declare", "readonly", "local", "typeset"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=")
_DEEPEST = 40


class _BrokenSyntaxError(Exception):
    """The text is no shell line."""


class _Operator(str):
    """Something between words."""

    __slots__ = ()


class _Scanner:
    """Reads words and operators of a shell line from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def marks(self) -> list[str]:
        """Return words and operators; raises for open quotes and brackets."""
        found: list[str] = []
        while self._at < len(self._text):
            here = self._text[self._at]
            if here in _BLANK:
                self._at += 1
            elif here == "#":
                rest = takewhile(lambda one: one != "\n", self._text[self._at :])
                self._at += sum(1 for _ in rest)
            elif here in _BREAKS and not self._opens_process():
                found.append(self._operator())
            else:
                found.append(self.word())
        return found

    def _opens_process(self) -> bool:
        return self._text[self._at : self._at + 2] in {"<(", ">("}

    def _operator(self) -> str:
        for operator in _OPERATORS:
            if self._text.startswith(operator, self._at):
                self._at += len(operator)
                return _Operator(operator)
        self._at += 1
        return _Operator(self._text[self._at - 1])

    def word(self) -> str:
        """Return the next word without its quotes."""
        parts: list[str] = []
        while self._at < len(self._text):
            here = self._text[self._at]
            following = self._text[self._at + 1 : self._at + 2]
            if here == "\\":
                parts.append("" if following == "\n" else following)
                self._at += 2
            elif here == "'":
                parts.append(self._until("'"))
            elif here == '"':
                parts.append(self._double_quoted())
            elif here == "`":
                parts.append(f"$({self._until('`')})")
            elif following == "(" and here in "$<>?*+@!":
                parts.append(here + self._balanced(self._at + 1, "(", ")"))
            elif here == "$" and following == "{":
                parts.append(here + self._balanced(self._at + 1, "{", "}"))
            elif here == "$" and following in {"'", '"'}:
                self._at += 1
            elif here in _BREAKS:
                break
            else:
                parts.append(here)
                self._at += 1
        return "".join(parts)

    def _until(self, mark: str) -> str:
        end = self._text.find(mark, self._at + 1)
        if end < 0:
            raise _BrokenSyntaxError
        found = self._text[self._at + 1 : end]
        self._at = end + 1
        return found

    def _double_quoted(self) -> str:
        parts: list[str] = []
        self._at += 1
        while self._at < len(self._text):
            here = self._text[self._at]
            following = self._text[self._at + 1 : self._at + 2]
            if here == '"':
                self._at += 1
                return "".join(parts)
            if here == "`":
                parts.append(f"$({self._until('`')})")
            elif here == "$" and following == "(":
                parts.append(here + self._balanced(self._at + 1, "(", ")"))
            else:
                escaped = here == "\\" and following in {'"', "\\", "$", "`"}
                parts.append(following if escaped else here)
                self._at += 2 if escaped else 1
        raise _BrokenSyntaxError

    def _balanced(self, start: int, opening: str, closing: str) -> str:
        depth = 0
        for at in range(start, len(self._text)):
            depth += (self._text[at] == opening) - (self._text[at] == closing)
            if depth == 0:
                self._at = at + 1
                return self._text[start : at + 1]
        raise _BrokenSyntaxError


class _Commands:
    """Groups marks into simple commands, and knows what the grammar refuses."""

    def __init__(self) -> None:
        self.found: list[list[str]] = []
        self._open = [0]  # commands seen in each bracket that is open
        self._words: list[str] = []
        self._begun = False  # a command has words or a redirection
        self._closed = False  # a bracket just closed: no word may follow
        self._owed = False  # `&&`, `||` or `|` wants a command

    def take(self, marks: list[str]) -> list[list[str]]:
        """Return the words of each simple command."""
        redirect = False
        for mark in marks:
            operator = isinstance(mark, _Operator)
            if redirect and operator:
                raise _BrokenSyntaxError
            if redirect:
                redirect = False
            elif not operator:
                self._word(mark)
            elif mark in _REDIRECTS:
                redirect = self._begun = True
            else:
                self._punctuation(mark)
        if redirect or (self._owed and not self._pending) or len(self._open) > 1:
            raise _BrokenSyntaxError
        self._finish()
        return self.found

    @property
    def _pending(self) -> bool:
        return self._begun or self._closed

    def _word(self, mark: str) -> None:
        if self._closed or (not self._words and mark in _KEYWORDS):
            raise _BrokenSyntaxError
        if mark != "!" or self._begun:
            self._begun = True
            self._words.append(mark)

    def _punctuation(self, mark: str) -> None:
        if mark == "(":
            if self._pending or len(self._open) > _DEEPEST:
                raise _BrokenSyntaxError
            self._open.append(0)
            self._owed = False
        elif mark == ")":
            owed = self._owed and not self._pending
            self._finish()
            if len(self._open) == 1 or not self._open.pop() or owed:
                raise _BrokenSyntaxError
            self._closed = True
        elif self._pending:
            self._finish()
            self._owed = mark in _JOINS
        elif mark != "\n":
            raise _BrokenSyntaxError

    def _finish(self) -> None:
        if self._begun:
            self.found.append(self._words)
        if self._pending:
            self._open[-1] += 1
            self._owed = False
        self._words, self._begun, self._closed = [], False, False


def unquote(text: str) -> str:
    """Return one word of a line without its quotes; as it stands where they do not close."""
    try:
        return _Scanner(text).word()
    except _BrokenSyntaxError:
        return text


def is_assignment(word: str) -> bool:
    """Return whether a word in front of a program sets a variable."""
    return _ASSIGNMENT.match(word) is not None


def target_words(text: str) -> tuple[str, ...] | None:
    """Return the words that a target compares; None where it is several commands.

    Assignments, declarations and wrappers are gone; the result may be empty.
    """
    if not text.strip("() \t"):
        return ()
    try:
        commands = _Commands().take(_Scanner(text).marks())
    except _BrokenSyntaxError:
        return tuple(strip_wrappers(text.split()))
    bare = [words for words in (_without_assignments(one) for one in commands) if words]
    if len(bare) > 1:
        return None
    return tuple(strip_wrappers(bare[0])) if bare else ()


def _without_assignments(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and is_assignment(words[at]):
        at += 1
    rest = words[at:]
    return [] if rest and rest[0] in DECLARATIONS else rest


_VALUED = {
    "time": frozenset({"-f", "-o"}),
    "nohup": frozenset[str](),
    "nice": frozenset({"-n", "--adjustment"}),
    "timeout": frozenset({"-k", "-s", "--kill-after", "--signal"}),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
}
"""Wrappers that the engine looks through → their options that take a word of their own."""


def strip_wrappers(words: Sequence[str]) -> list[str]:
    """Return a command's words without `time`, `env`, `nohup`, `nice`, `timeout` in front.

    `env -S` stays, because a command stands inside its argument.
    """
    rest = list(words)
    while rest and rest[0] in _VALUED:
        wrapper, valued = rest[0], _VALUED[rest[0]]
        if wrapper == "env" and splits_string(rest):
            return rest
        rest = rest[1:]
        while rest and (rest[0].startswith("-") or (wrapper == "env" and is_assignment(rest[0]))):
            rest = rest[2:] if rest[0] in valued else rest[1:]
        if wrapper == "timeout":
            rest = rest[1:]
    return rest


def splits_string(words: Sequence[str]) -> bool:
    """Return whether an `env` command takes its command from one argument."""
    return any(word.startswith(("-S", "--split-string", "-vS", "-iS")) for word in words[1:])
