"""What the CLI prints as JSON: only the fields that are needed, everything else is ignored."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class StepState(StrEnum):
    """How far a step is; what a newer CLI may add is `OTHER`."""

    ACTIVE = "ACTIVE"
    DONE = "DONE"
    ERROR = "ERROR"
    OTHER = "OTHER"

    @classmethod
    def _missing_(cls, _value: object) -> StepState:
        return cls.OTHER


class StepType(StrEnum):
    """What a step is; what a newer CLI may add is `OTHER`."""

    USER_INPUT = "user_input"
    AGENT_RESPONSE = "agent_response"
    TOOL = "tool"
    SYSTEM_MESSAGE = "system_message"
    CHECKPOINT = "checkpoint"
    ERROR_MESSAGE = "error_message"
    SUBAGENT = "subagent"
    OTHER = "unknown"

    @classmethod
    def _missing_(cls, _value: object) -> StepType:
        return cls.OTHER


class TokenCounts(msgspec.Struct, gc=False):
    """The usage object of a step or a result."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    total_tokens: int | None = None


class ToolInfo(msgspec.Struct, gc=False):
    """What a tool was called with."""

    name: str | None = None
    parameters: msgspec.Raw = msgspec.Raw()


class Step(msgspec.Struct, gc=False):
    """One `step_update`."""

    conversation_id: str | None = None
    step_index: int | None = None
    state: StepState = StepState.OTHER
    step_type: StepType = StepType.OTHER
    text_delta: str | None = None
    tool_name: str | None = None
    tool_info: ToolInfo | None = None
    usage: TokenCounts | None = None


class Init(msgspec.Struct, gc=False):
    """The first event."""

    cwd: str | None = None


class Result(msgspec.Struct, gc=False):
    """The end of a turn: the `result` event, and the whole of the format `json`."""

    conversation_id: str | None = None
    status: str | None = None
    response: str | None = None
    usage: TokenCounts | None = None
    error: msgspec.Raw = msgspec.Raw()
    denied_actions: msgspec.Raw = msgspec.Raw()

    @property
    def says_something(self) -> bool:
        """False for an object that is no result at all."""
        return self.status is not None or self.response is not None


class Event(msgspec.Struct, gc=False):
    """One line of `stream-json`."""

    event: str | None = None
    conversation_id: str | None = None
    init: Init | None = None
    step_update: Step | None = None
    result: Result | None = None


class DeniedAction(msgspec.Struct, gc=False):
    """One entry of `denied_actions`."""

    action: str | None = None
    display_name: str | None = None


class ErrorObject(msgspec.Struct, gc=False):
    """The object behind `AGY_ERROR: `."""

    short_error: str | None = None
    status: str | None = None
    error_code: int | None = None
    code_kind: str | None = None
    retryable: bool | None = None
    error_id: str | None = None
