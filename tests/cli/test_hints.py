"""What the harness tells a person to type can be typed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from harness.cli.group import COMMANDS, root

PACKAGE = Path(__file__).parent.parent.parent / "harness"
TYPED = re.compile(r"(?<!the )(?<!The )(?<!a )(?<!newer )\bharness ([a-z]+)(?: ([a-z]+))?")

PROSE = {"again", "command", "is", "reads"}
"""Words that follow "harness" where it is the product that is spoken of."""


def said_in(path: Path) -> list[str]:
    """Return every text of a module that is no docstring, with X for what is filled in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    texts = []
    for node in ast.walk(tree):
        if id(node) in docstrings or id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            texts.append(
                "".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return texts


def wrong_in(path: Path) -> list[str]:
    """Return what a module tells to type and does not exist."""
    wrong = []
    for text in said_in(path):
        for name, word in TYPED.findall(text):
            if name in PROSE:
                continue
            command = root.get_command(click.Context(root), name) if name in COMMANDS else None
            if command is None:
                wrong.append(f"harness {name}")
            elif (
                isinstance(command, click.Group)
                and word
                and word not in command.list_commands(click.Context(command))
            ):
                wrong.append(f"harness {name} {word}")
    return wrong


@pytest.mark.parametrize("floor", ["core", "stores", "agy", "services", "cli"])
def test_every_command_in_a_text_exists(floor: str) -> None:
    """Each `harness <words>` in a hint, an advice or an error is a command with these words."""
    wrong = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted((PACKAGE / floor).rglob("*.py"))
        if (found := wrong_in(path))
    }
    assert wrong == {}
