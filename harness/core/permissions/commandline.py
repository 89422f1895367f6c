"""A shell line, taken apart the way the engine does before it looks at any rule."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from harness.core.permissions.shellwords import splits_string, strip_wrappers, unquote

LONGEST_LINE = 8192
"""Characters of a line that is parsed; a longer one cannot be judged."""

_FREE_PROGRAMS = frozenset({"test", "[", "true", "false", ":", "typeset"})
"""Programs that need no rule, beside assignments and declarations."""
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_FORCING = _SUBSTITUTIONS | {
    "arithmetic_expansion",
    "brace_expression",
    "c_style_for_statement",
    "function_definition",
}
_FREE = frozenset({"declaration_command", "test_command", "variable_assignment"})
_BRACES = re.compile(r"\{[^{}]*(,|\.\.)[^{}]*\}")
_NETWORK = re.compile(r"/dev/(tcp|udp)/")
_RESOLVED = re.compile(r"[^\"'\\$`]+")
_OUTPUT = frozenset({">", ">>", "&>", "&>>", ">|", "<>"})
_DUPLICATES = re.compile(r"-|\d+-?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One simple command of a line.

    Attributes:
        words: its words without quotes and wrappers.
        opaque: True where the program's name is quoted or a variable.
    """

    words: tuple[str, ...]
    opaque: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """One line.

    Attributes:
        text: the line, trimmed.
        parts: the simple commands that need a rule.
        inner: those inside substitutions, which no rule sees.
        exact: whether the line is compared whole.
        broken: whether it is no shell line; parts are then what could be made of it.
        free: whether it holds something that needs no rule.
        outputs: files that it writes; None for one whose name is not fixed.
    """

    text: str
    parts: tuple[Part, ...] = ()
    inner: tuple[Part, ...] = ()
    exact: bool = False
    broken: bool = False
    free: bool = False
    outputs: tuple[str | None, ...] = ()


def whole_line(text: str) -> CommandLine:
    """Return a line for shells in which everything is compared whole."""
    return CommandLine(text=text.strip(), exact=True)


@lru_cache(maxsize=512)
def parse_line(text: str) -> CommandLine | None:
    """Return a line's parts; None where it is too long or the parser is not installed."""
    text = text.strip()
    parser = _parser()
    if parser is None or len(text) > LONGEST_LINE:
        return None
    return _Reader(text).read(parser.parse(_safe(text)).root_node)


def _safe(text: str) -> bytes:
    """Return a line for the parser, one byte a sign.

    The grammar's scanner asks C's tables about signs that lie outside them, which can end the
    process. Outside ASCII, no sign has a meaning to the shell; each is replaced by one that is
    part of a word and of no name or keyword.
    """
    return "".join(sign if sign.isascii() else "%" for sign in text).encode()


def missing() -> str:
    """Return what keeps lines from being parsed; empty where nothing does."""
    return "" if _parser() is not None else "tree-sitter and its bash grammar are not installed"


@cache
def _parser() -> Any | None:
    """Return tree-sitter's parser for bash; None where it cannot be imported."""
    try:
        binding = importlib.import_module("tree_sitter")
        grammar = importlib.import_module("tree_sitter_bash")
    except ImportError:
        return None
    return binding.Parser(binding.Language(grammar.language()))


class _Reader:
    """Collects from the syntax tree what rules are compared with."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: list[Part] = []
        self._inner: list[Part] = []
        self._outputs: list[str | None] = []
        self._free = False
        self._exact = _NETWORK.search(text) is not None
        self._broken = False

    def read(self, root: Any) -> CommandLine:
        """Return the line whose tree this is."""
        self._broken = root.has_error
        for node, hidden in _walk(root):
            self._take(node, hidden=hidden)
        return CommandLine(
            text=self._text,
            parts=tuple(self._parts),
            inner=tuple(self._inner),
            exact=self._exact,
            broken=self._broken,
            free=self._free,
            outputs=tuple(self._outputs),
        )

    def _take(self, node: Any, *, hidden: bool) -> None:
        kind = node.type
        if kind in _FORCING or (
            kind == "compound_statement" and self._source(node).startswith("((")
        ):
            self._exact = True
        elif kind in {"command", "unset_command"}:
            self._command(node, self._inner if hidden else self._parts)
        elif kind in _FREE:
            self._free = True
        elif kind == "file_redirect":
            self._redirect(node)

    def _command(self, node: Any, parts: list[Part]) -> None:
        sources = [self._source(word) for word in _words_of(node)]
        if any(child.type == "subshell" for child in node.children):
            self._broken = True
        if any(map(self._has_braces, _words_of(node))):
            self._exact = True
        words = strip_wrappers(tuple(unquote(source) for source in sources))
        if not any(sources):
            return
        if not words:
            parts.append(Part(words=(unquote(sources[0]),)))
            self._exact = True
            return
        opaque = not _RESOLVED.fullmatch(sources[len(sources) - len(words)])
        if words[0] in _FREE_PROGRAMS and not opaque:
            self._free = True
            return
        parts.append(Part(words=tuple(words), opaque=opaque))
        if opaque or _forces_whole(words):
            self._exact = True

    def _redirect(self, node: Any) -> None:
        target = node.child_by_field_name("destination")
        operator = next((child.type for child in node.children if child.type[:1] in "<>&"), "")
        if operator == ">&-" or target is None:
            return
        source = self._source(target)
        name = unquote(source)
        copies = operator == ">&" and _DUPLICATES.fullmatch(name)
        if operator not in _OUTPUT | {">&"} or copies or name == "/dev/null":
            return
        self._outputs.append(name if name.startswith("/") and "$" not in source else None)

    def _source(self, node: Any) -> str:
        return self._text[node.start_byte : node.end_byte]

    def _has_braces(self, word: Any) -> bool:
        """Return whether the unquoted text of a word holds a brace expansion."""
        if word.type == "command_name":
            word = word.children[0]
        pieces = word.children if word.type == "concatenation" else [word]
        plain = {"word", "number"}
        text = "".join(self._source(piece) if piece.type in plain else "x" for piece in pieces)
        return _BRACES.search(text) is not None


def _walk(root: Any) -> Iterator[tuple[Any, bool]]:
    """Yield each node with whether it lies inside a substitution, in the order of the text."""
    waiting = [(root, False)]
    while waiting:
        node, hidden = waiting.pop()
        yield node, hidden
        below = hidden or node.type in _SUBSTITUTIONS
        waiting.extend((child, below) for child in reversed(node.children))


def _words_of(node: Any) -> list[Any]:
    if node.type == "unset_command":
        return list(node.children)
    names = node.children_by_field_name("name")
    return [*names, *node.children_by_field_name("argument")]


def _forces_whole(words: list[str]) -> bool:
    """Return whether a flag that runs something makes the engine compare the whole line."""
    arguments = words[1:]
    match words[0]:
        case "env":
            return splits_string(words)
        case "git":
            return _git_forces(arguments)
        case "find":
            return any(_FIND.fullmatch(word) for word in arguments)
        case "tar":
            return any(word.startswith(_TAR) for word in arguments)
        case "zip":
            return "-TT" in arguments
        case _:
            return False


_FIND = re.compile(r"-(exec|execdir|ok|okdir|delete|fls|fprint(0|f)?)")
_TAR = ("-I", "-F", "--to-command", "--checkpoint-action")


def _git_forces(arguments: list[str]) -> bool:
    if any(word.startswith(("--exec-path", "--upload-pack")) for word in arguments):
        return True
    for word in arguments:
        if word == "-c":
            return True
        if not word.startswith("-"):
            return False
    return False
