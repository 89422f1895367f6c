"""Settings and arguments that decide without a rule."""

from __future__ import annotations

import pytest

from harness.core.audit.model import AuditFinding
from harness.core.permissions import Level
from harness.core.settings import LayerKind
from tests.helpers.audits import HOME, ROOT, WORKSPACE, audited, layer, named, own


def modes(**settings: object) -> list[AuditFinding]:
    """Return the mode findings of the CLI's own settings."""
    return named(audited(own(**settings)), "MODE")  # type: ignore[arg-type]


def shared_modes(**settings: object) -> list[AuditFinding]:
    """Return the mode findings of the shared settings."""
    content = {"userSettings": settings}
    found = layer(LayerKind.SHARED, f"{ROOT}/config/config.json", content)
    return named(audited(found), "MODE")


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("toolPermission", "request-review", None),
        ("toolPermission", "always-proceed", Level.CRITICAL),
        ("toolPermission", "proceed-in-sandbox", Level.MEDIUM),
        ("toolPermission", "strict", Level.LOW),
        ("toolPermission", "auto", Level.UNKNOWN),
        ("agentMode", "plan", None),
        ("agentMode", "accept-edits", Level.MEDIUM),
        ("agentMode", "auto", Level.UNKNOWN),
        ("allowNonWorkspaceAccess", False, None),
        ("allowNonWorkspaceAccess", True, Level.HIGH),
        ("allowNonWorkspaceAccess", "maybe", Level.UNKNOWN),
        ("colorScheme", "dark", None),
    ],
)
def test_a_mode_of_the_cli_is_a_finding(name: str, value: object, level: Level | None) -> None:
    """What widens the rules has its level; what is not known is UNKNOWN."""
    found = modes(**{name: value})
    assert [each.level for each in found] == ([] if level is None else [level])


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("autoExecutionPolicy", "CASCADE_COMMANDS_AUTO_EXECUTION_OFF", None),
        ("autoExecutionPolicy", "CASCADE_COMMANDS_AUTO_EXECUTION_EAGER", Level.CRITICAL),
        ("autoExecutionPolicy", "CASCADE_COMMANDS_AUTO_EXECUTION_AUTO", Level.UNKNOWN),
        (
            "autoExecutionPolicy",
            "CASCADE_COMMANDS_AUTO_EXECUTION_PROCEED_IN_SANDBOX",
            Level.MEDIUM,
        ),
        ("autoExecutionPolicy", 3, Level.UNKNOWN),
        ("permissionPreset", "AGENT_PERMISSION_PRESET_DEFAULT", None),
        ("permissionPreset", "AGENT_PERMISSION_PRESET_TURBO", Level.CRITICAL),
        ("permissionPreset", "AGENT_PERMISSION_PRESET_VETTED", Level.UNKNOWN),
        ("nonWorkspaceFileAccessPolicy", "AGENT_SETTING_POLICY_ASK", None),
        ("nonWorkspaceFileAccessPolicy", "AGENT_SETTING_POLICY_ALLOW", Level.HIGH),
    ],
)
def test_a_mode_of_the_shared_settings_is_a_finding(
    name: str, value: object, level: Level | None
) -> None:
    """Presets and policies of app and IDE count for the CLI too."""
    found = shared_modes(**{name: value})
    assert [each.level for each in found] == ([] if level is None else [level])


def test_a_mode_names_what_to_set_instead() -> None:
    """The remedy is the same setting with a value that gives nothing away."""
    (found,) = shared_modes(permissionPreset="AGENT_PERMISSION_PRESET_TURBO")
    assert found.narrower == "permissionPreset: AGENT_PERMISSION_PRESET_NONE"
    assert found.pointer == "/userSettings/permissionPreset"
    assert modes(toolPermission="strict")[0].narrower is None


@pytest.mark.parametrize(
    ("folder", "counts"),
    [
        ("/", True),
        (HOME, True),
        (f"{HOME}/", True),
        ("/home", True),
        (f"{WORKSPACE}", False),
        ("/srv/other", False),
        ("", False),
    ],
)
def test_trusting_more_than_a_workspace_is_high(folder: str, *, counts: bool) -> None:
    """The root, the home and what is above them or the workspace are no workspaces."""
    found = modes(trustedWorkspaces=[folder])
    assert [each.level for each in found] == ([Level.HIGH] if counts else [])


def test_a_folder_above_the_workspace_is_too_much_to_trust() -> None:
    """Trusting the parent of the workspace trusts its siblings."""
    subject = {"workspace": "/srv/apps/blog"}
    found = named(audited(own(trustedWorkspaces=["/srv/apps"]), **subject), "MODE")
    assert [each.level for each in found] == [Level.HIGH]


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (("--dangerously-skip-permissions",), [("MODE", Level.CRITICAL)]),
        (("-dangerously-skip-permissions=true",), [("MODE", Level.CRITICAL)]),
        (("--dangerously_skip_permissions=T",), [("MODE", Level.CRITICAL)]),
        (("--dangerously-skip-permissions=false",), []),
        (("--sandbox", "--json-schema", "x.json"), []),
        (("--auto-approve",), [("ARGUMENT", Level.UNKNOWN)]),
        (("--effort", "high"), [("ARGUMENT", Level.MEDIUM)]),
    ],
)
def test_a_jobs_arguments_are_judged(args: tuple[str, ...], found: list[object]) -> None:
    """Skipping every question is CRITICAL; an argument that may do so is UNKNOWN."""
    findings = audited(args=args)
    modes_and_arguments = [each for each in findings if each.id in {"MODE", "ARGUMENT"}]
    assert [(each.id, each.level) for each in modes_and_arguments] == found
    assert all(each.file == "job:nightly" for each in modes_and_arguments)


def test_a_jobs_mode_is_judged() -> None:
    """`mode` of a job counts like the setting of that name."""
    (found,) = named(audited(mode="accept-edits"), "MODE")
    assert (found.level, found.pointer) == (Level.MEDIUM, "/mode")
    assert named(audited(mode="plan"), "MODE") == []


def test_a_cli_that_does_not_say_its_version_is_unknown() -> None:
    """How such a CLI reads rules is not known."""
    (found,) = named(audited(version="nightly", version_readable=False), "CLI_VERSION")
    assert (found.level, found.rule) == (Level.UNKNOWN, "nightly")
