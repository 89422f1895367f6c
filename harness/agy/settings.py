"""The settings that a run of the CLI would read: every file found, read with bounds, doubted.

A file of the settings decides what an agent may do; so who may write it matters as much as
what it says. Nothing here waits on a pipe, reads without bound or raises on what it finds.
"""

# ruff: noqa: PTH114, PTH116, PTH120 - text, as the settings' own rules speak of it

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.core.pathtext import encode_path
from harness.core.settings import FaultKind, FileFault, Layer, LayerKind, SettingsView
from harness.core.settings_files import read_layer

FILE_LIMIT = 16 * 1024 * 1024
ENTRIES_LIMIT = 1000
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_ABSENT = {errno.ENOENT, errno.ENOTDIR}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A file that may be there: what it would be to the CLI, and below which folder it counts."""

    kind: LayerKind
    base: str
    path: str
    plugin: str = ""
    identity: str = ""


def read_settings(root: str, workspace: str | None) -> SettingsView:
    """Return every layer that the CLI would read, and the decoys beside them.

    Args:
        root: the CLI's root folder, absolute: `~/.gemini`, or where `--gemini_dir` points.
        workspace: the folder of the run, absolute; None leaves the workspace's files out.
    """
    layers: list[Layer] = []
    folders: dict[str, None] = {}
    for candidate in _candidates(root, workspace):
        if isinstance(candidate, Layer):
            layers.append(candidate)
            continue
        layer = _read(candidate)
        if layer is not None:
            layers.append(layer)
            folders.update(dict.fromkeys(_folders_to(candidate.base, candidate.path)))
    folders.setdefault(root)
    layers += [layer for folder in sorted(folders) if (layer := _folder_layer(folder)) is not None]
    return SettingsView(root=root, workspace=workspace, layers=tuple(layers))


def _candidates(root: str, workspace: str | None) -> Iterator[_Candidate | Layer]:
    own, shared = f"{root}/antigravity-cli", f"{root}/config"
    yield _Candidate(kind=LayerKind.GLOBAL, base=root, path=f"{own}/settings.json")
    yield _Candidate(kind=LayerKind.SHARED, base=root, path=f"{shared}/config.json")
    for found in _entries(f"{shared}/projects", LayerKind.PROJECT):
        if isinstance(found, Layer):
            yield found
        elif found.endswith(".json"):
            path = f"{shared}/projects/{found}"
            identity = found.removesuffix(".json")
            yield _Candidate(kind=LayerKind.PROJECT, base=root, path=path, identity=identity)
    for found in _entries(f"{shared}/sidecars", LayerKind.SIDECAR):
        if isinstance(found, Layer):
            yield found
        else:
            path = f"{shared}/sidecars/{found}/sidecar.json"
            yield _Candidate(kind=LayerKind.SIDECAR, base=root, path=path)
    yield from _code_of(root, shared)
    for plugins in (f"{shared}/plugins", f"{own}/plugins"):
        yield from _plugins_of(root, plugins)
    yield _Candidate(kind=LayerKind.DECOY, base=root, path=f"{root}/settings.json")
    for found in _entries(f"{root}/policies", LayerKind.DECOY):
        if not isinstance(found, Layer) and found.endswith(".toml"):
            yield _Candidate(kind=LayerKind.DECOY, base=root, path=f"{root}/policies/{found}")
    if workspace is not None:
        agents = f"{workspace}/.agents"
        yield from _code_of(workspace, agents)
        yield from _plugins_of(workspace, f"{agents}/plugins")
        decoy = f"{workspace}/.antigravity/settings.json"
        yield _Candidate(kind=LayerKind.DECOY, base=workspace, path=decoy)


def _code_of(base: str, folder: str, plugin: str = "") -> Iterator[_Candidate]:
    """Yield what may run code of its own in a folder of customizations."""
    for name in ("hooks.json", *(("hooks/hooks.json",) if plugin else ())):
        yield _Candidate(kind=LayerKind.HOOKS, base=base, path=f"{folder}/{name}", plugin=plugin)
    path = f"{folder}/mcp_config.json"
    yield _Candidate(kind=LayerKind.MCP, base=base, path=path, plugin=plugin)


def _plugins_of(base: str, folder: str) -> Iterator[_Candidate | Layer]:
    for found in _entries(folder, LayerKind.FOLDER):
        if isinstance(found, Layer):
            yield found
        else:
            yield from _code_of(base, f"{folder}/{found}", plugin=found)


def _entries(folder: str, kind: LayerKind) -> list[str | Layer]:
    """Return the names in a folder, sorted; what cannot be listed or is too much is a layer."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > ENTRIES_LIMIT:
                    detail = f"holds more than {ENTRIES_LIMIT} entries"
                    return [*sorted(names), _layer(kind, folder, FaultKind.TOO_MANY, detail)]
    except OSError as problem:
        if problem.errno in _ABSENT:
            return []
        return [_layer(kind, folder, FaultKind.UNREADABLE, _words(problem))]
    return [*sorted(names)]


def _layer(kind: LayerKind, path: str, fault: FaultKind, detail: str) -> Layer:
    faults = (FileFault(kind=fault, detail=detail),)
    return Layer(kind=kind, file=encode_path(path), real_file=_real(path), faults=faults)


def _read(candidate: _Candidate) -> Layer | None:
    """Return the layer of a file; None where nothing stands at its path."""
    path = candidate.path
    try:
        os.lstat(path)
    except OSError as problem:
        if problem.errno in _ABSENT:
            return None
        return _layer(candidate.kind, path, FaultKind.UNREADABLE, _words(problem))
    found = Layer(
        kind=candidate.kind,
        file=encode_path(path),
        real_file=_real(path),
        identity=(candidate.identity,) if candidate.identity else (),
        faults=tuple(_link_faults(path)),
    )
    if candidate.kind is LayerKind.DECOY:
        return found
    try:
        content = _content(path)
    except OSError as problem:
        fault = FileFault(kind=FaultKind.UNREADABLE, detail=_words(problem))
        return replace(found, faults=(*found.faults, fault))
    found = replace(found, faults=(*found.faults, *content.faults))
    if content.data is None:
        return found
    return read_layer(candidate.kind, content.data, found, plugin=candidate.plugin)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    data: bytes | None
    faults: tuple[FileFault, ...]


def _content(path: str) -> _Content:
    """Return the content of a regular file of bounded size, and who may write it."""
    descriptor = os.open(path, _OPEN)
    try:
        status = os.fstat(descriptor)
        faults = [*_access_faults(status)]
        if not stat.S_ISREG(status.st_mode):
            detail = "is no regular file, and was not read"
            faults.append(FileFault(kind=FaultKind.NOT_REGULAR, detail=detail))
            return _Content(data=None, faults=tuple(faults))
        data = bytearray()
        while len(data) <= FILE_LIMIT and (chunk := os.read(descriptor, _CHUNK)):
            data += chunk
    finally:
        os.close(descriptor)
    if len(data) > FILE_LIMIT:
        detail = f"holds more than {FILE_LIMIT >> 20} MiB, and was not read"
        faults.append(FileFault(kind=FaultKind.TOO_LARGE, detail=detail))
        return _Content(data=None, faults=tuple(faults))
    return _Content(data=bytes(data), faults=tuple(faults))


def _folders_to(base: str, path: str) -> list[str]:
    """Return the folders from the base down to the one that holds a path."""
    folders = []
    at = os.path.dirname(path)
    while at != base and at.startswith(f"{base}/"):
        folders.append(at)
        at = os.path.dirname(at)
    return [*folders, base]


def _folder_layer(folder: str) -> Layer | None:
    """Return what is wrong with a folder on the way to the settings; None where nothing is."""
    try:
        status = os.stat(folder)
    except OSError:
        return None  # what it holds is a finding by itself
    faults = (*_link_faults(folder), *_access_faults(status))
    if not faults:
        return None
    file = encode_path(folder)
    return Layer(kind=LayerKind.FOLDER, file=file, real_file=_real(folder), faults=faults)


def _link_faults(path: str) -> Iterator[FileFault]:
    if os.path.islink(path):
        detail = f"is a link to {_real(path)}"
        yield FileFault(kind=FaultKind.SYMLINK, detail=detail)


def _access_faults(status: os.stat_result) -> Iterator[FileFault]:
    if status.st_uid not in {0, os.geteuid()}:
        detail = f"belongs to another user ({status.st_uid})"
        yield FileFault(kind=FaultKind.OTHER_OWNER, detail=detail)
    if status.st_mode & stat.S_IWOTH:
        detail = f"may be written by everybody (mode {stat.S_IMODE(status.st_mode):04o})"
        yield FileFault(kind=FaultKind.WORLD_WRITABLE, detail=detail)


def _real(path: str) -> str:
    return encode_path(os.path.realpath(path))


def _words(problem: OSError) -> str:
    return f"cannot be read: {(problem.strerror or str(problem)).lower()}"
