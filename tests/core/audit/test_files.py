"""Files of the settings: flaws, decoys, and who may write them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.core.audit.whole import audit_subject
from harness.core.permissions import Level
from harness.core.settings import FaultKind, FileFault, LayerKind, SettingsView
from tests.helpers.audits import (
    HOME,
    ROOT,
    SETTINGS,
    WORKSPACE,
    audited,
    layer,
    named,
    own,
    subject_of,
)


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        (FaultKind.UNREADABLE, Level.UNKNOWN),
        (FaultKind.TOO_LARGE, Level.UNKNOWN),
        (FaultKind.OTHER_OWNER, Level.HIGH),
        (FaultKind.WORLD_WRITABLE, Level.HIGH),
        (FaultKind.SYMLINK, Level.MEDIUM),
        (FaultKind.EMPTY, Level.LOW),
    ],
)
def test_a_fault_of_a_file_is_a_finding(kind: FaultKind, level: Level) -> None:
    """Each fault has its level and says what to do."""
    fault = FileFault(kind=kind, detail="is so")
    findings = audited(layer(LayerKind.MCP, f"{ROOT}/config/mcp_config.json", {}, faults=(fault,)))
    (found,) = named(findings, f"FILE_{kind.name}")
    assert (found.level, found.why) == (level, "is so")
    assert found.narrower


def test_a_folder_that_is_a_link_is_only_told() -> None:
    """People keep their settings in a folder of dotfiles."""
    fault = FileFault(kind=FaultKind.SYMLINK, detail="is a link")
    folder = layer(LayerKind.FOLDER, ROOT, "{}", faults=(fault,))
    (found,) = named(audited(folder), "FILE_SYMLINK")
    assert found.level is Level.LOW


def test_liberties_in_the_clis_own_settings_are_warned_of() -> None:
    """A comment there may refuse the file or not: its rules count, and it is told."""
    text = '{"permissions": {"allow": ["command(*)"]} /* x */}'
    findings = audited(layer(LayerKind.GLOBAL, SETTINGS, text))
    assert [each.level for each in named(findings, "FILE_MALFORMED")] == [Level.MEDIUM]
    assert [each.level for each in named(findings, "RULE")] == [Level.CRITICAL]


def test_a_broken_file_without_rules_would_grant_nothing() -> None:
    """What is no JSON at all cannot be judged."""
    (found,) = named(audited(layer(LayerKind.GLOBAL, SETTINGS, "allow everything")), "FILE_BROKEN")
    assert found.level is Level.UNKNOWN
    assert "grant nothing" in found.why


def test_many_rules_of_a_refused_file_are_counted() -> None:
    """The sentence stays short; the examples hold all of them."""
    text = '{"permissions": {"allow": ["command(a)", "command(b)", "command(c)", "command(d)"'
    (found,) = named(audited(layer(LayerKind.GLOBAL, SETTINGS, text)), "FILE_BROKEN")
    assert "and 1 more" in found.why
    assert len(found.examples) == 4


def test_a_decoy_is_found_and_not_read() -> None:
    """A file that looks like settings is named, so that nobody relies on it."""
    decoy = layer(LayerKind.DECOY, f"{ROOT}/settings.json", {"permissions": {}})
    (found,) = named(audited(decoy), "DECOY")
    assert (found.level, "not read" in found.why) == (Level.INERT, True)


@pytest.mark.parametrize("rule", [f"write_file({HOME})", f"write_file({ROOT})", "write_file(*)"])
def test_settings_that_a_rule_lets_the_agent_write_are_critical(rule: str) -> None:
    """The finding names the rule and each file that it opens."""
    shared = layer(LayerKind.SHARED, f"{ROOT}/config/config.json", {})
    found = named(audited(own([rule]), shared), "SETTINGS_WRITABLE")
    assert {each.level for each in found} == {Level.CRITICAL}
    assert {each.file for each in found} == {SETTINGS, f"{ROOT}/config/config.json"}
    assert {each.rule for each in found} == {rule}


def test_a_deny_closes_what_a_rule_opens() -> None:
    """Files that no tool may write after all are no finding."""
    assert named(audited(own([f"write_file({HOME})"], deny=[f"write_file({ROOT})"])),
                 "SETTINGS_WRITABLE") == []  # fmt: skip


def test_a_link_into_the_workspace_is_written_by_default() -> None:
    """Settings that really lie in the workspace are in the agent's hands."""
    real = f"{WORKSPACE}/dotfiles/config.json"
    shared = layer(LayerKind.SHARED, f"{ROOT}/config/config.json", {}, real_file=real)
    (found,) = named(audited(shared), "SETTINGS_WRITABLE_BY_DEFAULT")
    assert found.level is Level.HIGH
    assert found.examples == (f"{ROOT}/config/config.json",)


def test_a_root_in_the_workspace_hangs_on_the_clis_own_protection() -> None:
    """Where nothing but the CLI itself keeps the agent from its configuration, it is told."""
    # ~/.gemini itself is protected wherever the workspace is.
    assert named(audited(workspace=HOME), "SETTINGS_WRITABLE_BY_DEFAULT") == []
    view = SettingsView(root=f"{WORKSPACE}/gemini", workspace=WORKSPACE)
    findings = audit_subject(replace(subject_of(), view=view))
    (found,) = named(findings, "SETTINGS_WRITABLE_BY_DEFAULT")
    assert found.level is Level.MEDIUM


def test_a_rule_opens_the_place_where_a_file_really_is() -> None:
    """A rule for the target of a link is as good as one for the link."""
    real = "/srv/dotfiles/config.json"
    shared = layer(LayerKind.SHARED, f"{ROOT}/config/config.json", {}, real_file=real)
    (found,) = named(audited(own(["write_file(/srv/dotfiles)"]), shared), "SETTINGS_WRITABLE")
    assert found.file == f"{ROOT}/config/config.json"
