"""The whole audit: whatever stands in the files, there is a report."""

from __future__ import annotations

import json
from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.audit.model import AuditVerdict
from harness.core.audit.policy import SHIPPED, AuditPolicy, report_of
from harness.core.permissions import Level
from harness.core.settings import LayerKind, ListName, RuleSource
from tests.helpers.audits import ROOT, audited, layer, own

POLICY = AuditPolicy(actions=SHIPPED, source=RuleSource(file="/h/audit.toml"))
PLACES = {
    LayerKind.GLOBAL: f"{ROOT}/antigravity-cli/settings.json",
    LayerKind.SHARED: f"{ROOT}/config/config.json",
    LayerKind.PROJECT: f"{ROOT}/config/projects/p.json",
    LayerKind.SIDECAR: f"{ROOT}/config/sidecars/s/sidecar.json",
    LayerKind.HOOKS: f"{ROOT}/config/hooks.json",
    LayerKind.MCP: f"{ROOT}/config/mcp_config.json",
}
KEYS = st.sampled_from(
    [
        *("permissions", "allow", "ask", "deny", "userSettings", "globalPermissionGrants"),
        *("permissionGrants", "settings", "id", "projectResources", "resources", "folderUri"),
        *("toolPermission", "trustedWorkspaces", "permissionPreset", "access_grants"),
        *("agent_permissions", "mcpServers", "command", "args", "hooks", "PreToolUse", "enabled"),
    ]
)
RULES = st.sampled_from(
    [
        *("command(git)", "command(*)", "write_file(.)", "read_file(/)", "mcp(harness/*)"),
        *("deny", "command(regex:(", "true", "/", "file:///x", "TURBO", "./x.sh"),
    ]
)
VALUES = st.recursive(
    RULES | st.booleans() | st.none() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=14,
)


FALSE_PROTECTIONS = ("command(git *)", "write_file(~/.ssh)", "read_url(*.x)", "command()", "x")


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(PLACES)), VALUES | st.text(max_size=30)), max_size=4)
)
def test_no_settings_are_too_odd(files: list[tuple[LayerKind, object]]) -> None:
    """Any values in any of the files give findings and a verdict, the same each time."""
    layers = [
        layer(kind, PLACES[kind], content if isinstance(content, str) else json.dumps(content))
        for kind, content in files
    ]
    first, second = (report_of(audited(*layers), POLICY, today=date(2026, 12, 1)) for _ in "ab")
    assert first == second
    assert first.verdict in AuditVerdict


@settings(max_examples=40)
@given(st.lists(st.sampled_from(FALSE_PROTECTIONS), max_size=3))
def test_a_deny_that_covers_nothing_is_always_reported(denies: list[str]) -> None:
    """However many there are, each false protection has its finding."""
    found = audited(own(["command(ls)"], deny=denies))
    told = [each for each in found if each.list is ListName.DENY and each.level is Level.HIGH]
    assert sorted(str(each.rule) for each in told) == sorted(denies)
