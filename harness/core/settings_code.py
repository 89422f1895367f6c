"""What runs by itself: the commands of a hooks file, the servers of an MCP configuration."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from harness.core.json_places import Kind, compact, escape_pointer
from harness.core.settings import Hook, McpServer
from harness.core.settings_places import Place, SettingsFile

_HOOK_DEPTH = 8
_HOOKS_LIMIT = 1000


def hooks_of(file: SettingsFile, root: Place) -> list[Hook]:
    """Return the commands of a hooks file: named hooks, each with events, or events alone."""
    hooks: list[Hook] = []
    if root.node.kind is not Kind.OBJECT:
        file.wrong(root, "an object")
        return hooks
    for key, node in root.node.members:
        place = Place(node=node, pointer=f"/{escape_pointer(key)}")
        enabled = not any(
            child.node.text == "false"
            for child in (file.children(place, "enabled") if node.kind is Kind.OBJECT else ())
        )
        commands = list(_commands(file, place, "", 0))[:_HOOKS_LIMIT]
        if not commands and node.kind in {Kind.OBJECT, Kind.ARRAY} and (node.members or node.items):
            commands = [("", place)]
        hooks += [
            Hook(
                name=key,
                event=event or key,
                command=found.node.text if found is not place else "",
                enabled=enabled,
                source=file.source(found),
            )
            for event, found in commands
        ]
    return hooks


def _commands(
    file: SettingsFile, place: Place, event: str, depth: int
) -> Iterator[tuple[str, Place]]:
    """Yield every `command` below a value, with the key of the array that it stands in."""
    if depth > _HOOK_DEPTH:
        return
    for index, node in enumerate(place.node.items):
        yield from _commands(
            file, Place(node=node, pointer=f"{place.pointer}/{index}"), event, depth + 1
        )
    for key, node in place.node.members:
        child = Place(node=node, pointer=f"{place.pointer}/{escape_pointer(key)}")
        if key.casefold() == "command" and node.kind is Kind.STRING:
            yield event, child
        elif node.kind in {Kind.OBJECT, Kind.ARRAY}:
            is_event = node.kind is Kind.ARRAY and key != "hooks"
            yield from _commands(file, child, key if is_event else event, depth + 1)


def servers_of(file: SettingsFile, root: Place, plugin: str) -> Iterator[McpServer]:
    """Yield the servers of a file; those of a plugin are called `<plugin>_<name>`."""
    for servers in file.children(root, "mcpServers"):
        if servers.node.kind is not Kind.OBJECT:
            file.wrong(servers, "an object")
            continue
        for name, node in servers.node.members:
            place = Place(node=node, pointer=f"{servers.pointer}/{escape_pointer(name)}")
            if node.kind is not Kind.OBJECT:
                file.wrong(place, "an object")
                continue
            yield _server(file, place, f"{plugin}_{name}" if plugin else name)


def _server(file: SettingsFile, place: Place, name: str) -> McpServer:
    def first(*keys: str) -> str:
        found = (each.node.text for key in keys for each in file.children(place, key))
        return next(found, "")

    program = first("command")
    arguments = [
        item.node.text for args in file.children(place, "args") for item in file.texts(args)
    ]
    return McpServer(
        name=name,
        entry=compact(place.node),
        words=(*command_words(program), *arguments) if program else (),
        url=first("serverUrl", "url", "httpUrl"),
        enabled=first("disabled") != "true",
        source=file.source(place),
    )


def command_words(command: str) -> tuple[str, ...]:
    """Return the words of a command line; parted at blanks where its quotes do not close."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return tuple(command.split())
