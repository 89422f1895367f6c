r"""Text of others made safe to show: nothing hidden, nothing that moves a terminal.

What an agent wrote may hold escape sequences, direction overrides or characters without
width. Here each of them becomes visible as `\x1b`, `\u202e` or `\U000e0041`; letters of every
script and emoji stay as they were written.
"""

from __future__ import annotations

import re
import unicodedata

CUT_MARK = "… [cut]"
_JOINER = "\u200d"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_HIDDEN_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
)
_FOLDED = re.compile(r"[ \t\n]+")
_FIRST_PRINTABLE_RANGE = range(0x20, 0x7F)


def neutralise(text: str) -> str:
    """Return a text with everything invisible made visible; newline and tab stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(text, index) for index in range(len(text)))


def one_line(text: str) -> str:
    """Return a text neutralised and folded into one line, blanks and line ends as one blank."""
    return _FOLDED.sub(" ", neutralise(text)).strip(" ")


def bounded(text: str, limit: int) -> str:
    """Return a text of at most `limit` UTF-8 bytes, ended by a visible mark where it was cut.

    The cut falls between characters, never inside one with its accents. Where not even the
    mark has room, what is left is the beginning of the text alone.
    """
    encoded = text.encode(errors="surrogatepass")
    if len(encoded) <= limit:
        return text
    mark = CUT_MARK if len(CUT_MARK.encode()) <= limit else ""
    room = max(limit - len(mark.encode()), 0)
    while room and encoded[room] & 0xC0 == 0x80:  # noqa: PLR2004 - a UTF-8 continuation byte
        room -= 1
    kept = encoded[:room].decode(errors="surrogatepass")
    rest = text[len(kept)]
    while kept and (_joins(rest) or kept[-1] == _JOINER):
        kept, rest = kept[:-1], kept[-1]
    return kept + mark


def display_width(text: str) -> int:
    """Return how many terminal columns a neutralised line takes."""
    if text.isascii():
        return len(text)
    width = 0
    joined = False
    for character in text:
        if _joins(character) or character == _JOINER:
            joined = character == _JOINER
            continue
        if not joined:
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        joined = False
    return width


def escape_hidden(text: str) -> str:
    r"""Return JSON text in which every hidden character stands as `\uXXXX`: the same value.

    Raises nothing on lone surrogates; they become escapes as well.
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(
        _json_escape(character) if _is_hidden(character) and character not in "\n\t" else character
        for character in text
    )


def _shown(text: str, index: int) -> str:
    """Return one character as it is, or as a visible escape."""
    character = text[index]
    code = ord(character)
    if code in _FIRST_PRINTABLE_RANGE or character in "\n\t":
        return character
    if character == _JOINER and _between_emoji(text, index):
        return character
    if _is_variation_selector(code):
        return character if index and _may_vary(text[index - 1]) else _escape(code)
    return _escape(code) if _is_hidden(character) else character


def _is_hidden(character: str) -> bool:
    code = ord(character)
    if _is_noncharacter(code) or 0xE0000 <= code <= 0xE00FF:  # noqa: PLR2004 - the tag block
        return True
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _HIDDEN_LETTERS


def _is_noncharacter(code: int) -> bool:
    return 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE  # noqa: PLR2004 - by Unicode


def _is_variation_selector(code: int) -> bool:
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF  # noqa: PLR2004 - by Unicode


def _may_vary(base: str) -> bool:
    """Tell whether a selector after this character has something visible to select."""
    return not (base.isspace() or _is_hidden(base) or _is_variation_selector(ord(base)))


def _between_emoji(text: str, index: int) -> bool:
    """Tell whether a joiner stands inside an emoji sequence, the only place where it may."""
    before = text[max(index - 2, 0) : index].rstrip("\ufe0f")[-1:]
    return _is_pictograph(before) and _is_pictograph(text[index + 1 : index + 2])


def _is_pictograph(character: str) -> bool:
    if not character:
        return False
    return unicodedata.category(character) == "So" or "\U0001f3fb" <= character <= "\U0001f3ff"


def _joins(character: str) -> bool:
    """Tell whether a character is drawn onto the one before it."""
    return (
        unicodedata.category(character) in {"Mn", "Me"}
        or character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _escape(code: int) -> str:
    if code <= 0xFF:  # noqa: PLR2004 - one byte
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the BMP


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", errors="surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
