"""Laws that hold for every rule and line, whatever they look like."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.permissions import Level, covers, decide, judge
from harness.core.permissions.known_development import DEVELOPMENT
from harness.core.permissions.known_services import SERVICES
from harness.core.permissions.known_system import SYSTEM
from harness.core.permissions.probes import PROBES, Sort

WORKSPACE, HOME = "/home/u/proj", "/home/u"
PROGRAMS = sorted(
    {
        name
        for entry in (*SYSTEM, *DEVELOPMENT, *SERVICES)
        for name in entry.names.split()
        if not set(name) & set(":|") and name != "env"
    }
)
"""Programs and subcommands; `env` is a wrapper, so what follows it is the program."""
PIECES = [
    *PROGRAMS, "git", "status", "log", "run", "test", "-c", "-m", "x", "x.py", "./x", "/tmp/x",  # noqa: S108
    "--help", "*", ".*", "[a-z]+", "(a|b)", "( -x)?", "$X", "$(id)", "`id`", "'a b'", '"a', "&&",
    "|", ";", ">", "/etc/x", "<(x)", "{a,b}", "\\", "A=1", "time", "env", "timeout", "5", "#", "é",
]  # fmt: skip

words = st.lists(st.sampled_from(PIECES), max_size=6)
lines = st.one_of(st.text(max_size=60), words.map(" ".join), st.sampled_from(PROBES).map(str))
targets = st.one_of(lines, lines.map("regex:{}".format))
actions = st.sampled_from(
    ["command", "unsandboxed", "read_file", "write_file", "read_url", "execute_url", "mcp", "x"]
)
rules = st.one_of(st.text(max_size=60), st.builds("{}({})".format, actions, targets))
versions = st.sampled_from(["1.3.3", "1.2.1", "1.1.10", "1.0.12", "9.9", "", "x"])
shells = st.sampled_from(["bash", "zsh", "sh", "pwsh", "cmd", "fish"])
surrogates = st.text(st.characters(categories=["Cs", "Cc", "L", "P"]), max_size=20)


def level_of(rule: str, **options: str) -> Level:
    """Return how broad a rule is in the usual place."""
    return judge(rule, workspace=WORKSPACE, home=HOME, **options).level  # type: ignore[arg-type]


@settings(max_examples=300, deadline=None)
@given(rule=st.one_of(rules, surrogates), line=st.one_of(lines, surrogates), version=versions,
       shell=shells)  # fmt: skip
def test_nothing_raises(rule: str, line: str, version: str, shell: str) -> None:
    """Any text is judged, covered or not, and decided upon."""
    covers(rule, line, shell=shell, version=version)
    for name in ("allow", "ask", "deny"):
        judged = judge(
            rule, list=name, workspace=WORKSPACE, home=line, shell=shell, version=version,
            protected=[line],
        )  # fmt: skip
        assert judged.why
    decide(
        {"allow": [rule], "ask": [rule], "deny": [line]}, f"command({line})",
        workspace=WORKSPACE, home=HOME, shell=shell, version=version,
    )  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(rule=rules)
def test_a_rule_that_covers_danger_is_never_called_safe(rule: str) -> None:
    """Only environment prefixes and `--output` ride on rules that pass."""
    covered = [
        probe
        for probe in PROBES
        if probe.dangerous and probe.sort is not Sort.ENVHIJACK and probe.id != "P66"
        and covers(rule, probe.text)
    ]  # fmt: skip
    if covered:
        assert level_of(rule) >= Level.MEDIUM


@settings(max_examples=300, deadline=None)
@given(program=st.sampled_from(PROGRAMS), more=words)
def test_a_shorter_prefix_is_never_safer(program: str, more: list[str]) -> None:
    """Dropping words from the end of a plain rule covers more, so it is at least as broad."""
    plain = [word for word in more if not set(word) & set("$`'\"&|;<>(){}#\\")]
    levels = [
        level_of(f"command({' '.join([program, *plain[:end]])})") for end in range(len(plain) + 1)
    ]
    assert level_of("command(*)") >= max(levels)
    assert levels == sorted(levels, reverse=True)


@settings(max_examples=200, deadline=None)
@given(program=st.sampled_from(PROGRAMS), more=words)
def test_a_pattern_is_never_safer_than_the_words_it_holds(program: str, more: list[str]) -> None:
    """A pattern that matches words literally covers what the plain rule covers."""
    plain = [word for word in more if word.replace("-", "").isalnum()]
    text = " ".join([program.replace(".", "[.]").replace("+", "[+]"), *plain])
    if program.replace("-", "").isalnum():
        assert level_of(f"command(regex:{text})") >= level_of(f"command({text})")


@settings(max_examples=200, deadline=None)
@given(rule=rules, version=versions)
def test_a_deny_that_covers_nothing_is_reported(rule: str, version: str) -> None:
    """What is inert as a grant is a false protection as a denial."""
    if level_of(rule, version=version) is Level.INERT:
        assert level_of(rule, list="deny", version=version) is Level.HIGH
        assert level_of(rule, list="ask", version=version) is Level.HIGH


@settings(max_examples=200, deadline=None)
@given(rule=rules, request=st.builds("{}({})".format, actions, lines), version=versions)
def test_deny_beats_ask_beats_allow(rule: str, request: str, version: str) -> None:
    """One more allow rule never takes freedom away, one more deny rule never gives any."""
    order = ["DENY", "ASK", "ALLOW"]
    options = {"workspace": WORKSPACE, "home": HOME, "version": version}

    def rank(lists: dict[str, list[str]]) -> int:
        return order.index(decide(lists, request, **options))

    assert rank({"allow": [rule]}) >= rank({})
    assert rank({"allow": ["command(*)"], "deny": [rule]}) <= rank({"allow": ["command(*)"]})
    assert rank({"allow": ["command(*)"], "ask": [rule]}) <= rank({"allow": ["command(*)"]})


@settings(max_examples=200, deadline=None)
@given(target=targets, line=lines)
def test_a_single_rule_decides_as_it_covers(target: str, line: str) -> None:
    """A line that one rule covers is allowed under that rule alone, redirections aside."""
    rule = f"command({target})"
    if covers(rule, line) and ">" not in line:
        decision = decide({"allow": [rule]}, f"command({line})", workspace=WORKSPACE, home=HOME)
        assert decision == "ALLOW"


@settings(max_examples=100, deadline=None)
@given(rule=rules)
def test_replacements_are_narrower(rule: str) -> None:
    """What is offered in place of a rule is judged narrower and is no rule without effect."""
    judged = judge(rule, workspace=WORKSPACE, home=HOME)
    if judged.narrower is not None:
        assert Level.INERT < level_of(judged.narrower) < judged.level


@pytest.mark.parametrize(
    "pattern",
    [
        "((((a{1,9}){1,9}){1,9}){1,9})",
        "(a*)*" * 390,
        "(" * 900 + "a" + ")" * 900,
        "a" * 10_000,
        "(a|b|c|d|e|f|g|h)" * 110,
        ".{1000}" * 50,
        "[a-z]?" * 300,
        "(a?){30}" * 60,
        r"\pL{500}",
        "[[:alpha:]-z]*" * 100,
        "(git|ls|cat|npm) " * 100,
        "(?:(?i)x|[^a])" * 120,
        "x{1,60}" * 200,
    ],
)
def test_hostile_patterns_do_not_stall(pattern: str) -> None:
    """Nested repeats, deep nesting and sheer length cost a bounded amount of work."""
    started = time.process_time()
    level_of(f"command(regex:{pattern})")
    covers(f"command(regex:{pattern})", "a" * 8000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("sign", ["(", "$(", "a ", "{", "`", "'", "<<a\n", "\\", "if ", "[[ ", ";"])
def test_hostile_lines_do_not_stall(sign: str) -> None:
    """A line of one sign over and over is parsed in bounded time."""
    started = time.process_time()
    covers("command(ls)", sign * (8000 // len(sign)))
    assert time.process_time() - started < 5


def test_the_work_grows_with_the_number_of_rules() -> None:
    """Each rule costs about the same, however many were judged before."""
    chance = random.Random(7)  # noqa: S311  # a mixture, not a secret

    def mixture(number: int, base: int) -> float:
        forms = ["git log {}", "tool{} x", "npm run b{}", "regex:git log a{}.*", "regex:ls( {})?"]
        texts = [chance.choice(forms).format(base + at) for at in range(number)]
        started = time.process_time()
        for text in texts:
            level_of(f"command({text})")
        return time.process_time() - started

    few = mixture(200, 0) + mixture(200, 1000)
    assert few < 4
    assert mixture(2000, 10_000) < 20 * few
