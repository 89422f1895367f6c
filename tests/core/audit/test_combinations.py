"""Rules that are worse together; each finding names the rules that make it."""

from __future__ import annotations

import pytest

from harness.core.permissions import Level
from tests.helpers.audits import HOME, WORKSPACE, audited, named, own


def test_prefix_rules_carry_variables_and_options() -> None:
    """One standing finding names every plain prefix rule; isolation clears it."""
    rules = ["command(ls)", "command(git status)", "command(regex:gh pr (list|view [0-9]+))"]
    (found,) = named(audited(own(rules)), "ENV_PREFIX")
    assert found.level is Level.HIGH
    assert [each.partition(" (/")[0] for each in found.examples] == rules[:2]
    assert "command(ls)" in found.why
    assert named(audited(own(rules), isolated=True), "ENV_PREFIX") == []
    assert named(audited(own(rules[2:])), "ENV_PREFIX") == []


@pytest.mark.parametrize("runner", ["command(npm test)", "command(pytest)", "command(./x)"])
def test_writing_and_running_what_was_written_is_critical(runner: str) -> None:
    """A written grant beside a rule that runs workspace code: any code."""
    (found,) = named(audited(own(["write_file(.)", runner])), "WRITE_AND_RUN")
    assert found.level is Level.CRITICAL
    assert found.rule == f"write_file(.) + {runner}"


def test_the_default_grant_makes_it_one_level_lower() -> None:
    """Nobody wrote the other half, so it is HIGH; a deny of the workspace clears it."""
    (found,) = named(audited(own(["command(pytest)"])), "WRITE_AND_RUN")
    assert found.level is Level.HIGH
    assert found.rule == "default:workspace + command(pytest)"
    closed = own(["command(pytest)"], deny=[f"write_file({WORKSPACE})"])
    assert named(audited(closed), "WRITE_AND_RUN") == []
    assert named(audited(own(["write_file(.)"])), "WRITE_AND_RUN") == []


def test_reading_widely_and_sending_is_high() -> None:
    """All reads beside a way out, by rule or by setting."""
    (found,) = named(audited(own([f"read_file({HOME})", "read_url(*)"])), "READ_AND_SEND")
    assert (found.level, found.rule) == (Level.HIGH, f"read_file({HOME}) + read_url(*)")
    setting = own(["command(curl)"], allowNonWorkspaceAccess=True)
    (found,) = named(audited(setting), "READ_AND_SEND")
    assert found.rule == "allowNonWorkspaceAccess: true + command(curl)"
    assert named(audited(own(["read_url(*)"])), "READ_AND_SEND") == []
    assert named(audited(own([f"read_file({HOME})"])), "READ_AND_SEND") == []


@pytest.mark.parametrize("setter", ["write_file(.git)", "write_file(.)", "command(git config)"])
def test_setting_gits_configuration_beside_git_is_critical(setter: str) -> None:
    """A hook, a pager or an alias is code that the next git call runs."""
    (found,) = named(audited(own([setter, "command(git status)"])), "GIT_CONFIGURED")
    assert (found.level, found.rule) == (Level.CRITICAL, f"{setter} + command(git status)")


def test_one_git_rule_alone_is_no_combination() -> None:
    """What a single rule does by itself stands in its own finding."""
    for rules in (["command(git config)"], ["command(git status)"], ["write_file(.git)"]):
        assert named(audited(own(rules)), "GIT_CONFIGURED") == []


def test_an_allow_of_everything_walks_around_denials() -> None:
    """`command(*)` beside a deny list stays CRITICAL, with the other words for the same."""
    (found,) = named(audited(own(["command(*)"], deny=["command(rm -rf)"])), "DENY_BYPASSED")
    assert found.level is Level.CRITICAL
    assert "command(*)" in str(found.rule)
    assert "command(rm -rf)" in str(found.rule)
    for way in ("/bin/rm -rf", "sudo rm -rf", "bash -c 'rm -rf'", "rm -fr"):
        assert way in found.examples


def test_denials_that_hold_are_not_called_bypassed() -> None:
    """Where every command asks, or nothing is allowed, there is no way around."""
    for rules in (
        own(["command(*)"], ask=["command(*)"], deny=["command(rm)"]),
        own(["command(*)"], deny=["command(regex:rm .*)"]),
        own(["command(*)"], deny=["command(*)"]),
        own(["command(*)"], deny=["command()"]),
        own(["command(ls)"], deny=["command(rm)"]),
    ):
        assert named(audited(rules), "DENY_BYPASSED") == []


@pytest.mark.parametrize(
    ("allow", "found"),
    [
        ("command(cat)", True),
        ("command(*)", True),
        ("command(regex:cat .*)", True),
        ("command(ls)", False),
        ("read_file(/etc)", False),
    ],
)
def test_commands_do_not_ask_file_rules(allow: str, *, found: bool) -> None:
    """A file that is closed to the file tools is open to a command that reads any file."""
    findings = named(audited(own([allow], deny=["read_file(/srv/x)"])), "DENY_IGNORED_BY_COMMANDS")
    assert [each.level for each in findings] == ([Level.MEDIUM] if found else [])


def test_many_rules_are_named_in_few_words() -> None:
    """A sentence names five rules; the examples hold every one."""
    rules = [f"command(ls part{index})" for index in range(9)]
    (found,) = named(audited(own(rules)), "ENV_PREFIX")
    assert "and 4 more" in found.why
    assert len(found.examples) == 9
