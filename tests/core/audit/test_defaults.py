"""What the CLI grants where no rule speaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.core.audit.model import Tree
from harness.core.audit.trees import protected_trees, split_path
from harness.core.audit.whole import audit_subject
from harness.core.permissions import Level
from tests.helpers.audits import HARNESS_HOME, HOME, WORKSPACE, audited, named, own, subject_of

GUARD = f"{WORKSPACE}/prices/list.json"


def test_the_default_grants_are_warned_of_while_the_harness_watches() -> None:
    """Workspace, hooks and guards may be written without any rule: MEDIUM, provenance default."""
    findings = audited(guards=(GUARD,))
    for id_ in ("DEFAULT_WORKSPACE_WRITE", "DEFAULT_HOOKS_WRITE", "DEFAULT_GUARD_WRITE"):
        (found,) = named(findings, id_)
        assert (found.level, found.file, found.list) == (Level.MEDIUM, "default", None)
    assert named(findings, "DEFAULT_GUARD_WRITE")[0].examples == (GUARD,)
    assert named(audited(), "DEFAULT_GUARD_WRITE") == []


def test_they_are_high_where_nobody_watches() -> None:
    """Without a watch nothing would tell; under isolation nothing can happen."""
    for watched, isolated, level in (
        (False, False, Level.HIGH),
        (False, True, Level.MEDIUM),
        (True, False, Level.MEDIUM),
    ):
        (found,) = named(audited(watched=watched, isolated=isolated), "DEFAULT_HOOKS_WRITE")
        assert found.level is level


@pytest.mark.parametrize("rule", [f"write_file({WORKSPACE})", "write_file(.)", "write_file(*)"])
def test_a_deny_or_ask_takes_a_default_away(rule: str) -> None:
    """What the user's own rules close is granted no more."""
    for lists in ({"deny": [rule]}, {"ask": [rule]}):
        findings = audited(own(**lists), guards=(GUARD,))  # type: ignore[arg-type]
        assert not [each for each in findings if each.id.startswith("DEFAULT_")]


def test_a_deny_of_the_hooks_alone_leaves_the_rest() -> None:
    """Closing `.agents` is the remedy that the finding names."""
    findings = audited(own(deny=[f"write_file({WORKSPACE}/.agents)"]))
    assert named(findings, "DEFAULT_HOOKS_WRITE") == []
    assert named(findings, "DEFAULT_WORKSPACE_WRITE")


@pytest.mark.parametrize("place", ["/tmp/home", f"{WORKSPACE}/bin"])  # noqa: S108 - it is meant
def test_what_must_be_kept_must_not_lie_where_everything_may_be_written(place: str) -> None:
    """A protected tree in the workspace or in /tmp is HIGH."""
    (found,) = named(audited(trees=(Tree(path=place, what="x"),)), "DEFAULT_PROTECTED_WRITE")
    assert (found.level, found.examples) == (Level.HIGH, (f"{place} (x)",))


def test_isolation_gives_each_run_a_tmp_of_its_own() -> None:
    """What lies in the real /tmp is out of reach then."""
    tree = (Tree(path="/tmp/home", what="x"),)  # noqa: S108 - it is meant
    assert named(audited(trees=tree, isolated=True), "DEFAULT_PROTECTED_WRITE") == []


def test_a_path_that_depends_on_the_folder_leads_into_the_workspace() -> None:
    """PATH with `.` or an empty entry runs programs of the workspace."""
    (found,) = named(audited(relative_path_folders=("", "bin")), "DEFAULT_PROTECTED_WRITE")
    assert found.examples == (". (PATH)", "bin (PATH)")


def test_no_place_is_named_where_no_run_is_meant() -> None:
    """The folder that stands for a workspace is no example."""
    subject = subject_of()
    subject = replace(subject, view=replace(subject.view, workspace=None))
    (found,) = named(audit_subject(subject), "DEFAULT_WORKSPACE_WRITE")
    assert found.examples == ()


def test_the_protected_trees() -> None:
    """Home of the harness, start files of shells, PATH, and what the policy adds."""
    trees = protected_trees(
        home=HOME, path_folders=("/usr/bin",), harness_home=HARNESS_HOME, extra=("/srv/x/",)
    )
    paths = [tree.path for tree in trees]
    for path in (HARNESS_HOME, f"{HOME}/.bashrc", f"{HOME}/.ssh", "/usr/bin", "/srv/x"):
        assert path in paths
    assert len(paths) == len(set(paths))
    assert HARNESS_HOME not in [
        tree.path
        for tree in protected_trees(home=HOME, path_folders=(), harness_home=None, extra=())
    ]


def test_path_is_parted_into_absolute_and_relative_entries() -> None:
    """Empty entries mean the folder one stands in."""
    assert split_path("/usr/bin:/bin::.:/bin") == (("/usr/bin", "/bin"), ("", "."))
    assert split_path("") == ((), ())
