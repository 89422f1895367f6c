"""How broad rules are, beyond what the expert judged."""

from __future__ import annotations

import pytest

from harness.core.permissions import Judgement, Level, Trait, judge
from harness.core.permissions.levels import Finding, broadest

PWSH, CMD, FISH = ({"shell": name} for name in ("pwsh", "cmd", "fish"))


def judged(rule: str, **options: object) -> Judgement:
    """Return the verdict on a rule in the usual place."""
    return judge(rule, workspace="/home/u/proj", home="/home/u", **options)  # type: ignore[arg-type]


BREADTH = {
    Level.CRITICAL: [
        "git", "git rebase", "git -C x status", "git foo", "git $X", "npm", "npm exec", "npm ci",
        "yarn", "cargo test", "make", "make -n", "awk", "rg foo", "sort", "tar", "wget", "scp",
        "rsync", "vim", "less", "man", "kubectl", "kubectl get", "terraform", "aws", "claude",
        "gemini", "agy", "bat",
        "harness", "harness canonical", "python3.11", "pip3.12 install", "python3 -c", "python3 -",
        "python3 -m pip", "python3 -m timeit", "python3 $X", "bash ok$X.sh", "/./tmp//evil",
        "python3 /tmp/x.py", "python3 https://x/y.py", "bash -c ls", "node -e",
        "./gradlew test", ".venv/bin/python", "/tmp/evil", "/bin/b*sh", "/usr/bin/python3",  # noqa: S108
        "sudo git config", "xargs", "exec", "command", "npx eslint", "uv", "docker run",
        "regex:git .*", "regex:[a-z]+ x", "regex:ls .", r"regex:git\s+status", "regex:[^a]*",
        "regex:a)|(?:.*", r"regex:git log \| head", "regex:(a|b|c|d|e|f|g|h|i) x",
        "regex:python3 [a-z/.]+", "regex:(git )+x", "regex:make [a-z]+", "curl x | sh",
        "regex:env( -S sh)?", "env -S x",
    ],
    Level.HIGH: [
        "pytest", "timeout 60 pytest", "uv run pytest", "python3 -m pytest", "npm test",
        "npm run build", "eslint", "rm", "rm *", "chmod", "kill", "touch x", "git checkout",
        "git fetch", "git clean", "gh api", "sudo ls", "unheard-of", "GIT", "if true",
        "/opt/tool", "~/bin/tool", "python3 -m foo", "find . -delete",
        "echo x > ~/.bashrc", "echo $(rm x)", "export", "export A=1", "regex:rm [a-z]+",
        "regex:python3 [a-z]+[.]py", "regex:git push", "python3 *", "ls {a,b}",
        "python3 ../x.py", "../x", "A=$(rm x)",
    ],
    Level.MEDIUM: [
        "cat", "cat (a|b)", "grep", "find", "find .", "env", "printenv", "python3 -u ok.py",
        "python3.12 ok.py", "bash ok.sh", "bash -x ok.sh", "node ok.js", "source ok.sh",
        "go run ./x", "./x", "./*", "git diff", "git commit", "git config --get", "docker ps",
        "gh pr", "gh pr merge", "xargs grep x", "mkdir", "ps",
        "regex:python3( ok[.]py)", "regex:make( build)", "regex:npm (test|run build)",
        "regex:timeout 5 pytest( -q)?", "regex:cat [a-z]+[.]md", "regex:python[23] x[.]py",
        "regex:uv( run pytest)", "regex:cat( /home/u/[.]ssh/id_rsa)", "make build && make test",
    ],
    Level.LOW: [
        "ls", "git log", "git --no-pager log", "time ls", "A=1 ls", "gh pr list", "gh repo view",
        "harness gate write", "harness canonical get", "/usr/bin/git status", "exec ls",
        "regex:git status", "regex:git (status|log)", "regex:git status|", "true", "go version",
        "regex:gh pr view [0-9]+",
    ],
    Level.NARROW: [
        "ls && git status", "regex:git( status)", "regex:ls( -[a-z]+)*", "regex:git|ls",
        "regex:(?i)git status( -s)?", "regex:date( )?", "regex:cat( f)", "regex:npm( )?",
        "regex:ls( [ab]){1,3}",
    ],
    Level.INERT: [
        "", "()", "# x", "time", "nohup", "A=1", "git *", "git (a|b)", "**", "x*",
        "$X foo", '"git status"', "Regex:git .*", "git:*", "regex:", "regex:(", "regex:(?=x)y",
        "regex:a{2000}", "sudo foo*",
    ],
    Level.UNKNOWN: [
        "regex:" + "a" * 3000, "regex:" + "(" * 80 + "a" + ")" * 80, "x " * 3000, " * ",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("level", "target"), [(level, target) for level, all_ in BREADTH.items() for target in all_]
)
def test_breadth_of_commands(level: Level, target: str) -> None:
    """A command rule is as broad as the worst line it covers."""
    assert judged(f"command({target})").level is level


OTHERS = {
    "write_file(/)": Level.CRITICAL,
    "write_file(/home/u/proj/..)": Level.CRITICAL,
    "write_file(/home/u/.bashrc)": Level.CRITICAL,
    "write_file(/home/u/.ssh/config)": Level.CRITICAL,
    "write_file(.agents)": Level.CRITICAL,
    "write_file(.agents/hooks.json)": Level.CRITICAL,
    "write_file(/etc)": Level.HIGH,
    "write_file(/home/u/other)": Level.HIGH,
    "write_file(.git)": Level.HIGH,
    "write_file(.vscode/tasks.json)": Level.HIGH,
    "write_file(src)": Level.MEDIUM,
    "write_file(src/[id])": Level.MEDIUM,
    "write_file(package.json)": Level.MEDIUM,
    "write_file(data)": Level.LOW,
    "write_file(/tmp/x)": Level.LOW,
    "write_file(reports/a.md)": Level.NARROW,
    "write_file(..)": Level.INERT,
    "write_file(src/../..)": Level.INERT,
    "write_file(src/**)": Level.INERT,
    "write_file($HOME/x)": Level.INERT,
    "write_file(regex:.*)": Level.INERT,
    r"write_file(C:\x)": Level.UNKNOWN,
    "read_file(*)": Level.HIGH,
    "read_file(/)": Level.HIGH,
    "read_file(/home/u/.ssh)": Level.HIGH,
    "read_file(/proc)": Level.HIGH,
    "read_file(/etc)": Level.MEDIUM,
    "read_file(.env)": Level.MEDIUM,
    "read_file()": Level.LOW,
    "read_file(src)": Level.LOW,
    "read_file(/tmp)": Level.LOW,
    "read_file(README.md)": Level.NARROW,
    "read_file(~)": Level.INERT,
    "read_file(../x)": Level.INERT,
    "read_url(169.254.169.254)": Level.HIGH,
    "read_url(github.io)": Level.HIGH,
    "read_url(me.github.io)": Level.LOW,
    "read_url(10.0.0.1)": Level.MEDIUM,
    "read_url(http://[::1]:8080/)": Level.MEDIUM,
    "read_url(8.8.8.8)": Level.LOW,
    "read_url(Example.com)": Level.INERT,
    "read_url(.example.com)": Level.INERT,
    "read_url()": Level.UNKNOWN,
    "execute_url(com)": Level.CRITICAL,
    "execute_url(example.com)": Level.HIGH,
    "execute_url(*.x)": Level.INERT,
    "mcp(a/run_command)": Level.HIGH,
    "mcp(a/delete_issue)": Level.MEDIUM,
    "mcp(a/list)": Level.LOW,
    "mcp(*/*)": Level.INERT,
    "mcp(a/)": Level.INERT,
    "mcp(harness/*)": Level.CRITICAL,
    "mcp(harness/journal_list)": Level.CRITICAL,
    "unsandboxed(*)": Level.INERT,
    "Bash(git)": Level.INERT,
    "deny(x)": Level.INERT,
    "run_command(x)": Level.UNKNOWN,
    "": Level.INERT,
    "command(git": Level.INERT,
    "x" * 5000: Level.UNKNOWN,
    f"write_file(/{'x' * 5000})": Level.UNKNOWN,
}


@pytest.mark.parametrize(("rule", "level"), OTHERS.items(), ids=lambda one: str(one)[:40])
def test_breadth_of_other_actions(rule: str, level: Level) -> None:
    """Paths, hosts and tools are judged by what they cover."""
    assert judged(rule).level is level


def test_the_harness_server_is_trusted_only_while_it_is_the_harness() -> None:
    """Its tools go through the gate, if the entry is the one that was installed."""
    assert judged("mcp(harness/*)", harness_intact=True).level is Level.LOW


@pytest.mark.parametrize("path", ["/srv/state", "~/state", "data/canon.json"])
def test_protected_paths_are_critical(path: str) -> None:
    """A rule that lets the agent write the harness's state or canonical data is refused."""
    rules = {"/srv/state": "/srv", "~/state": "/home/u/state/x", "data/canon.json": "data"}
    verdict = judged(f"write_file({rules[path]})", protected=[path])
    assert verdict.level is Level.CRITICAL
    assert path in verdict.why


def test_a_workspace_inside_a_folder_of_settings_is_a_workspace() -> None:
    """A rule for the workspace is not judged by the folder that the workspace lies in."""
    verdict = judge("write_file(reports)", workspace="/home/u/.local/app", home="/home/u")
    assert verdict.level is Level.LOW


@pytest.mark.parametrize("name", ["deny", "ask"])
@pytest.mark.parametrize(
    "rule",
    [
        "command(git *)", "command(time)", "command(export)", "command(a && b)", "git",
        "command(regex:rm( -rf)?)", "command(regex:()", "unsandboxed(rm)", "deny(x)",
        "write_file(~/.ssh)", "write_file(src/*)", "write_file(src/[a])", "write_file(a/../b)",
        "read_file($HOME)", "read_url(*.x)", "mcp(a/get_*)", "mcp(a)", "",
    ],
)  # fmt: skip
def test_false_protection_is_reported(name: str, rule: str) -> None:
    """A rule that is to stop something and matches nothing is HIGH, and says so."""
    verdict = judged(rule, list=name)
    assert verdict.level is Level.HIGH
    assert "protects nothing" in verdict.why


@pytest.mark.parametrize(
    ("rule", "level"),
    [
        ("command(rm)", Level.LOW),
        ("command(*)", Level.LOW),
        ("command(regex:rm .*)", Level.LOW),
        ("read_url(*)", Level.NARROW),
        ("write_file(*)", Level.NARROW),
        ("write_file(/etc)", Level.NARROW),
        ("custom(x)", Level.UNKNOWN),
    ],
)
def test_protection_that_works(rule: str, level: Level) -> None:
    """Rules that do stop something pass; those for commands name how they are got round."""
    assert judged(rule, list="deny").level is level


def test_protection_under_other_shells() -> None:
    """Under PowerShell a plain deny rule stops one spelling only."""
    assert judged("command(rm)", list="deny", **PWSH).level is Level.HIGH
    assert judged("command(regex:rm .*)", list="deny", **PWSH).level is Level.LOW


def test_circumstances_that_make_any_verdict_doubtful() -> None:
    """A version or shell that is not known leaves at best UNKNOWN."""
    assert judged("command(ls)", version="nightly").level is Level.UNKNOWN
    assert judged("read_file(a.md)", version="").level is Level.UNKNOWN
    assert judged("command(ls)", **FISH).level is Level.UNKNOWN
    assert judged("command(*)", version="x", **FISH).level is Level.CRITICAL
    assert judged("command(ls)", version="9.9.9").level is Level.LOW


def test_versions_change_verdicts() -> None:
    """What matched otherwise in older versions is judged as it was."""
    assert judged("command(nohup)", version="1.1.10").level is Level.CRITICAL
    assert judged("command(git .*)", version="1.0.12").level is Level.CRITICAL
    assert judged("unsandboxed(git push)", version="1.2.1").level is Level.HIGH
    assert judged("unsandboxed(git push)", version="1.2.2").level is Level.INERT


def test_whole_line_shells_make_plain_rules_narrow() -> None:
    """Under cmd a plain rule is one line."""
    assert judged("command(git status)", **CMD).level is Level.NARROW
    assert judged("command(git)", **CMD).level is Level.NARROW
    assert judged("command(regex:git .*)", **CMD).narrower == "command(git status)"
    assert judged("command(bash)", **PWSH).level is Level.CRITICAL


@pytest.mark.parametrize(
    ("rule", "narrower"),
    [
        ("command(git status)", "command(regex:git( status| status --short))"),
        ("command(ls)", "command(regex:ls( -la)?)"),
        ("command(make)", "command(regex:make( build))"),
        ("command(python3 ./a+b.py)", None),
        ("command(go test)", "command(regex:go( test [.]/[.][.][.]))"),
        ("command(terraform plan)", None),
        ("command(git fetch)", "command(regex:git( fetch))"),
        ("command(npx)", None),
        ("command(*)", None),
        ("command(regex:.*)", None),
        ("command(git log $X)", "command(regex:git( log --oneline))"),
        ("command(git stash 'a b')", None),
        ("write_file(/src)", "write_file(/home/u/proj/src)"),
        ("write_file(/etc)", "write_file(/home/u/proj/reports)"),
        ("write_file(.)", "write_file(/home/u/proj/reports)"),
        ("write_file(src)", None),
        (r"write_file(C:\x)", None),
        ("read_file(/etc)", "read_file(/home/u/proj)"),
        ("read_file(.env)", None),
        ("read_url(com)", None),
        ("mcp(a/*)", None),
        ("git", None),
    ],
)
def test_replacements(rule: str, narrower: str | None) -> None:
    """A replacement keeps the useful lines, is judged narrower, and is named only if it is."""
    verdict = judged(rule)
    if rule == "command(git log $X)":
        narrower = None
    assert verdict.narrower == narrower
    if narrower is not None:
        assert Level.INERT < judged(narrower).level < verdict.level


def test_evidence() -> None:
    """A verdict names how many lines a rule covers, and a few of the dangerous ones."""
    verdict = judged("command(rm)")
    assert (verdict.covers_danger, verdict.covers_benign) == (3, 0)
    assert verdict.examples == ("rm -rf /", "rm -rf ~", "rm f.txt")
    assert verdict.why.endswith(".")


@pytest.mark.parametrize(
    ("rule", "traits"),
    [
        ("command(*)", {Trait.EVERY_COMMAND}),
        ("command(git log)", {Trait.PREFIX, Trait.GIT}),
        ("command(git config)", {Trait.PREFIX, Trait.GIT, Trait.GIT_CONFIGURATION}),
        ("command(regex:git( log))", {Trait.GIT}),
        ("command(pytest)", {Trait.PREFIX, Trait.WORKSPACE_CODE}),
        ("command(./x)", {Trait.PREFIX, Trait.WORKSPACE_CODE}),
        ("command(cat)", {Trait.PREFIX, Trait.WIDE_READ}),
        ("command(curl)", {Trait.PREFIX, Trait.EGRESS}),
        ("write_file(src)", {Trait.WORKSPACE_WRITE}),
        ("write_file(.git)", {Trait.WORKSPACE_WRITE, Trait.GIT_CONFIGURATION}),
        ("read_file(/)", {Trait.WIDE_READ}),
        ("read_url(*)", {Trait.EGRESS}),
        ("mcp(a/b)", set()),
    ],
)
def test_what_rules_bring_to_combinations(rule: str, traits: set[Trait]) -> None:
    """A verdict says what a rule contributes beside its own breadth."""
    assert judged(rule).traits == traits


def test_levels_are_ordered() -> None:
    """Breadth compares, also with the words that stand in a policy file."""
    order = [Level.INERT, Level.NARROW, Level.LOW, Level.MEDIUM, Level.HIGH]
    order += [Level.UNKNOWN, Level.CRITICAL]
    assert sorted(Level) == order
    assert Level.HIGH >= "HIGH"
    assert Level.HIGH <= "UNKNOWN"
    assert max(Level.LOW, Level.MEDIUM) is Level.MEDIUM
    assert str(Level.LOW) == "LOW"


def test_the_broadest_finding_keeps_the_traits_of_all() -> None:
    """Of several findings the first of the broadest speaks."""
    low = Finding(level=Level.LOW, why="a", traits=frozenset({Trait.GIT}))
    high = Finding(level=Level.HIGH, why="b", traits=frozenset({Trait.EGRESS}))
    found = broadest([low, high, Finding(level=Level.HIGH, why="c")])
    assert found == Finding(level=Level.HIGH, why="b", traits=frozenset({Trait.GIT, Trait.EGRESS}))
