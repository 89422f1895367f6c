"""TOML files of a person: read with bounds, checked key by key, every mistake a line of its own."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import TypeVar, Union, get_args, get_origin

import msgspec

from harness.core.text import bounded, one_line
from harness.errors import ConfigurationProblem, HostProblem
from harness.stores.files import read_bounded

FILE_LIMIT = 1024 * 1024
_SHOWN_LIMIT = 80
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_EXPECTED: Mapping[object, str] = {
    str: 'text, such as "a"',
    list[str]: 'a list of texts, such as ["a", "b"]',
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
_NUMBER_OR_SIZE = 'a whole number or a size such as "16MiB"'
_Table = TypeVar("_Table", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in one file.

    Attributes:
        file: the file as a person finds it.
        key: the key, dotted below a table; empty where the whole file is meant.
        message: what was expected, what was found, what to do.
    """

    file: str
    key: str
    message: str

    @property
    def line(self) -> str:
        """The mistake in one line that is safe to show."""
        parts = (self.file, self.key, self.message)
        return one_line(": ".join(part for part in parts if part))


@dataclass(slots=True, kw_only=True)
class Findings:
    """Collects the mistakes of one file while it is checked."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def add(self, key: str, message: str) -> None:
        """Note one mistake."""
        self.problems.append(Problem(file=self.file, key=key, message=message))

    def expected(self, key: str, what: str, given: object) -> None:
        """Note a value that is not what was expected."""
        self.add(key, f"expected {what}, got {shown(given)}")

    def has(self, *keys: str) -> bool:
        """Tell whether one of these keys is known to be wrong, and so needs no second word."""
        return any(problem.key in keys for problem in self.problems)

    def raise_any(self, *, hint: str = "") -> None:
        """Raise `ConfigurationProblem` with a line per mistake, if there is any."""
        if self.problems:
            lines = "\n".join(problem.line for problem in self.problems)
            raise ConfigurationProblem(lines, hint=hint)


def read_text(path: Path, findings: Findings, key: str = "") -> str | None:
    """Return a file of at most `FILE_LIMIT` bytes as text; None and a finding otherwise."""
    try:
        data = read_bounded(path, FILE_LIMIT)
    except HostProblem as problem:
        findings.add(key, _without_path(str(problem), path) if not key else str(problem))
        return None
    if data.startswith(_BYTE_ORDER_MARK):
        findings.add(key, f"{path.name} begins with a byte order mark: save it as plain UTF-8")
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        findings.add(
            key, f"{path.name} is not UTF-8: byte {data[problem.start]:#04x} on line {line}"
        )
        return None


def parse_toml(text: str, findings: Findings) -> dict[str, object] | None:
    """Return the top table of a TOML text; None and a finding where it is broken."""
    try:
        return tomllib.loads(text)
    except ValueError as problem:
        findings.add("", f"not valid TOML: {problem}")
    except RecursionError:
        findings.add("", "not usable TOML: nested too deeply")
    return None


def decode_table(
    raw: Mapping[str, object],
    kind: type[_Table],
    findings: Findings,
    *,
    prefix: str = "",
    words: Mapping[str, str] = MappingProxyType({}),
) -> _Table:
    """Return a table as its Struct, with a finding for each unknown key and wrong type.

    What is wrong is left at its default, so that the rest can still be checked.

    Args:
        raw: the table as TOML gives it.
        kind: the Struct; all of its fields have defaults.
        findings: takes the mistakes.
        prefix: stands before each key in a finding.
        words: key → what is expected there, where that says more than the type.
    """
    if not raw:
        return msgspec.convert({}, kind)
    known = {entry.name: entry.type for entry in msgspec.structs.fields(kind)}
    good: dict[str, object] = {}
    for key, value in raw.items():
        if key not in known:
            findings.add(prefix + bounded(one_line(key), _SHOWN_LIMIT), _unknown(key, known))
            continue
        try:
            good[key] = msgspec.convert(value, known[key])
        except msgspec.ValidationError:
            findings.expected(prefix + key, words.get(key) or _words(known[key]), value)
    return msgspec.convert(good, kind)


def decode_tables(
    raw: Mapping[str, object], names: Mapping[str, object], findings: Findings
) -> dict[str, Mapping[str, object]]:
    """Return the named tables of a file, empty where absent; a finding for everything else."""
    tables: dict[str, Mapping[str, object]] = {name: {} for name in names}
    for key, value in raw.items():
        if key not in tables:
            findings.add(bounded(one_line(key), _SHOWN_LIMIT), _unknown(key, names))
        elif isinstance(value, dict):
            tables[key] = value
        else:
            findings.expected(key, f"a table, written [{key}]", value)
    return tables


def shown(value: object) -> str:
    """Return a value of a TOML file in a few safe words."""
    match value:
        case str():
            return bounded(one_line(json.dumps(value, ensure_ascii=False)), _SHOWN_LIMIT)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return bounded(f"the number {value}", _SHOWN_LIMIT)
        case list():
            return _shown_list(value)
        case dict():
            return "a table"
        case _:
            return f"the date or time {value}"


def _shown_list(value: list[object]) -> str:
    for entry in value:
        if not isinstance(entry, str):
            return f"a list that holds {shown(entry)}"
    return bounded("[" + ", ".join(shown(entry) for entry in value) + "]", _SHOWN_LIMIT)


def _unknown(key: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(key, known, n=1)
    guess = f'; did you mean "{near[0]}"?' if near else f"; known are: {', '.join(known)}"
    return f"unknown key{guess}"


def _words(kind: object) -> str:
    """Return what a field's type wants, in words; TOML has no null, so None is left out."""
    parts = get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)
    wanted = [part for part in parts if part is not type(None)]
    return _EXPECTED[wanted[0]] if len(wanted) == 1 else _NUMBER_OR_SIZE


def _without_path(text: str, path: Path) -> str:
    return text.removeprefix(f"{path}: ")
