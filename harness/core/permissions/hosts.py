"""Targets of `read_url`, `execute_url` and `mcp`: host names by label, tools by name."""

from __future__ import annotations

import re

from harness.core.permissions.grammar import EVERYTHING

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PORT = re.compile(r":\d*$")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")


def host_of(target: str) -> str:
    """Return the host of an address: scheme, user, port and path are dropped."""
    rest = _SCHEME.sub("", target.strip(), count=1)
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return _PORT.sub("", host)


def host_works(host: str) -> bool:
    """Return whether a rule with this host can match: no pattern, upper case or leading dot."""
    if host.startswith("[") and host.endswith("]"):
        return True
    return all(_LABEL.fullmatch(label) for label in host.removesuffix(".").split("."))


def covers_host(target: str, request: str, *, surely: bool = False) -> bool:
    """Return whether a rule's target covers the host of a request, by its last labels.

    An empty target may cover all or nothing: it does so unless it must be sure.
    """
    if target == EVERYTHING:
        return True
    suffix = host_of(target)
    if not suffix:
        return not surely
    host = host_of(request).lower().removesuffix(".")
    return host == suffix or host.endswith(f".{suffix}")


def covers_tool(target: str, request: str) -> bool:
    """Return whether an `mcp` target covers a request: `*`, `server/*` or the very name."""
    if target in {EVERYTHING, request}:
        return True
    server, _, tool = target.partition("/")
    return tool == EVERYTHING and server != EVERYTHING and request.startswith(f"{server}/")
