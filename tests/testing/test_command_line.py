"""The command line of the stand-in: flags by version, and how the rest is refused."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.helpers.stand_in import StandIn, signals, wait_until


@pytest.mark.parametrize("version", ["1.0.0", "1.2.10", "1.3.3", "1.4.0", "banana"])
@pytest.mark.parametrize("flag", ["--version", "-version"])
def test_version_is_the_number_alone(agy: StandIn, version: str, flag: str) -> None:
    """Any version prints its text and a newline, and leaves no trace in the home."""
    agy.scenario(f'version = "{version}"')
    ended = agy.run(flag)
    assert (ended.code, ended.out, ended.err) == (0, f"{version}\n".encode(), "")
    assert [path.name for path in agy.home.iterdir()] == ["fake-agy.toml"]


def test_default_is_friendly(agy: StandIn) -> None:
    """Without any scenario it is the newest known version and answers."""
    assert agy.run("--version").text == "1.3.3\n"
    assert agy.run("-p", "hello").text == "Done.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--frobnicate"], "flags provided but not defined: -frobnicate"),
        (["--one", "-two=3", "--print=x"], "flags provided but not defined: -one -two"),
        (["---print=x"], "bad flag syntax: ---print=x"),
        (["--=x"], "bad flag syntax: --=x"),
        (["--model"], "flag needs an argument: -model"),
        (["-p"], "flag needs an argument: -p"),
        (["-p", "--sandbox"], "flag needs an argument: -p"),
        (["--print="], "flag needs an argument: -print"),
        (
            ["--sandbox=maybe"],
            (
                'invalid boolean value "maybe" for -sandbox: '
                'strconv.ParseBool: parsing "maybe": invalid syntax'
            ),
        ),
        (
            ["--print-timeout", "600"],
            'invalid value "600" for flag -print-timeout: time: missing unit in duration "600"',
        ),
        (
            ["--print-timeout=soon"],
            'invalid value "soon" for flag -print-timeout: time: invalid duration "soon"',
        ),
        (
            ["--print-timeout=3weeks"],
            (
                'invalid value "3weeks" for flag -print-timeout: '
                'time: unknown unit "weeks" in duration "3weeks"'
            ),
        ),
    ],
)
def test_usage_errors(agy: StandIn, arguments: list[str], message: str) -> None:
    """A line that cannot be read is refused in Go's words, with the usage text and exit 2."""
    ended = agy.run(*arguments)
    assert (ended.code, ended.out) == (2, b"")
    assert ended.err.startswith(f"{message}\nUsage of agy:\n")
    assert "gemini_dir" not in ended.err


@pytest.mark.parametrize(
    ("flag", "since"),
    [
        ("--output-format=json", "1.1.8"),
        ("--disable-slash-commands", "1.1.9"),
        ("--input-format=text", "1.1.15"),
        ("--gemini_dir=g", "1.2.15"),
        ("--json-schema={}", "1.1.8"),
    ],
)
def test_flags_come_with_versions(agy: StandIn, flag: str, since: str) -> None:
    """A flag is a usage error right before the version that brought it."""
    major, minor, patch = since.split(".")
    agy.scenario(f'version = "{major}.{minor}.{int(patch) - 1}"\nsteps = [{{ text = "Hi" }}]')
    assert agy.run(flag, "--print=x").code == 2
    agy.scenario(f'version = "{since}"\nsteps = [{{ text = "Hi" }}]')
    assert agy.run(flag, "--print=x").code == 0


def test_prompt_swallows_a_flag_before_1_1_18(agy: StandIn) -> None:
    """Until 1.1.17 the argument after a prompt flag is the prompt, whatever it looks like."""
    agy.turn("1.1.17", 'text = "{{prompt}}"')
    assert agy.run("-p", "--sandbox").text == "--sandbox\n"
    assert agy.run("--prompt=").code == 0


def test_bool_flags_and_dashes(agy: StandIn) -> None:
    """One dash is as good as two, and a switch takes a value only after an equals sign."""
    agy.turn("1.3.3", 'text = "{{prompt}}"')
    assert agy.run("-sandbox=false", "--continue", "-print", "go on", "--").text == "go on\n"


def test_help_is_no_error(agy: StandIn) -> None:
    """The usage text can be asked for."""
    ended = agy.run("--help")
    assert ended.code == 0
    assert "--print-timeout duration" in ended.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--add-dir=here"], '--add-dir "here": path must be absolute'),
        (["--add-dir=/nonexistent/there"], '--add-dir "/nonexistent/there": no such directory'),
        (["--output-format=yaml"], 'invalid --output-format "yaml"'),
        (["--mode=yolo"], 'invalid --mode "yolo"'),
        (["--input-format=xml"], 'invalid --input-format "xml"'),
    ],
)
def test_start_up_checks(agy: StandIn, arguments: list[str], message: str) -> None:
    """Values that make no sense end the start with exit 1 and no AGY_ERROR line."""
    ended = agy.run(*arguments, "--print=x")
    assert (ended.code, ended.out) == (1, b"")
    assert ended.err.startswith(f"error: {message}")
    assert "AGY_ERROR" not in ended.err


def test_fatal_errors_had_another_marker(agy: StandIn) -> None:
    """Before 1.1.28 a fatal error begins with a capital."""
    agy.scenario('version = "1.1.27"')
    assert agy.run("usage").err == "Error: unknown subcommand: usage\n"


def test_home_is_needed(agy: StandIn) -> None:
    """Without HOME there is no place for the state, unless another root is named."""
    del agy.environment["HOME"]
    assert agy.run("--print=x").err == "error: $HOME is not defined\n"
    assert agy.run(f"--gemini_dir={agy.home}", "--print=x").code == 0
    assert (agy.home / "antigravity-cli" / "conversations").is_dir()


@pytest.mark.parametrize("arguments", [[], ["--sandbox"]])
def test_interactive_form_needs_a_terminal(agy: StandIn, arguments: list[str]) -> None:
    """Without a prompt it wants a terminal, says so on stdout, and ends with 0."""
    ended = agy.run(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert ended.text.startswith("CLI error: bubbletea: could not open TTY: ")


def test_usage_is_answered_without_a_turn(agy: StandIn) -> None:
    """`/usage` gives quota buckets in every format and plays no step of the scenario."""
    agy.turn("1.2.7", "exit = 9")
    as_json = json.loads(agy.run("--output-format=json", "-p=/usage").out)
    bucket = as_json["command"]["data"]["groups"][0]["buckets"][0]
    assert (as_json["num_turns"], bucket["window"]) == (0, "weekly")
    assert agy.run("-p", "/usage").text.split("\t")[2] == "82%"
    stream = agy.run("--output-format=stream-json", "-p=/usage").events()
    assert [event["event"] for event in stream] == ["command_result", "result"]
    assert not (agy.app / "conversations").exists()


def test_permissions_show_the_settings(agy: StandIn) -> None:
    """`/permissions`, `/config` and `/hooks` show what stands in the settings."""
    agy.app.mkdir(parents=True)
    (agy.app / "settings.json").write_text('{"permissions":{"allow":["command(ls)"],"ask":"x"}}')
    assert agy.run("-p=/permissions").text == "allow\tcommand(ls)\nask\tx\n"
    assert "command(ls)" in agy.run("-p=/config").text
    assert agy.run("-p=/hooks").code == 0
    (agy.app / "settings.json").write_text("{broken")
    assert agy.run("-p=/permissions").out == b""


@pytest.mark.parametrize(
    ("version", "prompt", "code"),
    [
        ("1.1.10", "/usage", 1),
        ("1.1.11", "/usage", 0),
        ("1.1.11", "/config", 1),
        ("1.1.12", "/config", 0),
        ("1.3.3", "/srv/site: tidy up", 1),
    ],
)
def test_slash_commands_by_version(agy: StandIn, version: str, prompt: str, code: int) -> None:
    """A prompt with a leading slash is a command, known or not."""
    agy.scenario(f'version = "{version}"')
    assert agy.run(f"-p={prompt}").code == code


def test_slash_commands_can_be_switched_off(agy: StandIn) -> None:
    """With the switch a leading slash is an ordinary prompt."""
    ended = agy.run("--disable-slash-commands", "-p=/srv/site: tidy up")
    assert (ended.code, ended.text) == (0, "Done.\n")


def test_models(agy: StandIn) -> None:
    """`models` lists id and label, in JSON too where the format stands before it."""
    agy.scenario('models = { "m-1" = "Model One" }')
    ended = agy.run("models")
    assert (ended.text, ended.err) == ("m-1\tModel One\n", "Fetching available models...\n")
    found = json.loads(agy.run("--output-format=json", "models").out)
    assert found["command"]["data"]["models"] == [{"id": "m-1", "label": "Model One"}]
    refused = agy.run("models", "--output-format=json")
    assert (refused.code, refused.err.count("not defined")) == (1, 1)


def test_held_open_models(agy: StandIn) -> None:
    """That `models` answers only when stdin ends."""
    process = agy.start("models", stdin=subprocess.PIPE, FAKE_AGY_SCENARIO="held-open-models")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    out, _ = process.communicate(b"", timeout=30)
    assert b"gemini" in out


def test_models_can_be_interrupted(agy: StandIn) -> None:
    """A subcommand that waits ends by a signal, too."""
    process = agy.start("models", stdin=subprocess.PIPE, FAKE_AGY_SCENARIO="held-open-models")
    assert wait_until(lambda: signals(process.pid, "SigCgt") & 1 << (signal.SIGTERM - 1))
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 1
