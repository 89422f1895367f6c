"""Two texts compared for a person's eye: bounded whatever an agent wrote, never silent.

Texts that differ always give at least one line. JSON is compared by structure, so that key
order and layout do not drown a change; numbers are compared as they are written, and an object
that names a key twice is compared as text, because parsers disagree on what it means.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.core.json_diff import json_changes

LINE_LIMIT = 500
"""Characters of one line that are shown."""
ALIGNED_LINES = 2_000
"""Lines that may differ for an alignment: it takes quadratic time."""

_CONTEXT = 3
_LEAD = 60


class LineKind(StrEnum):
    """What a line of a comparison says."""

    ADDED = "+"
    REMOVED = "-"
    SAME = " "
    NOTE = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line; `text` is raw and may hold control characters, which the printer escapes.

    Attributes:
        cut: `text` is a part of a long line, with the length and digest of the whole.
    """

    kind: LineKind
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """A comparison; no lines means that both sides are equal.

    Attributes:
        truncated: lines were left out or cut, so what is shown is not all that differs.
    """

    lines: tuple[DiffLine, ...] = ()
    truncated: bool = False


def text_diff(before: str, after: str, *, label: str, limit_lines: int = 200) -> Diff:
    """Compare two texts.

    Args:
        before: what stands now; empty for nothing.
        after: what would stand.
        label: names what is compared, in the first line.
        limit_lines: lines of the result at most, the first one included; at least 2.
    """
    if before == after:
        return Diff()
    changes = json_changes(before, after)
    if changes is not None:
        lines: Iterable[DiffLine] = (
            DiffLine(kind=LineKind.ADDED if change.added else LineKind.REMOVED, text=change.text)
            for change in changes
        )
    else:
        lines = _line_changes(before.split("\n"), after.split("\n"))
    return _bounded(label, lines, limit_lines)


def content_diff(
    before: bytes | None, after: bytes | None, *, label: str, limit_lines: int = 200
) -> Diff:
    """Compare two contents of a file; None stands for no file.

    What is not text, or not on both sides, is told by size and digest.
    """
    if before == after:
        return Diff()
    if before is not None and after is not None:
        old, new = _text_of(before), _text_of(after)
        if old is not None and new is not None:
            return text_diff(old, new, label=label, limit_lines=limit_lines)
    return _bounded(label, _summaries(before, after), limit_lines)


def _text_of(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _summaries(before: bytes | None, after: bytes | None) -> Iterator[DiffLine]:
    """Tell both sides by size and digest; text that is new or gone is shown as it is."""
    for kind, content in ((LineKind.REMOVED, before), (LineKind.ADDED, after)):
        if content is None:
            continue
        text = _text_of(content)
        shown = text if text is not None and None in (before, after) else None
        digest = hashlib.sha256(content).hexdigest()
        what = "bytes" if text is not None else "bytes that are no text"
        yield DiffLine(
            kind=LineKind.NOTE if shown else kind, text=f"{len(content)} {what}, sha256 {digest}"
        )
        if shown:
            yield from (DiffLine(kind=kind, text=line) for line in shown.split("\n"))


def _bounded(label: str, lines: Iterable[DiffLine], limit_lines: int) -> Diff:
    shown = [DiffLine(kind=LineKind.NOTE, text=label[:LINE_LIMIT])]
    truncated = len(label) > LINE_LIMIT
    for line in lines:
        if len(shown) >= max(limit_lines, 2):
            return Diff(lines=tuple(shown), truncated=True)
        whole = line if line.cut else _line(line.kind, line.text)
        truncated = truncated or whole.cut
        shown.append(whole)
    return Diff(lines=tuple(shown), truncated=truncated)


def _line_changes(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    """Align what differs; where that would take too long, say which lines are new or gone."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    old_middle, new_middle = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old_middle), len(new_middle)) > ALIGNED_LINES:
        yield from _unaligned(old_middle, new_middle)
        return
    lead, tail = min(start, _CONTEXT), min(end, _CONTEXT)
    first = start - lead
    old_part = old[first : len(old) - end + tail]
    new_part = new[first : len(new) - end + tail]
    # Numbers stand for the lines, so that their length costs nothing in the comparison.
    numbers: dict[str, int] = {}
    old_numbers = [numbers.setdefault(line, len(numbers)) for line in old_part]
    new_numbers = [numbers.setdefault(line, len(numbers)) for line in new_part]
    matcher = difflib.SequenceMatcher(None, old_numbers, new_numbers)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield DiffLine(
            kind=LineKind.NOTE,
            text=f"line {first + group[0][1] + 1}, now {first + group[0][3] + 1}",
        )
        for tag, low, high, new_low, new_high in group:
            if tag == "equal":
                yield from _all(LineKind.SAME, old_part[low:high])
            else:
                yield from _replaced(old_part[low:high], new_part[new_low:new_high])


def _replaced(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    """Show lines that went and came; a long pair is cut around the first difference."""
    if len(old) != len(new):
        yield from _all(LineKind.REMOVED, old)
        yield from _all(LineKind.ADDED, new)
        return
    leads = [_common(one, other) for one, other in zip(old, new, strict=True)]
    for kind, lines in ((LineKind.REMOVED, old), (LineKind.ADDED, new)):
        for line, lead in zip(lines, leads, strict=True):
            yield _line(kind, line, lead=lead)


def _unaligned(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    yield DiffLine(kind=LineKind.NOTE, text="too much differs to align it: lines gone, lines new")
    gone, come = Counter(old), Counter(new)
    for line, count in (gone - come).items():
        yield from _all(LineKind.REMOVED, [line] * count)
    for line, count in (come - gone).items():
        yield from _all(LineKind.ADDED, [line] * count)
    if gone == come:
        yield DiffLine(kind=LineKind.NOTE, text="the same lines in another order")


def _all(kind: LineKind, lines: Iterable[str]) -> Iterator[DiffLine]:
    return (DiffLine(kind=kind, text=line) for line in lines)


def _line(kind: LineKind, text: str, *, lead: int = 0) -> DiffLine:
    """Return a line, cut to what matters: `lead` characters are the same on the other side."""
    if len(text) <= LINE_LIMIT:
        return DiffLine(kind=kind, text=text)
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
    whole = f"[{len(text)} characters, sha256 {digest}]"
    start = max(0, lead - _LEAD)
    part = text[start : start + LINE_LIMIT - len(whole) - 2]
    before, after = "…" if start else "", "…" if start + len(part) < len(text) else ""
    return DiffLine(kind=kind, text=f"{before}{part}{after}{whole}", cut=True)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many items two sequences have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
