"""The processes that the stand-in starts and leaves behind, and what the record says of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.testing.record import started_of
from tests.helpers.stand_in import StandIn, alive, signals, wait_until


def descendant(agy: StandIn, kind: str) -> dict[str, Any]:
    """Return the only recorded process of a kind."""
    (found,) = [entry for entry in agy.records("descendant") if entry["kind"] == kind]
    return found


def environment_of(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with."""
    parts = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(part.split("=", 1) for part in parts if part)


def test_command_runs_as_the_agents_shell(agy: StandIn) -> None:
    """A command has its own session, the run's environment and the agent's marks."""
    agy.turn(
        "1.3.3",
        """
        command = "echo $HARNESS_RUN_ID $ANTIGRAVITY_AGENT; ps -o sid= -p $$; pwd; exit 4"
        command = ["printf", "%s-%s", "{{job}}", "{{run_id}}"]
        """,
    )
    ended = agy.ask(HARNESS_RUN_ID="r-1", HARNESS_JOB="site")
    first, second = agy.records("command")
    run_id, session, cwd = first["stdout"].splitlines()
    assert (run_id, cwd, first["exit"]) == ("r-1 1", str(agy.workspace), 4)
    assert int(session) == first["pid"]
    assert (second["stdout"], second["argv"][0]) == ("site-r-1", "printf")
    done = ended.steps("tool")[1]
    assert done["state"] == "DONE"
    assert "\r\n" in done["tool_info"]["output"]
    assert ended.code == 0


def test_command_that_is_not_there(agy: StandIn) -> None:
    """A program that cannot be started is a command with exit 127 and a word on stderr."""
    agy.turn("1.3.3", 'command = ["/nonexistent/tool"]')
    agy.ask()
    (command,) = agy.records("command")
    assert (command["exit"], command["stderr"]) == (
        127,
        "/nonexistent/tool: No such file or directory\n",
    )


def test_command_can_be_quiet_or_speak(agy: StandIn) -> None:
    """A command may leave no event, and its output may become the answer."""
    agy.turn("1.3.3", 'command = { run = "echo 42", event = false, say = true }')
    ended = agy.ask()
    assert ended.steps("tool") == []
    assert ended.result()["response"] == "42\n"


def test_neighbour_programs_are_found(agy: StandIn) -> None:
    """The folder of the interpreter is on the tools' PATH, where `harness` stands too."""
    agy.turn("1.3.3", 'command = "echo $PATH"')
    agy.ask()
    (command,) = agy.records("command")
    assert command["stdout"].strip().split(":")[-1] == str(Path(sys.executable).parent)


def test_record_of_a_start(agy: StandIn) -> None:
    """The record holds what a start was given, and the start time as psutil has it."""
    prompt = agy.workspace / "prompt.jsonl"
    prompt.write_text('{"event":"user","message":{"content":"from a file"}}\n')
    with prompt.open("rb") as stream:
        process = agy.start("--input-format=stream-json", "--sandbox", stdin=stream.fileno())
        process.communicate(timeout=30)
    (start,) = agy.records("start")
    assert start["argv"] == ["--input-format=stream-json", "--sandbox"]
    assert start["env"]["HOME"] == str(agy.home)
    assert (start["cwd"], start["version"]) == (str(agy.workspace), "1.3.3")
    assert (start["stdin_kind"], start["stdin"]) == ("file", prompt.read_text())
    assert (start["pid"], agy.records("end")[0]["exit"]) == (process.pid, 0)
    assert agy.records("turn")[0]["prompt"] == "from a file"


def test_record_of_other_stdins(agy: StandIn) -> None:
    """A pipe is named and left alone, /dev/null is empty, a closed stdin is called so."""
    agy.run("--version")
    agy.run("--version", stdin=b"x")
    subprocess.run(
        f"{sys.executable} -m harness.testing.fake_agy --version <&-",
        shell=True,
        env=agy.environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    kinds = [start["stdin_kind"] for start in agy.records("start")]
    assert kinds[:2] == ["null", "pipe"]
    # the interpreter may have put something of its own in the place of a closed stdin
    assert len(kinds) == 3


def test_record_can_stand_in_the_scenario(agy: StandIn) -> None:
    """A scenario names the record relative to its own file; one that cannot be written is 64."""
    del agy.environment["FAKE_AGY_RECORD"]
    agy.scenario('record = "starts.jsonl"')
    agy.run("--version")
    assert json.loads((agy.home / "starts.jsonl").read_text().splitlines()[0])["line"] == "start"
    ended = agy.run("--version", FAKE_AGY_RECORD="/nonexistent/record")
    assert (ended.code, ended.err) == (
        64,
        "fake-agy: record /nonexistent/record: No such file or directory\n",
    )


def test_start_times_are_those_of_psutil() -> None:
    """The recorded start time is the one by which the harness knows a process."""
    assert abs(started_of(os.getpid()) - psutil.Process().create_time()) < 0.02
    assert started_of(2**22 + 1) == 0.0


@pytest.mark.parametrize(("version", "survives"), [("1.2.8", True), ("1.2.9", False)])
def test_daemons_by_version(agy: StandIn, version: str, survives: bool) -> None:  # noqa: FBT001
    """Until 1.2.8 a daemon survives the run, from 1.2.9 on it ends with it."""
    agy.turn(version, 'daemon = { seconds = 120 }\ntext = "Done."')
    agy.ask(HARNESS_RUN_ID="r-1")
    daemon = descendant(agy, "daemon")
    if survives:
        process = psutil.Process(daemon["pid"])
        assert os.getsid(daemon["pid"]) != os.getsid(0)
        assert abs(process.create_time() - daemon["started"]) < 0.02
        assert environment_of(daemon["pid"])["HARNESS_RUN_ID"] == "r-1"
    else:
        assert wait_until(lambda: not alive(daemon["pid"]))


def test_daemon_escapes_scrubs_and_ignores(agy: StandIn) -> None:
    """A daemon can hide from the CLI, carry no mark of the run, and ignore signals."""
    flags = "scrub = true, escapes = true, ignore_sigterm = true, ignore_sighup = true"
    agy.turn("1.3.3", f"daemon = {{ seconds = 120, {flags} }}")
    agy.ask(HARNESS_RUN_ID="r-1")
    pid = descendant(agy, "daemon")["pid"]
    assert not [name for name in environment_of(pid) if name.startswith(("HARNESS", "ANTIG"))]
    ignored = signals(pid, "SigIgn")
    assert ignored & 1 << (signal.SIGTERM - 1)
    assert ignored & 1 << (signal.SIGHUP - 1)


@pytest.mark.parametrize(
    ("step", "kind"),
    [("daemon = { seconds = 120, hold_output = true }", "daemon"), ("child = {}", "child")],
)
def test_output_is_held_open(agy: StandIn, step: str, kind: str) -> None:
    """After the CLI is gone, a process it left keeps the pipe from ending."""
    agy.turn("1.2.8", f'{step}\ntext = "Done."')
    process = agy.start("-p=x")
    assert process.wait(timeout=30) == 0
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    assert process.stdout.read() == b"Done.\n"
    assert process.stdout.read() is None
    os.kill(descendant(agy, kind)["pid"], signal.SIGKILL)
    os.set_blocking(process.stdout.fileno(), True)
    assert process.stdout.read() == b""
    process.communicate(timeout=30)


def test_child_keeps_its_group(agy: StandIn) -> None:
    """A child stays in the CLI's session unless told otherwise, and can leave stdout alone."""
    agy.turn("1.3.3", "child = { hold_output = false }\nchild = { own_session = true }\nexit = 0")
    agy.run("-p=x")
    first, second = agy.records("descendant")
    assert os.getsid(first["pid"]) == os.getsid(0)
    assert os.getsid(second["pid"]) == second["pid"]


def test_daemon_writes_late(agy: StandIn) -> None:
    """A daemon can write a file after the CLI has ended."""
    write = 'write = "late.txt", after = 0.2, content = "late"'
    agy.turn("1.2.8", f"daemon = {{ seconds = 1, {write} }}")
    agy.ask()
    late = agy.workspace / "late.txt"
    assert wait_until(lambda: late.exists() and late.read_text() == "late")


def test_background_is_killed_before_1_2_9(agy: StandIn) -> None:
    """After the idle time a background task is killed; its step stays ACTIVE, exit is 0."""
    ended = agy.ask(FAKE_AGY_SCENARIO="background-command-killed", FAKE_AGY_TIME_SCALE="0.01")
    assert ended.code == 0
    assert ended.err == (
        "root agent idle; waiting up to 5s for 1 background task(s)\n"
        "terminating 1 background task(s) on exit\n"
    )
    assert [step["state"] for step in ended.steps("tool")] == ["ACTIVE"]
    assert ended.result()["status"] == "SUCCESS"
    assert wait_until(lambda: not alive(descendant(agy, "background")["pid"]))


def test_background_is_waited_for_from_1_2_9(agy: StandIn) -> None:
    """A task that ends in time is shown DONE after the result."""
    ended = agy.ask(FAKE_AGY_SCENARIO="background-waited")
    assert [step["state"] for step in ended.steps("tool")] == ["ACTIVE", "DONE"]
    assert ended.steps("tool")[1]["tool_info"]["output"] == "built\n"
    assert agy.records("command")[0]["exit"] == 0


def test_background_is_bounded_by_the_timeout(agy: StandIn) -> None:
    """The print-timeout and a signal end the wait for a background task."""
    agy.turn("1.2.9", 'command = { run = "sleep 100", background = true }\ntext = "Done."')
    ended = agy.ask("--print-timeout=500ms")
    assert ended.code == 0
    assert "terminating 1 background task(s) on exit" in ended.err
    assert agy.records("command")[0]["exit"] == -signal.SIGKILL


@pytest.mark.parametrize(("version", "survives"), [("1.2.8", True), ("1.2.9", False)])
def test_commands_survive_an_interruption(
    agy: StandIn,
    version: str,
    survives: bool,  # noqa: FBT001
) -> None:
    """A running command outlives an interrupted CLI, until 1.2.8."""
    agy.turn(version, 'command = "touch ready; sleep 120"')
    process = agy.start(f"--add-dir={agy.workspace}", "-p=x")
    assert wait_until((agy.workspace / "ready").exists)
    process.terminate()
    process.communicate(timeout=30)
    pid = descendant(agy, "command")["pid"]
    assert process.returncode == 1
    assert alive(pid) is survives
    if survives:
        os.killpg(pid, signal.SIGKILL)


def test_interrupted_by_its_own_tool(agy: StandIn) -> None:
    """A tool can end the CLI politely in mid-run."""
    ended = agy.run("-p=x", FAKE_AGY_SCENARIO="interrupted")
    assert (ended.code, ended.err) == (1, "error: interrupted\n")


def test_files(agy: StandIn) -> None:
    """Files are written, appended to, only claimed, or refused by the system as a tool error."""
    agy.turn(
        "1.3.3",
        """
        write_file = { path = "deep/a.txt", content = "{{prompt}}" }
        write_file = { path = "deep/a.txt", content = "!", append = true, event = false }
        claim_file = "b.txt"
        write_file = { path = "deep/a.txt/c", content = "x" }
        """,
    )
    ended = agy.ask(prompt="hi")
    assert (agy.workspace / "deep" / "a.txt").read_text() == "hi!"
    assert not (agy.workspace / "b.txt").exists()
    done = [step for step in ended.steps("tool") if step["state"] != "ACTIVE"]
    assert [step["state"] for step in done] == ["DONE", "DONE", "ERROR"]
    assert done[1]["tool_info"]["parameters"]["TargetFile"] == "b.txt"
