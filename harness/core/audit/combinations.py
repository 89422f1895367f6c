"""Rules that are worse together than each by itself, and what rides on all of them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from harness.core.audit.defaults import is_granted
from harness.core.audit.model import Collector, Judged, Ruleset, Subject, where
from harness.core.audit.modes import reads_outside
from harness.core.permissions import Decision, Level, Trait, covers, decide
from harness.core.settings import Setting

_NAMED = 5
_DENIES_TRIED = 10
_READING_LINE = "cat /etc/hosts"


def audit_combinations(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    """Note what rules do together; each finding names the rules that make it."""
    _env_prefix(subject, rules, collector)
    _write_and_run(subject, rules, collector)
    _read_and_send(subject, rules, collector)
    _git(rules, collector)
    _around_denies(subject, rules, collector)


def _with(rules: Sequence[Judged], trait: Trait) -> list[Judged]:
    return [each for each in rules if trait in each.judgement.traits]


def _names(rules: Sequence[Judged]) -> str:
    texts = list(dict.fromkeys(each.rule.text for each in rules))
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(texts[:_NAMED]) + more


def _places(rules: Sequence[Judged]) -> list[str]:
    return [f"{each.rule.text} ({where(each.rule.source)})" for each in rules]


def _env_prefix(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    riding = _with(rules.allow, Trait.PREFIX)
    if not riding or subject.isolated:
        return
    collector.add(
        "ENV_PREFIX",
        Level.HIGH,
        "each of these takes variables in front of its program (LD_PRELOAD=./x.so ls, PATH=. ls) "
        f"and options that write files (--output): {_names(riding)}",
        source=riding[0].rule.source,
        examples=_places(riding),
        narrower="isolate the job, or write patterns that match whole lines alone, such as "
        "command(regex:git( status))",
    )


def _write_and_run(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    runners = _with(rules.allow, Trait.WORKSPACE_CODE)
    if not runners:
        return
    writers = _with(rules.allow, Trait.WORKSPACE_WRITE)
    if writers:
        worst = max(writers, key=lambda each: each.judgement.level.rank)
        collector.add(
            "WRITE_AND_RUN",
            Level.CRITICAL,
            f"{worst.rule.text} ({where(worst.rule.source)}) lets the agent write the code that "
            f"{_names(runners)} then runs: any code at all",
            source=runners[0].rule.source,
            rule=f"{worst.rule.text} + {_names(runners)}",
            examples=_places([*writers[:_NAMED], *runners]),
            narrower="let the agent write one folder that nothing runs from, such as reports",
        )
    elif is_granted(subject, rules, f"{subject.workspace}/conftest.py"):
        collector.add(
            "WRITE_AND_RUN",
            Level.HIGH,
            "the agent may write its workspace by default, and "
            f"{_names(runners)} runs what stands there: any code at all",
            source=runners[0].rule.source,
            rule=f"default:workspace + {_names(runners)}",
            examples=_places(runners),
            narrower="deny: write_file(FOLDER) for each folder that they run code from",
        )


def _read_and_send(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    senders = _with(rules.allow, Trait.EGRESS)
    readers = _with(rules.allow, Trait.WIDE_READ)
    setting = reads_outside(subject)
    if not senders or not (readers or setting):
        return
    reading = _names(readers) or _setting_text(setting)
    places = _places(readers) or [reading]
    collector.add(
        "READ_AND_SEND",
        Level.HIGH,
        f"{reading} reads far more than the workspace, and {_names(senders)} can send it away",
        source=senders[0].rule.source,
        rule=f"{reading} + {_names(senders)}",
        examples=[*places[:_NAMED], *_places(senders)],
        narrower="read_file rules for single folders, and read_url rules for single hosts",
    )


def _setting_text(setting: Setting | None) -> str:
    return "" if setting is None else f"{setting.name}: {setting.value}"


def _git(rules: Ruleset, collector: Collector) -> None:
    setters = _with(rules.allow, Trait.GIT_CONFIGURATION)
    # One that sets and calls by itself is a finding of its own; two rules it takes here.
    writers = [each for each in setters if Trait.GIT not in each.judgement.traits]
    setters = (writers or setters)[:_NAMED]
    callers = [each for each in _with(rules.allow, Trait.GIT) if each not in setters]
    if not setters or not callers:
        return
    collector.add(
        "GIT_CONFIGURED",
        Level.CRITICAL,
        f"{_names(setters)} sets hooks, pagers and aliases that {_names(callers)} then runs",
        source=setters[0].rule.source,
        rule=f"{_names(setters)} + {_names(callers)}",
        examples=_places([*setters, *callers]),
        narrower="no rule that writes .git or sets git's configuration beside a git rule",
    )


def _around_denies(subject: Subject, rules: Ruleset, collector: Collector) -> None:
    """Note deny rules that an allow rule walks around."""
    everything = _with(rules.allow, Trait.EVERY_COMMAND)
    denies = [each for each in rules.deny if each.action == "command"]
    denies = [each for each in denies if each.target not in {"", "*"}]
    if everything and denies:
        ways = [way for each in denies[:_DENIES_TRIED] for way in _ways(subject, each, rules)]
    else:
        ways = []
    if ways:
        collector.add(
            "DENY_BYPASSED",
            Level.CRITICAL,
            f"{everything[0].rule.text} ({where(everything[0].rule.source)}) stays open beside "
            f"{_names(denies)}: the same is done in other words",
            source=denies[0].rule.source,
            rule=f"{everything[0].rule.text} + {_names(denies)}",
            examples=ways,
            narrower="allow what is needed, line by line; a list of denials is never complete",
        )
    closed = [each for each in rules.deny if each.action in {"read_file", "write_file"}]
    reading = [each for each in rules.allow if _reads(subject, each)] if closed else []
    if closed and reading:
        collector.add(
            "DENY_IGNORED_BY_COMMANDS",
            Level.MEDIUM,
            f"commands do not ask file rules: {_names(reading)} reaches what {_names(closed)} "
            "closes to the file tools",
            source=closed[0].rule.source,
            rule=f"{_names(reading)} + {_names(closed)}",
            examples=_places([*closed[:_NAMED], *reading[:_NAMED]]),
            narrower="isolate the job, or drop the commands that read any file",
        )


def _ways(subject: Subject, denied: Judged, rules: Ruleset) -> list[str]:
    """Return other words for a denied command that the rules let pass."""
    words = denied.target.split()
    if not words or denied.target.startswith("regex:"):
        return []
    program, rest = words[0], words[1:]
    line = " ".join(words)
    candidates = [
        " ".join([f"/bin/{program}", *rest]),
        f"sudo {line}",
        f"bash -c {shlex.quote(line)}",
        " ".join([f'"{program}"', *rest]),
    ]
    if rest and rest[0].startswith("-") and len(rest[0]) > 2:  # noqa: PLR2004 - several letters
        candidates.append(" ".join([program, f"-{rest[0][:0:-1]}", *rest[1:]]))
    lists = {
        name: [text for text in texts if text.startswith("command(")]
        for name, texts in Ruleset(deny=rules.deny, ask=rules.ask).lists().items()
    }
    lists["allow"] = ["command(*)"]
    return [each for each in candidates if _allows(subject, lists, f"command({each})")]


def _allows(subject: Subject, lists: dict[str, list[str]], request: str) -> bool:
    decision = decide(
        lists,
        request,
        workspace=subject.workspace,
        home=subject.home,
        shell=subject.shell,
        version=subject.version,
    )
    return decision == Decision.ALLOW


def _reads(subject: Subject, judged: Judged) -> bool:
    if judged.action != "command":
        return False
    if Trait.EVERY_COMMAND in judged.judgement.traits:
        return True
    if "regex:" not in judged.target and not judged.target.startswith("cat"):
        return False
    return covers(judged.rule.text, _READING_LINE, shell=subject.shell, version=subject.version)
