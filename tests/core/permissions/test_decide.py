"""Whole decisions, beyond what was measured."""

from __future__ import annotations

import pytest

from harness.core.permissions import decide


def decided(request: str, *entries: str, under: str = "bash", version: str = "1.3.3") -> str:
    """Return the decision for a request under rules written as `list:rule`."""
    rules: dict[str, list[str]] = {}
    for entry in entries:
        name, _, text = entry.partition(":")
        rules.setdefault(name, []).append(text)
    decision = decide(
        rules, request, workspace="/home/u/proj/", home="/home/u", shell=under, version=version
    )
    return decision.value


@pytest.mark.parametrize(
    ("decision", "request_text", "entries"),
    [
        ("ALLOW", "command(git log | head -3)", ["allow:command(git)", "allow:command(head)"]),
        ("ASK", "command(git log | head -3)", ["allow:command(git)"]),
        ("ALLOW", "command(A=1; export B=2)", []),
        ("ASK", "command(# nothing)", ["allow:command(git)"]),
        ("ASK", "command()", []),
        ("ASK", "command(git log > out.txt)", ["allow:command(git)"]),
        ("ASK", "command(git log > $X)", ["allow:command(git)"]),
        ("ASK", "command(git log >> /etc/x)", ["allow:command(git)"]),
        ("ASK", "command(git log > /home/u/.gemini/config/config.json)", ["allow:command(git)"]),
        ("ALLOW", "command(git log > /etc/x)", ["allow:command(git)", "allow:write_file(/etc)"]),
        ("ALLOW", "command(git log > out.txt)", ["allow:command(git log > out.txt)"]),
        ("ALLOW", "command(git log 2>&1 >&2 2>&-)", ["allow:command(git)"]),
        ("ALLOW", "command(git log &> /tmp/x)", ["allow:command(git)"]),
        ("DENY", "command(git log > out.txt)", ["allow:command(*)", "deny:command(git)"]),
        ("DENY", "command(echo $(date))", ["deny:command(regex:.*date.*)"]),
        ("ALLOW", "command('rm' x)", ["allow:command(*)", "deny:command(rm)"]),
        ("ALLOW", "command(echo `rm x`)", ["allow:command(*)", "deny:command(rm)"]),
        ("DENY", "command(nohup rm x &)", ["allow:command(*)", "deny:command(rm)"]),
        ("ASK", "command(rm x\nls)", ["allow:command(*)", "ask:command(ls)"]),
        ("ALLOW", "command(ls)", ["allow:command(*)", "deny:command( * )"]),
        ("ALLOW", "command(ls)", ["allow:command(*)", "deny:command"]),
        ("ALLOW", "command(ls (x)", ["allow:command(*)", "deny:command(ls)"]),
        ("DENY", "write_file(src/../secret/k)", ["deny:write_file(/home/u/proj/secret)"]),
        ("ALLOW", "write_file(secret/k)", ["deny:write_file(~/secret)"]),
        ("ALLOW", "write_file(secret/k)", ["deny:write_file(sec*)"]),
        ("ALLOW", "write_file(secret/k)", ["deny:write_file(x/../secret)"]),
        ("ALLOW", "write_file(secret/[k])", ["deny:write_file(secret/[k])"]),
        ("DENY", "write_file(secret/k)", ["deny:write_file(secret)"]),
        ("DENY", "write_file(/home/u/proj/secret/k)", ["deny:write_file(/secret)"]),
        ("ALLOW", "write_file(secrets)", ["deny:write_file(secret)"]),
        ("ASK", "write_file(a)", ["ask:write_file(*)", "allow:write_file(*)"]),
        ("ASK", "read_file(a)", ["ask:read_file()"]),
        ("ALLOW", "write_file(a)", ["ask:read_file()"]),
        ("ALLOW", "write_file(lib/a)", ["allow:write_file(src/../lib)"]),
        ("ASK", "write_file(.git/hooks/x)", []),
        ("ASK", "write_file(.envrc)", []),
        ("ASK", "read_file(/etc/passwd)", []),
        ("ALLOW", "read_file(/tmp/x)", []),
        ("ALLOW", "read_file(/etc/passwd)", ["allow:write_file(/etc)"]),
        ("ASK", "write_file(/etc/passwd)", ["allow:read_file(/etc)"]),
        ("ALLOW", "read_url(https://a.B.example.com:8/x?y)", ["allow:read_url(b.example.com)"]),
        ("ASK", "read_url(https://notexample.com)", ["allow:read_url(example.com)"]),
        ("ASK", "read_url(https://example.com@evil.org/)", ["allow:read_url(example.com)"]),
        ("ASK", "read_url(x.google.com)", ["allow:read_url(*.google.com)"]),
        ("ASK", "read_url(x.google.com)", ["allow:read_url(Google.com)"]),
        ("ALLOW", "read_url(http://[::1]:80/)", ["allow:read_url([::1])"]),
        ("ALLOW", "read_url(x.org)", ["allow:read_url()"]),
        ("ALLOW", "read_url(x.org)", ["allow:read_url(*)", "deny:read_url()"]),
        ("DENY", "read_url(x.org)", ["allow:read_url(*)", "deny:read_url(org)"]),
        ("ASK", "execute_url(x.org)", ["allow:read_url(*)"]),
        ("ALLOW", "execute_url(x.org)", ["allow:execute_url(https://x.org/a)"]),
        ("ALLOW", "mcp(s/t)", ["allow:mcp(*)"]),
        ("ALLOW", "mcp(s)", ["allow:mcp(s)"]),
        ("ASK", "mcp(s/t)", ["allow:mcp(s)"]),
        ("ASK", "mcp(s/t)", ["allow:mcp(*/*)"]),
        ("ASK", "mcp(s/get_x)", ["allow:mcp(s/get_*)"]),
        ("DENY", "mcp(s/t)", ["allow:mcp(*)", "deny:mcp(s/*)"]),
        ("ASK", "mcp(s/t)", ["allow:mcp(*)", "ask:mcp(s/t)"]),
        ("ASK", "custom(x)", ["allow:custom(x)"]),
        ("ASK", "no request", ["allow:command(*)"]),
    ],
)
def test_decisions(decision: str, request_text: str, entries: list[str]) -> None:
    """Deny beats ask beats allow; doubt never makes a request safer than it is."""
    assert decided(request_text, *entries) == decision


def test_unsandboxed_depends_on_the_version() -> None:
    """It was a grant of its own; from 1.2.2 a command rule speaks for it, whatever it says."""
    request = "unsandboxed(git push)"
    assert decided(request, "allow:command(git)", version="1.2.1") == "ASK"
    assert decided(request, "allow:unsandboxed(git)", version="1.2.1") == "ALLOW"
    assert decided(request, "allow:unsandboxed(git)", version="1.2.2") == "ASK"
    assert decided(request, "allow:command(git)", version="1.2.2") == "ALLOW"
    assert decided(request, "allow:command(git)", "deny:unsandboxed(git)") == "ALLOW"


def test_an_unreadable_version_is_every_version() -> None:
    """The freest of all behaviours is reported."""
    assert decided("command(rm x)", "allow:command(time)", version="?") == "ALLOW"
    assert decided("unsandboxed(ls)", "allow:command(ls)", version="") == "ALLOW"
    assert decided("command(rm x)", "allow:command(*)", "deny:command(time)", version="") == "ALLOW"
    assert decided("command(rm x)", "deny:command(time)", version="1.1.0") == "DENY"


def test_whole_lines_in_other_shells() -> None:
    """Under PowerShell a deny rule stops its very line only."""
    entries = ("allow:command(*)", "deny:command(rm)")
    assert decided("command(rm x)", *entries, under="pwsh") == "ALLOW"
    assert decided("command(rm)", *entries, under="pwsh") == "DENY"


def test_missing_lists_are_empty() -> None:
    """A mapping may lack a list."""
    assert decide({}, "write_file(a)", workspace="/w", home="/h") == "ALLOW"
