"""Settings and arguments that decide without a rule, and what is not known of the CLI itself."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.core.audit.model import Collector, Subject
from harness.core.audit.rules import not_in_force
from harness.core.permissions import Level
from harness.core.settings import RuleSource, Setting
from harness.core.settings_files import (
    AGENT_MODE,
    AUTO_EXECUTION,
    NON_WORKSPACE,
    NON_WORKSPACE_POLICY,
    PRESET,
    TOOL_PERMISSION,
    TRUSTED,
)

_PREFIXES = {
    AUTO_EXECUTION: "CASCADE_COMMANDS_AUTO_EXECUTION_",
    PRESET: "AGENT_PERMISSION_PRESET_",
    NON_WORKSPACE_POLICY: "AGENT_SETTING_POLICY_",
}
_EVERYTHING = "every tool runs without a question: no rule matters but a deny"
_MODEL = "the model itself decides what needs no question; what it lets pass cannot be told"
_SANDBOX = "commands run without a question as long as the CLI's sandbox takes them"
_OUTSIDE = "tools reach files outside the workspace without a question"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meaning:
    level: Level
    why: str


_HARMLESS = None
#: Setting → value, its prefix taken off → what it means; a value that is not here is UNKNOWN.
_MEANINGS: Mapping[str, Mapping[str, _Meaning | None]] = {
    TOOL_PERMISSION: {
        "request-review": _HARMLESS,
        "always-proceed": _Meaning(level=Level.CRITICAL, why=_EVERYTHING),
        "proceed-in-sandbox": _Meaning(level=Level.MEDIUM, why=_SANDBOX),
        "strict": _Meaning(
            level=Level.LOW, why="denies every tool that does more than read; safe, and no work"
        ),
    },
    AGENT_MODE: {
        "default": _HARMLESS,
        "plan": _HARMLESS,
        "planning": _HARMLESS,
        "fast": _HARMLESS,
        "accept-edits": _Meaning(
            level=Level.MEDIUM, why="every edit of a file counts as accepted, whoever asked for it"
        ),
    },
    NON_WORKSPACE: {
        "false": _HARMLESS,
        "true": _Meaning(level=Level.HIGH, why=_OUTSIDE),
    },
    AUTO_EXECUTION: {
        "UNSPECIFIED": _HARMLESS,
        "OFF": _HARMLESS,
        "AUTO": _Meaning(level=Level.UNKNOWN, why=_MODEL),
        "EAGER": _Meaning(level=Level.CRITICAL, why=_EVERYTHING),
        "PROCEED_IN_SANDBOX": _Meaning(level=Level.MEDIUM, why=_SANDBOX),
    },
    PRESET: {
        "UNSPECIFIED": _HARMLESS,
        "NONE": _HARMLESS,
        "DEFAULT": _HARMLESS,
        "REQUEST_REVIEW": _HARMLESS,
        "TURBO": _Meaning(level=Level.CRITICAL, why=_EVERYTHING),
        "AUTO": _Meaning(level=Level.UNKNOWN, why=_MODEL),
        "VETTED": _Meaning(
            level=Level.UNKNOWN, why="which tools the CLI has vetted is written down nowhere"
        ),
    },
    NON_WORKSPACE_POLICY: {
        "UNSPECIFIED": _HARMLESS,
        "ASK": _HARMLESS,
        "DENY": _HARMLESS,
        "ALLOW": _Meaning(level=Level.HIGH, why=_OUTSIDE),
    },
}
_SKIPPING = {"dangerously-skip-permissions", "dangerously_skip_permissions"}
_HARMLESS_FLAGS = {
    *("sandbox", "disable-slash-commands", "json-schema", "project"),
    *("output-format", "input-format", "log-file", "print-timeout", "model", "conversation"),
}
_GO_FALSE = {"0", "f", "false"}
_SUSPECT = (
    *("permission", "danger", "skip", "yolo", "auto", "approve", "allow", "accept", "trust"),
    *("bypass", "unsafe", "policy", "grant", "mcp", "hook", "plugin", "sandbox", "admin"),
)


def audit_modes(subject: Subject, collector: Collector) -> None:
    """Note every setting and argument that widens what rules allow."""
    for setting in settings_in_force(subject):
        if setting.name == TRUSTED:
            _trusted(setting, subject, collector)
            continue
        meaning = meaning_of(setting)
        if meaning is not None:
            collector.add(
                "MODE",
                meaning.level,
                meaning.why,
                source=setting.source,
                rule=f"{setting.name}: {setting.value}",
                narrower=_safer(setting, meaning),
            )
    _job_words(subject, collector)
    if not subject.version_readable:
        collector.add(
            "CLI_VERSION",
            Level.UNKNOWN,
            "the CLI does not say which version it is: how it reads rules is not known",
            source=RuleSource(file="--version"),
            rule=subject.version or None,
        )


def settings_in_force(subject: Subject) -> Iterator[Setting]:
    """Yield the mode settings of every layer that counts for this run."""
    for layer in subject.view.layers:
        if not not_in_force(layer, subject):
            yield from layer.settings


def proceeding(subject: Subject) -> RuleSource | None:
    """Return the setting or argument that lets everything pass without a rule, if any."""
    for setting in settings_in_force(subject):
        meaning = meaning_of(setting)
        if meaning is not None and meaning.level is Level.CRITICAL:
            return setting.source
    for index, word in enumerate(subject.args):
        if _skips(word):
            return RuleSource(file=f"job:{subject.job}", pointer=f"/args/{index}")
    return None


def reads_outside(subject: Subject) -> Setting | None:
    """Return the setting that lets tools reach files outside the workspace, if any."""
    for setting in settings_in_force(subject):
        meaning = meaning_of(setting)
        if meaning is not None and meaning.why is _OUTSIDE:
            return setting
    return None


def meaning_of(setting: Setting) -> _Meaning | None:
    """Return what a value of a setting gives away; None where it gives nothing."""
    values = _MEANINGS.get(setting.name)
    if values is None:
        return None
    value = setting.value.removeprefix(_PREFIXES.get(setting.name, ""))
    folded = {name.casefold(): meaning for name, meaning in values.items()}
    if value.casefold() in folded:
        return folded[value.casefold()]
    return _Meaning(
        level=Level.UNKNOWN, why="what this value lets pass is not known to this release"
    )


def _safer(setting: Setting, meaning: _Meaning) -> str | None:
    if meaning.level is Level.LOW:
        return None
    values = _MEANINGS[setting.name]
    harmless = [name for name, each in values.items() if each is None and name != "UNSPECIFIED"]
    return f"{setting.name}: {_PREFIXES.get(setting.name, '')}{harmless[0]}"


def _trusted(setting: Setting, subject: Subject, collector: Collector) -> None:
    """Note a trusted folder that is far more than a workspace."""
    folder = posixpath.normpath(setting.value) if setting.value else ""
    if folder == "/":
        why = "the whole machine counts as a trusted workspace"
    elif _holds(folder, subject.home):
        why = "the whole home counts as a trusted workspace"
    elif folder != subject.workspace and _holds(folder, subject.workspace):
        why = f"a folder above the workspace {subject.workspace} counts as trusted"
    else:
        return
    collector.add(
        "MODE",
        Level.HIGH,
        why,
        source=setting.source,
        rule=f"{setting.name}: {setting.value}",
        narrower=f"{setting.name}: {subject.workspace}",
    )


def _holds(folder: str, path: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def _job_words(subject: Subject, collector: Collector) -> None:
    file = f"job:{subject.job}"
    if subject.mode is not None:
        setting = Setting(
            name=AGENT_MODE, value=subject.mode, source=RuleSource(file=file, pointer="/mode")
        )
        meaning = meaning_of(setting)
        if meaning is not None:
            rule = f"mode: {subject.mode}"
            collector.add("MODE", meaning.level, meaning.why, source=setting.source, rule=rule)
    for index, word in enumerate(subject.args):
        if not word.startswith("-"):
            continue
        source = RuleSource(file=file, pointer=f"/args/{index}")
        _argument(word, source, collector)


def _argument(word: str, source: RuleSource, collector: Collector) -> None:
    name = word.lstrip("-").partition("=")[0].casefold()
    if _skips(word):
        collector.add(
            "MODE",
            Level.CRITICAL,
            _EVERYTHING,
            source=source,
            rule=word,
            narrower="take it out, and allow what the job needs by exact rules",
        )
    elif name in _HARMLESS_FLAGS or name in _SKIPPING:
        return
    elif any(part in name for part in _SUSPECT):
        collector.add(
            "ARGUMENT",
            Level.UNKNOWN,
            "what this argument does to permissions is not known to this release",
            source=source,
            rule=word,
        )
    else:
        collector.add(
            "ARGUMENT",
            Level.MEDIUM,
            "an argument that this release does not know",
            source=source,
            rule=word,
        )


def _skips(word: str) -> bool:
    """Tell whether an argument switches every question off, as Go reads a flag."""
    name, given, value = word.partition("=")
    if not name.startswith("-") or name.lstrip("-").casefold() not in _SKIPPING:
        return False
    return not given or value.casefold() not in _GO_FALSE
