"""What a tool call of the events names: MCP tools, and paths that it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from harness.core.bounded import clip
from harness.core.events import Step
from harness.core.loose_json import UNREADABLE

_PATH_LIMIT = 4096
_COMMAND_LIMIT = 64 * 1024
_NAME_LIMIT = 200
_VALUE = rb'"\s*:\s*(?P<value>"[^"\\]*+(?:\\.[^"\\]*+)*+")'

#: Parameters that hold a path, upper and lower case and underscores not counted.
_PATH_PARAMETERS = re.compile(
    rb'"(?:absolute_?path|destination(?:_?(?:path|file))?|dest|directory_?path|dst|file|file_?name'
    rb"|file_?path|new_?path|notebook_?path|old_?path|output_?(?:path|file)|path|source"
    rb"|source_?(?:path|file)|src|target|target_?(?:path|file))" + _VALUE,
    re.IGNORECASE | re.DOTALL,
)
_STRING = msgspec.json.Decoder(str)
_SERVER = re.compile(rb'"server_?name' + _VALUE, re.IGNORECASE | re.DOTALL)
_TOOL = re.compile(rb'"tool_?name' + _VALUE, re.IGNORECASE | re.DOTALL)
_WRITES = re.compile(r"write|edit|replace|create|delete|move|patch|rename|remove|append|copy")
_MCP_CALLERS = frozenset({"callmcptool", "mcptool", "mcp"})
_MCP_PREFIX = "mcp__"
_GATE_TOOL = "canonical_propose"
_CANONICAL = re.compile(rb"canonical")
#: A command line that asks the gate for a canonical write; quotes inside JSON are escaped.
_GATE_COMMAND = re.compile(rb"\bharness\b[^\n]{0,400}?\bgate\s+write\b[^\n]{0,4000}?\bcanonical\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTraits:
    """What the name of a tool tells.

    Attributes:
        calls_mcp: it calls a tool of an MCP server.
        writes: it changes files.
    """

    calls_mcp: bool
    writes: bool


@lru_cache(maxsize=256)
def tool_traits(name: str) -> ToolTraits:
    """Return what a tool of this name does."""
    short = name.replace("_", "").casefold()
    return ToolTraits(
        calls_mcp=name.startswith(_MCP_PREFIX) or "/" in name or short in _MCP_CALLERS,
        writes=_WRITES.search(short) is not None,
    )


def tool_name(step: Step) -> str:
    """Return the name of a step's tool; empty where it has none."""
    info = step.tool_info
    name = step.tool_name or (info.name if info is not None else None) or ""
    return clip(name, _NAME_LIMIT)


def mcp_tool(name: str, step: Step) -> str:
    """Return `server/tool` for a step that calls an MCP tool, in whatever form it says so."""
    if name.startswith(_MCP_PREFIX):
        return name.removeprefix(_MCP_PREFIX).replace("__", "/", 1)
    if "/" in name:
        return name
    parameters = _parameters(step)
    server = next(_strings(_SERVER, parameters), "?")
    tool = next(_strings(_TOOL, parameters), "?")
    return clip(f"{server}/{tool}", _NAME_LIMIT)


def written_paths(step: Step) -> Iterator[str]:
    """Return the paths that the parameters of a step name, as given."""
    return _strings(_PATH_PARAMETERS, _parameters(step))


def asks_gate(name: str, step: Step) -> bool:
    """Return whether a step asks the gate for a canonical write, by MCP tool or by command."""
    if name.endswith(_GATE_TOOL):
        return True
    info = step.tool_info
    if info is None or not _CANONICAL.search(info.parameters, 0, _COMMAND_LIMIT):
        return False
    parameters = _parameters(step)[:_COMMAND_LIMIT]
    return _GATE_TOOL in _strings(_TOOL, parameters) or _GATE_COMMAND.search(parameters) is not None


def _parameters(step: Step) -> bytes:
    return b"" if step.tool_info is None else bytes(step.tool_info.parameters)


def _strings(pattern: re.Pattern[bytes], parameters: bytes) -> Iterator[str]:
    """Yield the string values of matching parameters, on any level.

    A key inside a string value has its quotes escaped and does not match.
    """
    for match in pattern.finditer(parameters):
        try:
            text = _STRING.decode(match["value"])
        except UNREADABLE:
            continue
        if text:
            yield clip(text, _PATH_LIMIT)
