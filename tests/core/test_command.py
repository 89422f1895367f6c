import json
from dataclasses import replace
from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.command import Command, build, print_timeout_s, prompt_file_in
from harness.core.environment import environment
from harness.core.job import JobSpec, fill_date
from harness.core.output import OutputFormat
from harness.core.versions import parse_version
from harness.errors import ConfigurationProblem

JOB = JobSpec(name="tidy", prompt="Tidy up.", workspace="/srv/ws", agent_id="tidy")


def command(
    job: JobSpec = JOB,
    version: str = "1.2.10",
    prompt: str | None = None,
) -> Command:
    """Return the command of a job, perhaps with another prompt, for a version of the CLI."""
    job = job if prompt is None else replace(job, prompt=prompt)
    return build(
        job,
        parse_version(version),
        binary="/opt/agy",
        log_file="/state/agy.log",
        prompt_file=prompt_file_in(job.workspace, "r1"),
        run_environment={"PATH": "/bin"},
    )


def test_an_ordinary_job() -> None:
    """The prompt is the last argument, everything else stands before it."""
    assert command() == Command(
        argv=(
            *("/opt/agy", "--add-dir", "/srv/ws", "--print-timeout", "2610s"),
            *("--log-file", "/state/agy.log", "--output-format", "stream-json"),
            "--print=Tidy up.",
        ),
        env={"PATH": "/bin"},
        cwd="/srv/ws",
        output_format=OutputFormat.STREAM_JSON,
    )


def test_everything_a_job_can_ask_for_is_handed_on() -> None:
    """Model, mode, folder and the job's own arguments reach the CLI."""
    job = replace(JOB, model="m 1", mode="plan", gemini_dir="/g", args=("--sandbox", "--x=a b"))
    argv = command(job).argv
    assert argv[1:3] == ("--sandbox", "--x=a b")
    for pair in (("--model", "m 1"), ("--mode", "plan")):
        assert pair in pairwise(argv)
    assert "--gemini_dir=/g" in argv
    assert argv[-1] == "--print=Tidy up."


@pytest.mark.parametrize("version", ["1.1.7", "garbage"])
def test_an_old_or_unknown_cli_answers_in_text(version: str) -> None:
    """Without the output format there is no flag for it."""
    old = command(version=version)
    assert old.output_format is OutputFormat.TEXT
    assert "--output-format" not in old.argv


@pytest.mark.parametrize(
    ("timeout_s", "seconds"),
    [(2700, 2610), (900, 810), (899, 809), (100, 90), (10, 9), (1, 1), (0.2, 1), (86400, 86310)],
)
def test_the_cli_ends_before_the_harness_does(timeout_s: float, seconds: int) -> None:
    """The CLI's own limit is 90 s or a tenth earlier, and never below a second."""
    assert print_timeout_s(timeout_s) == seconds


@given(st.floats(min_value=2, max_value=1e6))
def test_the_reserve_is_never_eaten_up(timeout_s: float) -> None:
    """There is always something between the two limits."""
    assert 1 <= print_timeout_s(timeout_s) < timeout_s


@pytest.mark.parametrize(
    ("prompt", "fits"),
    [
        ("x" * (131_071 - 8), True),
        ("x" * (131_071 - 7), False),
        ("é" * 65_531, True),
        ("é" * 65_532, False),
        ("a\0b", False),
    ],
    ids=range(5),
)
def test_a_prompt_that_no_argument_holds_goes_over_stdin(prompt: str, *, fits: bool) -> None:
    """The limit is in bytes and counts the flag; stdin is read only without a prompt flag."""
    made = command(prompt=prompt)
    if fits:
        assert made.argv[-1] == "--print=" + prompt
        assert made.stdin_text is None
        return
    assert made.argv[-2:] == ("--input-format", "stream-json")
    assert not any(arg.startswith("--print=") for arg in made.argv)
    assert made.stdin_text is not None
    assert made.stdin_text.count("\n") == 1
    assert json.loads(made.stdin_text) == {"event": "user", "message": {"content": prompt}}
    assert made.prompt_file is None


def test_before_stdin_input_a_long_prompt_goes_to_a_file_of_the_workspace() -> None:
    """The prompt then names the file that holds the task."""
    made = command(version="1.1.14", prompt="y" * 200_000)
    assert made.prompt_file == "/srv/ws/.harness-prompt-r1.md"
    assert made.prompt_file_text == "y" * 200_000
    assert made.argv[-1].startswith("--print=")
    assert "/srv/ws/.harness-prompt-r1.md" in made.argv[-1]
    assert made.stdin_text is None


@pytest.mark.parametrize("prompt", ["/usage", "  /tmp is full, clean it", "\n/x"])
@pytest.mark.parametrize(
    ("version", "mode", "flag"),
    [("1.1.9", None, True), ("1.1.8", None, False), ("1.2.10", "plan", False)],
)
def test_a_prompt_is_never_a_slash_command(
    prompt: str, version: str, mode: str | None, *, flag: bool
) -> None:
    """A flag says so where there is one; else, or beside a mode, words stand before it."""
    made = command(replace(JOB, mode=mode), version=version, prompt=prompt)
    assert ("--disable-slash-commands" in made.argv) is flag
    text = made.argv[-1].removeprefix("--print=")
    assert text.endswith(prompt)
    assert flag or not text.lstrip().startswith("/")


def test_a_mode_that_has_no_effect_is_a_finding() -> None:
    """Before 1.1.12 the mode is ignored headless, and the person is told."""
    job = replace(JOB, mode="plan")
    assert [finding.id for finding in command(job, "1.1.11").findings] == ["mode_not_honoured"]
    assert [finding.id for finding in command(job, "?").findings] == ["mode_not_honoured"]
    assert command(job, "1.1.12").findings == ()


@pytest.mark.parametrize("prompt", [None, "", " \n"])
def test_without_a_prompt_there_is_no_command(prompt: str | None) -> None:
    """A batch job, or an empty prompt, cannot be started like this."""
    with pytest.raises(ConfigurationProblem, match="job tidy: no prompt"):
        command(replace(JOB, prompt=None), prompt=prompt)


@given(st.text(min_size=1).filter(str.strip), st.sampled_from(["1.1.3", "1.1.14", "1.3.3"]))
def test_every_prompt_gives_arguments_that_can_be_passed(prompt: str, version: str) -> None:
    """No argument holds a NUL, is too long, or cannot be encoded."""
    made = command(version=version, prompt=prompt)
    for argument in made.argv:
        assert b"\0" not in argument.encode()
        assert len(argument.encode()) <= 131_071


PLAIN = {name: name.lower() for name in ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ")}
PLAIN |= {"TMPDIR": "/t", "LC_ALL": "C", "LC_TIME": "de", "https_proxy": "p", "NO_PROXY": "n"}
PLAIN |= {"SSL_CERT_FILE": "c", "NODE_EXTRA_CA_CERTS": "e"}
PARENT = PLAIN | {
    "SECRET_TOKEN": "s",
    "GEMINI_API_KEY": "k",
    "ANTIGRAVITY_AGENT": "1",
    "DBUS_SESSION_BUS_ADDRESS": "unix:x",
    "HARNESS_HOME": "/h",
    "HARNESS_RUN_ID": "old",
    "AGY_CLI_DISABLE_AUTO_UPDATE": "1",
    "LD_PRELOAD": "x.so",
}


def test_only_the_base_set_and_what_the_job_names_is_passed_on() -> None:
    """Nothing of the parent leaks that nobody asked for."""
    env = environment(PARENT, names=["GEMINI_API_KEY", "MISSING"], run_id="r1", job="j", gate="/g")
    assert env == PLAIN | {
        "GEMINI_API_KEY": "k",
        "AGY_CLI_DISABLE_AUTO_UPDATE": "true",
        "HARNESS_RUN_ID": "r1",
        "HARNESS_JOB": "j",
        "HARNESS_GATE": "/g",
    }


def test_forbidden_names_stay_out_even_when_a_job_names_them() -> None:
    """The CLI's session, D-Bus and the harness's own words are no job's business."""
    names = ["ANTIGRAVITY_AGENT", "DBUS_SESSION_BUS_ADDRESS", "HARNESS_HOME", "HARNESS_RUN_ID"]
    env = environment(
        PARENT, names=[*names, "AGY_CLI_DISABLE_AUTO_UPDATE"], run_id="", job="", gate=None
    )
    assert not any(name in env for name in names)
    assert env["AGY_CLI_DISABLE_AUTO_UPDATE"] == "true"


def test_dates_are_filled_in() -> None:
    """Every `{date}` of a pattern becomes the day."""
    assert fill_date("r/{date}/{date}.md", date(2026, 11, 30)) == "r/2026-11-30/2026-11-30.md"
    assert fill_date("plain{}.md", date(2026, 11, 30)) == "plain{}.md"
