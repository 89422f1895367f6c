"""Hooks and servers: what runs by itself, and who could change it."""

from __future__ import annotations

import pytest

from harness.core.audit.model import AuditFinding
from harness.core.permissions import Level
from harness.core.settings import LayerKind
from tests.helpers.audits import ROOT, WORKSPACE, audited, layer, named


def hook(command: str, file: str = f"{ROOT}/config/hooks.json", **fields: object) -> AuditFinding:
    """Return the finding about a hook that runs a command."""
    content = {"gate": {"PreToolUse": [{"hooks": [{"command": command}]}]}}
    (found,) = named(audited(layer(LayerKind.HOOKS, file, content), **fields), "HOOK")
    return found


def server(
    entry: object, file: str = f"{ROOT}/config/mcp_config.json", **fields: object
) -> AuditFinding:
    """Return the finding about one server."""
    content = {"mcpServers": {"x": entry}}
    (found,) = named(audited(layer(LayerKind.MCP, file, content), **fields), "MCP_SERVER")
    return found


@pytest.mark.parametrize(
    ("command", "level"),
    [
        ("/opt/tools/check --strict", Level.MEDIUM),
        ("check", Level.MEDIUM),
        ("./scripts/check.sh", Level.HIGH),
        ("python3 check.py", Level.HIGH),
        (f"bash {WORKSPACE}/x.sh", Level.HIGH),
        ("node /tmp/x.js", Level.HIGH),
        ("sh .agents/check.sh", Level.MEDIUM),
        ("curl https://example.com/x.sh", Level.MEDIUM),
    ],
)
def test_a_hook_is_as_bad_as_its_program_is_open(command: str, level: Level) -> None:
    """A hook whose program the agent may write runs the agent's own code."""
    assert hook(command).level is level


def test_what_nobody_watches_is_worse() -> None:
    """A program below `.agents/` is found out after the run only where somebody looks."""
    assert hook("sh .agents/check.sh", watched=False).level is Level.HIGH
    assert hook("sh .agents/check.sh", watched=False, isolated=True).level is Level.MEDIUM


def test_hooks_that_are_off_or_hidden() -> None:
    """A disabled hook is nothing; one whose command cannot be found is UNKNOWN."""
    off = {"a": {"enabled": False, "Stop": [{"command": "x"}]}}
    assert named(audited(layer(LayerKind.HOOKS, f"{ROOT}/config/hooks.json", off)), "HOOK") == []
    odd = {"a": {"Stop": [{"script": "x"}]}}
    (found,) = named(audited(layer(LayerKind.HOOKS, f"{ROOT}/config/hooks.json", odd)), "HOOK")
    assert found.level is Level.UNKNOWN


@pytest.mark.parametrize(
    ("entry", "level"),
    [
        ({"command": "/usr/bin/gh-mcp"}, Level.LOW),
        ({"command": "npx", "args": ["gh-mcp"]}, Level.LOW),
        ({"command": "python3", "args": ["server.py"]}, Level.HIGH),
        ({"serverUrl": "https://example.com/mcp"}, Level.LOW),
        ({"env": {"A": "b"}}, Level.UNKNOWN),
    ],
)
def test_a_server_is_as_bad_as_its_program_is_open(entry: object, level: Level) -> None:
    """A server whose program the agent may write runs the agent's own code."""
    assert server(entry).level is level


def test_a_server_of_the_workspace_starts_unasked() -> None:
    """Whoever may write the workspace may start programs with the next run."""
    found = server({"command": "/usr/bin/x"}, f"{WORKSPACE}/.agents/mcp_config.json")
    assert found.level is Level.MEDIUM


def test_a_name_with_two_servers_is_told() -> None:
    """Which of two servers of one name answers is not certain."""
    files = (f"{ROOT}/config/mcp_config.json", f"{WORKSPACE}/.agents/mcp_config.json")
    content = {"mcpServers": {"gh": {"command": "/usr/bin/x", "disabled": True}}}
    findings = audited(*(layer(LayerKind.MCP, file, content) for file in files))
    (found,) = named(findings, "MCP_SERVER_TWICE")
    assert (found.level, len(found.examples)) == (Level.MEDIUM, 2)
    assert named(findings, "MCP_SERVER") == []


def test_a_sidecar_is_named_beside_its_rules() -> None:
    """Another agent is a fact of its own, whatever it may do."""
    content = {"agent_permissions": {"access_grants": ["command(gh pr list)"]}}
    path = f"{ROOT}/config/sidecars/watch/sidecar.json"
    findings = audited(layer(LayerKind.SIDECAR, path, content))
    (found,) = named(findings, "SIDECAR")
    assert (found.level, found.rule, found.file) == (Level.LOW, "watch", path)
    assert [each.rule for each in named(findings, "RULE")] == ["command(gh pr list)"]


def test_a_refused_file_runs_nothing() -> None:
    """Hooks of a file that nobody can read are no hooks."""
    broken = '{"a": {"Stop": [{"command": "x"}]}'
    findings = audited(layer(LayerKind.HOOKS, f"{ROOT}/config/hooks.json", broken))
    assert named(findings, "HOOK") == []
    assert named(findings, "FILE_BROKEN")
