"""One file of the settings: from its JSON to rules, modes, hooks and servers with their places.

`config.json` and the projects are Protobuf JSON: any flaw refuses the whole file, and a key is
its camelCase or its snake_case name, nothing else. The rest is read as generously as the most
generous reader would, so that nothing is passed over that might count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from harness.core.json_places import Document, FlawKind, Kind, parse
from harness.core.settings import (
    FaultKind,
    FileFault,
    Layer,
    LayerKind,
    ListName,
    Setting,
    WrittenRule,
)
from harness.core.settings_code import hooks_of, servers_of
from harness.core.settings_places import Place, SettingsFile

TOOL_PERMISSION = "toolPermission"
AGENT_MODE = "agentMode"
NON_WORKSPACE = "allowNonWorkspaceAccess"
TRUSTED = "trustedWorkspaces"
AUTO_EXECUTION = "autoExecutionPolicy"
PRESET = "permissionPreset"
NON_WORKSPACE_POLICY = "nonWorkspaceFileAccessPolicy"

_GLOBAL_SETTINGS = (TOOL_PERMISSION, AGENT_MODE, NON_WORKSPACE, TRUSTED)
_SHARED_SETTINGS = (AUTO_EXECUTION, PRESET, NON_WORKSPACE_POLICY)
_STRICT = {LayerKind.SHARED, LayerKind.PROJECT}
_REFUSED = {FaultKind.MALFORMED, FaultKind.WRONG_TYPE}


def read_layer(kind: LayerKind, data: bytes, layer: Layer, *, plugin: str = "") -> Layer:
    """Return a layer with what its file says.

    Args:
        kind: what the file is to the CLI.
        data: its content.
        layer: the layer as it was found, with the faults of the file itself.
        plugin: the plugin that brought it; empty for none.
    """
    document = parse(data)
    file = SettingsFile(path=layer.file, strict=kind in _STRICT)
    found = replace(layer, kind=kind)
    if document.root is not None:
        place = Place(node=document.root, pointer="")
        match kind:
            case LayerKind.GLOBAL:
                found = _global(file, place, found)
            case LayerKind.SHARED:
                found = _shared(file, place, found)
            case LayerKind.PROJECT:
                found = _project(file, place, found)
            case LayerKind.SIDECAR:
                found = _sidecar(file, place, found)
            case LayerKind.HOOKS:
                found = replace(found, hooks=tuple(hooks_of(file, place)))
            case LayerKind.MCP:
                found = replace(found, servers=tuple(servers_of(file, place, plugin)))
            case _:
                return found
    faults = (*layer.faults, *_faults(document, file))
    kinds = {fault.kind for fault in faults}
    refused = FaultKind.BROKEN in kinds or (file.strict and not kinds.isdisjoint(_REFUSED))
    return replace(found, faults=faults, rejected=refused)


def _global(file: SettingsFile, root: Place, layer: Layer) -> Layer:
    rules = [
        *_lists(file, root, ("permissions",)),
        *(
            replace(rule, ignored="a list at the top level of this file is not read; it belongs "
                    'below "permissions"')
            for rule in _lists(file, root, ())
        ),
    ]  # fmt: skip
    return replace(
        layer, rules=tuple(rules), settings=tuple(_settings(file, root, _GLOBAL_SETTINGS))
    )


def _shared(file: SettingsFile, root: Place, layer: Layer) -> Layer:
    settings = [
        setting
        for place in file.path_of(root, "userSettings")
        for setting in _settings(file, place, _SHARED_SETTINGS)
    ]
    rules = _lists(file, root, ("userSettings", "globalPermissionGrants"))
    return replace(layer, rules=tuple(rules), settings=tuple(settings))


def _project(file: SettingsFile, root: Place, layer: Layer) -> Layer:
    rules = [
        *_lists(file, root, ("permissionGrants", "permissionGrants")),
        *(
            replace(rule, ignored='the lists belong below "permissionGrants" twice; here they '
                    "are not read")
            for rule in _lists(file, root, ("permissionGrants",))
        ),
    ]  # fmt: skip
    settings = [
        setting
        for place in file.path_of(root, "settings")
        for setting in _settings(file, place, _SHARED_SETTINGS)
    ]
    names = [place.node.text for place in file.path_of(root, "id") if place.node.text]
    return replace(
        layer,
        rules=tuple(rules),
        settings=tuple(settings),
        identity=(*layer.identity, *names),
        folders=tuple(_folders(file, root)),
    )


def _folders(file: SettingsFile, root: Place) -> Iterator[str]:
    for place in file.path_of(root, "projectResources", "resources"):
        for index, node in enumerate(place.node.items):
            resource = Place(node=node, pointer=f"{place.pointer}/{index}")
            for uri in file.children(resource, "folderUri"):
                parts = urlsplit(uri.node.text) if uri.node.text.startswith("file:") else None
                yield unquote(parts.path) if parts is not None else uri.node.text


def _sidecar(file: SettingsFile, root: Place, layer: Layer) -> Layer:
    rules = [
        WrittenRule(text=item.node.text, list_name=ListName.ALLOW, source=file.source(item))
        for place in file.path_of(root, "agentPermissions", "accessGrants")
        for item in file.texts(place)
    ]
    return replace(layer, rules=tuple(rules))


def _lists(file: SettingsFile, root: Place, names: tuple[str, ...]) -> list[WrittenRule]:
    return [
        WrittenRule(text=item.node.text, list_name=list_name, source=file.source(item))
        for list_name in ListName
        for place in file.path_of(root, *names, list_name.value)
        for item in file.texts(place)
    ]


def _settings(file: SettingsFile, place: Place, names: tuple[str, ...]) -> Iterator[Setting]:
    for name in names:
        for value in file.children(place, name):
            if value.node.kind is Kind.NULL:
                continue
            if name == TRUSTED:
                for item in file.texts(value):
                    yield Setting(name=name, value=item.node.text, source=file.source(item))
            elif value.node.kind in {Kind.OBJECT, Kind.ARRAY}:
                file.wrong(value, "a plain value")
            else:
                yield Setting(name=name, value=value.node.text, source=file.source(value))


def _faults(document: Document, file: SettingsFile) -> Iterator[FileFault]:
    """Yield the flaws of a text; of broken syntax the first, since the others follow from it."""
    broken = False
    for flaw in document.flaws:
        if flaw.kind is FlawKind.SYNTAX and broken:
            continue
        kind = FaultKind.MALFORMED
        if flaw.kind is FlawKind.EMPTY:
            kind = FaultKind.EMPTY
        elif flaw.kind is FlawKind.SYNTAX:
            kind, broken = FaultKind.BROKEN, True
        yield FileFault(kind=kind, detail=flaw.detail, line=flaw.line)
    yield from dict.fromkeys(file.faults)
