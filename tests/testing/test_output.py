"""What the stand-in prints and keeps: formats, conversations, log, transcript, odd bytes."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.helpers.stand_in import StandIn

TURN = """
tool = { name = "run_command", parameters = { CommandLine = "ls >x" }, output = "a", seconds = 0 }
text = "One <line>.\\nTwo."
"""


def test_text_is_the_answer_alone(agy: StandIn) -> None:
    """The text format holds the answer and a final newline."""
    agy.turn("1.3.3", TURN)
    assert agy.run("-p=x").text == "One <line>.\nTwo.\n"


def test_json_is_one_object(agy: StandIn) -> None:
    """The json format is one line with every key of a result, escaped as Go does."""
    agy.turn("1.3.3", TURN)
    out = agy.run("--output-format=json", "-p=x").out
    result = json.loads(out)
    assert out.count(b"\n") == 1
    assert b"\\u003cline\\u003e" in out
    assert list(result) == [
        "conversation_id",
        "status",
        "response",
        "duration_seconds",
        "num_turns",
        "usage",
    ]
    assert (result["status"], result["response"]) == ("SUCCESS", "One <line>.\nTwo.")
    assert result["usage"]["total_tokens"] > 0


def test_stream_tells_every_step(agy: StandIn) -> None:
    """The stream begins with init, shows each step, and ends with the result."""
    agy.turn("1.3.3", TURN)
    ended = agy.ask("--model=m-1")
    events = ended.events()
    assert [event["event"] for event in events] == ["init", *["step_update"] * 4, "result"]
    assert events[0]["init"] == {
        "model": "m-1",
        "cwd": str(agy.workspace),
        "tools": ["run_command", "view_file", "write_to_file"],
        "permission_mode": "request-review",
    }
    assert [step["state"] for step in ended.steps("tool")] == ["ACTIVE", "DONE"]
    assert ended.steps("tool")[1]["tool_info"]["output"] == "a"
    assert ended.steps("agent_response")[0]["text_delta"] == "One <line>.\nTwo."


@pytest.mark.parametrize(("version", "raw"), [("1.1.17", True), ("1.1.18", False)])
def test_raw_newlines(agy: StandIn, version: str, raw: bool) -> None:  # noqa: FBT001
    """Until 1.1.17 newlines stand unescaped inside JSON strings."""
    agy.turn(version, TURN)
    out = agy.run("--output-format=json", "-p=x").out
    assert (b"One \\u003cline\\u003e.\nTwo." in out) is raw
    assert json.loads(out, strict=False)["response"] == "One <line>.\nTwo."


def test_permission_mode(agy: StandIn) -> None:
    """The mode comes from the scenario, the flag or the settings."""
    agy.turn("1.3.3", 'text = "x"')
    skipped = agy.ask("--dangerously-skip-permissions").events()[0]
    assert skipped["init"]["permission_mode"] == "always-proceed"
    (agy.app / "settings.json").write_text('{"toolPermission":"proceed-in-sandbox"}')
    assert agy.ask().events()[0]["init"]["permission_mode"] == "proceed-in-sandbox"
    agy.turn("1.3.3", 'text = "x"', top='permission_mode = "strict"')
    assert agy.ask().events()[0]["init"]["permission_mode"] == "strict"


@pytest.mark.parametrize(("version", "scratch"), [("1.2.16", True), ("1.3.0", False)])
def test_scratch_folder(agy: StandIn, version: str, scratch: bool) -> None:  # noqa: FBT001
    """Up to 1.2.x tools work in a scratch folder unless a workspace is named."""
    agy.turn(version, 'write_file = { path = "x.txt", content = "x" }')
    agy.run("-p=x")
    where = agy.app / "scratch" if scratch else agy.workspace
    assert (where / "x.txt").read_text() == "x"


def test_conversations_add_up(agy: StandIn) -> None:
    """Turns and tokens of a conversation are counted across processes."""
    agy.turn("1.3.3", 'text = { text = "x", usage = { input_tokens = 5, total_tokens = 7 } }')
    first = agy.ask().result()
    second = agy.ask(f"--conversation={first['conversation_id']}").result()
    third = agy.ask("--continue").result()
    assert first["conversation_id"] == second["conversation_id"] == third["conversation_id"]
    assert [r["num_turns"] for r in (first, second, third)] == [1, 2, 3]
    assert third["usage"]["total_tokens"] == 21
    assert third["duration_seconds"] >= second["duration_seconds"]


def test_unknown_conversation_is_a_new_one(agy: StandIn) -> None:
    """An id that nobody knows gives a warning, a fresh conversation and exit 0."""
    ended = agy.ask("--conversation=0000")
    assert ended.code == 0
    assert ended.err == 'warning: conversation "0000" not found\n'
    assert ended.result()["conversation_id"] != "0000"
    assert agy.run("--continue", "-p=x", HOME=str(agy.workspace)).code == 0


def test_error_sticks_to_a_conversation(agy: StandIn) -> None:
    """After one real error every later result of the conversation says ERROR, exit is 0."""
    agy.scenario("""
        steps = [{ text = "Fine." }]
        [[when]]
        start = 1
        steps = [{ error = { short_error = "overloaded" } }]
    """)
    first = agy.ask()
    second = agy.ask(f"--conversation={first.result()['conversation_id']}")
    assert (first.code, second.code) == (3, 0)
    assert second.result()["status"] == "ERROR"
    assert (second.result()["error"], second.result()["response"]) == ("overloaded", "Fine.")
    assert second.steps("error_message") == []


def test_prompts_stream_in(agy: StandIn) -> None:
    """With stream-json on stdin each message is a turn, the last one without a newline too."""
    agy.turn("1.3.3", 'text = "You said {{prompt}}."')
    message = '{"event":"user","message":{"content":"%s"}}'
    stdin = f"{message % 'a'}\n\n{message % 'b'}".encode()
    ended = agy.run("--input-format=stream-json", "--output-format=stream-json", stdin=stdin)
    results = [event["result"] for event in ended.events() if event["event"] == "result"]
    assert [result["response"] for result in results] == ["You said a.", "You said b."]
    assert [turn["prompt"] for turn in agy.records("turn")] == ["a", "b"]


def test_prompt_of_a_strange_message_is_empty(agy: StandIn) -> None:
    """A line of stdin that is no message counts as an empty one."""
    agy.run("--input-format=stream-json", stdin=b"{}\n[1]\nnonsense\n")
    assert [turn["prompt"] for turn in agy.records("turn")] == ["", "", ""]


def test_stdin_is_read_before_1_1_1(agy: StandIn) -> None:
    """A very old version adds stdin to the prompt, and hangs while it is open."""
    agy.turn("1.1.0", 'text = "{{prompt}}"')
    assert agy.run("-p=x", stdin=b"more").text == "x\nmore\n"
    process = agy.start("-p=x", stdin=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    process.communicate(b"", timeout=30)
    agy.turn("1.1.1", 'text = "{{prompt}}"')
    process = agy.start("-p=x", stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read() == b"x\n"
    process.communicate(timeout=30)


def test_log_and_transcript(agy: StandIn) -> None:
    """The log and both transcripts stand where the real ones do."""
    agy.turn("1.3.3", f'log = {{ text = "a note", level = "W" }}\n{TURN}text = "{"y" * 5000}"')
    ended = agy.ask("--model=asked")
    log = agy.log()
    assert 'Propagating selected model override to backend: label="asked"' in log
    assert "] a note\n" in log
    brain = agy.app / "brain" / ended.result()["conversation_id"] / ".system_generated" / "logs"
    short = [json.loads(line) for line in (brain / "transcript.jsonl").read_text().splitlines()]
    full = [json.loads(line) for line in (brain / "transcript_full.jsonl").read_text().splitlines()]
    assert [entry["type"] for entry in short] == [
        "USER_INPUT",
        "TOOL",
        "AGENT_RESPONSE",
        "AGENT_RESPONSE",
    ]
    assert short[1]["tool_calls"][0]["name"] == "run_command"
    assert (len(short[3]["content"]), len(full[3]["content"])) == (4096, 5000)


def test_log_file_redirects(agy: StandIn) -> None:
    """`--log-file` moves the log, it does not copy it; one that cannot be written is no error."""
    target = agy.workspace / "agy.log"
    agy.run(f"--log-file={target}", "-p=x")
    assert "Print mode: starting" in target.read_text()
    assert not (agy.app / "log").exists()
    assert agy.run(f"--log-file={target}/x/y", "-p=x").code == 0


def test_no_log(agy: StandIn) -> None:
    """A scenario may do without a log."""
    agy.run("-p=x", FAKE_AGY_SCENARIO="no-log-file")
    assert not (agy.app / "log").exists()


def test_state_that_cannot_be_written(agy: StandIn) -> None:
    """Where the CLI's folder cannot be made, the answer comes all the same."""
    (agy.home / ".gemini").write_text("in the way")
    assert agy.run("-p=x").text == "Done.\n"


def test_invalid_utf8(agy: StandIn) -> None:
    """Bytes that are no UTF-8 stand in every format as they are."""
    for form in ("text", "json", "stream-json"):
        out = agy.run(f"--output-format={form}", "-p=x", FAKE_AGY_SCENARIO="invalid-utf8").out
        assert b"caf\xff\xfe\xe2\x82" in out
        with pytest.raises(UnicodeDecodeError):
            out.decode()


def test_control_characters(agy: StandIn) -> None:
    """Control characters stand unescaped inside the events' strings."""
    ended = agy.ask(FAKE_AGY_SCENARIO="control-characters")
    assert b"\x1b[31m" in ended.out
    assert b"\x07" in ended.out
    assert json.loads(ended.out.splitlines()[-1], strict=False)["event"] == "result"


def test_long_line_and_cut_line(agy: StandIn) -> None:
    """One line may have megabytes, and the last line may be cut off."""
    out = agy.ask(FAKE_AGY_SCENARIO="eight-megabyte-line").out
    assert max(len(line) for line in out.splitlines()) > 8 << 20
    cut = agy.ask(FAKE_AGY_SCENARIO="cut-last-line")
    assert cut.code == 0
    assert not cut.out.endswith(b"\n")
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut.out.splitlines()[-1])
    assert agy.run("-p=x", FAKE_AGY_SCENARIO="cut-last-line").out == b"Done."


def test_raw_streams(agy: StandIn) -> None:
    """Any bytes can be written to either stream, often."""
    agy.turn(
        "1.3.3",
        """
        out = { text = "a", base64 = "/wA=", repeat = 3 }
        err = { text = "b\\n", repeat = 2 }
        event = { event = "weather" }
        result = { omit = ["status"], extra = { mood = 3 } }
        """,
    )
    ended = agy.run("-p=x")
    assert ended.out == b"a\xff\x00" * 3
    assert ended.err == "b\nb\n"
    result = json.loads(agy.run("--output-format=json", "-p=x").out.removeprefix(b"a\xff\x00" * 3))
    assert "status" not in result
    assert result["mood"] == 3


def test_flood(agy: StandIn) -> None:
    """A flood is as many events of that size as asked for."""
    agy.turn("1.3.3", "flood = { events = 50, bytes = 1000 }")
    assert len(agy.ask().steps("tool")) == 50
    assert len(agy.run("-p=x").out) == 50 * 1001


def test_closed_pipe_ends_it(agy: StandIn) -> None:
    """A reader that goes away ends it by SIGPIPE, without a traceback."""
    agy.turn("1.3.3", "flood = { events = 100000, bytes = 1000 }")
    process = agy.start("-p=x")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=30) == -13
    process.communicate()
