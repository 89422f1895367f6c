"""From TOML tables to frozen values: unknown keys, wrong types and bad choices are refused.

The fields of the dataclass are the schema. Their annotations are looked up in one table, so a
new kind of field needs one line there; each problem is one line that says where.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar, cast

from harness.errors import ConfigurationProblem

EXIT_SCENARIO = 64
"""No version of the CLI ends with it, so a broken scenario is never mistaken for a run."""

Reader = Callable[[object, str], object]
T = TypeVar("T")


class ScenarioProblem(ConfigurationProblem):
    """A scenario that cannot be played; the message says where and what was expected."""

    exit_status = EXIT_SCENARIO


class Checked(Protocol):
    """A value that can judge its fields together."""

    def problem(self) -> str | None:
        """Return what is wrong, in words for a person, or None."""
        ...


def _plain(kind: type | tuple[type, ...], expected: str) -> Reader:
    def read(value: object, where: str) -> object:
        # true is an int in Python, and never meant as one
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ScenarioProblem(f"{where}: expected {expected}, not {_shown(value)}")
        return value

    return read


def _number(value: object, where: str) -> object:
    number = _plain((int, float), "a number of at least 0")(value, where)
    if cast("float", number) < 0:
        raise ScenarioProblem(f"{where}: expected a number of at least 0, not {value}")
    return number


def _float(value: object, where: str) -> object:
    return float(cast("float", _number(value, where)))


def _whole(value: object, where: str) -> object:
    return _number(_plain(int, "a whole number of at least 0")(value, where), where)


def _mapping_of(item: Reader) -> Reader:
    def read(value: object, where: str) -> object:
        if not isinstance(value, dict):
            raise ScenarioProblem(f"{where}: expected a table, not {_shown(value)}")
        return {key: item(entry, f"{where}.{key}") for key, entry in value.items()}

    return read


def list_of(item: Reader) -> Reader:
    """Return a reader of lists whose entries `item` reads; positions count from 1."""

    def read(value: object, where: str) -> object:
        if not isinstance(value, list):
            raise ScenarioProblem(f"{where}: expected a list, not {_shown(value)}")
        return tuple(item(entry, f"{where}[{n}]") for n, entry in enumerate(value, start=1))

    return read


def either(first: Reader, second: Reader, kind: type) -> Reader:
    """Return a reader that takes `first` for values of a type, and `second` for the rest."""
    return lambda value, where: (first if isinstance(value, kind) else second)(value, where)


_TEXT = _plain(str, "a string")
_BOOL = _plain(bool, "true or false")
PLAIN: Mapping[str, Reader] = {
    "str": _TEXT,
    "int": _whole,
    "float": _float,
    "bool": _BOOL,
    "object": lambda value, _where: value,
    "str | tuple[str, ...]": either(_TEXT, list_of(_TEXT), str),
    "tuple[str, ...]": list_of(_TEXT),
    "Mapping[str, object]": _mapping_of(lambda value, _where: value),
    "Mapping[str, int]": _mapping_of(_whole),
}


def table(value: object, where: str) -> dict[str, object]:
    """Return a table; raise `ScenarioProblem` for anything else."""
    if not isinstance(value, dict):
        raise ScenarioProblem(f"{where}: expected a table, not {_shown(value)}")
    return value


def decode(kind: type[T], value: object, where: str, readers: Mapping[str, Reader]) -> T:
    """Return a dataclass from a table; `where` begins every message."""
    fields = {field.name: field for field in dataclasses.fields(cast("type", kind))}
    found: dict[str, object] = {}
    for key, entry in table(value, where).items():
        place = f"{where}.{key}"
        if key not in fields:
            raise ScenarioProblem(f"{place}: unknown key; known here: {', '.join(sorted(fields))}")
        found[key] = _field(fields[key], entry, place, readers)
    for name, field in fields.items():
        missing = field.default is dataclasses.MISSING
        if missing and field.default_factory is dataclasses.MISSING and name not in found:
            raise ScenarioProblem(f"{where}: the key {name} is missing")
    made = kind(**found)
    problem = cast("Checked", made).problem() if hasattr(made, "problem") else None
    if problem:
        raise ScenarioProblem(f"{where}: {problem}")
    return made


def _field(
    field: dataclasses.Field[object], value: object, where: str, readers: Mapping[str, Reader]
) -> object:
    annotation = str(field.type).removesuffix(" | None")
    found = readers[annotation](value, where)
    choices = field.metadata.get("one_of")
    if choices is not None and found not in choices:
        raise ScenarioProblem(f"{where}: expected one of {', '.join(choices)}, not {_shown(value)}")
    return found


def _shown(value: object) -> str:
    text = "true" if value is True else "false" if value is False else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 (a width for one line)
