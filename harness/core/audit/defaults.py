"""What the CLI grants where no rule speaks: findings of their own, since nobody wrote them."""

from __future__ import annotations

from harness.core.audit.files import writes
from harness.core.audit.model import DEFAULT, Collector, Ruleset, Subject
from harness.core.permissions import Level
from harness.core.settings import RuleSource

_SOURCE = RuleSource(file=DEFAULT)
_PROBE = "harness-audit-probe.txt"
_SHARED_TMP = "/tmp"  # noqa: S108 - the place that is meant


def audit_defaults(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    """Note the default grants that still stand under the subject's rules."""
    lists = rules.paths()
    workspace = subject.workspace

    def granted(path: str) -> bool:
        return _granted(subject, lists, path)

    level = Level.MEDIUM if subject.watched or subject.isolated else Level.HIGH
    found_after = (
        "the harness finds such changes after the run" if subject.watched else "nobody watches it"
    )
    if granted(f"{workspace}/{_PROBE}"):
        collector.add(
            "DEFAULT_WORKSPACE_WRITE",
            level,
            f"without any rule the agent may write its whole workspace; {found_after}",
            source=_SOURCE,
            rule="default:workspace",
            examples=_real(subject, workspace),
            narrower="deny: write_file(FOLDER) for what it must not touch",
        )
    if granted(f"{workspace}/.agents/hooks.json"):
        collector.add(
            "DEFAULT_HOOKS_WRITE",
            level,
            "without any rule the agent may write .agents/hooks.json and mcp_config.json, whose "
            f"code the next run executes; {found_after}",
            source=_SOURCE,
            rule="default:hooks",
            examples=_real(subject, f"{workspace}/.agents/hooks.json"),
            narrower="deny: write_file(.agents)",
        )
    guards = [guard for guard in subject.guards if granted(guard)]
    if guards:
        collector.add(
            "DEFAULT_GUARD_WRITE",
            level,
            f"without any rule the agent may write guarded canonical files; {found_after}",
            source=_SOURCE,
            rule="default:guard",
            examples=guards,
            narrower=f"deny: write_file({guards[0]})",
        )
    _protected(subject, lists, collector)


def is_granted(subject: Subject, rules: Ruleset, path: str) -> bool:
    """Tell whether the agent may write a path by default, and no rule takes that away."""
    return _granted(subject, rules.paths(), path)


def _granted(subject: Subject, lists: dict[str, list[str]], path: str) -> bool:
    return writes(subject, {}, path) and writes(subject, lists, path)


def _real(subject: Subject, path: str) -> tuple[str, ...]:
    """Return a path where it belongs to a real workspace, not to the place that stands for one."""
    return (path,) if subject.view.workspace is not None else ()


def _protected(subject: Subject, lists: dict[str, list[str]], collector: Collector) -> None:
    reached = [
        f"{tree.path} ({tree.what})"
        for tree in subject.trees
        if not (subject.isolated and tree.path.startswith(f"{_SHARED_TMP}/"))
        and _reaches(subject, lists, tree.path)
    ]
    reached += [f"{folder or '.'} (PATH)" for folder in subject.relative_path_folders]
    if reached:
        collector.add(
            "DEFAULT_PROTECTED_WRITE",
            Level.HIGH,
            "without any rule the agent may write what decides over it or runs for you: it lies "
            "in the workspace or in /tmp",
            source=_SOURCE,
            rule="default:protected",
            examples=reached,
            narrower="move it elsewhere, or move the workspace",
        )


def _reaches(subject: Subject, lists: dict[str, list[str]], path: str) -> bool:
    return any(_granted(subject, lists, each) for each in (path, f"{path}/{_PROBE}"))
