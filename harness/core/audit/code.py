"""Hooks and MCP servers: code that runs with every run, and who could put other code there."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from harness.core.audit.model import Collector, Subject, where
from harness.core.audit.rules import not_in_force
from harness.core.permissions import Level
from harness.core.settings import Hook, Layer, LayerKind, McpServer, RuleSource
from harness.core.settings_code import command_words

_WRITABLE_PLACES = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - the places that are meant
_WATCHED = (".agents", ".git/hooks")
_URL_MARK = "://"


def audit_code(subject: Subject, collector: Collector) -> None:
    """Note every hook and server, and each name that more than one layer defines."""
    servers: dict[str, list[McpServer]] = {}
    for layer in subject.view.layers:
        if not_in_force(layer, subject):
            continue
        if layer.kind is LayerKind.SIDECAR:
            _sidecar(layer, collector)
        for hook in layer.hooks:
            if hook.enabled:
                _hook(subject, hook, collector)
        for server in layer.servers:
            servers.setdefault(server.name, []).append(server)
            if server.enabled:
                _server(subject, server, collector)
    for name, same in servers.items():
        if len(same) > 1:
            collector.add(
                "MCP_SERVER_TWICE",
                Level.MEDIUM,
                "several layers define this server; which one answers is not certain",
                source=same[-1].source,
                rule=name,
                examples=[where(each.source) for each in same],
                narrower="give each server a name of its own",
            )


def _sidecar(layer: Layer, collector: Collector) -> None:
    collector.add(
        "SIDECAR",
        Level.LOW,
        "an agent of its own beside the one of the run; what it may do, each rule below says",
        source=RuleSource(file=layer.file),
        rule=layer.file.split("/")[-2],
    )


def _hook(subject: Subject, hook: Hook, collector: Collector) -> None:
    if not hook.command:
        collector.add(
            "HOOK",
            Level.UNKNOWN,
            "a hook whose command could not be found: it may deny and rewrite every call",
            source=hook.source,
            rule=hook.name,
        )
        return
    reached = _within_reach(subject, command_words(hook.command))
    level, why = Level.MEDIUM, "runs at tool calls, and may deny and rewrite them: read it"
    if reached is not None:
        level = Level.MEDIUM if _is_watched(subject, reached) else Level.HIGH
        why = f"runs {reached}, which the agent may write: what it writes runs unasked"
    collector.add(
        "HOOK",
        level,
        f"{hook.event}: {why}",
        source=hook.source,
        rule=hook.command,
        narrower="keep its program where no agent writes" if reached else None,
    )


def _server(subject: Subject, server: McpServer, collector: Collector) -> None:
    if not server.words:
        level = Level.LOW if server.url else Level.UNKNOWN
        why = (
            f"connects to {server.url}; its tools need mcp rules"
            if server.url
            else "neither a program nor an address could be found in it"
        )
        collector.add("MCP_SERVER", level, why, source=server.source, rule=server.name)
        return
    reached = _within_reach(subject, server.words)
    in_workspace = server.source.file.startswith(f"{subject.workspace}/")
    level, why = Level.LOW, "starts with every run; its tools need mcp rules"
    if reached is not None:
        level = Level.MEDIUM if _is_watched(subject, reached) else Level.HIGH
        why = f"starts {reached}, which the agent may write: what it writes runs unasked"
    elif in_workspace:
        level, why = Level.MEDIUM, "a file of the workspace starts it with every run, unasked"
    collector.add(
        "MCP_SERVER",
        level,
        why,
        source=server.source,
        rule=server.name,
        examples=(" ".join(server.words),),
        narrower="keep its program where no agent writes" if reached else None,
    )


def _within_reach(subject: Subject, words: Sequence[str]) -> str | None:
    """Return the first word that names a file where an agent may write by default.

    The program counts as a file where it has a slash; an argument where it looks like one.
    """
    for index, word in enumerate(words):
        if _URL_MARK in word or word.startswith("-"):
            continue
        if "/" not in word and (index == 0 or not posixpath.splitext(word)[1]):
            continue
        path = posixpath.normpath(posixpath.join(subject.workspace, word))
        for place in (subject.workspace, *_WRITABLE_PLACES):
            if path.startswith(f"{place.rstrip('/')}/") and subject.view.workspace is not None:
                return path
    return None


def _is_watched(subject: Subject, path: str) -> bool:
    """Tell whether a change of the file is found after the run, or cannot happen in it."""
    if not (subject.watched or subject.isolated):
        return False
    return any(path.startswith(f"{subject.workspace}/{each}/") for each in _WATCHED)
