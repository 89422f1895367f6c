"""The steps of a scenario that end a turn or the process: denials, errors, results, exits."""

from __future__ import annotations

import base64 as base64_codec
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from harness.testing.attention import Exit, TurnEnded
from harness.testing.behaviour import Trait
from harness.testing.go import marshal
from harness.testing.steps import Step
from harness.testing.turns import denial_notice, end_turn
from harness.testing.voice import STDERR, encode, write_all
from harness.testing.waits import FOREVER_S

if TYPE_CHECKING:
    from harness.testing.stage import Stage

_AUTH_WAIT_S = 60.0
_EXIT_FAILED = 1
_EXIT_API = 3
_KINDS = {
    "command": ("RunCommand", "run_command", "CommandLine"),
    "read_file": ("ViewFile", "view_file", "AbsolutePath"),
    "write_file": ("WriteToFile", "write_to_file", "TargetFile"),
    "read_url": ("ReadUrlContent", "read_url_content", "Url"),
    "mcp": ("CallMcpTool", "call_mcp_tool", "ToolName"),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Asked(Step):
    """One tool that would have to ask: its kind of permission, and what it wanted."""

    kind: str = field(metadata={"one_of": tuple(_KINDS)})
    target: str
    display_name: str = ""

    @property
    def shown(self) -> str:
        """The CLI's own name of the tool."""
        return self.display_name or _KINDS[self.kind][0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Deny(Asked):
    """Want a tool that nobody can approve, and be denied the way this version denies.

    Attributes:
        also: further tools wanted in the same step.
        status: what the result says where the denial is soft; some 1.1.x say `CANCELED`.
        notice: how the line on stderr looks.
        state: how the denied step ends.
        before: what a version below 1.1.3 does, `hang` or `approve`.
        approved: what happens where it is approved after all.
    """

    also: tuple[Asked, ...] = ()
    status: str = field(default="SUCCESS", metadata={"one_of": ("SUCCESS", "CANCELED")})
    notice: str = field(default="full", metadata={"one_of": ("full", "short", "folded", "none")})
    state: str = field(default="DONE", metadata={"one_of": ("DONE", "ERROR")})
    before: str = field(default="hang", metadata={"one_of": ("hang", "approve")})
    approved: tuple[Step, ...] = ()

    def play(self, stage: Stage) -> None:
        """Be denied, and end the turn; or be approved, and go on."""
        asks_nobody = not stage.behaviour.has(Trait.SOFT_DENIES)
        if stage.options.on("dangerously-skip-permissions") or (
            asks_nobody and self.before == "approve"
        ):
            for step in self.approved:
                step.play(stage)
            return
        if asks_nobody:
            stage.tool(*self._call(self), state="ACTIVE")
            stage.attention.sleep(FOREVER_S, scaled=False)
            raise Exit(_EXIT_FAILED)
        self._be_denied(stage)
        raise TurnEnded

    def _be_denied(self, stage: Stage) -> None:
        hard = stage.behaviour.has(Trait.HARD_DENIES)
        kinds = stage.conversation.denied_kinds
        for asked in (self, *self.also):
            target = stage.fill(asked.target)
            reason = f"user denied permission for {asked.kind}({target})"
            failed = f'permission check failed for {asked.kind} "{target}": {reason}'
            index = stage.tool(*self._call(asked), state="ACTIVE")
            stage.files.log(
                f'Print mode: soft-denying tool confirmation "{asked.shown}" at step {index}'
            )
            stage.files.log(failed, level="E")
            state = "ERROR" if hard else self.state
            error = reason if state == "ERROR" else ""
            stage.tool(*self._call(asked), state=state, error=error, index=index)
            stage.turn.denied.append((asked.kind, asked.shown))
            if asked.kind not in kinds:
                kinds.append(asked.kind)
            if hard:
                stage.turn.error, stage.turn.exit = failed, _EXIT_FAILED
                stage.voice.complain(stage.behaviour.failure(failed))
        if not hard:
            stage.turn.status = self.status
            if self.notice != "none":
                short, folded = self.notice == "short", self.notice == "folded"
                stage.turn.notice = denial_notice(kinds, short=short, folded=folded)

    @staticmethod
    def _call(asked: Asked) -> tuple[str, dict[str, object]]:
        _, tool, parameter = _KINDS[asked.kind]
        return tool, {parameter: asked.target}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Error(Step):
    """A failure of the model, the agent or the backend; it ends the turn.

    Attributes:
        short_error: the text; also the human line and the result's `error`.
        extra: further keys of the JSON object.
        raw: stands after `AGY_ERROR: ` in place of the object, for lines that are broken.
        base64: the same as bytes.
        prefix: stands before `AGY_ERROR: `, which makes it a quotation.
        ending: how the line ends.
        human: print the line `error: …` before it.
        line: print the AGY_ERROR line at all.
        goes_on: the turn goes on, and the failure counts no more.
    """

    short_error: str
    status: str | None = None
    error_code: int | None = None
    code_kind: str | None = None
    retryable: bool = False
    error_id: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    raw: str = ""
    base64: str = ""
    prefix: str = ""
    ending: str = "\n"
    human: bool = True
    line: bool = True
    goes_on: bool = False

    def play(self, stage: Stage) -> None:
        """Fail the way this version fails."""
        behaviour, turn = stage.behaviour, stage.turn
        stage.files.log(f"agent executor error: {self.short_error}", level="E")
        if not behaviour.has(Trait.TELLS_SERVER_ERRORS):
            raise Exit(0)
        if self.human or not behaviour.has(Trait.AGY_ERROR):
            stage.voice.complain(behaviour.failure(self.short_error))
        if self.line and behaviour.has(Trait.AGY_ERROR):
            write_all(STDERR, self._agy_error())
        index = stage.step("error_message", {"error": self.short_error}, state="ERROR")
        stage.transcribe(index, "SYSTEM", "error_message", error=self.short_error)
        if self.goes_on:
            return
        turn.status, turn.error = "ERROR", self.short_error
        turn.exit = self._exit(stage)
        raise TurnEnded

    def _exit(self, stage: Stage) -> int:
        behaviour = stage.behaviour
        if not behaviour.has(Trait.AGY_ERROR):
            return _EXIT_FAILED
        partial = bool(stage.turn.said)
        return 0 if partial and not behaviour.has(Trait.PARTIAL_FAILS) else _EXIT_API

    def _agy_error(self) -> bytes:
        head = f"{self.prefix}AGY_ERROR: "
        if self.raw or self.base64:
            body = encode(self.raw) + base64_codec.b64decode(self.base64)
            return encode(head) + body + encode(self.ending)
        content: dict[str, object] = {"short_error": self.short_error}
        for key in ("status", "error_code", "code_kind"):
            value = getattr(self, key)
            if value is not None:
                content[key] = value
        content["retryable"] = self.retryable
        if self.error_id is not None:
            content["error_id"] = self.error_id
        return encode(f"{head}{marshal({**content, **self.extra})}{self.ending}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Auth(Step):
    """Fail for lack of a login, before anything else."""

    main: ClassVar[str] = "how"
    how: str = field(metadata={"one_of": ("required", "timed_out", "network")})

    def play(self, stage: Stage) -> None:
        """Fail with exit 1."""
        network = self.how == "network"
        reason = "token refresh failed due to network error" if network else "invalid_grant"
        stage.files.log(f"Print mode: authentication: {reason}", level="E")
        if self.how == "timed_out":
            stage.attention.sleep(_AUTH_WAIT_S)
            stage.voice.complain("Error: authentication timed out.")
        else:
            stage.voice.complain("Error: authentication required. Run 'agy' to log in, then retry.")
        if stage.behaviour.has(Trait.ERROR_MARKER):
            stage.voice.complain("error: authentication failed or timed out")
        raise Exit(_EXIT_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExitStep(Step):
    """End the process at once: no result, no notice."""

    main: ClassVar[str] = "code"
    code: int

    def play(self, stage: Stage) -> None:
        """End it."""
        del stage
        raise Exit(self.code)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Result(Step):
    """Write the result here and not at the end; what follows happens after it.

    Attributes:
        status, response, error, usage, num_turns, structured_output: in place of the real ones.
        extra: further keys.
        omit: keys that are left out.
    """

    status: str | None = None
    response: str | None = None
    error: str | None = None
    usage: Mapping[str, int] | None = None
    num_turns: int | None = None
    structured_output: Mapping[str, object] | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    omit: tuple[str, ...] = ()

    def play(self, stage: Stage) -> None:
        """Write it."""
        names = ("status", "response", "error", "usage", "num_turns", "structured_output")
        changes = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in changes.items() if value is not None}
        end_turn(stage, {**given, **self.extra}, omit=self.omit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CutLastLine(Step):
    """Let the last line end that many bytes too early, without a newline."""

    main: ClassVar[str] = "bytes"
    bytes: int

    def play(self, stage: Stage) -> None:
        """Note it for the result."""
        stage.voice.cut_last = self.bytes
