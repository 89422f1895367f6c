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
_SUSPECT = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bcaf\U0001d173-\U0001d17a"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xE0000, 0x10000)
    )
    + "\U000e0000-\U000e0fff\U000efffe-\U0010ffff"
    "]"
)
"""Every character that may be hidden, and a few that are not: finds them fast in long texts."""


def neutralise(text: str) -> str:
    """Return a text with everything invisible made visible; newline and tab stay."""
    return _SUSPECT.sub(
        lambda found: found[0] if _stays(text, found.start()) else _escape(ord(found[0])), text
    )


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
    end = len(kept)
    while end and (_joins(text[end]) or text[end - 1] == _JOINER):
        end -= 1
    return kept[:end] + mark


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
    return _SUSPECT.sub(
        lambda found: found[0] if _stays(text, found.start()) else _json_escape(found[0]), text
    )


def _stays(text: str, index: int) -> bool:
    """Tell whether a suspect character is shown as it is, where it stands."""
    character = text[index]
    if character == _JOINER:
        return _between_emoji(text, index)
    if _is_variation_selector(ord(character)):
        return index > 0 and _may_vary(text[index - 1])
    return not _is_hidden(character)


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
