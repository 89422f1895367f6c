"""Paths of the operating system as text that JSON and SQLite can hold, and back."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\x(5c|[89a-f][0-9a-f])")
_FIRST_LONE = 0x80
_LONE_BASE = 0xDC00
_LONE_BYTE = re.compile("[\udc80-\udcff]")


def encode_path(path: str) -> str:
    r"""Return a path as text without lone surrogates; every path in a snapshot is written so.

    Only names that are not UTF-8 change: a byte that Python keeps as a lone surrogate becomes
    `\xff`. A backslash that would read as such a byte becomes `\x5c`, so that `decode_path`
    finds exactly the path again.
    """
    if "\\x" in path:
        path = _ESCAPE.sub(lambda match: "\\x5cx" + match[1], path)
    if path.isascii():
        return path
    return _LONE_BYTE.sub(lambda match: f"\\x{ord(match[0]) - _LONE_BASE:02x}", path)


def decode_path(text: str) -> str:
    """Return the path that `encode_path` wrote down."""
    if "\\x" not in text:
        return text
    return _ESCAPE.sub(lambda match: _of_byte(int(match[1], 16)), text)


def _of_byte(byte: int) -> str:
    return chr(byte) if byte < _FIRST_LONE else chr(_LONE_BASE + byte)
