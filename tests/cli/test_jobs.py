"""The commands init, home trust and jobs, through the command line."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.stores.homes import Home
from harness.stores.registry import default_home_folder
from tests.helpers.command_line import CALL, DEADLINE_S, child_environment, harness
from tests.helpers.homes import new_home, write_job


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A new home."""
    return new_home(tmp_path / "home")


def test_init_makes_a_home_that_commands_find(tmp_path: Path) -> None:
    """After `harness init DIR`, commands below DIR use it."""
    answer = harness("init", tmp_path / "h")
    assert answer.status == 0
    assert f"home: {tmp_path / 'h'}" in answer.stdout
    assert "made  harness.toml" in answer.stdout
    assert harness("jobs", "list", "--json", cwd=tmp_path / "h" / "nightly").json == []


def test_init_again_keeps_everything(tmp_path: Path) -> None:
    """A second `init` makes nothing and says so."""
    first = harness("init", tmp_path, "--json").json
    second = harness("init", tmp_path, "--json").json
    assert first["home"] == second["home"] == str(tmp_path)
    assert second["created"] == []
    assert set(second["kept"]) == set(first["created"])


def test_init_without_a_folder_takes_the_usual_places(tmp_path: Path) -> None:
    """`--home` is taken first, then HARNESS_HOME, then the platform's directory."""
    assert harness("init", "--home", tmp_path / "a", "--json").json["home"] == str(tmp_path / "a")
    answer = harness("init", "--json", environment={"HARNESS_HOME": str(tmp_path / "b")})
    assert answer.json["home"] == str(tmp_path / "b")
    assert harness("init", "--json").json["home"] == str(default_home_folder())
    assert stat.S_IMODE((default_home_folder() / "state").stat().st_mode) == 0o700


def test_trust_makes_a_copied_home_count(tmp_path: Path) -> None:
    """A folder with settings counts from the moment a person trusts it."""
    (tmp_path / "harness.toml").write_text("")
    assert harness("jobs", "list", cwd=tmp_path).status == 2
    assert "is trusted now" in harness("home", "trust", cwd=tmp_path).stdout
    assert harness("home", "trust", tmp_path, "--json").json == {
        "home": str(tmp_path),
        "added": False,
    }
    assert harness("jobs", "list", cwd=tmp_path).status == 0


def test_without_a_home_there_is_a_way_out(tmp_path: Path) -> None:
    """A command without a home is a usage error that says how to make one."""
    answer = harness("jobs", "list", cwd=tmp_path)
    assert (answer.status, answer.stdout) == (2, "")
    assert "hint: make one: harness init" in answer.stderr


def test_homes_that_exist_are_named_where_none_is_found(tmp_path: Path) -> None:
    """Who stands elsewhere is told where their homes are."""
    harness("init", tmp_path / "mine")
    answer = harness("jobs", "list", cwd=tmp_path)
    assert answer.status == 2
    assert f"hint: your homes: {tmp_path / 'mine'}; cd there, or --home" in answer.stderr
    named = harness("jobs", "list", cwd=tmp_path, environment={"HARNESS_HOME": str(tmp_path)})
    assert "your homes" not in named.stderr


def test_settings_that_are_passed_over_are_told(tmp_path: Path) -> None:
    """A harness.toml that is nearer, and not of the home in use, is named on stderr."""
    home = new_home(tmp_path / "mine")
    (tmp_path / "harness.toml").write_text("")
    used = {"HARNESS_HOME": str(home.root)}
    answer = harness("jobs", "list", cwd=tmp_path, environment=used)
    assert answer.status == 0
    assert answer.stderr.count(f"warning: {tmp_path / 'harness.toml'} is passed over") == 1
    assert harness("jobs", "list", cwd=home.root, environment=used).stderr == ""
    assert "warning" not in harness("jobs", "list", "--home", home.root, cwd=tmp_path).stderr


def test_jobs_are_listed_with_what_is_wrong(home: Home) -> None:
    """The list holds every job: its tiers, its place, how it stands, its mistakes."""
    write_job(home, "good", schedule="daily", tiers=["journal", "canonical"])
    write_job(home, "bad", timeout="x")
    text = harness("jobs", "list", "--home", home.root).stdout
    assert [line.split()[0] for line in text.splitlines()] == ["name", "bad", "good"]
    bad, good = harness("--home", home.root, "jobs", "list", "--json").json
    assert good == {
        "name": "good",
        "tiers": ["journal", "canonical"],
        "schedule": "daily",
        "workspace": str(home.root.parent / "workspace"),
        "accepted": False,
        "standing": "new",
        "problem": None,
    }
    assert bad["problem"].startswith("nightly/bad.toml: timeout: expected a duration")
    assert not home.database.exists()


def test_a_home_without_jobs_says_where_they_go(home: Home) -> None:
    """An empty list is told in words."""
    assert f"put one into {home.nightly}" in harness("jobs", "list", "--home", home.root).stdout


def test_a_job_is_shown_with_its_defaults(home: Home) -> None:
    """`jobs show` gives the resolved job and its prompt."""
    write_job(home, "job", prompt="Say\nhello.", spool=True)
    text = harness("jobs", "show", "job", "--home", home.root).stdout
    assert "timeout_s         2700\n" in text
    assert "spool             yes\n" in text
    assert text.endswith("\n\nSay\nhello.\n")
    shown = harness("jobs", "show", "job", "--home", home.root, "--json").json
    assert shown["idle_timeout_s"] == 600.0
    assert len(shown["digest"]) == 64


def test_a_batch_job_is_shown_without_a_prompt(home: Home) -> None:
    """A job without a prompt ends with its values."""
    (home.nightly / "b.py").write_text("")
    write_job(home, "job", prompt=None, batch="b.py:go")
    assert (
        "batch             b.py:go\n" in harness("jobs", "show", "job", "--home", home.root).stdout
    )


def test_an_unknown_job_is_a_usage_error(home: Home) -> None:
    """A name that stands for nothing is exit 2 with a hint."""
    answer = harness("jobs", "show", "nothing", "--home", home.root)
    assert answer.status == 2
    assert "error: no job nothing in" in answer.stderr


def test_check_names_every_mistake_of_every_file(home: Home) -> None:
    """All mistakes of settings, limits and jobs are told at once, with exit 2."""
    home.settings_file.write_text("[agy]\npath = 3\n")
    (home.rules / "gate.toml").write_text("[limits]\nvalue_bytes = 0\n")
    write_job(home, "a", timeout="x", retries=-1)
    write_job(home, "b", env=["x y"])
    write_job(home, "c")
    answer = harness("jobs", "check", "--home", home.root)
    assert answer.status == 2
    assert answer.stdout.splitlines()[-1] == "jobs checked: 3; mistakes: 5"
    assert len(answer.stdout.splitlines()) == 6
    result = harness("jobs", "check", "--home", home.root, "--json").json
    assert result["ok"] is False
    assert [job["ok"] for job in result["jobs"]] == [False, False, True]
    assert [problem["key"] for problem in result["jobs"][0]["problems"]] == ["timeout", "retries"]
    assert len(result["problems"]) == 5


def test_check_of_sound_jobs_names_the_next_step(home: Home) -> None:
    """Where all is well it says what still waits for a person, and nothing once it does not."""
    write_job(home, "job")
    answer = harness("jobs", "check", "--home", home.root)
    assert (answer.status, answer.stdout) == (0, "jobs checked: 1; mistakes: 0\n")
    assert "harness jobs accept job" in answer.stderr
    harness("jobs", "accept", "job", "--home", home.root)
    assert harness("jobs", "check", "--home", home.root).stderr == ""


def test_check_names_keys_that_do_nothing(home: Home) -> None:
    """What is no mistake but will surprise at night is a notice; the exit status stays."""
    write_job(home, "job", window="22:00-06:00", must_deny=["rm"], guard=["not/there"])
    answer = harness("jobs", "check", "--home", home.root)
    assert (answer.status, answer.stdout) == (0, "jobs checked: 1; mistakes: 0\n")
    assert "notice: job: window: has no effect in this release\n" in answer.stderr
    assert "notice: job: must_deny: has no effect in this release\n" in answer.stderr
    (checked,) = harness("jobs", "check", "--home", home.root, "--json").json["jobs"]
    assert [notice["key"] for notice in checked["notices"]] == ["window", "must_deny", "guard"]


def test_a_job_is_accepted_until_it_changes(home: Home) -> None:
    """Acceptance holds for exactly what was read; the first shows all, the next what changed."""
    path = write_job(home, "job")
    first = harness("jobs", "accept", "job", "--home", home.root, "--json")
    assert first.status == 0
    whole = ["@nightly/job.toml", *(f"+{line}" for line in path.read_text().splitlines())]
    assert (first.json["before"], first.json["changes"]) == ("new", whole)
    assert first.stderr.splitlines() == whole
    (listed,) = harness("jobs", "list", "--home", home.root, "--json").json
    assert listed["accepted"] is True

    write_job(home, "job", timeout="1m")
    (listed,) = harness("jobs", "list", "--home", home.root, "--json").json
    assert (listed["accepted"], listed["standing"]) == (False, "changed")
    answer = harness("jobs", "accept", "job", "--home", home.root)
    assert '+timeout = "1m"' in answer.stderr
    assert "+prompt" not in answer.stderr
    assert "job may run unattended" in answer.stdout
    assert harness("jobs", "show", "job", "--home", home.root, "--json").json["standing"] == (
        "accepted"
    )
    again = harness("jobs", "accept", "job", "--home", home.root)
    assert again.stderr == "job is accepted as it is\n"


@pytest.mark.parametrize("key", ["prompt_file", "batch"])
def test_a_rewritten_prompt_is_shown_before_it_is_accepted(home: Home, key: str) -> None:
    """What stands in a file of its own is part of the difference, the first time as a whole."""
    name = {"prompt_file": "p.md", "batch": "p.py:go"}[key]
    source = home.nightly / name.partition(":")[0]
    source.write_text("one\nkept\n")
    write_job(home, "job", prompt=None, **{key: name})
    first = harness("jobs", "accept", "job", "--home", home.root)
    assert "+one\n+kept\n" in first.stderr
    source.write_text("two\nkept\n")
    second = harness("jobs", "accept", "job", "--home", home.root)
    assert "-one\n" in second.stderr
    assert "+two\n" in second.stderr
    assert f"nightly/{source.name}, against what was accepted" in second.stderr


def test_a_change_of_the_settings_is_told_in_words(home: Home) -> None:
    """A rule or a setting that changed takes the acceptance away too."""
    write_job(home, "job")
    harness("jobs", "accept", "job", "--home", home.root)
    home.settings_file.write_text('[agy]\nisolate = "off"\n')
    answer = harness("jobs", "accept", "job", "--home", home.root)
    assert "the rules or settings of the home changed" in answer.stderr
    assert "job may run unattended" in answer.stdout


def at_a_terminal(home: Home, answer: str, *options: str) -> tuple[int, str]:
    """Accept `job` at a terminal; returns exit status and all that was shown."""
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    try:
        done = subprocess.run(
            [sys.executable, "-c", CALL, "jobs", "accept", "job", *options, "--home", home.root],
            stdin=theirs,
            env=child_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE_S,
            check=False,
        )
    finally:
        os.close(theirs)
        os.close(ours)
    return done.returncode, done.stdout.decode()


def test_at_a_terminal_it_asks_after_showing(home: Home) -> None:
    """Nothing is accepted before a person has seen it and said yes; `--yes` says it beforehand."""
    write_job(home, "job")
    status, shown = at_a_terminal(home, "n\n")
    assert status != 0
    assert '+prompt = "Say hello."' in shown
    assert shown.index("+prompt") < shown.index("May it run unattended")
    assert "may run unattended until" not in shown
    assert harness("jobs", "list", "--home", home.root, "--json").json[0]["accepted"] is False
    assert at_a_terminal(home, "y\n")[0] == 0
    assert harness("jobs", "list", "--home", home.root, "--json").json[0]["accepted"] is True
    status, shown = at_a_terminal(home, "", "--yes")
    assert (status, "May it" in shown) == (0, False)


def test_a_broken_job_cannot_be_accepted(home: Home) -> None:
    """What cannot be run cannot be accepted, and nothing is recorded."""
    write_job(home, "job", timeout="x")
    assert harness("jobs", "accept", "job", "--home", home.root).status == 2
    assert not home.database.exists()
