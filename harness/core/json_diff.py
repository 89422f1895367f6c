"""Two JSON documents compared by structure: one line for each path that changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

JSON_LIMIT = 1024 * 1024
"""Characters of a document up to which it is parsed."""
DEPTH_LIMIT = 64

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = object()

# Values are those of `json`, but a number is a tuple of its text: 1.0 is not 1 for a person
# who approves it, and digits beyond a float's precision count.


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonChange:
    """A value that came (`added`) or went; `text` is `path: value`."""

    added: bool
    text: str


def json_changes(before: str, after: str) -> Iterator[JsonChange] | None:
    """Compare two documents; an empty text stands for none.

    Returns:
        What went and came, by path in order of keys; None where comparing the texts tells more:
        one is no JSON object or array, names a key twice, is too large or too deep, or both
        mean the same.
    """
    old, new = _parsed(before), _parsed(after)
    if old is None or new is None or old == new:
        return None
    return _compared(old, new)


def _parsed(text: str) -> object:
    """Return the document, `_MISSING` for an empty text, None for what is not comparable."""
    if not text:
        return _MISSING
    if len(text) > JSON_LIMIT or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value: object = json.loads(
            text,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_number,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(value) else None


def _number(text: str) -> tuple[str]:
    return (text,)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _is_shallow(value: object) -> bool:
    level = [value]
    for _ in range(DEPTH_LIMIT):
        level = [child for item in level for _, child in _children(item)]
        if not level:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands; written out only when it is shown, as hostile keys are long."""

    above: _Place | None
    step: str | int

    def __str__(self) -> str:
        steps: list[str] = []
        place: _Place | None = self
        while place is not None:
            steps.append(_step(place.step))
            place = place.above
        return "$" + "".join(reversed(steps[:-1]))


def _compared(before: object, after: object) -> Iterator[JsonChange]:
    waiting = [(_Place(None, "$"), before, after)]
    while waiting:
        place, old, new = waiting.pop()
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            waiting.extend(
                (_Place(place, key), old.get(key, _MISSING), new.get(key, _MISSING))
                for key in sorted(old.keys() | new.keys(), reverse=True)
            )
        elif isinstance(old, list) and isinstance(new, list):
            waiting.extend(reversed(_items(place, old, new)))
        else:
            yield from _leaves(place, old, added=False)
            yield from _leaves(place, new, added=True)


def _items(
    place: _Place, old: list[object], new: list[object]
) -> list[tuple[_Place, object, object]]:
    """Pair the items of two lists between what both begin and end with."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    gone = [(_Place(place, at), old[at]) for at in range(start, len(old) - end)]
    come = [(_Place(place, at), new[at]) for at in range(start, len(new) - end)]
    if len(gone) == len(come):
        return [(at, item, other) for (at, item), (_, other) in zip(gone, come, strict=True)]
    return [(at, item, _MISSING) for at, item in gone] + [(at, _MISSING, item) for at, item in come]


def _leaves(place: _Place, value: object, *, added: bool) -> Iterator[JsonChange]:
    waiting = [(place, value)] if value is not _MISSING else []
    while waiting:
        at, item = waiting.pop()
        children = _children(item)
        if children:
            waiting.extend((_Place(at, step), child) for step, child in reversed(children))
        else:
            yield JsonChange(added=added, text=f"{at}: {_text(item)}")


def _children(value: object) -> list[tuple[str | int, object]]:
    if isinstance(value, dict):
        return [(key, value[key]) for key in sorted(value)]
    if isinstance(value, list):
        return list(enumerate(value))
    return []


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{_text(step)}]"


def _text(value: object) -> str:
    """Return a leaf as JSON, readable, with lone surrogates escaped."""
    if isinstance(value, tuple):
        return str(value[0])
    text = json.dumps(value, ensure_ascii=False)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
