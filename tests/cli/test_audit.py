"""`harness audit` as a person gives it: reports, formats, exit statuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli.group import root
from harness.errors import HarnessError
from harness.stores.homes import Home
from tests.helpers.command_line import harness
from tests.helpers.gemini import Gemini
from tests.helpers.homes import new_home, write_job

ASSETS = Path(__file__).parent.parent / "assets"


@pytest.fixture(name="place")
def place_outside_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a user's home where the CLI grants no write by default: /tmp is such a place."""
    for base in ("/var/tmp", "/work", "/root"):  # noqa: S108 - a fresh folder is made in it
        if os.access(base, os.W_OK):
            break
    folder = Path(tempfile.mkdtemp(prefix="harness-audit-", dir=base)).resolve()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("HARNESS_AGY", str(folder / "none"))
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(name="gemini")
def gemini_of(place: Path) -> Gemini:
    """Return the user's root of the CLI."""
    return Gemini(place / ".gemini")


@pytest.fixture(name="home")
def home_of(place: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Return a home of the harness."""
    home = new_home(place / "harness")
    monkeypatch.setenv("HARNESS_HOME", str(home.root))
    return home


def audit(*words: str) -> Result:
    """Give the command within this process."""
    return CliRunner().invoke(root, ["audit", *words], standalone_mode=False)


def status_of(result: Result) -> int:
    """Return the exit status that the command line would end with."""
    if isinstance(result.exception, HarnessError):
        return result.exception.exit_status
    assert result.exception is None, result.exception
    return int(result.return_value or 0)


def report(*words: str) -> Any:
    """Return the report as JSON."""
    return json.loads(audit("--json", *words).stdout)


def found(said: Any, id_: str) -> list[Any]:
    """Return the findings of one id."""
    return [each for each in said["findings"] if each["id"] == id_]


def test_a_root_without_settings_is_warned_of_and_no_more(gemini: Gemini, home: Home) -> None:
    """The default grants alone give the verdict `warn` and exit status 0."""
    del gemini, home
    result = audit("--json")
    said = json.loads(result.stdout)
    assert said["verdict"] == "warn"
    assert {each["id"] for each in said["findings"]} == {
        "DEFAULT_WORKSPACE_WRITE",
        "DEFAULT_HOOKS_WRITE",
    }
    assert status_of(result) == 0


def test_the_json_has_the_keys_of_the_contract(gemini: Gemini) -> None:
    """Verdict, counts by level, and eleven keys of each finding."""
    gemini.settings(allow=["command(npm)"])
    said = report()
    assert set(said["findings"][0]) == {
        *("id", "level", "list", "rule", "file", "pointer", "line", "why"),
        *("covers_danger", "covers_benign", "examples", "narrower", "accepted_until"),
    }
    (npm,) = found(said, "RULE")
    assert (npm["level"], npm["list"], npm["rule"]) == ("CRITICAL", "allow", "command(npm)")
    assert (npm["file"], npm["line"]) == (str(gemini.root / "antigravity-cli/settings.json"), 4)
    assert said["verdict"] == "refuse"
    assert said["counts"]["CRITICAL"] == 1
    assert len(said["fingerprint"]) == 64
    assert status_of(audit()) == 1


def test_what_cannot_be_judged_is_status_three(gemini: Gemini) -> None:
    """A file that the CLI refuses is UNKNOWN; nothing else refuses here."""
    gemini.write(
        "config/config.json",
        '{"userSettings": {"globalPermissionGrants": {"allow": ["mcp(a/b)"],}}}',
    )
    assert status_of(audit()) == 3
    gemini.settings(allow=["custom(x)"])
    assert status_of(audit()) == 3
    gemini.settings(allow=["custom(x)", "read_url(*)"])
    assert status_of(audit()) == 1


def test_a_home_is_not_needed(place: Path) -> None:
    """Whoever has no harness yet can have the rules judged."""
    Gemini(place / ".gemini").settings(allow=["mcp(github/get_issue)"])
    assert status_of(audit()) == 0
    assert status_of(audit("--home", str(place / "nowhere"))) == 2
    assert status_of(audit("--job", "x")) == 2


SETTLED = {
    "command(npm)": "CRITICAL",
    "command(python3)": "CRITICAL",
    "command(make build)": "CRITICAL",
    "command(sed -n)": "CRITICAL",
    "command(regex:git (status|log|diff).*)": "CRITICAL",
    "command(git push)": "HIGH",
    "command(pytest)": "HIGH",
    "read_file(~/.ssh)": "HIGH",
    "command(cat)": "MEDIUM",
    "read_url(github.com)": "MEDIUM",
    "command(git status)": "LOW",
    "command(ls)": "LOW",
    "command(gh pr list)": "LOW",
    "write_file(~/notes)": "INERT",
}
"""Rules of the long-lived settings file whose level nobody doubts."""


def test_a_long_lived_settings_file(gemini: Gemini) -> None:
    """Thirty rules of `always allow` give a report that says what to do about each."""
    gemini.write("antigravity-cli/settings.json", (ASSETS / "always-allow.json").read_text("utf-8"))
    said = report()
    rules = {each["rule"]: each for each in found(said, "RULE")}
    assert len(rules) == 32
    assert {rule: rules[rule]["level"] for rule in SETTLED} == SETTLED
    for each in rules.values():
        assert each["line"]
        assert each["level"] != "CRITICAL" or each["why"]
    for id_ in ("ENV_PREFIX", "WRITE_AND_RUN", "GIT_CONFIGURED"):
        assert found(said, id_), id_
    text = audit().stdout
    assert "covers " in text
    assert "instead: " in text
    assert "~/.gemini/antigravity-cli/settings.json:6" in text
    assert text.splitlines()[-1].startswith("audit: refuse: ")


def test_the_report_of_the_readme_is_one_that_is_given(gemini: Gemini) -> None:
    """Rules, levels, places and the sum of the README's example are those of the command."""
    gemini.write("antigravity-cli/settings.json", (ASSETS / "always-allow.json").read_text("utf-8"))
    readme = (ASSETS.parent.parent / "README.md").read_text("utf-8")
    (shown,) = re.findall(r"```\n\$ harness audit\n(.*?)```", readme, re.DOTALL)
    said = report()
    rules = {each["rule"]: each for each in found(said, "RULE")}
    lines = re.findall(r"^([A-Z]+) +(?:allow|deny): (\S+) .*\n +(\S+):(\d+) ", shown, re.MULTILINE)
    assert len(lines) == 2
    for level, rule, file, line in lines:
        each = rules[rule]
        assert (each["level"], each["line"]) == (level, int(line))
        assert each["file"].endswith(file.removeprefix("~"))
    assert shown.splitlines()[-1].partition(" · ")[0] in audit().stdout


def test_the_same_files_give_the_same_report(gemini: Gemini) -> None:
    """Nothing but the files decides, not even the order in which they are met."""
    gemini.write("antigravity-cli/settings.json", (ASSETS / "always-allow.json").read_text("utf-8"))
    assert audit("--json").stdout == audit("--json").stdout
    assert audit().stdout == audit().stdout


def test_rules_can_be_judged_before_they_are_written(gemini: Gemini) -> None:
    """`--rule` judges what is given and nothing else; a rule may say its list."""
    gemini.settings(allow=["command(*)"])
    said = report("--rule", "command(git status)", "--rule", "deny:write_file(~/.ssh)")
    assert [
        (each["level"], each["list"], each["rule"], each["file"]) for each in said["findings"]
    ] == [
        ("HIGH", "deny", "write_file(~/.ssh)", "command line"),
        ("LOW", "allow", "command(git status)", "command line"),
    ]
    judged = audit("--rule", "command(git status)")
    assert status_of(judged) == 0
    assert judged.stdout.splitlines()[-1].startswith("audit: pass · 1 LOW")
    assert status_of(audit("--rule", "command(npm)")) == 1
    assert status_of(audit("--rule", "custom(x)")) == 3


def test_what_would_become_of_a_request(gemini: Gemini) -> None:
    """The rule that decides is named with its file and line."""
    path = gemini.settings(allow=["command(git)"], ask=["command(git push)"])
    said = report("--would", "command(git status)")
    assert said["decision"] == said["headless"] == "ALLOW"
    assert said["by"] == [
        {
            "list": "allow",
            "rule": "command(git)",
            "file": str(path),
            "pointer": "/permissions/allow/0",
            "line": 4,
        }
    ]
    text = audit("--would", "command(git push)").stdout
    assert "ASK (in a headless run: DENY)" in text
    assert "command(git push)" in text
    assert "default" in audit("--would", "command(rm x)").stdout
    assert status_of(audit("--would", "git push")) == 2


def test_a_threshold_of_this_call(gemini: Gemini) -> None:
    """`--fail-on` refuses at a level and above, whatever the policy says."""
    gemini.settings(allow=["mcp(github/get_issue)"])
    assert status_of(audit()) == 0
    assert status_of(audit("--fail-on", "medium")) == 1
    assert status_of(audit("--fail-on", "HIGH")) == 0


def test_another_root(place: Path, gemini: Gemini) -> None:
    """`--settings-root` is judged in place of the user's own."""
    gemini.settings(allow=["command(*)"])
    other = Gemini(place / "other")
    other.settings(allow=["mcp(github/get_issue)"])
    assert status_of(audit("--settings-root", str(other.root))) == 0
    assert status_of(audit("--settings-root", "other/")) == 0
    assert status_of(audit("--settings-root", str(place / "typo"))) == 2


def test_the_difference_to_the_last_audit(gemini: Gemini, home: Home) -> None:
    """Every audit is kept; `--diff` tells what appeared, went and moved."""
    assert "no earlier audit" in audit("--diff").stdout
    assert "nothing changed" in audit("--diff").stdout
    gemini.settings(allow=["command(npm)"])
    text = audit("--diff").stdout
    assert "+ CRITICAL allow: command(npm)" in text
    gemini.settings()
    said = report("--diff")
    gone = {each["id"]: each["rule"] for each in said["diff"]["gone"]}
    assert gone == {"RULE": "command(npm)", "ENV_PREFIX": None}
    assert not said["diff"]["same_meaning"]
    (home.rules / "audit.toml").write_text(
        '[[accepted]]\nrule = "default:workspace"\nreason = "r"\nowner = "o"\nuntil = 2999-01-01\n'
    )
    assert "~ MEDIUM default:workspace" in audit("--diff").stdout


def test_an_audit_that_cannot_be_kept_is_an_audit(gemini: Gemini, home: Home) -> None:
    """A state that takes no writes costs the next comparison, and says so."""
    gemini.settings(allow=["mcp(github/get_issue)"])
    (home.state / "audit.json").mkdir()
    result = audit()
    assert status_of(result) == 0
    assert "the next --diff will not know of this audit" in result.stderr


def test_sarif_goes_to_a_file_or_to_stdout(place: Path, gemini: Gemini) -> None:
    """The file holds what stdout would; with `-` nothing else is printed."""
    gemini.settings(allow=["command(npm)"])
    result = audit("--sarif", str(place / "audit.sarif"))
    assert "audit: refuse" in result.stdout
    assert status_of(result) == 1
    log = json.loads((place / "audit.sarif").read_text("utf-8"))
    assert log["version"] == "2.1.0"
    assert json.loads(audit("--sarif", "-").stdout) == log


def test_a_jobs_own_root_workspace_and_arguments(place: Path, gemini: Gemini, home: Home) -> None:
    """`--job` judges what that job's run will read; without it, every canonical job."""
    other = Gemini(place / "night")
    other.settings(allow=["write_file(data)"])
    gemini.settings(allow=["command(*)"])
    workspace = place / "apps"
    workspace.mkdir()
    keys = {"workspace": str(workspace), "guard": ["data/prices.json"]}
    write_job(home, "prices", gemini_dir=str(other.root), tiers=["journal", "canonical"], **keys)
    write_job(home, "notes", args=["--dangerously-skip-permissions"], mode="plan")
    (rule,) = found(report("--job", "prices"), "RULE")
    assert (rule["rule"], rule["level"]) == ("write_file(data)", "CRITICAL")
    (guard,) = found(report("--job", "prices"), "DEFAULT_GUARD_WRITE")
    assert guard["examples"] == [f"{workspace}/data/prices.json"]
    assert {each["rule"] for each in found(report(), "RULE")} == {"write_file(data)"}
    said = report("--job", "notes")
    (mode,) = found(said, "MODE")
    assert (mode["level"], mode["file"], mode["pointer"]) == ("CRITICAL", "job:notes", "/args/0")
    assert {each["rule"] for each in found(said, "RULE")} == {"command(*)"}
    assert status_of(audit("--job", "typo")) == 2
    would = report("--job", "notes", "--would", "command(rm x)")
    assert (would["decision"], would["results"][0]["job"]) == ("ALLOW", "notes")
    assert "notes" in audit("--job", "notes", "--would", "command(rm x)").stdout


def test_broken_jobs_are_passed_over_aloud(gemini: Gemini, home: Home) -> None:
    """A job that cannot run is not judged, and a person is told."""
    del gemini
    write_job(home, "odd", unknown_key=1)
    result = audit()
    assert "cannot run: odd" in result.stderr
    (home.rules / "audit.toml").write_text("[levels]\nhigh = 1\n")
    assert status_of(audit()) == 2
    (home.root / "harness.toml").write_text("odd = 1\n")
    assert status_of(audit()) == 2


def test_the_version_of_the_cli_decides(
    gemini: Gemini, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CLI is asked; `--cli-version` asks nobody; one that says nothing usable is UNKNOWN."""
    gemini.settings(allow=["unsandboxed(git push)"])
    assert found(report("--cli-version", "1.2.1"), "RULE")[0]["level"] == "HIGH"
    assert found(report("--cli-version", "1.3.3"), "RULE")[0]["level"] == "INERT"
    for text, id_ in (("1.2.1", "RULE"), ("9.9.9", "RULE"), ("soon", "CLI_VERSION")):
        binary = place / "agy"
        binary.write_text(f"#!/bin/sh\necho {text}\n", encoding="utf-8")
        binary.chmod(0o755)
        monkeypatch.setenv("HARNESS_AGY", str(binary))
        said = report()
        assert said["version"] == text
        assert found(said, id_)
        assert any("newer" in note for note in said["notes"]) == (text == "9.9.9")


def test_two_questions_at_once_are_refused(gemini: Gemini) -> None:
    """Each of these answers another question."""
    del gemini
    assert status_of(audit("--rule", "command(ls)", "--would", "command(ls)")) == 2
    assert status_of(audit("--rule", "command(ls)", "--diff")) == 2


def test_an_agent_may_not_audit(gemini: Gemini) -> None:
    """Inside a run the command is refused like every other of a person's."""
    del gemini
    answer = harness("audit", environment={"HARNESS_RUN_ID": "20261130T0230-x-3f9c"})
    assert answer.status == 1
    assert "refused inside a run" in answer.stderr


def test_a_path_folder_of_the_workspace_is_told(
    gemini: Gemini, home: Home, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that the agent may write are run by everybody who has the folder on PATH."""
    del gemini
    workspace = place / "apps"
    (workspace / "bin").mkdir(parents=True)
    link = place / "tools"
    link.symlink_to(workspace / "bin")
    monkeypatch.setenv("PATH", f"{link}:/usr/bin:/bin")
    write_job(home, "j", workspace=str(workspace), tiers=["canonical"])
    (protected,) = found(report(), "DEFAULT_PROTECTED_WRITE")
    assert protected["level"] == "HIGH"
    assert protected["examples"] == [f"{workspace}/bin (a folder of PATH)"]
