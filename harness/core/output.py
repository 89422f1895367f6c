"""Bytes of stdout, stderr and log → one report; the same path live and after a crash."""

from __future__ import annotations

from enum import StrEnum

from harness.core.bounded import LIST_LIMIT, clip
from harness.core.cli_log import LogReader
from harness.core.denials import merge_denials
from harness.core.model import ANSWER_LIMIT, OutputReport, Usage
from harness.core.stderr import StderrReader
from harness.core.stdout import StdoutReader, TextOutput, event_output, json_output

_NOTE_LIMIT = 400


class OutputFormat(StrEnum):
    """What the CLI was asked to print on stdout.

    No run asks for `json`, since events tell more. It is read all the same: the CLI answers
    questions about its own rules and quota in it, and the reader of events does nearly all of it.
    """

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


class Stream(StrEnum):
    """The three files that a run writes."""

    STDOUT = "stdout"
    STDERR = "stderr"
    LOG = "log"


def has_answer(report: OutputReport) -> bool:
    """Return whether the turn answered; white space alone, though kept, is no answer."""
    return bool(report.answer.strip())


class TurnReader:
    """Reads the three streams of one run as they grow, in chunks of any size.

    The same reader serves the live watch and the settling after a crash; how the bytes were
    cut into chunks changes nothing in the report. No bytes make it raise, and its memory is
    bounded: one line of at most 16 MiB, an answer of at most `ANSWER_LIMIT`, short lists.

    The streams are told apart by the file they stand in. What is read from them is the word of
    the CLI and its agent: facts to weigh, never something to act on.
    """

    def __init__(self, *, output_format: OutputFormat) -> None:
        self._stdout = _stdout_reader(output_format)
        self._stderr = StderrReader()
        self._log = LogReader()
        self._report: OutputReport | None = None

    @property
    def result_complete(self) -> bool:
        """True once a complete result of this turn is there; never in the format `text`."""
        return self._stdout.result_complete

    @property
    def tool_running(self) -> bool:
        """True while the events show an active tool step."""
        return self._stdout.turn.tool_running

    @property
    def background_tasks(self) -> bool:
        """True while the CLI says that it waits for background tasks."""
        return self._stderr.background_tasks

    @property
    def last_event(self) -> str:
        """A few printable words on the newest event, for progress; empty before the first."""
        return self._stdout.turn.last_event

    @property
    def usage(self) -> Usage:
        """Tokens and tool calls so far."""
        return self._stdout.turn.usage

    @property
    def conversation_ids(self) -> tuple[str, ...]:
        """The conversations seen so far, in order."""
        return self._stdout.turn.conversation_ids.values()

    def feed(self, stream: Stream, data: bytes) -> None:
        """Take the next bytes of one stream; after `finish` they are ignored."""
        if self._report is not None:
            return
        match stream:
            case Stream.STDOUT:
                self._stdout.feed(data)
            case Stream.STDERR:
                self._stderr.feed(data)
            case Stream.LOG:
                self._log.feed(data)

    def finish(self) -> OutputReport:
        """Return what the run said, its unfinished last lines included; again is the same."""
        if self._report is None:
            self._stdout.finish()
            self._stderr.finish()
            self._log.finish()
            self._report = self._make_report()
        return self._report

    def _make_report(self) -> OutputReport:
        turn, stderr, log = self._stdout.turn, self._stderr, self._log
        denials = merge_denials(
            (*stderr.denials.values(), *turn.denials.values(), *log.denials.values())
        )
        return OutputReport(
            answer=self._stdout.answer[0],
            result_complete=turn.result_complete,
            status=None if turn.end is None else turn.end.status,
            error_step=turn.error_step,
            errors=stderr.errors.values(),
            denials=denials[:LIST_LIMIT],
            cwd=turn.cwd,
            truncated=stderr.truncated,
            unfinished=stderr.tasks_killed or turn.tool_running,
            tty=self._stdout.tty,
            crash=stderr.crash,
            auth_failed=stderr.auth_failed,
            timed_out=stderr.timed_out,
            model=log.model,
            conversation_ids=turn.conversation_ids.values(),
            mcp_calls=turn.mcp_calls,
            gate_calls=turn.gate_calls,
            written_paths=turn.written_paths.values(),
            usage=turn.usage,
            peak_context_tokens=turn.peak_context_tokens,
            notes=self._notes(len(denials)),
            log_tail=log.tail(),
        )

    def _notes(self, denials: int) -> tuple[str, ...]:
        turn, stderr, log = self._stdout.turn, self._stderr, self._log
        notes = [*self._stdout.notes(), *stderr.notes(), *log.notes()]
        if self._stdout.answer[1]:
            notes.append(f"the answer was cut at {ANSWER_LIMIT} bytes")
        left_out = {
            "AGY_ERROR lines": stderr.errors.left_out,
            "denials": max(0, denials - LIST_LIMIT)
            + stderr.denials.left_out
            + turn.denials.left_out
            + log.denials.left_out,
            "conversations": turn.conversation_ids.left_out,
            "written paths": turn.written_paths.left_out,
            "MCP calls": turn.calls_left_out,
        }
        notes += [f"{count} more {what} were left out" for what, count in left_out.items() if count]
        return tuple(clip(note, _NOTE_LIMIT) for note in notes)


def _stdout_reader(output_format: OutputFormat) -> StdoutReader:
    match output_format:
        case OutputFormat.TEXT:
            return TextOutput()
        case OutputFormat.JSON:
            return json_output()
        case OutputFormat.STREAM_JSON:
            return event_output()
