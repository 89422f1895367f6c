"""How broad one rule is, with the evidence and a narrower rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.core.permissions import commandline, regexes
from harness.core.permissions.broad_commands import command_findings
from harness.core.permissions.broad_files import read_finding, write_finding
from harness.core.permissions.broad_hosts import mcp_finding, url_finding
from harness.core.permissions.grammar import (
    EVERYTHING,
    EXACT_SHELLS,
    LONGEST_RULE,
    WORD_SHELLS,
    Action,
    Behaviour,
    Rule,
    behaviours,
    clean,
    parse_rule,
)
from harness.core.permissions.levels import Finding, Judgement, Level, Trait, broadest
from harness.core.permissions.matching import Target, read_target
from harness.core.permissions.narrowing import candidates
from harness.core.permissions.paths import Place, is_doubtful, place_of
from harness.core.permissions.probes import Probe, covered_by, least_level
from harness.core.versions import parse_version

_ALLOW = "allow"
_MOST_EXAMPLES = 3
_COMMANDS = frozenset({Action.COMMAND, Action.UNSANDBOXED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """Everything that a verdict depends on beside the rule."""

    place: Place
    shell: str
    version: str
    protected: tuple[str, ...]
    harness_intact: bool


def judge(
    rule: str,
    *,
    list: str = _ALLOW,  # noqa: A002  # the word of the settings file
    workspace: str,
    home: str,
    shell: str = "bash",
    version: str = "1.3.3",
    protected: Sequence[str] = (),
    harness_intact: bool = False,
) -> Judgement:
    """Return how broad a rule is. Never raises on any text; what cannot be judged is UNKNOWN.

    Args:
        rule: the whole text.
        list: where it stands: `allow`, `ask` or `deny`. In the last two, a rule that matches
            nothing is a false protection and so HIGH.
        workspace: absolute.
        home: absolute.
        shell: `bash`, `zsh`, `sh`, `pwsh` or `cmd`; any other is UNKNOWN.
        version: of the CLI; a newer one counts as the newest known.
        protected: paths whose writing is CRITICAL: the harness's state, jobs and rules, and
            canonical data; absolute, from `~`, or relative to the workspace.
        harness_intact: whether the server `harness` is the one that the harness installed.
    """
    setting = _Setting(
        place=place_of(clean(workspace), clean(home)),
        shell=shell,
        version=version,
        protected=tuple(map(clean, protected)),
        harness_intact=harness_intact,
    )
    text = clean(rule)
    judged, covered = _judge_allow(text, setting)
    if list == _ALLOW:
        return replace(judged, narrower=_narrower(text, judged, covered, setting))
    return _judge_block(text, judged, setting)


def _judge_allow(text: str, setting: _Setting) -> tuple[Judgement, Sequence[Probe]]:
    """Return the verdict on a rule that allows, and the lines of the corpus that it covers."""
    parsed = parse_rule(text)
    if parsed is None or parsed.action is None:
        return _judged(_no_rule(text, parsed), []), []
    findings: list[Finding] = []
    covered: dict[str, Probe] = {}
    for behaviour in behaviours(setting.version):
        target = _target_of(parsed, behaviour)
        findings += _findings(parsed, target, setting, behaviour)
        if target is not None and parsed.action is Action.COMMAND:
            covered |= {probe.id: probe for probe in covered_by(target, setting.shell)}
    findings += _circumstances(parsed, setting)
    evidence = [*covered.values()]
    level, line = least_level(evidence)
    findings.append(Finding(level=level, why=f"it covers `{line}`"))
    return _judged(broadest(findings), evidence), evidence


def _no_rule(text: str, parsed: Rule | None) -> Finding:
    if len(text) > LONGEST_RULE:
        return Finding(level=Level.UNKNOWN, why=f"the rule has more than {LONGEST_RULE} signs")
    if parsed is None:
        return Finding(level=Level.INERT, why="it is no rule of the form action(target)")
    if parsed.may_mean_something:
        return Finding(level=Level.UNKNOWN, why=f"the action `{parsed.name}` is not known")
    return Finding(level=Level.INERT, why=f"the CLI drops the action `{parsed.name}`")


def _target_of(rule: Rule, behaviour: Behaviour) -> Target | None:
    return read_target(rule.target, behaviour) if rule.action in _COMMANDS else None


def _findings(
    rule: Rule, target: Target | None, setting: _Setting, behaviour: Behaviour
) -> list[Finding]:
    if len(rule.target) > LONGEST_RULE:
        return [Finding(level=Level.UNKNOWN, why=f"the rule has more than {LONGEST_RULE} signs")]
    if rule.action is Action.UNSANDBOXED and not behaviour.own_unsandboxed:
        why = "the action is ignored from 1.2.2, where command(…) speaks for it"
        return [Finding(level=Level.INERT, why=why)]
    if target is not None:
        return command_findings(target, setting.shell)
    return [_target_finding(rule, setting)]


def _target_finding(rule: Rule, setting: _Setting) -> Finding:
    match rule.action:
        case Action.WRITE_FILE:
            return write_finding(rule.target, setting.place, setting.protected)
        case Action.READ_FILE:
            return read_finding(rule.target, setting.place)
        case Action.MCP:
            return mcp_finding(rule.target, harness_intact=setting.harness_intact)
        case _:
            return url_finding(rule.target, browser=rule.action is Action.EXECUTE_URL)


def _circumstances(rule: Rule, setting: _Setting) -> list[Finding]:
    """Return what makes any verdict doubtful."""
    found = []
    if parse_version(setting.version).unparsable:
        found.append("the version of the CLI cannot be read")
    if rule.action in _COMMANDS and setting.shell not in WORD_SHELLS | EXACT_SHELLS:
        found.append(f"how rules match under {setting.shell} is not known")
    if rule.action in _COMMANDS:
        found += filter(None, (regexes.missing(), commandline.missing()))
    return [Finding(level=Level.UNKNOWN, why=why) for why in found]


def _judged(finding: Finding, covered: list[Probe]) -> Judgement:
    dangerous = [probe.text for probe in covered if probe.dangerous]
    return Judgement(
        level=finding.level,
        why=_sentence(finding.why),
        covers_danger=len(dangerous),
        covers_benign=len(covered) - len(dangerous),
        examples=tuple(dangerous[:_MOST_EXAMPLES]),
        traits=finding.traits,
    )


def _sentence(why: str) -> str:
    return f"{why[:1].upper()}{why[1:]}."


def _clause(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:].rstrip('.')}"


def _narrower(
    text: str, judged: Judgement, covered: Sequence[Probe], setting: _Setting
) -> str | None:
    """Return the first candidate that is judged narrower than the rule."""
    parsed = parse_rule(text)
    if parsed is None or parsed.action is None or judged.level <= Level.NARROW:
        return None
    target = _target_of(parsed, behaviours(setting.version)[-1])
    for candidate in candidates(parsed, target, covered, setting.place, setting.shell):
        level = _judge_allow(candidate, setting)[0].level
        if Level.INERT < level < min(judged.level, Level.HIGH):
            return candidate
    return None


def _judge_block(text: str, judged: Judgement, setting: _Setting) -> Judgement:
    """Return the verdict on a rule that is to ask or to deny."""
    if judged.level is Level.UNKNOWN:
        return judged
    problem = _false_protection(text, judged, setting)
    if problem:
        return replace(judged, level=Level.HIGH, why=_sentence(f"it protects nothing: {problem}"))
    parsed = parse_rule(text)
    commands = parsed is not None and parsed.action in _COMMANDS
    why = 'it works, but not against another spelling of the same: /bin/rm, sudo rm, `"rm"`, rm -fr'
    if Trait.EVERY_COMMAND in judged.traits:
        why = "it stops every command, so that nothing runs unattended"
    level = Level.LOW if commands else Level.NARROW
    return replace(judged, level=level, why=_sentence(why if commands else "it works"))


def _false_protection(text: str, judged: Judgement, setting: _Setting) -> str:
    """Return why a rule catches nothing that it seems to catch; empty where it works."""
    parsed = parse_rule(text)
    if parsed is None or parsed.action is None or judged.level is Level.INERT:
        return _clause(judged.why)
    if parsed.action in _COMMANDS:
        return _misses_commands(parsed.target, setting)
    paths = parsed.action in {Action.READ_FILE, Action.WRITE_FILE}
    literal = paths and parsed.target != EVERYTHING and is_doubtful(parsed.target)
    return "the path is taken literally" if literal else ""


def _misses_commands(text: str, setting: _Setting) -> str:
    """Return why a command target stops no command but by accident; empty where it works."""
    target = read_target(text, behaviours(setting.version)[-1])
    if target.everything:
        return ""
    if setting.shell in EXACT_SHELLS:
        return "in this shell it catches one exact line" if target.pattern is None else ""
    if target.words is None:
        return "it compares whole lines, and only those that the engine cannot split"
    return ""
