"""The one border where errors become a line and an exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from harness.cli import main
from harness.cli.group import root
from harness.errors import ConfigurationProblem, HostProblem
from tests.helpers.command_line import child_environment, harness


def run_raising(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    """Run a command that raises; return exit status, stdout and stderr."""

    @click.command()
    def command() -> None:
        raise error

    monkeypatch.setattr(root, "get_command", lambda _context, _name: command)
    monkeypatch.setattr(root, "inside", lambda: None)
    with pytest.raises(SystemExit) as caught:
        main(["run"])
    printed = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, printed.out, printed.err


def test_an_error_is_one_line_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the harness ends with its own exit status, its line and what to do."""
    error = HostProblem("no room\x1b[2J", hint="clear\nsome")
    assert run_raising(error, monkeypatch, capsys) == (
        1,
        "",
        "error: no room\\x1b[2J\nhint: clear some\n",
    )


def test_many_mistakes_are_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input is exit 2, with a line for each mistake."""
    assert run_raising(ConfigurationProblem("a\nb"), monkeypatch, capsys) == (
        2,
        "",
        "error: a\nerror: b\n",
    )


def test_an_error_without_words_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that carries no message is named by its class."""
    assert run_raising(HostProblem(""), monkeypatch, capsys)[2] == "error: HostProblem\n"


def test_a_fault_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What nobody foresaw is exit 1 and one line, without a traceback."""
    status, _, stderr = run_raising(ZeroDivisionError("by zero"), monkeypatch, capsys)
    assert status == 1
    assert stderr.startswith("error: internal error: ZeroDivisionError: by zero\nhint: ")
    assert "Traceback" not in stderr


def test_a_fault_shows_itself_to_who_looks_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With HARNESS_DEBUG the fault goes on, so that its traceback is printed."""
    monkeypatch.setenv("HARNESS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run_raising(ZeroDivisionError(), monkeypatch, capsys)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left on device", "/x"), "error: /x: No space left on device\n"),
        (OSError("odd"), "error: odd\n"),
    ],
)
def test_a_refusal_of_the_machine_is_named(
    error: OSError,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A full disk or a missing right is told by path and reason."""
    assert run_raising(error, monkeypatch, capsys) == (1, "", line)


def test_bad_usage_is_exit_2() -> None:
    """An option that nobody knows is click's usage error on stderr."""
    answer = harness("--nonsense")
    assert (answer.status, answer.stdout) == (2, "")
    assert "No such option" in answer.stderr


def test_no_words_show_the_help() -> None:
    """`harness` alone shows what there is."""
    answer = harness()
    assert "Commands:" in answer.stdout + answer.stderr


def test_an_interruption_is_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control-C ends a command with the shell's own status for it."""
    status, stdout, stderr = run_raising(KeyboardInterrupt(), monkeypatch, capsys)
    assert (status, stdout, stderr.strip()) == (130, "", "")


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """Output into a closed pipe ends without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", "from harness.cli import main; main()", "init", str(tmp_path / "h")],
        env=child_environment(),
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""
    assert (tmp_path / "h" / "harness.toml").is_file()


def test_a_broken_pipe_at_the_very_end_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that leaves before the last flush gives no message either."""

    class Leaving:
        def flush(self) -> None:
            raise BrokenPipeError

        def fileno(self) -> int:
            return descriptor

    descriptor = os.open(os.devnull, os.O_WRONLY)
    monkeypatch.setattr(root, "main", lambda **_: 3)
    monkeypatch.setattr(sys, "stdout", Leaving())
    with pytest.raises(SystemExit) as caught:
        main([])
    monkeypatch.undo()
    os.close(descriptor)
    assert caught.value.code == 3
