"""Which rule of which file decides one request, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from harness.core.audit.model import DEFAULT, Judged, Ruleset, Subject
from harness.core.audit.modes import proceeding
from harness.core.permissions import Decision, decide
from harness.core.settings import ListName, RuleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """One rule that decides; `list` and `rule` are None for a setting or a default."""

    list: ListName | None
    rule: str | None
    file: str
    pointer: str
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Would:
    """What the CLI would do with a request.

    Attributes:
        headless: the same without anybody to ask: an ask is a denial.
        by: the rules that decide together, or the default that does.
        why: one sentence.
    """

    request: str
    decision: Decision
    headless: Decision
    by: tuple[Decider, ...]
    why: str


_Decide = Callable[[dict[str, list[str]]], str]


def would(subject: Subject, rules: Ruleset, request: str) -> Would:
    """Return what the CLI would do with a request such as `command(git push)`."""
    ask: _Decide = partial(
        decide,
        request=request,
        workspace=subject.workspace,
        home=subject.home,
        shell=subject.shell,
        version=subject.version,
    )
    decision = Decision(ask(rules.lists()))
    if decision is not Decision.DENY and (source := proceeding(subject)) is not None:
        by = (_default(source),)
        return _answer(request, Decision.ALLOW, by, "a mode lets every tool run without a question")
    match decision:
        case Decision.DENY:
            return _denied(request, rules, ask)
        case Decision.ASK:
            return _asked(request, rules, ask)
        case Decision.ALLOW:
            return _allowed(request, rules, ask)


def _answer(request: str, decision: Decision, by: tuple[Decider, ...], why: str) -> Would:
    headless = Decision.DENY if decision is Decision.ASK else decision
    return Would(request=request, decision=decision, headless=headless, by=by, why=why)


def _denied(request: str, rules: Ruleset, ask: _Decide) -> Would:
    # An allow of everything silences the defaults, so that only the deny rule can deny.
    everything = _everything(request)
    for each in rules.deny:
        if ask({"allow": everything, "deny": [each.rule.text]}) == Decision.DENY:
            return _answer(request, Decision.DENY, (_decider(each),), "a deny rule matches")
    why = "the CLI keeps agents from its own configuration"
    return _answer(request, Decision.DENY, (_default(RuleSource(file=DEFAULT)),), why)


def _asked(request: str, rules: Ruleset, ask: _Decide) -> Would:
    everything = _everything(request)
    for each in rules.ask:
        if ask({"allow": everything, "ask": [each.rule.text]}) == Decision.ASK:
            why = "an ask rule matches; in a headless run nobody can be asked, so it is denied"
            return _answer(request, Decision.ASK, (_decider(each),), why)
    why = "no rule allows it; in a headless run nobody can be asked, so it is denied"
    return _answer(request, Decision.ASK, (_default(RuleSource(file=DEFAULT)),), why)


def _allowed(request: str, rules: Ruleset, ask: _Decide) -> Would:
    lists = rules.lists()

    def allows(chosen: Sequence[Judged]) -> bool:
        texts = [each.rule.text for each in chosen]
        return ask({**lists, "allow": texts}) == Decision.ALLOW

    if allows(()):
        why = "granted by default: no rule is needed"
        return _answer(request, Decision.ALLOW, (_default(RuleSource(file=DEFAULT)),), why)
    needed = _smallest(rules.allow, allows)
    why = "an allow rule matches" if len(needed) == 1 else "these allow rules together match"
    return _answer(request, Decision.ALLOW, tuple(_decider(each) for each in needed), why)


def _smallest(rules: Sequence[Judged], allows: Callable[[Sequence[Judged]], bool]) -> list[Judged]:
    """Return few rules that allow: each found as the one that makes a shortest prefix do it."""
    needed: list[Judged] = []
    while not allows(needed):
        low, high = 0, len(rules)
        while low < high:
            middle = (low + high) // 2
            if allows([*needed, *rules[:middle]]):
                high = middle
            else:
                low = middle + 1
        needed.append(rules[low - 1])
    return needed


def _everything(request: str) -> list[str]:
    action = request.partition("(")[0].strip()
    return [f"{action}(*)", "command(*)"] if action == "unsandboxed" else [f"{action}(*)"]


def _decider(judged: Judged) -> Decider:
    source = judged.rule.source
    return Decider(
        list=judged.rule.list_name,
        rule=judged.rule.text,
        file=source.file,
        pointer=source.pointer,
        line=source.line,
    )


def _default(source: RuleSource) -> Decider:
    return Decider(list=None, rule=None, file=source.file, pointer=source.pointer, line=source.line)
