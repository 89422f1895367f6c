"""What reaches a person: whole, and nothing hidden in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import pytest

from harness.cli.render import as_json_text, emit, fields, note, pass_through, table
from harness.errors import HostProblem


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    name: str
    at: datetime
    colour: Colour = Colour.RED
    parts: tuple[int, ...] = (1, 2)


THING = Thing(name="日本\x1b\u202e\ud800\U000e0041", at=datetime(2026, 11, 30, 2, 30, tzinfo=UTC))


def test_json_is_one_line_with_times_in_utc(capsys: pytest.CaptureFixture[str]) -> None:
    """A result's fields are the keys; Japanese stays readable, hidden characters are escaped."""
    emit(THING, as_json=True, text="not this")
    printed = capsys.readouterr().out
    assert printed == (
        '{"name": "日本\\u001b\\u202e\\ud800\\udb40\\udc41", "at": "2026-11-30T02:30:00Z",'
        ' "colour": "red", "parts": [1, 2]}\n'
    )
    assert json.loads(printed)["name"] == THING.name


def test_json_takes_paths_and_mappings() -> None:
    """Values without a form of their own in JSON are given as text."""
    assert as_json_text({"path": Path("/a"), "list": [Colour.RED]}) == (
        '{"path": "/a", "list": ["red"]}'
    )


def test_text_is_neutralised(capsys: pytest.CaptureFixture[str]) -> None:
    """What an agent wrote cannot move the terminal; a result without text prints nothing."""
    emit(None, as_json=False, text="a\x1b[2J\nb")
    emit(None, as_json=False)
    note("c\x07\ud800")
    printed = capsys.readouterr()
    assert printed.out == "a\\x1b[2J\nb\n"
    assert printed.err == "c\\x07\\ud800\n"


def test_a_table_lines_up_whatever_the_script() -> None:
    """Columns are as wide as they show, and a cell cannot start a row of its own."""
    assert table(["NAME", "X"], [["日本", "1"], ["a\nb", "2"]]) == ("NAME  X\n日本  1\na b   2")


def test_fields_stand_beneath_each_other() -> None:
    """Names and values are two columns."""
    assert fields([("a", "1"), ("long", "2\n3"), ("x", "")]) == "a     1\nlong  2 3\nx"


def test_a_file_is_passed_through(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Into a pipe a run's output goes byte for byte; as JSON it is text with its size."""
    path = tmp_path / "stdout"
    path.write_bytes(b"\x1b[1m\xff")
    pass_through(path, as_json=False)
    assert capsysbinary.readouterr().out == b"\x1b[1m\xff"
    pass_through(path, as_json=True)
    assert json.loads(capsysbinary.readouterr().out) == {
        "path": str(path),
        "bytes": 5,
        "text": "\x1b[1m\\xff",
    }


def test_a_file_on_a_terminal_is_neutralised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal the same bytes are shown with their escapes visible."""
    path = tmp_path / "stdout"
    path.write_bytes("日".encode() * 40_000 + b"\x1b[1m\xff")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    pass_through(path, as_json=False)
    assert capsys.readouterr().out == "日" * 40_000 + "\\x1b[1m\\xff"


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    """Output that was cleared away is a clear error."""
    with pytest.raises(HostProblem, match="never written"):
        pass_through(tmp_path / "x", as_json=False)
