"""Which scenario is played: files, names, jobs, conditions, updates; and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.stand_in import ROOT, StandIn

HELLO = 'steps = [{ text = "Hello." }]\n'


def test_environment_beats_home(agy: StandIn) -> None:
    """The environment names a file or a shipped scenario; else HOME and the state folder do."""
    agy.app.mkdir(parents=True)
    (agy.app / "fake-agy.toml").write_text('steps = [{ text = "State." }]')
    assert agy.run("-p=x").text == "State.\n"
    agy.scenario(HELLO)
    assert agy.run("-p=x").text == "Hello.\n"
    other = agy.workspace / "other.toml"
    other.write_text('steps = [{ text = "Other." }]')
    assert agy.run("-p=x", FAKE_AGY_SCENARIO=str(other)).text == "Other.\n"
    assert agy.run("-p=x", FAKE_AGY_SCENARIO="other.toml").text == "Other.\n"
    assert agy.run("-p=x", FAKE_AGY_SCENARIO="panic").code == 2


def test_shipped_scenario_with_changes(agy: StandIn) -> None:
    """A file can take a shipped scenario and make it another version."""
    agy.scenario('scenario = "partial-then-error"\nversion = "1.2.10"')
    assert agy.run("--version").text == "1.2.10\n"
    assert agy.run("-p=x").code == 3


def test_jobs_have_scenarios_of_their_own(agy: StandIn) -> None:
    """One file serves a whole night: jobs differ, the version is that of the machine."""
    agy.scenario("""
        version = "1.2.10"
        record = "r.jsonl"
        [jobs.alpha]
        scenario = "denied-command"
        [jobs.beta]
        version = "1.2.8"
        steps = [{ text = "Beta." }]
    """)
    assert agy.run("--version").text == "1.2.10\n"
    assert agy.run("-p=x").text == "Done.\n"
    assert "jetski" in agy.run("-p=x", HARNESS_JOB="alpha").err
    assert agy.run("--version", HARNESS_JOB="alpha").text == "1.2.10\n"
    assert agy.run("-p=x", HARNESS_JOB="beta").text == "Beta.\n"
    assert agy.run("--version", HARNESS_JOB="beta").text == "1.2.8\n"
    assert agy.run("-p=x", HARNESS_JOB="gamma").text == "Done.\n"


def test_job_inherits_what_it_does_not_say(agy: StandIn) -> None:
    """A job without a shipped scenario takes the rest from the top of the file."""
    agy.scenario(HELLO + "[jobs.alpha]\nno_log = true\n")
    assert agy.run("-p=x", HARNESS_JOB="alpha").text == "Hello.\n"
    assert not (agy.app / "log").exists()


def test_conditions(agy: StandIn) -> None:
    """The first entry whose conditions hold is played: prompt, how often, resumed or not."""
    agy.scenario("""
        steps = [{ text = "Else." }]
        [[when]]
        prompt = "shipped"
        scenario = "tty"
        [[when]]
        start = 3
        resumed = false
        steps = [{ text = "Third." }]
        [[when]]
        prompt = "odd"
        resumed = true
        steps = [{ text = "Never." }]
    """)
    assert agy.run("-p=the shipped one").text.startswith("CLI error")
    assert agy.run("-p=odd").text == "Else.\n"
    assert agy.run("-p=x").text == "Third.\n"
    assert agy.run("-p=x", HARNESS_JOB="other").text == "Else.\n"


def test_poisoned_conversation(agy: StandIn) -> None:
    """A resume is answered with 400, a fresh conversation is fine."""
    first = agy.ask(FAKE_AGY_SCENARIO="poisoned-conversation")
    resume = f"--conversation={first.result()['conversation_id']}"
    second = agy.ask(resume, FAKE_AGY_SCENARIO="poisoned-conversation")
    assert (first.code, second.code) == (0, 3)
    assert '"error_code":400' in second.err


def test_probe_is_denied_unless_played(agy: StandIn) -> None:
    """A prompt with the marker of a probe is denied, whatever the scenario does otherwise."""
    agy.scenario(HELLO)
    assert "jetski" in agy.run("-p=run harness-probe now").err
    agy.scenario('probe = "play"\n' + HELLO)
    assert agy.run("-p=run harness-probe now").text == "Hello.\n"


def test_self_update(agy: StandIn) -> None:
    """An update changes the next start, unless the literal `true` forbids it."""
    agy.turn("1.2.15", 'update_self = "1.2.16"')
    agy.run("-p=x", AGY_CLI_DISABLE_AUTO_UPDATE="true")
    assert agy.run("--version").text == "1.2.15\n"
    agy.run("-p=x", AGY_CLI_DISABLE_AUTO_UPDATE="1")
    assert agy.run("--version").text == "1.2.16\n"
    agy.scenario('version = "1.3.0"')
    assert agy.run("--version").text == "1.3.0\n"


def test_forced_update(agy: StandIn) -> None:
    """The shipped scenario updates in spite of the switch; without HOME nothing is kept."""
    forbidden = {"AGY_CLI_DISABLE_AUTO_UPDATE": "true", "FAKE_AGY_SCENARIO": "self-update"}
    agy.run("-p=x", stdin=None, **forbidden)
    assert agy.run("--version", stdin=None, **forbidden).text == "1.2.16\n"
    del agy.environment["HOME"]
    root = f"--gemini_dir={agy.workspace}"
    assert agy.run(root, "-p=x", stdin=None, **forbidden).code == 0
    agy.scenario("")
    counted = agy.workspace / "counted.toml"
    counted.write_text("[[when]]\nstart = 1\nsteps = [{ exit = 7 }]\n")
    assert agy.run(root, "-p=x", FAKE_AGY_SCENARIO=str(counted)).code == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps = [", "not TOML: "),
        ('colour = "red"', ".colour: unknown key; known here: description, expected,"),
        ("version = 1.2", ".version: expected a string, not 1.2"),
        ('version = ""', ": version: expected one line of text"),
        ("no_log = 1", ".no_log: expected true or false, not 1"),
        ("time_scale = -1", ".time_scale: expected a number of at least 0, not -1"),
        ("time_scale = true", ".time_scale: expected a number of at least 0, not true"),
        ('probe = "maybe"', ".probe: expected one of deny, play, not 'maybe'"),
        ('steps = "x"', ".steps: expected a list, not 'x'"),
        ("steps = [3]", ".steps[1]: expected a table, not 3"),
        ("steps = [{}]", ".steps[1]: a step has exactly one kind; found nothing"),
        ("steps = [{ sleep = 1, exit = 2 }]", "exactly one kind; found sleep, exit"),
        ("steps = [{ dance = 1 }]", ".steps[1].dance: unknown step; known: auth, cd,"),
        ("steps = [{ sleep = -1 }]", ".steps[1].sleep.seconds: expected a number of at least 0"),
        ("steps = [{ exit = 1.5 }]", ".steps[1].exit.code: expected a whole number of at least 0"),
        ("steps = [{ tool = { output = 'x' } }]", ".steps[1].tool: the key name is missing"),
        ("steps = [{ tool = { nome = 'x' } }]", ".steps[1].tool.nome: unknown key; known here:"),
        ("steps = [{ out = { base64 = '?' } }]", ".steps[1].out: base64 is not valid base64"),
        ("steps = [{ signal_self = 'X' }]", ".steps[1].signal_self: X is no signal"),
        ("steps = [{ text = '{{workspce}}' }]", ".steps[1].text: unknown {{workspce}}; known:"),
        ("steps = [{ command = ['{{x}}'] }]", ".steps[1].command: unknown {{x}}"),
        ("steps = [{ event = { a = '{{x}}' } }]", ".steps[1].event.a: unknown {{x}}"),
        ("steps = [{ command = 3 }]", ".steps[1].command.run: expected a list, not 3"),
        (
            "steps = [{ deny = { kind = 'dance', target = 'x' } }]",
            ".steps[1].deny.kind: expected one of command, read_file",
        ),
        (
            "steps = [{ text = { text = 'x', usage = { total_tokens = 'x' } } }]",
            ".steps[1].text.usage.total_tokens: expected a whole number of at least 0, not 'x'",
        ),
        ("steps = [{ tool = { name = 'x', parameters = 3 } }]", ".parameters: expected a table"),
        ("[[when]]\nsteps = []", ".when[1]: at least one of prompt, resumed, start is needed"),
        ("[[when]]\nstart = 1\nscenario = 'no'", "no shipped scenario is called 'no'"),
        ("scenario = 'no'", ": scenario: no shipped scenario is called 'no'"),
        ("scenario = '../default'", "no shipped scenario is called '../default'"),
        ("jobs = 3", ".jobs: expected a table, not 3"),
        (f"description = [{'1, ' * 40}]", ".description: expected a string, not [1, 1,"),
    ],
)
def test_broken_scenarios_are_one_line(agy: StandIn, text: str, message: str) -> None:
    """What is wrong stands in one line with its place, and the exit status is never the CLI's."""
    agy.scenario(text)
    ended = agy.run("--version")
    assert (ended.code, ended.out, ended.err.count("\n")) == (64, b"", 1)
    assert ended.err.startswith("fake-agy: ")
    assert message in ended.err


def test_scenarios_that_are_not_there(agy: StandIn) -> None:
    """A file or a name that does not exist is refused."""
    ended = agy.run("--version", FAKE_AGY_SCENARIO="/nonexistent/x.toml")
    assert ended.err == "fake-agy: /nonexistent/x.toml: No such file or directory\n"
    assert agy.run("--version", FAKE_AGY_SCENARIO="nothing").code == 64


def test_list_and_check(tmp_path: Path) -> None:
    """The scenarios can be listed, and a file be checked with all of its jobs."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "harness.testing.scenarios", *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )

    listed = call().stdout.splitlines()
    assert "panic\t1.3.3\tA crash of the program itself" in listed
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(HELLO)
    bad.write_text(HELLO + "[jobs.late]\nsteps = [{ sleep = 'x' }]\n")
    assert call(str(good)).returncode == 0
    refused = call(str(good), str(bad))
    assert refused.returncode == 64
    assert "steps[1].sleep.seconds: expected a number" in refused.stderr
