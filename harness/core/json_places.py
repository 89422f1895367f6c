"""JSON with the line of every value, and with every flaw that a strict reader would refuse.

Settings of others are judged even where they are broken: what a file would mean, once mended,
is read as well as can be. Nothing here raises on bad input, and nothing nests without bound.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

DEPTH_LIMIT = 64
FLAW_LIMIT = 5

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\n]++)
    | (?P<comment>//[^\n]*+ | /\*(?:[^*]++|\*(?!/))*+(?:\*/)? | \#[^\n]*+)
    | (?P<string>"(?:[^"\\]++|\\.)*+")
    | (?P<quoted>'(?:[^'\\\n]++|\\.)*+')
    | (?P<mark>[{}\[\],:])
    | (?P<word>[^\s{}\[\],:"'/]++)
    | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_CONTROL = re.compile(r"[\x00-\x1f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Kind(StrEnum):
    """What a value is."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"


class FlawKind(StrEnum):
    """Why a strict reader refuses a text."""

    COMMENT = "comment"
    TRAILING_COMMA = "trailing_comma"
    DUPLICATE_KEY = "duplicate_key"
    BYTE_ORDER_MARK = "byte_order_mark"
    NOT_UTF8 = "not_utf8"
    EMPTY = "empty"
    SYNTAX = "syntax"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One flaw: what it is, the line it stands on (from 1), and a few words for a person."""

    kind: FlawKind
    line: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One value and where it stands.

    Attributes:
        line: the line of its first character, from 1.
        text: a string decoded, or the token of a number, boolean or null; empty for the rest.
        members: keys and values of an object, in order, duplicates included.
        items: the values of an array.
    """

    kind: Kind
    line: int
    text: str = ""
    members: tuple[tuple[str, Node], ...] = ()
    items: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a text holds: the value as far as it could be read, and a few flaws of each kind."""

    root: Node | None
    flaws: tuple[Flaw, ...] = ()


def parse(data: bytes) -> Document:
    """Return the value of a JSON text, mended where it is broken, with a flaw for each mend."""
    flaws: list[Flaw] = []
    if data.startswith(_BYTE_ORDER_MARK):
        data = data[len(_BYTE_ORDER_MARK) :]
        flaws.append(
            Flaw(kind=FlawKind.BYTE_ORDER_MARK, line=1, detail="begins with a byte order mark")
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        flaws.append(Flaw(kind=FlawKind.NOT_UTF8, line=line, detail="is not UTF-8"))
        text = data.decode(errors="replace")
    reader = _Reader(text, flaws)
    root = reader.read()
    return Document(root=root, flaws=tuple(flaws))


def compact(node: Node) -> str:
    """Return a value as JSON without blanks, keys in their order and duplicates kept."""
    match node.kind:
        case Kind.OBJECT:
            members = (f"{_quote(key)}:{compact(value)}" for key, value in node.members)
            return "{" + ",".join(members) + "}"
        case Kind.ARRAY:
            return "[" + ",".join(compact(item) for item in node.items) + "]"
        case Kind.STRING:
            return _quote(node.text)
        case _:
            return node.text


def escape_pointer(key: str) -> str:
    """Return a key as one part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_END = "end"
_WORDS = {"true": Kind.BOOLEAN, "false": Kind.BOOLEAN, "null": Kind.NULL}


@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    at: int


@dataclass(slots=True)
class _Reader:
    """Reads one text; at any surprise it notes a flaw and goes on with the likeliest meaning."""

    text: str
    flaws: list[Flaw]
    _tokens: Iterator[_Token] = field(init=False)
    _next: _Token = field(init=False)
    _breaks: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._breaks = [found.start() for found in re.finditer("\n", self.text)]
        self._tokens = self._scan()
        self._next = next(self._tokens)

    def read(self) -> Node | None:
        if self._next.kind == _END:
            self._flaw(FlawKind.EMPTY, 0, "is empty")
            return None
        root = self._value(0)
        if self._next.kind != _END:
            self._flaw(FlawKind.SYNTAX, self._next.at, "goes on after its end")
        return root

    def _scan(self) -> Iterator[_Token]:
        for found in _TOKEN.finditer(self.text):
            kind = found.lastgroup or "stray"
            if kind == "comment":
                self._flaw(FlawKind.COMMENT, found.start(), "has a comment")
            elif kind == "stray":
                self._flaw(FlawKind.SYNTAX, found.start(), "has a character out of place")
            elif kind != "space":
                yield _Token(kind, found[0], found.start())
        while True:
            yield _Token(_END, "", len(self.text))

    def _line(self, at: int) -> int:
        return bisect_right(self._breaks, at - 1) + 1

    def _flaw(self, kind: FlawKind, at: int, detail: str) -> None:
        if sum(flaw.kind is kind for flaw in self.flaws) < FLAW_LIMIT:
            self.flaws.append(Flaw(kind=kind, line=self._line(at), detail=detail))

    def _take(self) -> _Token:
        token = self._next
        self._next = next(self._tokens)
        return token

    def _is_mark(self, marks: str) -> bool:
        return self._next.kind == "mark" and self._next.text in marks

    def _value(self, depth: int) -> Node | None:
        """Read one value; None where there is none."""
        if self._next.kind == _END or self._is_mark("}],"):
            # What stands here ends or parts what is around this value: it is left there.
            found = self._next.text or "its end"
            self._flaw(FlawKind.SYNTAX, self._next.at, f"has {found} where a value was expected")
            return None
        token = self._take()
        if token.kind != "mark":
            return self._scalar(token)
        if token.text == ":":
            self._flaw(FlawKind.SYNTAX, token.at, "has : where a value was expected")
            return None
        if depth >= DEPTH_LIMIT:
            self._flaw(FlawKind.SYNTAX, token.at, "is nested too deeply")
            self._skip_to_end()
            return None
        line = self._line(token.at)
        if token.text == "{":
            return Node(kind=Kind.OBJECT, line=line, members=tuple(self._members(depth)))
        return Node(kind=Kind.ARRAY, line=line, items=tuple(self._items(depth)))

    def _skip_to_end(self) -> None:
        while self._next.kind != _END:
            self._take()

    def _items(self, depth: int) -> list[Node]:
        items: list[Node] = []
        first = True
        while self._goes_on("]", first=first):
            first = False
            value = self._value(depth + 1)
            if value is not None:
                items.append(value)
        return items

    def _members(self, depth: int) -> list[tuple[str, Node]]:
        members: list[tuple[str, Node]] = []
        seen: set[str] = set()
        first = True
        while self._goes_on("}", first=first):
            first = False
            token = self._take()
            if token.kind == "mark":
                self._flaw(FlawKind.SYNTAX, token.at, "has no key before a value")
                continue
            key = self._scalar(token).text
            if token.kind != "string":
                self._flaw(FlawKind.SYNTAX, token.at, "has a key that is not in double quotes")
            if key in seen:
                self._flaw(FlawKind.DUPLICATE_KEY, token.at, f"has the key {_quote(key)} twice")
            seen.add(key)
            if not self._is_mark(":"):
                self._flaw(FlawKind.SYNTAX, token.at, f"has no value for the key {_quote(key)}")
                continue
            self._take()
            value = self._value(depth + 1)
            if value is not None:
                members.append((key, value))
        return members

    def _goes_on(self, end: str, *, first: bool) -> bool:
        """Pass over what stands between two entries; False at the end of the array or object."""
        commas = 0
        while self._is_mark(","):
            comma = self._take()
            commas += 1
            if commas > 1 or first:
                self._flaw(FlawKind.SYNTAX, comma.at, "has a comma without a value before it")
        if self._next.kind == _END:
            self._flaw(FlawKind.SYNTAX, self._next.at, f"ends before its {end}")
            return False
        if self._is_mark("}]"):
            closing = self._take()
            if closing.text != end:
                self._flaw(FlawKind.SYNTAX, closing.at, f"has {closing.text} for {end}")
            elif commas and not first:
                self._flaw(FlawKind.TRAILING_COMMA, closing.at, f"has a comma before {end}")
            return False
        if not commas and not first:
            self._flaw(FlawKind.SYNTAX, self._next.at, "has no comma between two values")
        return True

    def _scalar(self, token: _Token) -> Node:
        line = self._line(token.at)
        if token.kind == "string":
            return Node(kind=Kind.STRING, line=line, text=self._string(token))
        if token.kind == "quoted":
            self._flaw(FlawKind.SYNTAX, token.at, "has a text in single quotes")
            return Node(kind=Kind.STRING, line=line, text=token.text[1:-1])
        if token.text in _WORDS:
            return Node(kind=_WORDS[token.text], line=line, text=token.text)
        if _NUMBER.fullmatch(token.text):
            return Node(kind=Kind.NUMBER, line=line, text=token.text)
        self._flaw(FlawKind.SYNTAX, token.at, "has a word that is not in quotes")
        return Node(kind=Kind.STRING, line=line, text=token.text)

    def _string(self, token: _Token) -> str:
        if _CONTROL.search(token.text):
            self._flaw(FlawKind.SYNTAX, token.at, "has a control character inside a text")
        try:
            decoded = json.loads(token.text, strict=False)
        except ValueError:
            self._flaw(FlawKind.SYNTAX, token.at, "has an escape that means nothing")
            decoded = token.text[1:-1]
        return _SURROGATE.sub("\ufffd", str(decoded))
