"""Each rule by itself: how broad it is, and whether it does what its author thinks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from harness.core.audit.model import AuditFinding, Judged, Ruleset, Subject
from harness.core.audit.own_server import NAME
from harness.core.permissions import Judgement, Level, judge
from harness.core.settings import Layer, LayerKind, ListName, McpServer, WrittenRule

_SERVER = NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRules:
    """The findings about rules, and the rules that the CLI obeys."""

    findings: tuple[AuditFinding, ...]
    rules: Ruleset


def judge_rules(subject: Subject) -> JudgedRules:
    """Return a finding for each rule of each layer, obeyed or not."""
    judging = _Judging(subject)
    findings: list[AuditFinding] = []
    obeyed: dict[ListName, list[Judged]] = {name: [] for name in ListName}
    for layer in subject.view.layers:
        for rule in layer.rules:
            judgement = judging.of(rule)
            reason = rule.ignored or not_in_force(layer, subject)
            if reason:
                findings.append(_ignored(rule, judgement, reason))
                continue
            findings.append(finding_of(rule, judgement))
            obeyed[rule.list_name].append(Judged(rule=rule, judgement=judgement))
    rules = Ruleset(**{name.value: tuple(judged) for name, judged in obeyed.items()})
    return JudgedRules(findings=tuple(findings), rules=rules)


def judge_given(subject: Subject, rules: Sequence[WrittenRule]) -> list[AuditFinding]:
    """Return a finding for each rule that somebody asks about."""
    judging = _Judging(subject)
    return [finding_of(rule, judging.of(rule)) for rule in rules]


def finding_of(rule: WrittenRule, judgement: Judgement, *, id_: str = "RULE") -> AuditFinding:
    """Return a rule's judgement as a finding with its place."""
    counted = rule.text.startswith(("command(", "unsandboxed("))
    return AuditFinding(
        id=id_,
        level=judgement.level,
        list=rule.list_name,
        rule=rule.text,
        file=rule.source.file,
        pointer=rule.source.pointer,
        line=rule.source.line,
        why=judgement.why,
        covers_danger=judgement.covers_danger if counted else None,
        covers_benign=judgement.covers_benign if counted else None,
        examples=judgement.examples,
        narrower=judgement.narrower,
    )


def not_in_force(layer: Layer, subject: Subject) -> str:
    """Return why a whole layer does not count for this run; empty where it does.

    A project other than the run's own is passed over only where it says itself that it is
    another one: by name, and by folders that have nothing to do with the workspace.
    """
    if layer.rejected:
        return "the CLI refuses this file as a whole"
    if layer.kind is not LayerKind.PROJECT or subject.view.workspace is None:
        return ""
    chosen = chosen_project(subject.args)
    if chosen in layer.identity or not layer.folders:
        return ""
    if any(_touch(folder, subject.workspace) for folder in layer.folders):
        return ""
    return f"it belongs to another project; this run uses {chosen}"


def chosen_project(args: Sequence[str]) -> str:
    """Return the project that a job's arguments choose."""
    chosen = "default-cli-project"
    for index, word in enumerate(args):
        name, given, value = word.partition("=")
        if name.lstrip("-") == "project" and name.startswith("-"):
            following = args[index + 1] if index + 1 < len(args) else ""
            chosen = value if given else following
    return chosen


def servers_named(subject: Subject, name: str) -> list[McpServer]:
    """Return every entry that defines a server of this name, disabled ones included."""
    return [
        server for layer in subject.view.layers for server in layer.servers if server.name == name
    ]


class _Judging:
    """Judges rules of one subject, each text once."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._known: dict[tuple[str, ListName], Judgement] = {}
        self._judge = partial(
            judge,
            workspace=subject.workspace,
            home=subject.home,
            shell=subject.shell,
            version=subject.version,
            protected=_protected(subject),
        )

    def of(self, rule: WrittenRule) -> Judgement:
        key = (rule.text, rule.list_name)
        if key not in self._known:
            judgement = self._judge(rule.text, list=rule.list_name.value)
            if rule.list_name is ListName.ALLOW:
                judgement = self._beside_the_harness(rule.text, judgement)
            self._known[key] = judgement
        return self._known[key]

    def _beside_the_harness(self, text: str, judgement: Judgement) -> Judgement:
        """Return the judgement with what it means that a harness is there."""
        action, _, rest = text.partition("(")
        target = rest[:-1] if rest.endswith(")") else ""
        match action:
            case "mcp" if target.startswith(f"{_SERVER}/"):
                return _of_own_server(self._subject, judgement)
            case "command":
                return self._of_command(target, judgement)
            case "read_file":
                return self._of_path(target, judgement)
            case _:
                return judgement

    def _of_command(self, target: str, judgement: Judgement) -> Judgement:
        home = self._subject.harness_home
        if home is None or judgement.level is Level.INERT or not _names_place(target, home):
            return judgement
        return _critical(judgement, f"names the harness's home {home}: its state, jobs and rules")

    def _of_path(self, target: str, judgement: Judgement) -> Judgement:
        home = self._subject.harness_home
        if home is None or not f"{target}/".startswith(f"{home}/state/"):
            return judgement
        return _critical(judgement, "reaches the harness's own state")


def _names_place(text: str, place: str) -> bool:
    """Tell whether a text holds a path itself or one below it, not merely one that begins so."""
    return re.search(re.escape(place) + r"(?![\w.-])", text) is not None


def _protected(subject: Subject) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys([subject.view.root, *subject.guards, *(tree.path for tree in subject.trees)])
    )


def _of_own_server(subject: Subject, judgement: Judgement) -> Judgement:
    """Return LOW while the server is the harness's own beyond doubt, and CRITICAL otherwise."""
    if judgement.level is Level.INERT:
        return judgement
    entries = servers_named(subject, _SERVER)
    if len(entries) == 1 and entries[0].enabled and entries[0].entry == subject.known_entry:
        return replace(
            judgement,
            level=Level.LOW,
            why="the harness's own server, installed unchanged; canonical writes are held there",
            narrower=None,
        )
    if not entries:
        why = "no server of that name is installed: whoever defines one is trusted with every tool"
    elif len(entries) > 1:
        why = f"{len(entries)} layers define this server; which one answers is not certain"
    else:
        why = "its entry is not the one that the harness installs: any program may stand behind it"
    return _critical(judgement, why)


def _critical(judgement: Judgement, why: str) -> Judgement:
    return replace(judgement, level=Level.CRITICAL, why=why)


def _ignored(rule: WrittenRule, judgement: Judgement, reason: str) -> AuditFinding:
    """Return a finding about a rule that the CLI does not obey where it stands."""
    finding = finding_of(rule, judgement, id_="RULE_NOT_IN_FORCE")
    if rule.list_name is ListName.ALLOW:
        why = f"not in force: {reason}; if it were: {judgement.level.value}, {judgement.why}"
        return replace(finding, level=Level.INERT, why=why)
    why = f"protects nothing: {reason}"
    return replace(finding, level=Level.HIGH, why=why)


def _touch(one: str, other: str) -> bool:
    """Tell whether one folder is, or holds, the other."""
    one, other = one.rstrip("/") + "/", other.rstrip("/") + "/"
    return one.startswith(other) or other.startswith(one)
