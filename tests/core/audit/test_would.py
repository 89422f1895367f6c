"""Which rule of which file decides a request."""

from __future__ import annotations

import pytest

from harness.core.audit.rules import judge_rules
from harness.core.audit.would import Would, would
from harness.core.permissions import Decision
from harness.core.settings import Layer, LayerKind
from tests.helpers.audits import ROOT, SETTINGS, WORKSPACE, layer, own, subject_of

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


def answer(request: str, *layers: Layer, **fields: object) -> Would:
    """Return what becomes of a request."""
    subject = subject_of(*layers, **fields)
    return would(subject, judge_rules(subject).rules, request)


RULES = own(
    ["command(git)", "command(ls)", "read_file(/srv)", "mcp(gh/list)"],
    ask=["command(git push)"],
    deny=["command(git reset)", f"read_file({WORKSPACE}/secret)"],
)


@pytest.mark.parametrize(
    ("request_", "decision", "by"),
    [
        ("command(git status)", ALLOW, ["command(git)"]),
        ("command(git status && ls)", ALLOW, ["command(ls)", "command(git)"]),
        ("command(git push)", ASK, ["command(git push)"]),
        ("command(git reset --hard)", DENY, ["command(git reset)"]),
        ("command(rm x)", ASK, [None]),
        ("read_file(/srv/a)", ALLOW, ["read_file(/srv)"]),
        (f"write_file({WORKSPACE}/secret/x)", DENY, [f"read_file({WORKSPACE}/secret)"]),
        (f"write_file({WORKSPACE}/x)", ALLOW, [None]),
        (f"write_file({ROOT}/config/config.json)", DENY, [None]),
        ("mcp(gh/list)", ALLOW, ["mcp(gh/list)"]),
        ("unsandboxed(git status)", ALLOW, ["command(git)"]),
        ("unsandboxed(git reset --hard)", DENY, ["command(git reset)"]),
    ],
)
def test_the_rule_that_decides_is_named(
    request_: str, decision: Decision, by: list[str | None]
) -> None:
    """Deny, then ask, then allow; several rules where it takes several; else the default."""
    found = answer(request_, RULES)
    assert found.decision is decision
    assert [each.rule for each in found.by] == by
    assert found.headless is (DENY if decision is ASK else decision)
    for each in found.by:
        assert each.file == (SETTINGS if each.rule else "default")
        assert (each.line is not None) == (each.rule is not None)


def test_a_mode_that_lets_everything_pass_decides() -> None:
    """Only a deny is stronger than `always-proceed`."""
    rules = own(["command(ls)"], deny=["command(rm)"], toolPermission="always-proceed")
    found = answer("command(curl x)", rules)
    assert (found.decision, found.by[0].pointer) == (ALLOW, "/toolPermission")
    assert answer("command(rm x)", rules).decision is DENY
    args = ("--sandbox", "--dangerously-skip-permissions")
    found = answer("command(curl x)", args=args)
    assert (found.decision, found.by[0].pointer) == (ALLOW, "/args/1")


def test_rules_of_a_refused_file_do_not_decide() -> None:
    """What the CLI does not read allows nothing."""
    text = '{"userSettings": {"globalPermissionGrants": {"allow": ["command(*)"],}}}'
    shared = layer(LayerKind.SHARED, f"{ROOT}/config/config.json", text)
    assert answer("command(ls)", shared).decision is ASK
