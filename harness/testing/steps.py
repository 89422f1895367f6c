"""The steps of a scenario that speak; `waits`, `deeds` and `endings` hold the rest.

A step is one small frozen value that knows how to play itself. Its fields are the keys of its
table; `main` names the key that a bare value stands for, so that `sleep = 3` is
`sleep = { seconds = 3 }`. A start makes all of these classes anew, so they do without the
comparison and the repr that nobody uses.
"""

from __future__ import annotations

import base64 as base64_codec
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from harness.testing.voice import CONTROL, STDERR, encode, write_all

if TYPE_CHECKING:
    from harness.testing.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Step:
    """One thing that the CLI does."""

    main: ClassVar[str] = ""
    free: ClassVar[bool] = False

    def play(self, stage: Stage) -> None:
        """Do it."""
        raise NotImplementedError

    def problem(self) -> str | None:
        """Return what is wrong with the values together, in words for a person, or None."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Raw(Step):
    """Bytes for one of the streams, exactly as given.

    Attributes:
        text: written as UTF-8.
        base64: bytes that are no text; written after `text`.
        repeat: how often all of it is written.
    """

    main: ClassVar[str] = "text"
    text: str = ""
    base64: str = ""
    repeat: int = 1

    def problem(self) -> str | None:
        """Return what is wrong with `base64`."""
        try:
            base64_codec.b64decode(self.base64, validate=True)
        except binascii.Error:
            return "base64 is not valid base64"
        return None

    def data(self, stage: Stage) -> bytes:
        """Return the bytes of one repetition."""
        return encode(stage.fill(self.text)) + base64_codec.b64decode(self.base64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Out(Raw):
    """Write bytes to stdout."""

    def play(self, stage: Stage) -> None:
        """Write them."""
        data = self.data(stage)
        for _ in range(self.repeat):
            stage.attention.check()
            stage.voice.out(data)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Err(Raw):
    """Write bytes to stderr."""

    def play(self, stage: Stage) -> None:
        """Write them."""
        data = self.data(stage)
        for _ in range(self.repeat):
            stage.attention.check()
            write_all(STDERR, data)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Log(Step):
    """Write lines to the log file; `level` is one of the letters of a Go log."""

    main: ClassVar[str] = "text"
    text: str
    level: str = field(default="I", metadata={"one_of": ("I", "W", "E")})

    def play(self, stage: Stage) -> None:
        """Write them."""
        stage.files.log(stage.fill(self.text), level=self.level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Event(Step):
    """Write any event to the stream: the table is the JSON object."""

    main: ClassVar[str] = "content"
    free: ClassVar[bool] = True
    content: Mapping[str, object]

    def play(self, stage: Stage) -> None:
        """Write it; only `stream-json` has events."""
        stage.voice.event(self.content)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Text(Step):
    """Give a part of the answer (`agent_response`).

    Attributes:
        repeat: how often the text stands in it.
        usage: tokens of this step; estimated where none are given.
    """

    main: ClassVar[str] = "text"
    text: str
    repeat: int = 1
    usage: Mapping[str, int] = field(default_factory=dict)

    def play(self, stage: Stage) -> None:
        """Say it."""
        stage.say(stage.fill(self.text) * self.repeat, usage=self.usage)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InvalidUtf8(Step):
    """Give a part of the answer that ends in bytes which are no UTF-8."""

    main: ClassVar[str] = "text"
    text: str

    def play(self, stage: Stage) -> None:
        """Say it, followed by FF FE and half a character."""
        stage.say(stage.fill(self.text) + b"\xff\xfe\xe2\x82".decode(errors="surrogateescape"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ControlCharacters(Step):
    """Give a part of the answer with every control character in it, unescaped in JSON too."""

    main: ClassVar[str] = "text"
    text: str

    def play(self, stage: Stage) -> None:
        """Say it, with a colour sequence and the bell among the rest."""
        text = f"{stage.fill(self.text)}\x1b[31m{CONTROL}\x7f\x1b[0m"
        stage.say(text, raw=CONTROL.replace("\n", ""))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LongLine(Step):
    """Give a part of the answer as one line of that many bytes."""

    main: ClassVar[str] = "bytes"
    bytes: int

    def play(self, stage: Stage) -> None:
        """Say it."""
        stage.say("x" * self.bytes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tool(Step):
    """Show a tool call that did nothing on this machine."""

    main: ClassVar[str] = "name"
    name: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    output: str = ""
    error: str = ""
    state: str = field(default="DONE", metadata={"one_of": ("DONE", "ACTIVE", "ERROR")})
    seconds: float = 0.0

    def play(self, stage: Stage) -> None:
        """Show it: first ACTIVE, then how it ended."""
        index = stage.tool(self.name, self.parameters, state="ACTIVE")
        if self.state != "ACTIVE":
            stage.attention.sleep(self.seconds)
            stage.tool(
                self.name,
                self.parameters,
                output=stage.fill(self.output),
                error=stage.fill(self.error),
                state=self.state,
                index=index,
                seconds=self.seconds,
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Flood(Step):
    """Write many events, each a tool's output of that many bytes; text lines in `text`."""

    events: int
    bytes: int = 1024
    every: float = 0.0

    def play(self, stage: Stage) -> None:
        """Write them."""
        filling = "x" * self.bytes
        for _ in range(self.events):
            if stage.voice.form == "stream-json":
                stage.step("tool", {"tool_name": "run_command", "tool_info": {"output": filling}})
            else:
                stage.voice.out(encode(filling + "\n"))
            stage.attention.sleep(self.every)
