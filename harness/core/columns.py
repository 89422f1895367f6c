"""Text in columns that fit a width: shortened with an ellipsis, or wrapped between words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.core.text import display_width

_GAP = 2
_LEAST = 8
_ELLIPSIS = "…"


def shorten(text: str, width: int) -> str:
    """Return a line of at most `width` columns; what does not fit ends in an ellipsis."""
    if display_width(text) <= width:
        return text
    return _first(text, max(width - 1, 0)) + _ELLIPSIS


def _first(text: str, width: int) -> str:
    """Return as much of a text as `width` columns hold."""
    low, high = 0, min(len(text), 2 * width)
    while low < high:
        middle = (low + high + 1) // 2
        if display_width(text[:middle]) <= width:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def wrap(text: str, width: int) -> list[str]:
    """Return a line as several of at most `width` columns, parted between words.

    A word that is wider than that by itself is parted where it must be.
    """
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if display_width(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        rest = word
        while display_width(rest) > width:
            part = _first(rest, max(width, 2))
            lines[-1] = part
            lines.append("")
            rest = rest[len(part) :]
        lines[-1] = rest
    return lines


def columns(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    flexible: Collection[str],
    optional: Sequence[str],
) -> list[str]:
    """Return rows under headings, columns as wide as their widest cell where that fits.

    Args:
        headings: a name for each column.
        rows: cells, each one line.
        width: how many columns of a terminal there are; None where nothing is to be cut.
        flexible: headings of columns that may be shortened.
        optional: headings of columns that are left out first, where all is too wide.
    """
    kept = list(range(len(headings)))
    dropped = list(optional)
    while True:
        table = [[row[at] for at in kept] for row in (headings, *rows)]
        widths = [max(map(display_width, cells)) for cells in zip(*table, strict=True)]
        bends = [headings[at] in flexible for at in kept]
        fitted = widths if width is None else _fitted(widths, bends, width)
        if fitted is not None:
            return [_row(row, fitted) for row in table]
        if width is not None and not dropped:
            return _blocks(headings, rows, width)
        kept.remove(headings.index(dropped.pop(0)))


def _fitted(widths: list[int], bends: list[bool], width: int) -> list[int] | None:
    """Return widths whose sum fits, the widest that may bend made narrower; None if none do."""
    room = width - _GAP * (len(widths) - 1)
    fitted = list(widths)
    while sum(fitted) > room:
        candidates = [at for at, bend in enumerate(bends) if bend and fitted[at] > _LEAST]
        if not candidates:
            return None
        fitted[max(candidates, key=lambda at: fitted[at])] -= 1
    return fitted


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = [shorten(cell, width) for cell, width in zip(cells, widths, strict=True)]
    return (
        (" " * _GAP)
        .join(
            cell + " " * (width - display_width(cell))
            for cell, width in zip(shown, widths, strict=True)
        )
        .rstrip()
    )


def _blocks(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return each row as a block of its own, for places too narrow for a table."""
    lines = []
    for row in rows:
        lines += wrap(row[0], width)
        named = zip(headings[1:], row[1:], strict=True)
        lines += pairs([pair for pair in named if pair[1]], width, indent=2)
    return lines


def pairs(named: Sequence[tuple[str, str]], width: int | None, *, indent: int = 0) -> list[str]:
    """Return names and values, one pair a line or more, values beneath each other.

    A value with a word that is too wide for its column begins on a line of its own.
    """
    column = max((display_width(name) for name, _ in named), default=0)
    lines = []
    for name, value in named:
        lead = " " * (indent + column + _GAP)
        label = f"{' ' * indent}{name}"
        first = label + " " * (len(lead) - indent - display_width(name))
        if width is None:
            lines.append(f"{first}{value}".rstrip())
            continue
        room = max(width - len(lead), _LEAST)
        longest = max(map(display_width, value.split(" ")))
        if room < longest <= width - indent - _GAP:
            first = lead = " " * (indent + _GAP)
            room = width - len(lead)
            lines.append(label)
        parts = wrap(value, room)
        lines.append(f"{first}{parts[0]}".rstrip())
        lines += [f"{lead}{part}" for part in parts[1:]]
    return lines


def wrap_text(text: str, width: int) -> str:
    """Return a text whose long lines are wrapped between words, each set in as it was."""
    lines = []
    for line in text.split("\n"):
        bare = line.lstrip(" ")
        lead = line[: len(line) - len(bare)][: width // 2]
        lines += [f"{lead}{part}" for part in wrap(bare, width - len(lead))]
    return "\n".join(lines)
