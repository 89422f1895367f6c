"""The table of commands: light, complete, and closed to agents inside a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from harness.cli import group
from harness.cli.context import Options
from harness.cli.group import COMMANDS, allowed_inside, root
from harness.errors import InsideRefused
from tests.helpers.command_line import child_environment, harness

HEAVY = (
    "asyncio",
    "harness.agy",
    "harness.core",
    "harness.services",
    "harness.stores",
    "msgspec",
    "platformdirs",
    "psutil",
    "rich",
    "sqlite3",
    "sqlite_utils",
    "structlog",
    "tomllib",
)
IMPORTED_BY_HELP = """
import sys
before = set(sys.modules)
from harness.cli import main
try:
    main(["--help"])
finally:
    print(*(set(sys.modules) - before), sep="\\n", file=sys.stderr)
"""


def test_help_imports_click_and_nothing_heavy() -> None:
    """`harness --help` answers without loading any library that only commands need."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_BY_HELP],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules = done.stderr.split("\n")
    assert "click" in modules
    assert [name for name in modules if name.startswith(HEAVY)] == []
    assert "harness.cli.commands" not in modules


def test_help_names_every_command() -> None:
    """Each command stands in the help with its line, in the order of the table."""
    lines = harness("--help").stdout.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded(name: str) -> None:
    """Each entry of the table leads to a click command with help of its own."""
    command = root.get_command(click.Context(root), name)
    assert command is not None
    assert command.help


def test_what_is_no_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of the table that leads to something else is a fault, named at once."""
    monkeypatch.setattr(root, "table", {"x": ("harness.cli.group:COMMANDS", "")})
    with pytest.raises(TypeError, match="no click command"):
        root.get_command(click.Context(root), "x")


def test_the_version_is_said_without_being_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--version` prints the version of the code that runs, and no command is needed."""
    monkeypatch.setattr("harness.__version__", "1.2.3")
    monkeypatch.setattr(root, "inside", lambda: None)
    assert root.main(["--version"], standalone_mode=False) == 0
    assert capsys.readouterr().out == "harness 1.2.3\n"


def test_a_name_beyond_the_table_is_no_command() -> None:
    """Only what stands in the table is ever imported."""
    assert root.get_command(click.Context(root), "os") is None


def test_what_shows_a_run_is_found_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable that a run sets is named; without one nothing is refused."""
    assert root.inside() is None
    monkeypatch.setenv("HARNESS_RUN_ID", "x")
    assert root.inside() == "HARNESS_RUN_ID"


def test_an_unknown_command_brings_the_nearest_name() -> None:
    """A slip of the finger is a usage error that names what was meant."""
    answer = harness("reprot")
    assert answer.status == 2
    assert "No such command 'reprot'. Did you mean 'report'?" in answer.stderr
    assert harness("xyzzy").stderr.strip().endswith("No such command 'xyzzy'.")


@pytest.mark.parametrize(
    "words",
    [
        ["gate", "write", "a", "--tier", "canonical"],
        ["journal", "append"],
        ["journal", "list", "--json"],
        ["canonical", "get", "a"],
        ["mcp"],
        ["run", "--help"],
        ["--help"],
        ["run", "job", "--help"],
    ],
)
def test_an_agent_may_use_the_door_and_the_help(words: list[str]) -> None:
    """Inside a run, writing through the gate, the journal, reading and help are allowed."""
    assert allowed_inside(words)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "job"],
        ["approve", "p1"],
        ["gate"],
        ["gate", "--x", "write"],
        ["canonical", "enable"],
        ["canonical", "history", "get"],
        ["journal", "--json", "append"],
        ["approve", "p1", "--reason", "--help"],
        ["run", "--help", "job"],
        ["--version"],
        ["jobs", "accept", "x"],
    ],
)
def test_all_else_is_a_persons(words: list[str]) -> None:
    """Nothing else is allowed, and no option can hide another command."""
    assert not allowed_inside(words)


def test_a_refused_command_is_never_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a run a person's command is refused before its module is imported or called."""
    called: list[str] = []

    @click.command()
    def spy() -> None:
        called.append("spy")

    monkeypatch.setattr(group, "import_module", called.append)
    monkeypatch.setattr(root, "inside", lambda: "HARNESS_RUN_ID")
    for words in (["run", "job"], ["--home", "x", "run", "job"], ["nonsense"], ["--version"]):
        with pytest.raises(InsideRefused, match="HARNESS_RUN_ID"):
            root.main(words, standalone_mode=False)
    assert called == []


@pytest.mark.parametrize("variable", ["HARNESS_RUN_ID", "HARNESS_GATE", "ANTIGRAVITY_AGENT"])
def test_inside_a_run_a_process_is_refused(variable: str, tmp_path: Path) -> None:
    """A variable of a run is enough: exit 1, one line, nothing made."""
    answer = harness("init", tmp_path / "home", environment={variable: "x"})
    assert answer.status == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith("error: harness init: refused inside a run (")
    assert not (tmp_path / "home").exists()


def test_a_child_without_the_variables_is_still_inside(tmp_path: Path) -> None:
    """An agent that clears its environment is known by its ancestors."""
    script = f"{sys.executable} -c 'from harness.cli import main; main()' init {tmp_path}/home; :"
    done = subprocess.run(
        ["sh", "-c", f"env -u HARNESS_RUN_ID {script}"],
        env=child_environment({"HARNESS_RUN_ID": "x"}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "refused inside a run" in done.stderr
    assert not (tmp_path / "home").exists()


def test_options_before_and_after_a_command_are_one_thing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The global options may stand on either side, and the later one wins."""
    from harness.cli.context import common_options

    seen: list[Options] = []

    @click.command()
    @click.argument("job")
    @common_options
    def command(options: Options, job: str) -> int:
        assert job == "j"
        seen.append(options)
        return 7

    monkeypatch.setattr(root, "get_command", lambda _context, _name: command)
    monkeypatch.setattr(root, "inside", lambda: None)
    before = ["--home", "a", "--agy", "x", "--log-format", "json", "run", "j"]
    assert root.main(before, standalone_mode=False) == 7
    root.main(["run", "j", "--home", "b", "--json"], standalone_mode=False)
    root.main([*before, "--home", "b", "--log-format", "text"], standalone_mode=False)
    root.main(["--json", "run", "j"], standalone_mode=False)
    assert seen == [
        Options(home="a", agy="x", log_format="json"),
        Options(home="b", as_json=True),
        Options(home="b", agy="x", log_format="text"),
        Options(as_json=True),
    ]


def test_the_shell_can_complete_commands() -> None:
    """The completion of click offers the commands of the table."""
    answer = harness(
        environment={
            "_HARNESS_COMPLETE": "bash_complete",
            "COMP_WORDS": "harness jo",
            "COMP_CWORD": "1",
        }
    )
    assert "jobs" in answer.stdout
