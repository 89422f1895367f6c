"""Subjects of an audit for tests, made from settings as they are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from harness.core.audit.model import AuditFinding, Subject
from harness.core.audit.whole import audit_subject
from harness.core.settings import Layer, LayerKind, SettingsView
from harness.core.settings_files import read_layer

HOME = "/home/u"
ROOT = f"{HOME}/.gemini"
WORKSPACE = f"{HOME}/proj"
SETTINGS = f"{ROOT}/antigravity-cli/settings.json"
HARNESS_HOME = f"{HOME}/.config/harness"


def layer(kind: LayerKind, file: str, content: object, **fields: object) -> Layer:
    """Return a layer from what its file holds: text as it is, anything else as JSON."""
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    found = Layer(kind=kind, file=file, real_file=file)
    return replace(read_layer(kind, text.encode(), found), **fields)  # type: ignore[arg-type]


def own(
    allow: Sequence[str] = (), ask: Sequence[str] = (), deny: Sequence[str] = (), **more: object
) -> Layer:
    """Return the CLI's own settings with these rules."""
    lists = {"allow": list(allow), "ask": list(ask), "deny": list(deny)}
    return layer(LayerKind.GLOBAL, SETTINGS, {"permissions": lists, **more})


def subject_of(*layers: Layer, **fields: object) -> Subject:
    """Return a subject with these layers and a real workspace."""
    workspace = str(fields.pop("workspace", WORKSPACE))
    view = SettingsView(root=ROOT, workspace=workspace, layers=layers)
    subject = Subject(
        view=view, workspace=workspace, home=HOME, job="nightly", harness_home=HARNESS_HOME
    )
    return replace(subject, **fields)  # type: ignore[arg-type]


def audited(*layers: Layer, **fields: object) -> list[AuditFinding]:
    """Return what is found about a subject."""
    return audit_subject(subject_of(*layers, **fields))


def named(findings: Sequence[AuditFinding], id_: str) -> list[AuditFinding]:
    """Return the findings of one id."""
    return [each for each in findings if each.id == id_]


def about(findings: Sequence[AuditFinding], rule: str) -> AuditFinding:
    """Return the one finding about a rule by itself."""
    (found,) = [each for each in findings if each.id.startswith("RULE") and each.rule == rule]
    return found
