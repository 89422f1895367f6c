"""What travels in a wheel and a source archive really stands in the checkout."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import harness

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TARGETS = PROJECT["tool"]["hatch"]["build"]["targets"]


@pytest.mark.parametrize("source", TARGETS["wheel"]["force-include"])
def test_shipped_data_is_there(source: str) -> None:
    """Each folder that the wheel takes along holds a file that is not empty."""
    assert any(path.stat().st_size for path in (ROOT / source).rglob("*") if path.is_file())


def test_the_source_archive_names_what_exists() -> None:
    """Everything that the source archive lists is there, rules for contributors included."""
    named = TARGETS["sdist"]["include"]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert {"CONTRIBUTING.md", "Makefile", ".ci"} <= set(named)


def test_the_version_stands_once() -> None:
    """The package says its version; the project file only points there."""
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    path = PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{harness.__version__}"' in (ROOT / path).read_text()
