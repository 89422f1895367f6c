"""The fingerprint changes with the meaning, and with nothing else."""

from __future__ import annotations

import json

import pytest

from harness.core.audit.fingerprint import fingerprint_of
from harness.core.settings import Layer, LayerKind
from tests.helpers.audits import ROOT, SETTINGS, layer, own, subject_of

BASE = own(["command(git)", "command(ls)"], deny=["command(rm)"], toolPermission="strict")
HOOKS = f"{ROOT}/config/hooks.json"


def print_of(*layers: Layer, **fields: object) -> str:
    """Return the fingerprint of one subject."""
    return fingerprint_of([subject_of(*layers, **fields)])


def test_order_blanks_and_copies_mean_nothing() -> None:
    """The CLI rewrites its files; a rule in another layer or twice is the same rule."""
    content = {
        "toolPermission": "strict",
        "permissions": {"deny": ["command(rm)"], "allow": ["command(ls)", "command(git)"]},
    }
    for text in (json.dumps(content), json.dumps(content, indent=8)):
        assert print_of(layer(LayerKind.GLOBAL, SETTINGS, text)) == print_of(BASE)
    grants = {"userSettings": {"globalPermissionGrants": {"allow": ["command(git)"]}}}
    shared = layer(LayerKind.SHARED, f"{ROOT}/config/config.json", grants)
    assert print_of(BASE, shared) == print_of(BASE)
    decoy = layer(LayerKind.DECOY, f"{ROOT}/settings.json", {})
    assert print_of(BASE, decoy) == print_of(BASE)


@pytest.mark.parametrize(
    "layers",
    [
        (own(["command(git)"], deny=["command(rm)"], toolPermission="strict"),),
        (own(["command(git)", "command(ls)"], ask=["command(rm)"], toolPermission="strict"),),
        (own(["command(git)", "command(ls)"], deny=["command(rm)"]),),
        (BASE, layer(LayerKind.HOOKS, HOOKS, {"a": {"Stop": [{"command": "x"}]}})),
        (BASE, layer(LayerKind.HOOKS, HOOKS, {"a": {"Stop": [{"command": "y"}]}})),
        (BASE, layer(LayerKind.MCP, f"{ROOT}/m.json", {"mcpServers": {"a": {"command": "x"}}})),
        (BASE, layer(LayerKind.SHARED, f"{ROOT}/config/config.json", "{,}")),
    ],
)
def test_what_counts_changes_it(layers: tuple[Layer, ...]) -> None:
    """A rule more or less, another list, mode, hook, server, or a file that is refused."""
    assert print_of(*layers) != print_of(BASE)


def test_arguments_mode_and_workspace_count() -> None:
    """A job's own words decide as well."""
    prints = {
        print_of(BASE),
        print_of(BASE, args=("--sandbox",)),
        print_of(BASE, mode="plan"),
        print_of(BASE, workspace="/srv/other"),
    }
    assert len(prints) == 4


def test_what_is_off_or_not_in_force_does_not_count() -> None:
    """A disabled hook or server, and a list in the wrong place, decide nothing."""
    off = layer(LayerKind.HOOKS, HOOKS, {"a": {"enabled": False, "Stop": [{"command": "x"}]}})
    server = {"mcpServers": {"a": {"command": "x", "disabled": True}}}
    assert print_of(BASE, off) == print_of(BASE)
    assert print_of(BASE, layer(LayerKind.MCP, f"{ROOT}/m.json", server)) == print_of(BASE)
    wrong = layer(LayerKind.GLOBAL, SETTINGS, {"allow": ["command(*)"]})
    assert print_of(wrong) == print_of()


def test_jobs_count_in_any_order() -> None:
    """The fingerprint of several runs is that of the set of them."""
    one, other = subject_of(BASE), subject_of()
    assert fingerprint_of([one, other]) == fingerprint_of([other, one])
    assert fingerprint_of([one]) != fingerprint_of([one, other])
