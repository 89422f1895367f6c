import json
import tracemalloc
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.model import ANSWER_LIMIT, Denial, ErrorKind, McpCall, OutputReport, Usage
from harness.core.output import OutputFormat, Stream, TurnReader, has_answer

JETSKI = (
    'jetski: no output produced — a tool required the "command" permission that headless mode '
    "cannot prompt for, so it was auto-denied. Add an allow-rule under permissions.allow in "
    "settings.json (e.g. command(<target>)). Alternatively, re-run with "
    "--dangerously-skip-permissions to auto-approve all tools.\n"
)
INIT = (
    '{"event":"init","conversation_id":"c3d4","init":{"cwd":"/srv/ws",'
    '"tools":["run_command","write_to_file"],"permission_mode":"request-review"}}\n'
)
TOOL = (
    '{"event":"step_update","step_update":{"conversation_id":"c3d4","step_index":1,"state":"DONE",'
    '"step_type":"tool","tool_name":"run_command","duration_seconds":0.07,"tool_info":'
    '{"name":"run_command","parameters":{"CommandLine":"ls"},"output":"a\\r\\n"}}}\n'
)
TEXT = (
    '{"event":"step_update","step_update":{"conversation_id":"c3d4","step_index":2,"state":"DONE",'
    '"step_type":"agent_response","text_delta":"Done.","usage":{"input_tokens":10302,'
    '"output_tokens":582,"thinking_tokens":551,"cache_read_tokens":8113,"total_tokens":10884}}}\n'
)
RESULT_OBJECT = (
    '{"conversation_id":"c3d4","status":"SUCCESS","response":"Done.","duration_seconds":6.88,'
    '"num_turns":1,"usage":{"input_tokens":10418,"output_tokens":589,"thinking_tokens":551,'
    '"cache_read_tokens":8113,"total_tokens":11007}}'
)
RESULT = f'{{"event":"result","result":{RESULT_OBJECT}}}\n'


def read(
    stdout: str | bytes = b"",
    *,
    stderr: str | bytes = b"",
    log: str | bytes = b"",
    output_format: OutputFormat = OutputFormat.STREAM_JSON,
) -> OutputReport:
    """Return the report on whole streams."""
    reader = TurnReader(output_format=output_format)
    for stream, data in ((Stream.STDOUT, stdout), (Stream.STDERR, stderr), (Stream.LOG, log)):
        reader.feed(stream, data.encode() if isinstance(data, str) else data)
    return reader.finish()


def event(**step: object) -> str:
    """Return one step_update line of the conversation c3d4."""
    return (
        json.dumps({"event": "step_update", "step_update": {"conversation_id": "c3d4", **step}})
        + "\n"
    )


def result(**fields: object) -> str:
    """Return one result line of the conversation c3d4."""
    return json.dumps({"event": "result", "result": {"conversation_id": "c3d4", **fields}}) + "\n"


def test_a_whole_turn_is_read() -> None:
    """The four events of an ordinary turn give answer, status, folder, usage and calls."""
    report = read(INIT + TOOL + TEXT + RESULT)
    assert report == OutputReport(
        answer="Done.",
        result_complete=True,
        status="SUCCESS",
        cwd="/srv/ws",
        conversation_ids=("c3d4",),
        usage=Usage(
            input_tokens=10418,
            output_tokens=589,
            cache_read_tokens=8113,
            total_tokens=11007,
            tool_calls=1,
        ),
        peak_context_tokens=10302,
    )


def test_without_a_result_the_streamed_text_is_the_answer() -> None:
    """Text and usage of the steps stand in where no result came."""
    report = read(
        INIT
        + event(step_index=1, state="ACTIVE", step_type="agent_response", text_delta="Half ")
        + event(
            step_index=1,
            state="DONE",
            step_type="agent_response",
            text_delta="done",
            usage={"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
        )
        + event(
            step_index=2,
            state="DONE",
            step_type="agent_response",
            usage={"input_tokens": 20, "output_tokens": 3, "total_tokens": 23},
        )
    )
    assert report.answer == "Half done"
    assert not report.result_complete
    assert report.status is None
    assert report.usage == Usage(input_tokens=30, output_tokens=5, total_tokens=35)
    assert report.peak_context_tokens == 20


def test_several_updates_of_one_step_count_once() -> None:
    """The usage of a step is the last one it gave, and its tool call is one call."""
    step = {"step_index": 4, "step_type": "tool", "tool_name": "run_command"}
    report = read(
        event(**step, state="ACTIVE", usage={"input_tokens": 5, "total_tokens": 5})
        + event(**step, state="DONE", usage={"input_tokens": 7, "total_tokens": 9})
    )
    assert report.usage == Usage(input_tokens=7, total_tokens=9, tool_calls=1)


def test_a_sticky_error_is_recorded_and_no_error_step() -> None:
    """A result that says ERROR beside a fine answer leaves the judgement to the step types."""
    report = read(INIT + TEXT + result(status="ERROR", response="Fine.", error="old text"))
    assert (report.status, report.error_step, report.answer) == ("ERROR", False, "Fine.")
    assert report.result_complete


def test_an_error_message_step_is_an_error_step_and_a_failed_tool_is_not() -> None:
    """Only a step of the type error_message says that the turn itself failed."""
    failed_tool = event(step_index=1, state="ERROR", step_type="tool", tool_name="run_command")
    assert not read(failed_tool + RESULT).error_step
    assert read(event(step_index=1, state="DONE", step_type="error_message") + RESULT).error_step


@pytest.mark.parametrize("output_format", [OutputFormat.STREAM_JSON, OutputFormat.JSON])
def test_the_first_complete_result_stands(output_format: OutputFormat) -> None:
    """An idle signal after the real result changes neither answer nor status."""
    idle = {"status": "ERROR", "response": "", "error": "stream input cancelled: context canceled"}
    if output_format is OutputFormat.JSON:
        stdout = RESULT_OBJECT + "\n" + json.dumps(idle) + "\n"
    else:
        stdout = RESULT + result(**idle)
    report = read(stdout, output_format=output_format)
    assert (report.answer, report.status, report.result_complete) == ("Done.", "SUCCESS", True)


@pytest.mark.parametrize(
    "error", ["interrupted", "stream input cancelled: context canceled", {"m": "Interrupted"}]
)
def test_the_result_of_an_interrupted_turn_is_not_complete(error: object) -> None:
    """What comes after a signal is no end of the turn; its status is kept where no other is."""
    interrupted = result(status="ERROR", response="half", error=error)
    report = read(INIT + interrupted)
    assert (report.result_complete, report.status, report.answer) == (False, "ERROR", "half")
    assert read(INIT + interrupted + RESULT).status == "SUCCESS"


@pytest.mark.parametrize(
    ("stdout", "output_format"),
    [
        (RESULT_OBJECT, OutputFormat.JSON),
        (RESULT_OBJECT + "\n", OutputFormat.JSON),
        (json.dumps(json.loads(RESULT_OBJECT), indent=2) + "\n", OutputFormat.JSON),
        ("Fetching {models}...\nwarning: x\n" + RESULT_OBJECT + "\nbye\n", OutputFormat.JSON),
        ('note {"a": ' + "\n" + RESULT_OBJECT + "\n", OutputFormat.JSON),
        ("\ufeff" + RESULT_OBJECT + "garbage\r\n", OutputFormat.JSON),
        ("INFO " + RESULT_OBJECT, OutputFormat.JSON),
        (RESULT.rstrip("\n"), OutputFormat.STREAM_JSON),
        (RESULT.replace("\n", "\r\n"), OutputFormat.STREAM_JSON),
        ("\ufeff" + RESULT, OutputFormat.STREAM_JSON),
        ("\n  \n" + RESULT + "\n", OutputFormat.STREAM_JSON),
        ("loading\n" + RESULT + "bye\n", OutputFormat.STREAM_JSON),
        (INIT[:40] + "\n" + RESULT, OutputFormat.STREAM_JSON),
        (INIT.rstrip("\n") + RESULT, OutputFormat.STREAM_JSON),
        (RESULT.replace('"result":{', '"result":\n{'), OutputFormat.STREAM_JSON),
        ('{"event":"result","result":\n' + RESULT, OutputFormat.STREAM_JSON),
        ('null\n12\n"x"\n[1]\n{}\n' + RESULT, OutputFormat.STREAM_JSON),
    ],
    ids=range(17),
)
def test_a_result_is_found_whatever_surrounds_it(stdout: str, output_format: OutputFormat) -> None:
    """Noise, cut lines, missing newlines, indentation and CRLF do not hide the result."""
    report = read(stdout, output_format=output_format)
    assert (report.answer, report.status) == ("Done.", "SUCCESS")
    assert report.result_complete


def test_raw_newlines_and_tabs_inside_strings_are_kept() -> None:
    """Objects of versions before 1.1.18, broken over lines inside a string, are joined."""
    raw = '{"conversation_id":"c3d4","status":"SUCCESS","response":"one\ntwo\t{\\"x\\"}\r\n\nend"}'
    assert read(raw, output_format=OutputFormat.JSON).answer == 'one\ntwo\t{"x"}\r\n\nend'
    stdout = f'{INIT}{{"event":"result","result":{raw}}}\n'
    assert read(stdout).answer == 'one\ntwo\t{"x"}\r\n\nend'


def test_bytes_that_are_no_text_are_replaced() -> None:
    """Bytes that are not UTF-8 and lone surrogates cost a character, not the answer."""
    stdout = RESULT.encode().replace(b"Done.", b"D\xffne \\ud800 \\ud83d\\ude00 \\\\ud800")
    assert read(stdout).answer == "D\ufffdne \ufffd \U0001f600 \\ud800"


def test_fields_of_wrong_types_cost_only_themselves() -> None:
    """A field that is not what it should be keeps its default; its neighbours are read."""
    report = read(
        event(step_index="x", state=7, step_type="agent_response", text_delta="Hi", tool_info=[1])
        + event(step_index=2, state="DONE", step_type="agent_response", usage={"input_tokens": 5.0})
        + result(status=["SUCCESS"], response="Hello", usage="none", denied_actions=3)
    )
    assert report.answer == "Hello"
    assert report.status is None
    assert report.usage.input_tokens == 5
    assert report.denials == (Denial(action="unknown", source="result"),)


def test_unknown_events_steps_and_keys_mean_nothing() -> None:
    """What a newer CLI may add is passed over."""
    report = read(
        '{"event":"telemetry","step_update":{"step_type":"error_message"},"new":{"a":[1]}}\n'
        + event(step_index=1, state="PAUSED", step_type="dream", text_delta="zzz", extra=1)
        + RESULT
    )
    assert (report.answer, report.error_step, report.notes) == ("Done.", False, ())


def test_numbers_are_cut_to_what_can_be_stored() -> None:
    """Absurd and negative counts do not leave the range of a stored integer."""
    report = read(
        result(status="SUCCESS", response="x", usage={"input_tokens": 10**30, "output_tokens": -5})
    )
    assert report.usage.input_tokens == 10**15
    assert report.usage.output_tokens == 0


@pytest.mark.parametrize("output_format", list(OutputFormat))
def test_a_missing_terminal_is_seen_in_every_format(output_format: OutputFormat) -> None:
    """The interactive form says on stdout that it found no terminal."""
    stdout = "CLI error: bubbletea: could not open TTY: open /dev/tty: no such device\n"
    assert read(stdout, output_format=output_format).tty
    quoted = 'It printed "CLI error: bubbletea: could not open TTY: x"\n'
    assert not read(quoted, output_format=output_format).tty


def test_in_the_format_text_all_of_stdout_is_the_answer() -> None:
    """Text is taken as it is, cut characters replaced."""
    reader = TurnReader(output_format=OutputFormat.TEXT)
    for piece in (b"caf\xc3", b"\xa9\n{}", b"\xe2\x82"):
        reader.feed(Stream.STDOUT, piece)
    assert not reader.result_complete
    assert reader.finish().answer == "café\n{}\ufffd"


@pytest.mark.parametrize(("answer", "has"), [("", False), (" \n\t\u3000", False), (" x ", True)])
def test_white_space_is_no_answer(answer: str, *, has: bool) -> None:
    """An answer of white space is kept and counts as none."""
    report = read(answer, output_format=OutputFormat.TEXT)
    assert report.answer == answer
    assert has_answer(report) is has


@pytest.mark.parametrize("output_format", list(OutputFormat))
def test_the_answer_is_cut_on_a_character(output_format: OutputFormat) -> None:
    """However long, an answer has at most its limit in bytes, and the cut is noted."""
    text = "aé€\U0001f600" * 40_000
    stdout = {
        OutputFormat.TEXT: text,
        OutputFormat.JSON: json.dumps({"status": "SUCCESS", "response": text}),
        OutputFormat.STREAM_JSON: event(step_type="agent_response", text_delta=text),
    }[output_format]
    report = read(stdout, output_format=output_format)
    assert ANSWER_LIMIT - 4 < len(report.answer.encode()) <= ANSWER_LIMIT
    assert text.startswith(report.answer)
    assert report.notes == ("the answer was cut at 65536 bytes",)


def test_a_very_long_line_keeps_its_facts() -> None:
    """A line of megabytes is read field by field: its short facts whole, its text cut."""
    text = "word \u2705 " * 300_000
    step = event(
        step_index=3,
        state="DONE",
        step_type="tool",
        tool_name="write_to_file",
        tool_info={"name": "write_to_file", "parameters": {"TargetFile": "a.py", "Code": text}},
    )
    report = read(step + result(status="SUCCESS", response=text))
    assert report.written_paths == ("a.py",)
    assert text.startswith(report.answer)
    assert len(report.answer) > 40_000
    assert report.usage.tool_calls == 1


@pytest.mark.parametrize(
    ("step", "tool"),
    [
        ({"tool_name": "mcp__harness__gate_write"}, "harness/gate_write"),
        ({"tool_name": "harness/gate_write"}, "harness/gate_write"),
        (
            {
                "tool_name": "call_mcp_tool",
                "tool_info": {"parameters": {"ServerName": "harness", "ToolName": "gate_write"}},
            },
            "harness/gate_write",
        ),
        ({"tool_name": "call_mcp_tool"}, "?/?"),
        ({"tool_info": {"name": "mcp__files__read"}}, "files/read"),
    ],
)
def test_mcp_calls_are_named_alike(step: dict[str, object], tool: str) -> None:
    """An MCP call is `server/tool`, however the event spells it, once with its last state."""
    stdout = "".join(
        event(step_index=5, step_type="tool", state=state, **step) for state in ("ACTIVE", "DONE")
    )
    assert read(stdout).mcp_calls == (McpCall(tool=tool, step_index=5, state="DONE"),)


@pytest.mark.parametrize(
    ("tool", "parameters", "paths"),
    [
        (
            "write_to_file",
            {"TargetFile": "/srv/ws/a", "CodeContent": '"path": "no"'},
            ("/srv/ws/a",),
        ),
        ("replace_file_content", {"target_file": "../outside.txt"}, ("../outside.txt",)),
        ("move_file", {"source": "a", "destination": "b"}, ("a", "b")),
        ("multi_edit", {"edits": [{"filePath": "x"}, {"filePath": "y"}]}, ("x", "y")),
        ("mcp__fs__write_file", {"path": "z\n"}, ("z\n",)),
        ("create_file", {"path": 7, "file": ""}, ()),
        ("view_file", {"AbsolutePath": "/etc/passwd"}, ()),
        ("run_command", {"path": "x"}, ()),
    ],
)
def test_paths_of_write_tools_are_noted(
    tool: str, parameters: dict[str, object], paths: tuple[str, ...]
) -> None:
    """Write-like tools give the paths they name, as given; other tools give none."""
    stdout = event(
        step_index=1,
        step_type="tool",
        state="DONE",
        tool_name=tool,
        tool_info={"parameters": parameters},
    )
    assert read(stdout).written_paths == paths


@pytest.mark.parametrize(
    ("tool", "parameters", "calls"),
    [
        ("mcp__harness__canonical_propose", {}, 1),
        ("call_mcp_tool", {"ServerName": "harness", "ToolName": "canonical_propose"}, 1),
        ("run_command", {"CommandLine": "harness gate write k --tier canonical --value v"}, 1),
        ("run_command", {"CommandLine": "harness gate write k --tier journal --value v"}, 0),
        ("run_command", {"CommandLine": "cat canonical.txt"}, 0),
        ("view_file", {"path": "a"}, 0),
    ],
)
def test_steps_that_ask_the_gate_are_counted(
    tool: str, parameters: dict[str, object], calls: int
) -> None:
    """A canonical write asked for by MCP tool or command counts once per step."""
    info = {"parameters": parameters}
    stdout = "".join(
        event(step_index=1, step_type="tool", state=state, tool_name=tool, tool_info=info)
        for state in ("ACTIVE", "DONE")
    )
    assert read(stdout).gate_calls == calls


def test_live_facts_follow_the_stream() -> None:
    """While the run goes on, the reader tells what goes on."""
    reader = TurnReader(output_format=OutputFormat.STREAM_JSON)
    assert (reader.last_event, reader.tool_running, reader.background_tasks) == ("", False, False)
    active = event(step_index=1, state="ACTIVE", step_type="tool", tool_name="run_command\x1b[2J")
    reader.feed(Stream.STDOUT, (INIT + active).encode())
    assert reader.tool_running
    assert reader.last_event == "tool run_command [2J ACTIVE"
    assert reader.conversation_ids == ("c3d4",)
    reader.feed(Stream.STDOUT, TOOL.encode())
    assert not reader.tool_running
    assert reader.usage.tool_calls == 1
    reader.feed(Stream.STDERR, b"root agent idle; waiting up to 5s for 1 background task(s)\n")
    assert reader.background_tasks
    reader.feed(Stream.STDERR, b"terminating 1 background task(s) on exit\n")
    assert not reader.background_tasks
    assert not reader.result_complete
    reader.feed(Stream.STDOUT, RESULT.encode())
    assert reader.result_complete
    assert reader.last_event == "result SUCCESS"
    report = reader.finish()
    assert report.unfinished
    reader.feed(Stream.STDOUT, INIT.encode())
    assert reader.finish() is report


@pytest.mark.parametrize(
    ("stdout", "output_format"),
    [(RESULT, OutputFormat.STREAM_JSON), (RESULT_OBJECT, OutputFormat.JSON)],
)
def test_a_result_without_its_newline_is_complete(stdout: str, output_format: OutputFormat) -> None:
    """A process that hangs right after its result is seen to have finished."""
    reader = TurnReader(output_format=output_format)
    text = stdout.rstrip("\n").encode()
    for cut in range(len(text)):
        reader.feed(Stream.STDOUT, text[cut : cut + 1])
        assert reader.result_complete is (cut == len(text) - 1)
        assert reader.result_complete is (cut == len(text) - 1)
    assert reader.finish().result_complete


def test_a_tool_that_never_finished_is_unfinished_work() -> None:
    """A tool step left active at the end is unfinished; one that failed is not."""
    step = {"step_index": 9, "step_type": "tool", "tool_name": "run_command"}
    assert read(event(**step, state="ACTIVE") + RESULT).unfinished
    assert not read(
        event(**step, state="ACTIVE") + event(**step, state="ERROR") + RESULT
    ).unfinished
    assert not read(
        event(step_type="tool", state="ACTIVE") + event(step_type="tool", state="DONE")
    ).unfinished


def test_an_active_step_is_not_forgotten_under_many() -> None:
    """Of thousands of steps one that never finished is still known."""
    stdout = event(step_index=0, step_type="tool", state="ACTIVE")
    stdout += "".join(event(step_index=i, step_type="tool", state="DONE") for i in range(1, 1500))
    report = read(stdout)
    assert report.unfinished
    assert report.usage.tool_calls == 1500


def test_denials_of_three_sources_are_merged() -> None:
    """One denial told by stderr, result and log is one, with all that is known of it."""
    report = read(
        result(
            status="SUCCESS",
            response="",
            denied_actions=[{"action": "command", "display_name": "RunCommand"}, {"action": "mcp"}],
        ),
        stderr=JETSKI,
        log=(
            'I1130 02:30:00 main.go:1] Print mode: soft-denying tool confirmation "RunCommand" at '
            "step 4\nE1130 02:30:00 perm.go:9] permission check failed for command "
            '"git push": user denied permission for command(git push)\n'
        ),
    )
    assert report.denials == (
        Denial(action="command", display_name="RunCommand", target="git push", source="stderr"),
        Denial(action="mcp", source="result"),
    )


def test_the_retry_storm_and_the_model_stand_in_the_log() -> None:
    """The log names the model used and how often the API failed."""
    report = read(
        stderr="error: no answer\n",
        log=(
            'x Propagating selected model override to backend: label="Model A (low)"\n'
            "API error (attempt 1): overloaded\nAPI error (attempt 2): overloaded\n"
        ),
    )
    assert report.model == "Model A (low)"
    assert report.log_tail.endswith("(attempt 2): overloaded\n")
    assert report.notes == (
        "stderr says: error: no answer",
        "the log shows 2 failed attempt(s) at the API",
    )


def test_lists_are_bounded_and_say_so() -> None:
    """Thousands of everything leave a hundred of each, the newest error, and a note."""
    many = range(250)
    report = read(
        "".join(json.dumps({"event": "init", "conversation_id": f"c{i}"}) + "\n" for i in many)
        + "".join(
            event(
                step_index=i,
                step_type="tool",
                state="DONE",
                tool_name="mcp__fs__write",
                tool_info={"parameters": {"path": f"p{i}"}},
            )
            for i in many
        ),
        stderr="".join(f'AGY_ERROR: {{"short_error":"e{i}"}}\n' for i in many),
        log="".join(
            f'permission check failed for mcp "{i}": user denied permission for mcp({i})\n'
            for i in many
        ),
    )
    for values in (
        report.conversation_ids,
        report.mcp_calls,
        report.written_paths,
        report.errors,
        report.denials,
    ):
        assert len(values) == 100
    assert report.errors[-1].short_error == "e249"
    assert report.notes == (
        "150 more AGY_ERROR lines were left out",
        "150 more denials were left out",
        "151 more conversations were left out",
        "150 more written paths were left out",
        "150 more MCP calls were left out",
    )


def test_memory_stays_small_under_long_lines_and_many_events() -> None:
    """Lines of megabytes and tens of megabytes of events leave no trace in memory."""
    line = event(step_type="tool", state="DONE", tool_info={"output": "x" * (8 << 20)}).encode()
    many = (TOOL + TEXT).encode() * 20_000
    reader = TurnReader(output_format=OutputFormat.STREAM_JSON)
    tracemalloc.start()
    try:
        for data in (line, many, line, line):
            for start in range(0, len(data), 1 << 20):
                reader.feed(Stream.STDOUT, data[start : start + (1 << 20)])
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 << 20
    assert peak < 30 << 20


def test_a_line_over_sixteen_mebibytes_is_skipped_and_noted() -> None:
    """What is too long to be kept is passed over; the rest of the run is read."""
    reader = TurnReader(output_format=OutputFormat.STREAM_JSON)
    for _ in range(17):
        reader.feed(Stream.STDOUT, b"{" + b"x" * (1 << 20))
    reader.feed(Stream.STDOUT, b"\n" + RESULT.encode())
    report = reader.finish()
    assert report.answer == "Done."
    assert report.notes == ("stdout: 1 line(s) over 16 MiB were skipped",)


FRAGMENTS = st.sampled_from(
    [
        *(INIT, TOOL, TEXT, RESULT, RESULT_OBJECT, RESULT_OBJECT + "\n", JETSKI),
        *(INIT[:50], TEXT[60:], TEXT.replace("Done.", "a\nb\tc"), RESULT.replace("SUC", "\x00")),
        *("{", "}", "[", "]", '"', "\\", "\n", "\r\n", "\r", " ", "{}", "{}\n", '{"', '{"k":', ","),
        *('{"event":\n', '{"event":"x"}\n', '{"event":1}\n', '{"status":"A","response":"b"}\n'),
        event(step_type="tool", state="ACTIVE", step_index=3, text_delta=5),
        result(status="ERROR", response="z", error="interrupted"),
        'AGY_ERROR: {"short_error":"quota reached. Resets in 1h2s.","retryable":true}\n',
        *("AGY_ERROR: {", "error: x\n", "panic: y\n", "goroutine 1 [running]:\n"),
        "[agy] print timeout after 25s with turn in progress; returning partial output\n",
        "CLI error: bubbletea: could not open TTY: x\n",
        *(
            "waiting up to 5s for 1 background task(s)\n",
            "terminating 1 background task(s) on exit\n",
        ),
        'soft-denying tool confirmation "RunCommand" at step 4\n',
        'permission check failed for read_file "/x": user denied permission for read_file(/x)\n',
        *("\U0001f600", "é", "\u2028"),
    ]
).map(str.encode)
PIECES = st.lists(st.one_of(FRAGMENTS, st.binary(max_size=6)), max_size=14).map(b"".join)
STREAMS = st.lists(st.tuples(st.sampled_from(Stream), PIECES), max_size=3)


def feed_in_chunks(reader: TurnReader, stream: Stream, data: bytes, cuts: Iterable[int]) -> None:
    """Feed data cut at these positions, looking at every live property between."""
    positions = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(positions):
        reader.feed(stream, data[start:end])
        assert isinstance(reader.result_complete, bool)
        assert len(reader.last_event) <= 80
        assert isinstance(reader.usage, Usage)
        assert isinstance(reader.tool_running or reader.background_tasks, bool)


@settings(max_examples=400, deadline=None)
@given(
    output_format=st.sampled_from(OutputFormat),
    streams=STREAMS,
    cuts=st.lists(st.integers(min_value=0, max_value=10_000), max_size=12),
)
def test_chunks_change_nothing_and_nothing_raises(
    output_format: OutputFormat, streams: list[tuple[Stream, bytes]], cuts: list[int]
) -> None:
    """Any bytes in any chunks give the report of the whole, within all bounds."""
    whole = TurnReader(output_format=output_format)
    chunked = TurnReader(output_format=output_format)
    bytewise = TurnReader(output_format=output_format)
    for stream, data in streams:
        whole.feed(stream, data)
        feed_in_chunks(chunked, stream, data, cuts)
        for position in range(len(data)):
            bytewise.feed(stream, data[position : position + 1])
    report = whole.finish()
    assert chunked.finish() == report
    assert bytewise.finish() == report
    assert chunked.last_event == whole.last_event
    assert chunked.finish() == chunked.finish()
    assert len(report.answer.encode()) <= ANSWER_LIMIT
    assert len(report.log_tail.encode()) <= 4096
    assert all(len(error.raw.encode()) <= 4096 for error in report.errors)


def test_agy_errors_are_found_among_other_lines() -> None:
    """The marker counts at the start of a line; all of them are kept in order."""
    report = read(
        RESULT,
        stderr=(
            "Fetching available models...\nerror: quota\n"
            'AGY_ERROR: {"short_error":"Individual quota reached. Resets in 44m20s."}\r\n'
            'quoted: AGY_ERROR: {"short_error":"API_KEY_INVALID"}\n'
            " AGY_ERROR: {}\n"
            'AGY_ERROR: {"short_error":"no route to ho'
        ),
    )
    assert [error.kind for error in report.errors] == [ErrorKind.QUOTA, ErrorKind.OTHER]
    assert report.errors[0].resets_in_s == 2660.0
    assert report.errors[1].raw == 'AGY_ERROR: {"short_error":"no route to ho'
