"""What the permissions of a run mean, as one digest.

The CLI rewrites its files: order, blanks and lines change without meaning anything. Equal
digests say that nothing that counts differs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator

from harness.core.audit.model import Subject
from harness.core.audit.modes import settings_in_force
from harness.core.audit.rules import not_in_force
from harness.core.settings import Layer, LayerKind

_FORM = 1


def fingerprint_of(subjects: Iterable[Subject]) -> str:
    """Return the hex SHA-256 over the meaning of the permissions of these runs, in any order."""
    meanings = sorted(_meaning(subject) for subject in subjects)
    text = json.dumps([_FORM, meanings], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _meaning(subject: Subject) -> list[list[str]]:
    """Return everything that decides, as sorted rows; a row twice means no more than once."""
    rows = {tuple(row) for row in _rows(subject)}
    return [list(row) for row in sorted(rows)]


def _rows(subject: Subject) -> Iterator[tuple[str, ...]]:
    yield ("workspace", subject.workspace)
    yield ("shell", subject.shell)
    yield ("mode", subject.mode or "")
    yield ("args", *subject.args)
    for setting in settings_in_force(subject):
        yield ("setting", setting.name, setting.value)
    for layer in subject.view.layers:
        if layer.kind is not LayerKind.DECOY:
            yield from _rows_of(layer, in_force=not not_in_force(layer, subject))


def _rows_of(layer: Layer, *, in_force: bool) -> Iterator[tuple[str, ...]]:
    if layer.rejected:
        yield ("rejected", layer.kind, layer.file)
    for fault in layer.faults:
        yield ("fault", layer.file, fault.kind)
    if not in_force:
        return
    for rule in layer.rules:
        if not rule.ignored:
            yield ("rule", rule.list_name, rule.text)
    for hook in layer.hooks:
        if hook.enabled:
            yield ("hook", hook.event, hook.command)
    for server in layer.servers:
        if server.enabled:
            yield ("server", server.name, server.entry)
