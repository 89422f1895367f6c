"""Who may write the files that the settings stand in, and files that cannot be judged."""

from __future__ import annotations

from harness.core.audit.model import DEFAULT, Collector, Judged, Ruleset, Subject, where
from harness.core.permissions import Decision, Level, decide
from harness.core.settings import FaultKind, Layer, LayerKind, RuleSource

_LEVELS = {
    FaultKind.UNREADABLE: Level.UNKNOWN,
    FaultKind.NOT_REGULAR: Level.UNKNOWN,
    FaultKind.TOO_LARGE: Level.UNKNOWN,
    FaultKind.TOO_MANY: Level.UNKNOWN,
    FaultKind.BROKEN: Level.UNKNOWN,
    FaultKind.WRONG_TYPE: Level.UNKNOWN,
    FaultKind.SYMLINK: Level.MEDIUM,
    FaultKind.OTHER_OWNER: Level.HIGH,
    FaultKind.WORLD_WRITABLE: Level.HIGH,
    FaultKind.MALFORMED: Level.MEDIUM,
    FaultKind.EMPTY: Level.LOW,
}
_REMEDY = {
    FaultKind.UNREADABLE: "make it readable to yourself, or take it away",
    FaultKind.NOT_REGULAR: "take it away",
    FaultKind.TOO_LARGE: "take out what nobody needs",
    FaultKind.TOO_MANY: "take out what nobody needs",
    FaultKind.BROKEN: "mend it, then audit again",
    FaultKind.WRONG_TYPE: "mend it, then audit again",
    FaultKind.SYMLINK: "put the file itself here",
    FaultKind.OTHER_OWNER: "make it your own: chown",
    FaultKind.WORLD_WRITABLE: "chmod o-w",
    FaultKind.MALFORMED: "write plain JSON: no comments, no trailing commas, each key once",
    FaultKind.EMPTY: "take it away, or write {} into it",
}


def audit_files(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    """Note decoys, flaws of files, and every way in which an agent could write one."""
    for layer in subject.view.layers:
        if layer.kind is LayerKind.DECOY:
            _decoy(layer, collector)
            continue
        _faults(layer, collector)
    _writable(subject, rules, collector)


def _decoy(layer: Layer, collector: Collector) -> None:
    collector.add(
        "DECOY",
        Level.INERT,
        "found, not read: as far as is known, the CLI takes no settings from here",
        source=RuleSource(file=layer.file),
        narrower="move what you mean to antigravity-cli/settings.json",
    )


def _faults(layer: Layer, collector: Collector) -> None:
    for fault in layer.faults:
        level, why = _LEVELS[fault.kind], fault.detail
        if fault.kind is FaultKind.MALFORMED and layer.rejected:
            level = Level.UNKNOWN
        if layer.kind is LayerKind.FOLDER and fault.kind is FaultKind.SYMLINK:
            level = Level.LOW
        granted: list[str] = []
        if level is Level.UNKNOWN and layer.rejected:
            granted = [f"{rule.list_name.value}: {rule.text}" for rule in layer.rules]
            why += _once_mended(granted)
        collector.add(
            f"FILE_{fault.kind.name}",
            level,
            why,
            source=RuleSource(file=layer.file, line=fault.line),
            examples=granted,
            narrower=_REMEDY[fault.kind],
        )


def _once_mended(granted: list[str]) -> str:
    whole = "; the CLI then refuses the whole file"
    if not granted:
        return f"{whole}, and once mended it would grant nothing"
    more = f" and {len(granted) - 3} more" if len(granted) > 3 else ""  # noqa: PLR2004 - a few
    return f"{whole}; once mended it would say {', '.join(granted[:3])}{more}"


def _writable(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    """Note files of the settings that a rule, or the lack of one, lets an agent write."""
    lists = rules.paths()
    writers = [each for each in rules.allow if each.action == "write_file"]
    by_default: dict[str, str] = {}
    for path, shown in sorted(_own_files(subject).items()):
        if not writes(subject, lists, path):
            continue
        if writes(subject, {}, path):
            by_default[path] = shown
            continue
        writer = next(each for each in writers if writes(subject, only(each), path))
        collector.add(
            "SETTINGS_WRITABLE",
            Level.CRITICAL,
            f"{writer.rule.text} ({where(writer.rule.source)}) lets the agent rewrite this file",
            source=RuleSource(file=shown),
            rule=writer.rule.text,
            list_name=writer.rule.list_name,
            narrower="a rule for the one folder that the agent is to write",
        )
    if by_default:
        inside = all(path.startswith(f"{subject.view.root}/") for path in by_default)
        collector.add(
            "SETTINGS_WRITABLE_BY_DEFAULT",
            Level.MEDIUM if inside else Level.HIGH,
            "these files of the settings lie where the CLI lets the agent write by default; "
            "only its own protection of its configuration stands between",
            source=RuleSource(file=DEFAULT),
            rule="default:settings",
            examples=dict.fromkeys(by_default.values()),
            narrower="keep the CLI's root outside the workspace and /tmp",
        )


def _own_files(subject: Subject) -> dict[str, str]:
    """Return the files that hold permissions, by where they really are, with their names.

    What lies in the workspace's `.agents` is writable by default, and a finding by itself.
    """
    root = subject.view.root
    found = {f"{root}/antigravity-cli/settings.json": f"{root}/antigravity-cli/settings.json"}
    for layer in subject.view.layers:
        if layer.kind in {LayerKind.DECOY, LayerKind.FOLDER}:
            continue
        if not layer.file.startswith(f"{subject.workspace}/.agents/"):
            found[layer.file] = layer.file
            found.setdefault(layer.real_file, layer.file)
    return found


def only(judged: Judged) -> dict[str, list[str]]:
    """Return lists that hold one allow rule and nothing else."""
    return {"allow": [judged.rule.text]}


def writes(subject: Subject, lists: dict[str, list[str]], path: str) -> bool:
    """Tell whether the write tool may write a path under these lists."""
    decision = decide(
        {"allow": [], "ask": [], "deny": [], **lists},
        f"write_file({path})",
        workspace=subject.workspace,
        home=subject.home,
        shell=subject.shell,
        version=subject.version,
    )
    return decision == Decision.ALLOW
