"""Each file of the settings: what is read from it, from where, and what refuses it."""

from __future__ import annotations

import json

import pytest

from harness.core.settings import FaultKind, Layer, LayerKind, ListName
from harness.core.settings_files import read_layer

FILE = "/home/u/.gemini/x.json"


def layer_of(kind: LayerKind, content: object, *, plugin: str = "") -> Layer:
    """Return what a file of a kind says."""
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    empty = Layer(kind=kind, file=FILE, real_file=FILE)
    return read_layer(kind, text.encode(), empty, plugin=plugin)


def rules_of(layer: Layer) -> list[tuple[str, str]]:
    """Return list and text of every rule that counts."""
    return [(rule.list_name.value, rule.text) for rule in layer.rules if not rule.ignored]


def fault_kinds(layer: Layer) -> set[FaultKind]:
    """Return the kinds of a layer's faults."""
    return {fault.kind for fault in layer.faults}


def test_the_clis_own_settings_give_rules_and_modes_with_their_places() -> None:
    """Every rule and setting carries file, pointer and line."""
    text = """{
  "permissions": {
    "allow": [
      "command(git)",
      "command(ls)"
    ],
    "deny": ["read_file(/etc)"]
  },
  "toolPermission": "always-proceed",
  "trustedWorkspaces": ["/", "/home/u"],
  "colorScheme": "dark"
}"""
    layer = layer_of(LayerKind.GLOBAL, text)
    assert [
        (rule.text, rule.list_name, rule.source.pointer, rule.source.line) for rule in layer.rules
    ] == [
        ("command(git)", ListName.ALLOW, "/permissions/allow/0", 4),
        ("command(ls)", ListName.ALLOW, "/permissions/allow/1", 5),
        ("read_file(/etc)", ListName.DENY, "/permissions/deny/0", 7),
    ]
    assert [(each.name, each.value, each.source.pointer) for each in layer.settings] == [
        ("toolPermission", "always-proceed", "/toolPermission"),
        ("trustedWorkspaces", "/", "/trustedWorkspaces/0"),
        ("trustedWorkspaces", "/home/u", "/trustedWorkspaces/1"),
    ]
    assert {rule.source.file for rule in layer.rules} == {FILE}
    assert layer.faults == ()


def test_lists_at_the_top_of_the_clis_settings_do_not_count() -> None:
    """What stands beside `permissions` is kept, with the reason why it is not obeyed."""
    layer = layer_of(LayerKind.GLOBAL, {"allow": ["command(*)"], "deny": ["command(rm)"]})
    assert rules_of(layer) == []
    assert [rule.text for rule in layer.rules] == ["command(*)", "command(rm)"]
    assert all("permissions" in rule.ignored for rule in layer.rules)


def test_the_clis_own_settings_are_read_as_generously_as_can_be() -> None:
    """Comments, other spellings and a key given twice hide nothing from the judge."""
    text = """{
  // mine
  "Permissions": {"allow": ["command(a)"]},
  "permissions": {"allow": ["command(b)"],},
  "tool_permission": "always-proceed"
}"""
    layer = layer_of(LayerKind.GLOBAL, text)
    assert rules_of(layer) == [("allow", "command(a)"), ("allow", "command(b)")]
    assert [each.value for each in layer.settings] == ["always-proceed"]
    assert fault_kinds(layer) == {FaultKind.MALFORMED}
    assert not layer.rejected


def test_a_file_that_is_no_json_by_any_reading_is_refused_by_every_reader() -> None:
    """A broken file counts as refused, and its rules are kept for when it is mended."""
    layer = layer_of(LayerKind.GLOBAL, '{"permissions": {"allow": ["command(*)"')
    assert layer.rejected
    assert [rule.text for rule in layer.rules] == ["command(*)"]
    assert [fault.kind for fault in layer.faults] == [FaultKind.BROKEN]


SHARED = {"userSettings": {"globalPermissionGrants": {"allow": ["command(git)"]}}}


def test_the_shared_settings_take_both_names_of_a_key() -> None:
    """Protobuf JSON knows a key by its camelCase and its snake_case name."""
    snake = {"user_settings": {"global_permission_grants": {"allow": ["command(git)"]}}}
    for content in (SHARED, snake):
        layer = layer_of(LayerKind.SHARED, content)
        assert rules_of(layer) == [("allow", "command(git)")]
        assert not layer.rejected
    other = {"UserSettings": {"globalPermissionGrants": {"allow": ["command(git)"]}}}
    assert layer_of(LayerKind.SHARED, other).rules == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"userSettings": {"globalPermissionGrants": {"allow": ["command(git)"],}}}',
        '{"userSettings": {"globalPermissionGrants": {"allow": ["command(git)"]}}} // x',
        '{"userSettings": {"globalPermissionGrants": {"allow": ["command(git)"]}, "a":1, "a":1}}',
        '{"userSettings": {"globalPermissionGrants": {"allow": "command(git)"}}}',
        '{"userSettings": {"globalPermissionGrants": {"allow": ["command(git)", 7]}}}',
        (
            '{"userSettings": {"globalPermissionGrants": {"allow": ["command(git)"]}, '
            '"autoExecutionPolicy": {}}}'
        ),
        '{"userSettings": {"globalPermissionGrants": {"allow": ["command(git)"]}}',
    ],
)
def test_one_flaw_refuses_the_whole_of_the_shared_settings(text: str) -> None:
    """Strict files are refused as a whole; what they would grant is read all the same."""
    layer = layer_of(LayerKind.SHARED, text)
    assert layer.rejected
    assert layer.faults
    assert ("allow", "command(git)") in rules_of(layer)


def test_null_and_unknown_keys_are_nothing() -> None:
    """Protobuf JSON takes null for absence and passes over what it does not know."""
    content: dict[str, object] = {
        "userSettings": {
            "globalPermissionGrants": {"allow": None, "deny": [], "other": 1},
            "permissionPreset": None,
            "autoExecutionPolicy": 3,
            "somethingElse": {"allow": ["command(*)"]},
        }
    }
    layer = layer_of(LayerKind.SHARED, content)
    assert layer.rules == ()
    assert layer.faults == ()
    assert [(each.name, each.value) for each in layer.settings] == [("autoExecutionPolicy", "3")]


def test_a_project_names_its_lists_twice_and_its_folders_as_addresses() -> None:
    """The key of a project's grants really is doubled; once is not enough."""
    content = {
        "id": "p1",
        "projectResources": {"resources": [{"folderUri": "file:///srv/a%20b"}, {"x": 1}]},
        "permissionGrants": {
            "allow": ["command(once)"],
            "permissionGrants": {"allow": ["command(git)"], "deny": ["command(rm)"]},
        },
        "settings": {"permissionPreset": "AGENT_PERMISSION_PRESET_TURBO"},
    }
    layer = layer_of(LayerKind.PROJECT, content)
    assert rules_of(layer) == [("allow", "command(git)"), ("deny", "command(rm)")]
    assert [rule.text for rule in layer.rules if rule.ignored] == ["command(once)"]
    assert layer.folders == ("/srv/a b",)
    assert layer.identity == ("p1",)
    assert [each.name for each in layer.settings] == ["permissionPreset"]


def test_a_sidecars_grants_are_allow_rules() -> None:
    """What a sidecar's agent may do is judged like every other grant."""
    content = {"agent_permissions": {"access_grants": ["command(gh pr list)"]}}
    layer = layer_of(LayerKind.SIDECAR, content)
    assert rules_of(layer) == [("allow", "command(gh pr list)")]
    assert layer.rules[0].source.pointer == "/agent_permissions/access_grants/0"


def test_hooks_are_found_in_every_shape() -> None:
    """Named hooks with events, events alone, and hooks whose command is nowhere to be seen."""
    content = {
        "linter": {
            "PostToolUse": [
                {"matcher": "x", "hooks": [{"type": "command", "command": "./lint.sh"}]}
            ]
        },
        "off": {"enabled": False, "Stop": [{"command": "./stop.sh"}]},
        "PreToolUse": [{"command": "/opt/check"}],
        "odd": {"script": ["x"]},
        "nothing": {},
    }
    layer = layer_of(LayerKind.HOOKS, content)
    assert [(hook.name, hook.event, hook.command, hook.enabled) for hook in layer.hooks] == [
        ("linter", "PostToolUse", "./lint.sh", True),
        ("off", "Stop", "./stop.sh", False),
        ("PreToolUse", "PreToolUse", "/opt/check", True),
        ("odd", "odd", "", True),
    ]
    assert layer.hooks[0].source.pointer == "/linter/PostToolUse/0/hooks/0/command"
    assert fault_kinds(layer_of(LayerKind.HOOKS, [1])) == {FaultKind.WRONG_TYPE}


def test_hooks_nested_without_sense_are_not_followed_for_ever() -> None:
    """A hooks file of any depth is read to a bound."""
    deep: object = {"command": "x"}
    for _ in range(20):
        deep = {"a": deep}
    layer = layer_of(LayerKind.HOOKS, {"h": deep})
    assert [hook.command for hook in layer.hooks] == [""]


def test_servers_carry_their_whole_entry() -> None:
    """An entry is kept byte for byte but for its blanks; a plugin's server has a double name."""
    content = """{"mcpServers": {
      "gh": {"command": "npx -y", "args": ["gh mcp", "--x"], "env": {"A": "b"}},
      "web": {"serverUrl": "https://example.com", "disabled": true},
      "bad": 7
    }}"""
    layer = layer_of(LayerKind.MCP, content, plugin="tools")
    started, remote = layer.servers
    assert (started.name, started.words) == ("tools_gh", ("npx", "-y", "gh mcp", "--x"))
    assert started.entry == '{"command":"npx -y","args":["gh mcp","--x"],"env":{"A":"b"}}'
    assert (remote.name, remote.url, remote.enabled) == (
        "tools_web",
        "https://example.com",
        False,
    )
    assert fault_kinds(layer) == {FaultKind.WRONG_TYPE}
    assert fault_kinds(layer_of(LayerKind.MCP, {"mcpServers": []})) == {FaultKind.WRONG_TYPE}


def test_a_command_whose_quotes_do_not_close_still_has_words() -> None:
    """Words of a broken command line are parted at its blanks."""
    layer = layer_of(LayerKind.MCP, {"mcpServers": {"a": {"command": "run 'it"}}})
    assert layer.servers[0].words == ("run", "'it")


def test_an_empty_file_says_nothing() -> None:
    """The CLI leaves empty files behind; they grant nothing and break nothing."""
    layer = layer_of(LayerKind.MCP, "")
    assert fault_kinds(layer) == {FaultKind.EMPTY}
    assert not layer.rejected


def test_a_root_of_the_wrong_type_is_told_once() -> None:
    """A file that is an array is one finding, not one for each key that was looked for."""
    layer = layer_of(LayerKind.GLOBAL, "[]")
    assert [fault.kind for fault in layer.faults] == [FaultKind.WRONG_TYPE]
    assert layer_of(LayerKind.DECOY, "[]").faults == ()
