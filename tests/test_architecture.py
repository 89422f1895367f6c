"""The house's rules as facts: floors, purity, one place that spawns, one that prints."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "harness"
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_CODE_LINES = 350

MAY_IMPORT = {
    "errors": set[str](),
    "core": {"errors", "core"},
    "stores": {"errors", "core", "stores"},
    "agy": {"errors", "core", "agy"},
    "services": {"errors", "core", "stores", "agy", "services"},
    "cli": {"errors", "core", "stores", "agy", "services", "cli"},
    "testing": {"errors", "core", "testing"},
}
"""Floor → the floors that it may import."""
ANYBODY_MAY_CALL = {("cli", "testing")}
"""The demo shows a night against the stand-in, which is the only way from cli to testing."""

IMPURE = {
    "asyncio",
    "concurrent",
    "ctypes",
    "fcntl",
    "glob",
    "io",
    "multiprocessing",
    "os",
    "pathlib",
    "platform",
    "pwd",
    "random",
    "resource",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "stat",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "uuid",
}
PURE = {"io.BytesIO", "io.StringIO", "pathlib.PurePosixPath"}
"""Names of impure modules that work in memory alone."""
IMPURE_CALLS = {"open", "input", "print", "now", "today", "utcnow", "getenv"}
SPAWNING = {"subprocess", "pty", "multiprocessing", "asyncio"}
SPAWNING_CALLS = {"fork", "forkpty", "posix_spawn", "posix_spawnp", "system", "popen"}
SPAWNING_PREFIXES = ("exec", "spawn")
PRINTING_CALLS = {"print", "echo", "secho"}


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name_of(path: Path) -> str:
    """Return a module's path as it stands in a finding."""
    return str(path.relative_to(ROOT))


def floor_of(path: Path) -> str:
    """Return the first part of a module's name below the package; `python -m` is a way to cli."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "cli" if first == "__main__" else first


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything a module imports, wherever it does."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: a relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def calls_of(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, receiver and name of each call; the receiver of a plain name is empty."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name):
                    yield node.lineno, "", name
                case ast.Attribute(value=ast.Name(id=receiver), attr=name):
                    yield node.lineno, receiver, name
                case ast.Attribute(attr=name):
                    yield node.lineno, "?", name


def test_every_module_stands_on_a_floor() -> None:
    """The package has the floors that the rules below know, and no others."""
    floors = {floor_of(path) for path in MODULES} - {"__init__"}
    assert floors == set(MAY_IMPORT)


def test_imports_point_down() -> None:
    """A module imports its own floor or one below it, never one above or beside it."""
    wrong = []
    for path in MODULES:
        floor = floor_of(path)
        for line, name in imports_of(path):
            parts = name.split(".")
            if parts[0] != "harness" or len(parts) == 1 or floor == "__init__":
                continue
            if parts[1] not in MAY_IMPORT[floor] and (floor, parts[1]) not in ANYBODY_MAY_CALL:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
    assert wrong == []


def test_core_is_pure() -> None:
    """The core knows no clock, environment, file, process or chance: values in, values out."""
    wrong = []
    for path in MODULES:
        if floor_of(path) not in {"core", "errors"}:
            continue
        for line, name in imports_of(path):
            if name.split(".")[0] in IMPURE and name not in PURE:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
        for line, receiver, name in calls_of(path):
            if name in IMPURE_CALLS and receiver in {"", "datetime", "date", "os"}:
                wrong.append(f"{name_of(path)}:{line} calls {name}")
    assert wrong == []


def test_one_module_spawns() -> None:
    """Only agy/process.py starts processes; the stand-in is a program of its own."""
    wrong = []
    for path in MODULES:
        if floor_of(path) == "testing" or path == PACKAGE / "agy" / "process.py":
            continue
        for line, name in imports_of(path):
            if name.split(".")[0] in SPAWNING:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
        for line, receiver, name in calls_of(path):
            spawns = name in SPAWNING_CALLS or name.startswith(SPAWNING_PREFIXES)
            if receiver == "os" and spawns:
                wrong.append(f"{name_of(path)}:{line} calls os.{name}")
    assert wrong == []


def test_only_render_prints() -> None:
    """What reaches a person goes through cli/render and its siblings; the stand-in is apart."""
    wrong = []
    for path in MODULES:
        prints = floor_of(path) == "cli" and path.stem.startswith("render")
        if prints or floor_of(path) == "testing":
            continue
        for line, receiver, name in calls_of(path):
            if name in PRINTING_CALLS and receiver in {"", "click"}:
                wrong.append(f"{name_of(path)}:{line} calls {name}")
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr"),
                    attr="write" | "buffer",
                ):
                    wrong.append(f"{name_of(path)}:{node.lineno} writes to a stream of sys")
                case _:
                    continue
    assert wrong == []


def test_rich_is_imported_by_render_alone() -> None:
    """The heavy library for tables stays out of every other module."""
    wrong = [
        f"{name_of(path)}:{line}"
        for path in MODULES
        for line, name in imports_of(path)
        if name.split(".")[0] == "rich" and not path.stem.startswith("render")
    ]
    assert wrong == []


def test_no_threads_and_no_event_loop() -> None:
    """One selector loop serves everything; nothing in the product runs beside it."""
    wrong = [
        f"{name_of(path)}:{line} imports {name}"
        for path in MODULES
        if floor_of(path) != "testing"
        for line, name in imports_of(path)
        if name.split(".")[0] in {"asyncio", "threading", "concurrent", "multiprocessing"}
    ]
    assert wrong == []


def test_the_stand_in_needs_the_standard_library_alone() -> None:
    """The testing package starts fast: the standard library, core, errors; psutil off Linux."""
    wrong = []
    for path in MODULES:
        if floor_of(path) != "testing":
            continue
        for line, name in imports_of(path):
            top = name.split(".")[0]
            if top not in {"harness", "psutil"} and top not in sys.stdlib_module_names:
                wrong.append(f"{name_of(path)}:{line} imports {name}")
    assert wrong == []


def test_only_main_catches_everything() -> None:
    """One place turns the unforeseen into a line; everywhere else it must not be swallowed."""
    wrong = []
    for path in MODULES:
        if path == PACKAGE / "cli" / "__init__.py":
            continue
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = {part.id for part in ast.walk(node.type or node) if isinstance(part, ast.Name)}
            swallows = node.type is None or caught & {"Exception", "BaseException"}
            reraises = any(
                isinstance(part, ast.Raise) and part.exc is None for part in ast.walk(node)
            )
            if swallows and not reraises:
                wrong.append(f"{name_of(path)}:{node.lineno}")
    assert wrong == []


def code_lines(path: Path) -> int:
    """Return how many lines of a module hold code: no blanks, comments or docstrings."""
    told: set[int] = set()
    for node in ast.walk(tree_of(path)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                told.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            case _:
                continue
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(
        number not in told and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in enumerate(lines, start=1)
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    """No module grows beyond what a reader holds in mind; well below is the aim."""
    assert code_lines(path) <= MOST_CODE_LINES


def test_every_public_name_is_documented() -> None:
    """Modules, classes and functions that others may use say what they mean."""
    wrong = []
    for path in MODULES:
        tree = tree_of(path)
        if tree.body and not ast.get_docstring(tree):
            wrong.append(name_of(path))
        for scope in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
            private = isinstance(scope, ast.ClassDef) and scope.name.startswith("_")
            for node in scope.body:
                if not isinstance(node, ast.FunctionDef | ast.ClassDef) or private:
                    continue
                if not node.name.startswith("_") and not ast.get_docstring(node):
                    wrong.append(f"{name_of(path)}:{node.lineno} {node.name}")
    assert wrong == []


def test_nothing_is_left_to_do() -> None:
    """No note of unfinished work stands in the package."""
    mark = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
    wrong = [name_of(path) for path in MODULES if mark.search(path.read_text(encoding="utf-8"))]
    assert wrong == []
