"""The entry of the harness's own MCP server, as it stands in the CLI's configuration."""

from __future__ import annotations

import json

NAME = "harness"


def server_entry(program: str) -> str:
    """Return the entry as compact JSON; `program` is the absolute path of the harness.

    An entry that differs in a single character starts something else: only this one is trusted.
    """
    entry = {"command": program, "args": ["mcp"]}
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
