"""The table of programs, held consistent."""

from __future__ import annotations

from collections import Counter

from harness.core.permissions.known_development import DEVELOPMENT
from harness.core.permissions.known_services import SERVICES
from harness.core.permissions.known_system import SYSTEM
from harness.core.permissions.levels import Level
from harness.core.permissions.programs import exact_use, known, prefix_use
from harness.core.permissions.uses import Entry, Kind

ENTRIES: tuple[Entry, ...] = (*SYSTEM, *DEVELOPMENT, *SERVICES)


def names_of(entry: Entry) -> list[str]:
    """Return every program or subcommand that an entry speaks of, in full."""
    path, colon, names = entry.names.rpartition(": ")
    programs = path.split("|") if colon else [""]
    return [f"{program} {name}".strip() for program in programs for name in names.split()]


def test_every_name_stands_once() -> None:
    """No entry silently overrides another."""
    seen = Counter(name for entry in ENTRIES for name in names_of(entry))
    assert [name for name, times in seen.items() if times > 1] == []


def test_every_entry_has_a_reason() -> None:
    """Each entry says why, as a clause that can follow the program's name."""
    assert [entry for entry in ENTRIES if not entry.why or entry.why.endswith(".")] == []


def test_a_longer_prefix_is_never_broader() -> None:
    """Each subcommand is at most as broad as the program that it belongs to."""
    wrong = []
    for entry in ENTRIES:
        for name in names_of(entry):
            words = tuple(name.split())
            levels = [prefix_use(words[:end]).level for end in range(1, len(words) + 1)]
            if levels != sorted(levels, reverse=True):
                wrong.append(name)
    assert wrong == []


def test_an_exact_line_is_never_broader_than_its_prefix() -> None:
    """What nothing can be added to gives at most as much as what goes on freely."""
    for entry in ENTRIES:
        for name in names_of(entry):
            for words in (name.split(), [*name.split(), "x"]):
                assert exact_use(tuple(words)).level <= prefix_use(tuple(words)).level, name


def test_reductions_are_reductions() -> None:
    """A fixed operand, an inner program and an exact line never broaden a use."""
    assert all(kind.exact <= kind.prefix for kind in Kind)
    for entry in ENTRIES:
        assert entry.operand is None or entry.operand.prefix <= entry.kind.prefix
        assert entry.runs is None or entry.kind.prefix is Level.CRITICAL


def test_versions_at_the_end_of_names() -> None:
    """A program with its version in its name is the program."""
    assert known("python3.13") is known("python")
    assert known("gcc-13") is known("gcc")
    assert known("tool9") is None
