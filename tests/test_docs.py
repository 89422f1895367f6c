"""What is written for people is true: README, docs, examples and help."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli.group import COMMANDS, root
from harness.core.job import JobSpec
from harness.core.model import Outcome, Reason
from harness.core.outcomes import RULES
from harness.stores.configuration import load_jobs
from harness.testing.choice import check
from harness.testing.scenarios import load
from tests.helpers.homes import new_home
from tests.helpers.night import Night

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TABLE = (ROOT / "docs" / "decision-table.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


def rows(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading row that begins so."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(heading))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def toml_blocks() -> list[str]:
    """Return the TOML that the README shows."""
    return re.findall(r"```toml\n(.*?)```", README, re.DOTALL)


def commands() -> list[tuple[str, ...]]:
    """Return every command of the command line by its words."""
    context = click.Context(root)
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = root.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found += [(name, word) for word in command.list_commands(context)]
        else:
            found.append((name,))
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_explains_itself(words: tuple[str, ...]) -> None:
    """Each command's help says what it does, and each option of its own what it is for."""
    said = CliRunner().invoke(root, [*words, "--help"])
    assert said.exit_code == 0
    assert "--json" in said.output
    command: click.Command = root
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(root), word)
        assert found is not None
        command = found
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option) and option.name not in ("limit", "tier"):
            assert option.help, f"{words}: {option.opts} says nothing"


def test_every_command_line_of_the_pages_names_a_command() -> None:
    """No page tells a reader to give a command that does not exist."""
    known = {words[0] for words in commands()}
    pairs = {words for words in commands() if len(words) > 1}
    groups = {words[0] for words in pairs}
    for page in PAGES:
        for line in re.findall(r"harness ([a-z]+(?: [a-z]+)?)", page.read_text(encoding="utf-8")):
            words = tuple(line.split())
            if words[0] not in known:
                assert f"`harness {words[0]}" not in page.read_text(encoding="utf-8"), line
                continue
            if words[0] in groups and len(words) > 1 and f"`harness {line}" in README:
                assert words in pairs, f"{page.name}: harness {line}"


def test_the_readme_names_every_command() -> None:
    """A newcomer finds each command by reading the README."""
    for name in COMMANDS:
        assert f"harness {name}" in README or name == "demo", name
    assert "make demo" in README


def test_the_table_of_rules_is_the_code() -> None:
    """Rules, outcomes and reasons of the page are those of the function, in its order."""
    listed = rows(TABLE, "| rule |")
    assert [CODE.findall(row[0])[0] for row in listed] == [rule.name for rule in RULES]
    assert [row[1] for row in listed] == [rule.outcome.value for rule in RULES]
    reasons = {reason for row in listed for reason in CODE.findall(row[3])}
    assert reasons == {reason.value for reason in Reason}


def test_the_examples_of_the_table_are_scenarios_with_that_verdict() -> None:
    """Each example row says what its scenario expects, and the acceptance tests hold that."""
    listed = rows(TABLE, "| scenario |")
    assert {row[2].strip("`") for row in listed} == {
        outcome.value for outcome in Outcome if outcome is not Outcome.REFUSED
    }
    for name, _, outcome, reason, exit_code, row in listed:
        expected = load(name.strip("`")).expected
        assert expected is not None
        assert (expected.outcome, expected.reason) == (outcome.strip("`"), reason.strip("`"))
        assert expected.exit_code == int(exit_code)
        assert row in "1234"


def test_the_outcomes_of_the_readme_are_all_of_them() -> None:
    """The README's table shows every outcome."""
    found = {name for row in rows(README, "| # |") for name in CODE.findall(row[4])}
    assert found == {outcome.value for outcome in Outcome}


def test_the_events_of_the_readme_are_those_that_are_logged() -> None:
    """The table of events and the code name the same ones."""
    listed = {CODE.findall(row[0])[0] for row in rows(README, "| event |")}
    logged = {
        event
        for path in (ROOT / "harness" / "cli").rglob("*.py")
        for event in re.findall(r"\blog\(\s*\"([a-z_.]+)\"", path.read_text(encoding="utf-8"))
    }
    assert listed == logged


def test_links_of_the_pages_lead_somewhere() -> None:
    """Every relative link of a page is a file of the repository."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_jobs_of_the_readme_and_the_shipped_ones_load(tmp_path: Path) -> None:
    """Every job that a reader is shown, or is given, is accepted as it stands."""
    home = new_home(tmp_path / "home")
    (Path.home() / "apps").mkdir()
    jobs = [
        text for text in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "prompt" in text
    ]
    assert len(jobs) == 2
    for number, text in enumerate(jobs):
        (home.nightly / f"readme-{number}.toml").write_text(text, encoding="utf-8")
    for path in (ROOT / "nightly").glob("*.toml"):
        (home.nightly / path.name).write_bytes(path.read_bytes())
    loaded = load_jobs(home)
    assert len(loaded) == 6
    for job in loaded:
        assert isinstance(job, JobSpec), job


def test_the_scenarios_of_the_pages_can_be_played(tmp_path: Path) -> None:
    """The stand-in takes the README's scenario file and the shipped one."""
    (text,) = [text for text in toml_blocks() if "steps" in text]
    path = tmp_path / "fake-agy.toml"
    path.write_text(text, encoding="utf-8")
    assert tomllib.loads(text)
    check(path)
    check(ROOT / "nightly" / "stand-in" / "fake-agy.toml")


def test_the_demo_shows_a_whole_night(tmp_path: Path) -> None:
    """One held, one errored, one untouched, one bypassed; the report; one approval applied."""
    night = Night(tmp_path)
    said = night.harness("demo", "--dir", str(tmp_path / "stage"), HARNESS_HOME="")
    assert said.status == 0, said.err
    for word in ("held / pending", "errored / agy_error.quota", "bypassed / unexplained"):
        assert word in said.out
    assert "1 run changed canonical data past the gate" in said.out
    assert "approved  version 1" in said.out
    assert '{"usd": 0.12}' in said.out
    assert not (night.user / ".config").exists()
