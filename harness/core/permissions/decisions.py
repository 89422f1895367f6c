"""Whole decisions: deny, then ask, then allow, then what the CLI does without a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.core.permissions.commandline import CommandLine, Part
from harness.core.permissions.grammar import (
    Action,
    Behaviour,
    Rule,
    behaviours,
    clean,
    parse_request,
    parse_rule,
)
from harness.core.permissions.hosts import covers_host, covers_tool
from harness.core.permissions.levels import Decision
from harness.core.permissions.matching import (
    Target,
    blocks_line,
    covers_line,
    read_line,
    read_target,
)
from harness.core.permissions.paths import (
    Place,
    covers_path,
    default_read,
    default_write,
    place_of,
    request_path,
)

_ALLOW, _ASK, _DENY = "allow", "ask", "deny"
_FREEDOM = (Decision.DENY, Decision.ASK, Decision.ALLOW)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """Everything that a decision depends on beside the request."""

    rules: Mapping[str, tuple[Rule, ...]]
    place: Place
    shell: str
    behaviour: Behaviour

    def targets(self, name: str, *actions: Action) -> list[str]:
        """Return the targets that a list holds for some actions."""
        return [rule.target for rule in self.rules[name] if rule.action in actions]


def decide(
    rules: Mapping[str, Sequence[str]],
    request: str,
    *,
    workspace: str,
    home: str,
    shell: str = "bash",
    version: str = "1.3.3",
) -> Decision:
    """Return what the CLI does with a request under some rules, merged from all layers.

    Fails closed for whoever must know what may pass: a rule that cannot be judged counts when it
    allows and does not count when it asks or denies; of several behaviours that a version may
    have, the freest is reported; writes inside the workspace count as granted by default.
    Never raises on any text.

    Args:
        rules: the lists `allow`, `ask` and `deny`; a missing one is empty.
        request: such as `command(git status)` or `write_file(/srv/app/a)`.
        workspace: absolute.
        home: absolute; `.gemini` in it is the CLI's own configuration.
        shell: `bash`, `zsh`, `sh`, `pwsh` or `cmd`.
        version: of the CLI.
    """
    parsed = parse_request(clean(request))
    if parsed is None or parsed.action is None:
        return Decision.ASK
    texts = {name: rules.get(name, ()) for name in (_ALLOW, _ASK, _DENY)}
    lists = {name: tuple(_rules_of(listed)) for name, listed in texts.items()}
    place = place_of(clean(workspace), clean(home))
    found = [
        _DECIDERS[parsed.action](
            _Setting(rules=lists, place=place, shell=shell, behaviour=behaviour), parsed.target
        )
        for behaviour in behaviours(version)
    ]
    return max(found, key=_FREEDOM.index)


def _rules_of(texts: Sequence[str]) -> Iterator[Rule]:
    for text in texts:
        rule = parse_rule(clean(text))
        if rule is not None and rule.action is not None:
            yield rule


def _command(setting: _Setting, target: str) -> Decision:
    return _line_decision(setting, target, Action.COMMAND)


def _unsandboxed(setting: _Setting, target: str) -> Decision:
    own = setting.behaviour.own_unsandboxed
    return _line_decision(setting, target, Action.UNSANDBOXED if own else Action.COMMAND)


def _line_decision(setting: _Setting, text: str, action: Action) -> Decision:
    line = read_line(text, setting.shell)
    targets = {
        name: [read_target(one, setting.behaviour) for one in setting.targets(name, action)]
        for name in (_ALLOW, _ASK, _DENY)
    }
    for name, decision in ((_DENY, Decision.DENY), (_ASK, Decision.ASK)):
        if any(blocks_line(target, line) for target in targets[name]):
            return decision
    if line is not None and not all(_may_write(setting, output) for output in line.outputs):
        line = replace(line, exact=True)
    return Decision.ALLOW if _passes(targets[_ALLOW], line) else Decision.ASK


def _may_write(setting: _Setting, output: str | None) -> bool:
    return output is not None and _write(setting, output) is Decision.ALLOW


def _passes(allowed: Sequence[Target], line: CommandLine | None) -> bool:
    """Return whether the allow rules together let a line pass."""
    if any(covers_line(target, line) is not False for target in allowed):
        return True
    if line is None or line.exact:
        return False
    if not line.parts:
        return line.free

    def covered(part: Part) -> bool:
        return any(target.covers_words(part) for target in allowed)

    return all(map(covered, line.parts))


def _read(setting: _Setting, target: str) -> Decision:
    path = request_path(target, setting.place)

    def any_of(name: str, *actions: Action) -> bool:
        return _path_in(setting, name, actions, path)

    if any_of(_DENY, Action.READ_FILE):
        return Decision.DENY
    if any_of(_ASK, Action.READ_FILE):
        return Decision.ASK
    if any_of(_ALLOW, Action.READ_FILE, Action.WRITE_FILE):
        return Decision.ALLOW
    return default_read(path, setting.place)


def _write(setting: _Setting, target: str) -> Decision:
    path = request_path(target, setting.place)

    def any_of(name: str, *actions: Action) -> bool:
        return _path_in(setting, name, actions, path)

    if any_of(_DENY, Action.READ_FILE, Action.WRITE_FILE):
        return Decision.DENY
    if any_of(_ASK, Action.WRITE_FILE):
        return Decision.ASK
    if any_of(_ALLOW, Action.WRITE_FILE):
        return Decision.ALLOW
    return default_write(path, setting.place)


def _path_in(
    setting: _Setting, name: str, actions: tuple[Action, ...], path: tuple[str, ...]
) -> bool:
    surely = name != _ALLOW
    targets = setting.targets(name, *actions)
    return any(covers_path(target, path, setting.place, surely=surely) for target in targets)


def _listed(setting: _Setting, covered: Callable[[str, bool], bool], action: Action) -> Decision:
    """Return the decision for an action that nothing grants by default."""
    for name, decision in (
        (_DENY, Decision.DENY),
        (_ASK, Decision.ASK),
        (_ALLOW, Decision.ALLOW),
    ):
        if any(covered(target, name != _ALLOW) for target in setting.targets(name, action)):
            return decision
    return Decision.ASK


def _read_url(setting: _Setting, request: str) -> Decision:
    return _listed(
        setting, lambda target, surely: covers_host(target, request, surely=surely), Action.READ_URL
    )


def _execute_url(setting: _Setting, request: str) -> Decision:
    return _listed(
        setting,
        lambda target, surely: covers_host(target, request, surely=surely),
        Action.EXECUTE_URL,
    )


def _mcp(setting: _Setting, request: str) -> Decision:
    return _listed(setting, lambda target, _: covers_tool(target, request), Action.MCP)


_DECIDERS: Mapping[Action, Callable[[_Setting, str], Decision]] = {
    Action.COMMAND: _command,
    Action.UNSANDBOXED: _unsandboxed,
    Action.READ_FILE: _read,
    Action.WRITE_FILE: _write,
    Action.READ_URL: _read_url,
    Action.EXECUTE_URL: _execute_url,
    Action.MCP: _mcp,
}
