"""The events of one turn, folded into what is known of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from harness.core.bounded import BoundedList, BoundedText, clip, plain
from harness.core.denials import denials_in_result
from harness.core.events import Event, Result, Step, StepState, StepType, TokenCounts
from harness.core.loose_json import BIGGEST_NUMBER
from harness.core.model import ANSWER_LIMIT, Denial, McpCall, Usage
from harness.core.tools import asks_gate, mcp_tool, tool_name, tool_traits, written_paths

_SUCCESS = "SUCCESS"
_WORD_LIMIT = 200
_PATH_LIMIT = 4096
_LABEL_LIMIT = 80
_STEPS_REMEMBERED = 1024
_CALLS_REMEMBERED = 100
_ERROR_BYTES = 4096
#: What the error of a result says when the turn was ended from outside, not by itself.
_ENDED_FROM_OUTSIDE = (b"interrupted", b"context canceled", b"context cancelled")
# Looked up once: most of the time of a long stream is spent telling these apart.
_AGENT_RESPONSE, _TOOL = StepType.AGENT_RESPONSE, StepType.TOOL
_ERROR_MESSAGE = StepType.ERROR_MESSAGE

StepKey = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """What a result said, cut to what is kept."""

    status: str | None
    response: str | None
    response_cut: bool
    usage: Usage | None


class UsageSum:
    """Adds up the usage of steps; of several updates of one step the last counts."""

    def __init__(self) -> None:
        self._key: StepKey | None = None
        self._before = Usage()
        self._now = Usage()
        self.peak_context_tokens = 0

    def add(self, key: StepKey, counts: TokenCounts) -> None:
        """Take the usage of one update."""
        if key != self._key:
            self._key, self._before = key, self.total()
        self._now = usage_of(counts)
        self.peak_context_tokens = max(self.peak_context_tokens, self._now.input_tokens)

    def total(self) -> Usage:
        """Return the sum."""
        one, other = self._before, self._now
        return Usage(
            input_tokens=one.input_tokens + other.input_tokens,
            output_tokens=one.output_tokens + other.output_tokens,
            cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
            total_tokens=one.total_tokens + other.total_tokens,
        )


class TurnFacts:
    """What stdout has said of the turn so far.

    Attributes:
        deltas: the text of the agent, as it was streamed.
        error_step, cwd, conversation_ids, written_paths, denials: as in `OutputReport`.
        last_event: a short label of the newest event; see `label`.
        calls_left_out: MCP calls that were too many to keep.
    """

    def __init__(self) -> None:
        self.deltas = BoundedText(ANSWER_LIMIT)
        self.error_step = False
        self.cwd: str | None = None
        self.conversation_ids: BoundedList[str] = BoundedList()
        self.written_paths: BoundedList[str] = BoundedList()
        self.denials: BoundedList[Denial] = BoundedList()
        self.last_event = ""
        self.calls_left_out = 0
        self._seen_id: str | None = None
        self._conversation = ""
        self._mcp_calls: dict[StepKey, McpCall] = {}
        self._gate_steps: set[StepKey] = set()
        self._steps: dict[StepKey, StepState] = {}
        self._lost_active = False
        self._usage = UsageSum()
        self._tool_calls = 0
        self._complete: TurnEnd | None = None
        self._interrupted: TurnEnd | None = None

    @property
    def result_complete(self) -> bool:
        """True once a result came that the turn ended with by itself."""
        return self._complete is not None

    @property
    def end(self) -> TurnEnd | None:
        """The first complete result; failing that, the first one of an interrupted turn."""
        return self._complete or self._interrupted

    @property
    def tool_running(self) -> bool:
        """True while a tool step is active."""
        return self._lost_active or StepState.ACTIVE in self._steps.values()

    @property
    def peak_context_tokens(self) -> int:
        """The largest input of one step; cached tokens are part of it."""
        return self._usage.peak_context_tokens

    @property
    def mcp_calls(self) -> tuple[McpCall, ...]:
        """The MCP tools called, each step once with its last state."""
        return tuple(self._mcp_calls.values())

    @property
    def gate_calls(self) -> int:
        """How many tool steps asked the gate for a canonical write."""
        return len(self._gate_steps)

    @property
    def usage(self) -> Usage:
        """The usage of the result, else the sum over the steps; tool calls by their steps."""
        end = self.end
        counted = self._usage.total() if end is None or end.usage is None else end.usage
        return replace(counted, tool_calls=self._tool_calls)

    @property
    def answer(self) -> tuple[str, bool]:
        """The response of the result, else what was streamed; and whether it was cut."""
        end = self.end
        if end is not None and end.response is not None:
            return end.response, end.response_cut
        return self.deltas.value(), self.deltas.cut

    def take_events(self, events: Iterable[Event]) -> None:
        """Take events of the stream, in order; unknown ones mean nothing."""
        event = None
        for event in events:
            step = event.step_update
            if step is None or event.event != "step_update":
                self._take_other(event)
                continue
            conversation_id = step.conversation_id or event.conversation_id
            if conversation_id != self._seen_id:
                self._see_conversation(conversation_id)
            kind = step.step_type
            if kind is _AGENT_RESPONSE:
                if step.text_delta and not self.deltas.cut:
                    self.deltas.add(step.text_delta)
            elif kind is _TOOL:
                self._take_tool(step)
            elif kind is _ERROR_MESSAGE:
                self.error_step = True
            if step.usage is not None:
                self._usage.add(self._key(step), step.usage)
        if event is not None:
            self.last_event = label(event)

    def take_results(self, results: Iterable[Result]) -> None:
        """Take the results of the format `json`, in order; other objects mean nothing."""
        for result in results:
            self.take_result(result)
            self.last_event = label(Event(event="result", result=result))

    def take_result(self, result: Result) -> None:
        """Take the end of a turn. The first complete one stands; later ones change nothing."""
        if not result.says_something:
            return
        self._see_conversation(result.conversation_id)
        for denial in denials_in_result(result.denied_actions):
            self.denials.add_once(denial)
        if was_interrupted(result):
            self._interrupted = self._interrupted or _end_of(result)
        else:
            self._complete = self._complete or _end_of(result)

    def _take_other(self, event: Event) -> None:
        self._see_conversation(event.conversation_id)
        if event.event == "init" and event.init is not None:
            if self.cwd is None and event.init.cwd:
                self.cwd = clip(event.init.cwd, _PATH_LIMIT)
        elif event.event == "result" and event.result is not None:
            self.take_result(event.result)

    def _take_tool(self, step: Step) -> None:
        key, name = self._key(step), tool_name(step)
        if self._steps.pop(key, None) is None:
            self._tool_calls += 1
        self._steps[key] = step.state
        if len(self._steps) > _STEPS_REMEMBERED:
            self._forget_old_steps()
        if len(self._gate_steps) < _STEPS_REMEMBERED and asks_gate(name, step):
            self._gate_steps.add(key)
        traits = tool_traits(name)
        if traits.calls_mcp:
            self._take_mcp_call(key, name, step)
        if traits.writes:
            for path in written_paths(step):
                self.written_paths.add_once(path)

    def _forget_old_steps(self) -> None:
        """Drop the older half at once; that one of them never finished stays known."""
        for key in list(self._steps)[: _STEPS_REMEMBERED // 2]:
            self._lost_active |= self._steps.pop(key) is StepState.ACTIVE

    def _take_mcp_call(self, key: StepKey, name: str, step: Step) -> None:
        if key not in self._mcp_calls and len(self._mcp_calls) >= _CALLS_REMEMBERED:
            self.calls_left_out += 1
            return
        self._mcp_calls[key] = McpCall(
            tool=mcp_tool(name, step),
            step_index=None if step.step_index is None else _number(step.step_index),
            state=step.state.value,
        )

    def _key(self, step: Step) -> StepKey:
        return self._conversation, -1 if step.step_index is None else step.step_index

    def _see_conversation(self, conversation_id: str | None) -> None:
        if conversation_id:
            self._seen_id = conversation_id
            self._conversation = clip(conversation_id, _WORD_LIMIT)
            self.conversation_ids.add_once(self._conversation)


def was_interrupted(result: Result) -> bool:
    """Return whether a result tells of a turn that was ended from outside.

    It comes after a signal, and when the input ends while the CLI is idle: no end of the turn.
    """
    if result.status == _SUCCESS:
        return False
    error = bytes(memoryview(result.error)[:_ERROR_BYTES]).lower()
    return any(words in error for words in _ENDED_FROM_OUTSIDE)


def label(event: Event) -> str:
    """Return a few printable words on an event, for progress."""
    step, result = event.step_update, event.result
    if step is not None:
        return plain(f"{step.step_type} {tool_name(step)} {step.state}", _LABEL_LIMIT)
    if result is not None:
        return plain(f"result {result.status or ''}", _LABEL_LIMIT)
    return plain(event.event or "", _LABEL_LIMIT)


def usage_of(counts: TokenCounts) -> Usage:
    """Return counts as the CLI gave them, missing ones as 0, absurd ones cut."""
    return Usage(
        input_tokens=_number(counts.input_tokens),
        output_tokens=_number(counts.output_tokens),
        cache_read_tokens=_number(counts.cache_read_tokens),
        total_tokens=_number(counts.total_tokens),
    )


def _number(number: int | None) -> int:
    return max(0, min(number or 0, BIGGEST_NUMBER))


def _end_of(result: Result) -> TurnEnd:
    response = None if result.response is None else clip(result.response, ANSWER_LIMIT)
    return TurnEnd(
        status=None if result.status is None else clip(result.status, _WORD_LIMIT),
        response=response,
        response_cut=response is not None and len(response) < len(result.response or ""),
        usage=None if result.usage is None else usage_of(result.usage),
    )
