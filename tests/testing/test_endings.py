"""How a turn of the stand-in ends, by version: errors, denials, timeouts, signals."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.helpers.stand_in import Ended, StandIn, alive, signals, wait_until

ERROR = (
    'error = { short_error = "overloaded > full", status = "UNAVAILABLE", error_code = 503, '
    'code_kind = "http", retryable = true, error_id = "e-1" }'
)
DENY = 'deny = { kind = "command", target = "git push" }'
NOTICE = (
    'jetski: no output produced — a tool required the "command" permission that headless mode '
    "cannot prompt for, so it was auto-denied. Add an allow-rule under permissions.allow in "
    "settings.json (e.g. command(<target>))."
)
SKIP = " Alternatively, re-run with --dangerously-skip-permissions to auto-approve all tools."


def agy_errors(ended: Ended) -> list[str]:
    """Return what follows AGY_ERROR at the start of a line."""
    mark = "AGY_ERROR: "
    return [line[len(mark) :] for line in ended.err.splitlines() if line.startswith(mark)]


@pytest.mark.parametrize(
    ("version", "partial", "code", "lines", "human"),
    [
        ("1.1.0", False, 0, 0, ""),
        ("1.1.1", False, 1, 0, "Error: overloaded > full"),
        ("1.1.28", False, 1, 0, "error: overloaded > full"),
        ("1.2.5", True, 1, 0, "error: overloaded > full"),
        ("1.2.6", False, 3, 1, "error: overloaded > full"),
        ("1.2.6", True, 0, 1, "error: overloaded > full"),
        ("1.2.9", True, 0, 1, "error: overloaded > full"),
        ("1.2.10", True, 3, 1, "error: overloaded > full"),
        ("1.3.3", False, 3, 1, "error: overloaded > full"),
    ],
)
def test_errors_by_version(
    agy: StandIn,
    version: str,
    partial: bool,  # noqa: FBT001
    code: int,
    lines: int,
    human: str,
) -> None:
    """A backend failure has the exit status, the line and the text of its version."""
    agy.turn(version, ('text = "half"\n' if partial else "") + ERROR)
    ended = agy.run("-p=x")
    assert ended.code == code
    assert len(agy_errors(ended)) == lines
    assert ended.err.partition("\n")[0] == human
    assert "overloaded > full" in agy.log()


def test_error_line_is_the_json_of_go(agy: StandIn) -> None:
    """The line holds the keys that were given, in the CLI's order and escaping."""
    agy.turn("1.2.15", ERROR)
    ended = agy.ask()
    assert agy_errors(ended) == [
        (
            '{"short_error":"overloaded \\u003e full","status":"UNAVAILABLE","error_code":503,'
            '"code_kind":"http","retryable":true,"error_id":"e-1"}'
        )
    ]
    assert ended.steps("error_message")[0]["error"] == "overloaded > full"
    assert (ended.result()["status"], ended.result()["error"]) == ("ERROR", "overloaded > full")


def test_broken_error_lines(agy: StandIn) -> None:
    """A line can be cut, prefixed, without its human line, or not there at all."""
    agy.turn("1.2.15", 'error = { short_error = "x", raw = "{\\"a", ending = "", human = false }')
    assert agy.run("-p=x").err == 'AGY_ERROR: {"a'
    agy.turn("1.2.15", 'error = { short_error = "x", prefix = "seen ", human = false }')
    assert agy.run("-p=x").err.startswith("seen AGY_ERROR: {")
    agy.turn("1.2.15", 'error = { short_error = "x", line = false }')
    ended = agy.run("-p=x")
    assert (ended.code, ended.err) == (3, "error: x\n")


def test_several_errors(agy: StandIn) -> None:
    """An error may let the turn go on; each has its line."""
    ended = agy.run("-p=x", FAKE_AGY_SCENARIO="error-several")
    texts = [json.loads(line)["short_error"] for line in agy_errors(ended)]
    assert texts == [
        "Individual quota reached. Resets in 0s.",
        "model API is currently overloaded",
    ]


def test_quota_stops_at_once_from_1_2_13(agy: StandIn) -> None:
    """A daily quota is retried in silence before, and told at once from then on."""
    text = 'retry = { message = "quota", quota = true, every = 0.01, attempts = 3 }\n' + ERROR
    agy.turn("1.2.12", text)
    agy.run("-p=x")
    assert "API error (attempt 3): quota" in agy.log()
    agy.turn("1.2.13", text)
    target = agy.workspace / "new.log"
    agy.run(f"--log-file={target}", "-p=x")
    assert "attempt 1" in target.read_text()
    assert "attempt 2" not in target.read_text()


def test_soft_denial(agy: StandIn) -> None:
    """From 1.1.20 on a denial ends the turn with SUCCESS, exit 0 and the notice."""
    agy.turn("1.2.10", DENY + '\ntext = "never said"')
    ended = agy.ask()
    assert (ended.code, ended.err) == (0, NOTICE + SKIP + "\n")
    result = ended.result()
    assert (result["status"], result["response"]) == ("SUCCESS", "")
    assert result["denied_actions"] == [{"action": "command", "display_name": "RunCommand"}]
    assert "output" not in ended.steps("tool")[-1]["tool_info"]
    log = agy.log()
    assert 'Print mode: soft-denying tool confirmation "RunCommand" at step 1' in log
    assert (
        'permission check failed for command "git push": '
        "user denied permission for command(git push)" in log
    )


@pytest.mark.parametrize(
    ("version", "code", "actions"),
    [
        ("1.1.12", 0, False),
        ("1.1.13", 1, False),
        ("1.1.19", 1, False),
        ("1.1.20", 0, False),
        ("1.1.26", 0, False),
        ("1.1.27", 0, True),
        ("1.3.3", 0, True),
    ],
)
def test_denials_by_version(
    agy: StandIn,
    version: str,
    code: int,
    actions: bool,  # noqa: FBT001
) -> None:
    """A denial was a hard error for a while; `denied_actions` came with 1.1.27."""
    agy.turn(version, DENY)
    ended = agy.ask()
    assert ended.code == code
    assert ("denied_actions" in ended.result()) is actions
    if code:
        assert ended.err.startswith('Error: permission check failed for command "git push"')
        assert ended.steps("tool")[-1]["state"] == "ERROR"
    else:
        assert ended.err == NOTICE + SKIP + "\n"


@pytest.mark.parametrize(("version", "told"), [("1.2.14", True), ("1.2.15", False)])
def test_denial_after_text(agy: StandIn, version: str, told: bool) -> None:  # noqa: FBT001
    """From 1.2.15 on a turn that said something prints no notice."""
    agy.turn(version, 'text = "I will."\n' + DENY)
    ended = agy.ask()
    assert bool(ended.err) is told
    assert ended.result()["response"] == "I will."
    assert ended.result()["denied_actions"]


def test_shapes_of_the_notice(agy: StandIn) -> None:
    """The notice can name several kinds, be short, folded or missing."""
    two = 'also = [{ kind = "write_file", target = "/x" }]'
    agy.turn("1.2.10", f'deny = {{ kind = "command", target = "y", {two}, notice = "short" }}')
    assert agy.run("-p=x").err == (
        'jetski: no output produced — one or more tools required the "command", "write_file" '
        "permissions that headless mode cannot prompt for, so they were auto-denied. Add an "
        "allow-rule under permissions.allow in settings.json (e.g. command(<target>), "
        "write_file(<target>)).\n"
    )
    folded = agy.run("-p=x", FAKE_AGY_SCENARIO="denied-folded-notice").err
    assert folded.count("\n") > 2
    assert " ".join(folded.split()) == NOTICE + SKIP
    assert agy.run("-p=x", FAKE_AGY_SCENARIO="denied-without-notice").err == ""


def test_denied_kinds_add_up(agy: StandIn) -> None:
    """The notice names every kind that was denied in the conversation so far."""
    agy.scenario("""
        steps = [{ deny = { kind = "mcp", target = "notes/append" } }]
        [[when]]
        resumed = false
        steps = [{ deny = { kind = "command", target = "ls" } }]
    """)
    first = agy.ask().result()
    second = agy.ask(f"--conversation={first['conversation_id']}")
    assert 'required the "command", "mcp" permissions' in second.err
    assert [action["action"] for action in second.result()["denied_actions"]] == ["mcp"]


def test_everything_is_approved_when_told_so(agy: StandIn) -> None:
    """With --dangerously-skip-permissions the denied step happens and the turn goes on."""
    approved = 'approved = [{ write_file = { path = "x.txt", content = "x" } }]'
    agy.turn("1.3.3", f'deny = {{ kind = "command", target = "y", {approved} }}\ntext = "Done."')
    ended = agy.ask("--dangerously-skip-permissions")
    assert ended.result()["response"] == "Done."
    assert (agy.workspace / "x.txt").exists()


def test_before_1_1_3_nobody_is_asked(agy: StandIn) -> None:
    """A very old version hangs, or does what it should have asked for."""
    agy.run(f"--add-dir={agy.workspace}", "-p=x", FAKE_AGY_SCENARIO="approved-silently")
    assert (agy.workspace.parent / "outside.txt").exists()
    ended = agy.run("--print-timeout=500ms", "-p=x", FAKE_AGY_SCENARIO="denied-hangs")
    assert (ended.code, ended.err) == (1, "Error: timeout waiting for response\n")


@pytest.mark.parametrize(
    ("version", "code", "message"),
    [
        ("1.1.0", 0, "Error: timed out waiting for response"),
        ("1.1.1", 1, "Error: timeout waiting for response"),
        ("1.1.27", 1, "Error: timeout waiting for response"),
        (
            "1.1.28",
            0,
            "[agy] print timeout after 1s with turn in progress; returning partial output",
        ),
        (
            "1.3.3",
            0,
            "[agy] print timeout after 1s with turn in progress; returning partial output",
        ),
    ],
)
def test_print_timeout_by_version(agy: StandIn, version: str, code: int, message: str) -> None:
    """The print-timeout ends a turn in the way of its version, keeping what was said."""
    agy.turn(version, 'text = "half"\nhang = true')
    ended = agy.run("--print-timeout=1s", "-p=x")
    assert (ended.code, ended.err) == (code, message + "\n")
    assert ended.text.strip() == "half"


@pytest.mark.parametrize("status", ["ERROR", "SUCCESS"])
def test_partial_result(agy: StandIn, status: str) -> None:
    """The partial result has the status that the scenario says."""
    agy.turn("1.2.2", 'text = "half"\nhang = true', top=f'print_timeout_status = "{status}"')
    result = agy.ask("--print-timeout=200ms").result()
    assert (result["status"], result["response"]) == (status, "half")
    assert ("error" in result) is (status == "ERROR")


@pytest.mark.parametrize(("version", "code"), [("1.1.18", 1), ("1.2.5", 0), ("1.2.6", 0)])
def test_zero_timeout(agy: StandIn, version: str, code: int) -> None:
    """Zero expires at once before 1.2.6, and means unlimited from then on."""
    agy.turn(version, 'text = "done"')
    ended = agy.run("--print-timeout=0", "-p=x")
    assert ended.code == code
    assert (ended.text == "done\n") is (version == "1.2.6")


def test_timeout_does_not_cover_the_start(agy: StandIn) -> None:
    """A slow start is outside of the print-timeout."""
    agy.scenario('startup = [{ sleep = 0.5 }]\nsteps = [{ text = "Done." }]')
    assert agy.run("--print-timeout=200ms", "-p=x").text == "Done.\n"


def test_time_scale(agy: StandIn) -> None:
    """Waits of a scenario are scaled, and the environment has the last word."""
    began = time.monotonic()
    agy.run("-p=x", FAKE_AGY_SCENARIO="slow-start", FAKE_AGY_TIME_SCALE="0")
    assert time.monotonic() - began < 20
    assert agy.run("-p=x", FAKE_AGY_TIME_SCALE="fast").code == 64
    assert agy.run("-p=x", FAKE_AGY_TIME_SCALE="-1").code == 64


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_politely(agy: StandIn, number: signal.Signals) -> None:
    """SIGINT and SIGTERM give a final result, the text and exit 1."""
    agy.turn("1.3.3", 'text = "half"\nwrite_file = { path = "ready" }\nhang = true')
    process = agy.start("--output-format=stream-json", f"--add-dir={agy.workspace}", "-p=x")
    assert wait_until((agy.workspace / "ready").exists)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    result = json.loads(out.splitlines()[-1])["result"]
    assert (process.returncode, err) == (1, b"error: interrupted\n")
    assert (result["status"], result["error"]) == ("ERROR", "interrupted")
    assert result["response"] == "half"


def test_deaf_process(agy: StandIn) -> None:
    """A deaf one ignores both signals and its own timeout; only SIGKILL ends it."""
    agy.turn("1.3.3", "hang = { deaf = true, ignores_print_timeout = true }")
    process = agy.start("--print-timeout=100ms", "-p=x")
    assert wait_until(lambda: signals(process.pid, "SigIgn") & 1 << (signal.SIGTERM - 1))
    process.terminate()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert alive(process.pid)
    process.kill()
    process.communicate(timeout=30)


def test_hang_gives_up(agy: StandIn) -> None:
    """A hang has an end of its own, so that no stand-in stays for ever."""
    agy.turn("1.3.3", "hang = { seconds = 0.1 }")
    assert agy.run("-p=x").code == 1
    agy.turn("1.1.2", DENY)
    assert agy.run("--print-timeout=100ms", "-p=x").code == 1


def test_hang_after_result(agy: StandIn) -> None:
    """After the result neither a signal nor the timeout adds another one."""
    agy.turn("1.3.3", 'text = "Done."\nresult = {}\nwrite_file = { path = "ready" }\nhang = true')
    timed_out = agy.ask("--print-timeout=500ms")
    assert (timed_out.code, timed_out.err) == (0, "")
    (agy.workspace / "ready").unlink()
    process = agy.start("--output-format=json", f"--add-dir={agy.workspace}", "-p=x")
    assert wait_until((agy.workspace / "ready").exists)
    process.terminate()
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert json.loads(out)["response"] == "Done."


def test_result_can_be_changed(agy: StandIn) -> None:
    """A second result may follow the first one, with other contents."""
    ended = agy.ask(FAKE_AGY_SCENARIO="idle-second-result")
    results = [event["result"] for event in ended.events() if event["event"] == "result"]
    assert [result["status"] for result in results] == ["SUCCESS", "ERROR"]
    assert [result["num_turns"] for result in results] == [1, 1]


@pytest.mark.parametrize(
    ("how", "first", "log"),
    [
        ("required", "Error: authentication required. Run 'agy' to log in, then retry.", "invalid"),
        ("timed_out", "Error: authentication timed out.", "invalid_grant"),
        (
            "network",
            "Error: authentication required. Run 'agy' to log in, then retry.",
            "token refresh failed due to network error",
        ),
    ],
)
def test_authentication(agy: StandIn, how: str, first: str, log: str) -> None:
    """A missing login ends the start with exit 1, no AGY_ERROR line; the log knows why."""
    agy.scenario(f'time_scale = 0.001\nstartup = [{{ auth = "{how}" }}]')
    ended = agy.run("-p=x")
    assert (ended.code, ended.out) == (1, b"")
    assert ended.err == f"{first}\nerror: authentication failed or timed out\n"
    assert log in agy.log()
    agy.scenario(f'version = "1.1.9"\ntime_scale = 0.001\nstartup = [{{ auth = "{how}" }}]')
    assert agy.run("-p=x").err == f"{first}\n"


def test_death_by_signal(agy: StandIn) -> None:
    """A step can kill the stand-in by any signal."""
    assert agy.run("-p=x", FAKE_AGY_SCENARIO="killed-by-signal").code == -9
    agy.turn("1.3.3", 'signal_self = "SEGV"')
    assert agy.run("-p=x").code == -11


def test_wait_for(agy: StandIn) -> None:
    """A step can wait for a file, and gives up after its time."""
    agy.turn("1.3.3", 'wait_for = "go"\ntext = "Went."')
    process = agy.start(f"--add-dir={agy.workspace}", "-p=x")
    (agy.workspace / "go").touch()
    assert process.communicate(timeout=30)[0] == b"Went.\n"
    agy.turn("1.3.3", 'wait_for = { path = "never", seconds = 0.1 }')
    assert agy.run("-p=x").code == 1


def test_read_stdin_and_memory(agy: StandIn) -> None:
    """A step can read stdin to its end, and another one can take memory."""
    agy.turn("1.3.3", 'read_stdin = true\nmemory = 3\ntext = "Done."')
    assert agy.run("-p=x", stdin=b"abc").text == "Done.\n"
