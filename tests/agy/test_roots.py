"""Which paths are digested for a job."""

import os
from pathlib import Path

from harness.agy.guards import snapshot
from harness.agy.roots import guard_roots, watched_roots
from harness.core.evidence import changed_paths
from tests.helpers.trees import digests


def test_guards_are_absolute_and_sorted(tmp_path: Path) -> None:
    """Guards are taken from the workspace, dots and doubled slashes folded, each once."""
    roots = guard_roots(str(tmp_path), ["b//c", "./a/", "a", "b/../d", "."])
    assert roots == tuple(
        sorted([str(tmp_path), f"{tmp_path}/a", f"{tmp_path}/b/c", f"{tmp_path}/d"])
    )
    assert guard_roots(str(tmp_path), ["/srv/data"]) == ("/srv/data",)


def test_a_workspace_behind_a_link_is_resolved(tmp_path: Path) -> None:
    """The places digested are those that are meant, not the way to them."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert guard_roots(str(tmp_path / "link"), ["x"]) == (f"{tmp_path}/real/x",)


def test_links_on_the_way_to_a_guard_are_guarded_too(tmp_path: Path) -> None:
    """Pointing a link above a guard elsewhere is a change, although nothing moved behind it."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("x")
    (tmp_path / "current").symlink_to("one")
    (tmp_path / "latest").symlink_to(tmp_path / "current")
    roots = guard_roots(str(tmp_path), ["latest/f"])
    assert roots == (f"{tmp_path}/current", f"{tmp_path}/latest", f"{tmp_path}/one/f")
    before = digests(*map(Path, roots))
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("two")
    changes = changed_paths(before, digests(*map(Path, roots)))
    assert [change.path for change in changes] == [f"{tmp_path}/current"]


def test_a_guard_that_is_a_link_stays_a_link(tmp_path: Path) -> None:
    """The last part of a guard is never followed."""
    (tmp_path / "l").symlink_to("/etc")
    assert guard_roots(str(tmp_path), ["l"]) == (f"{tmp_path}/l",)


def test_links_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    """A way that leads nowhere gives a root at which nothing stands."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    roots = guard_roots(str(tmp_path), ["a/f"])
    assert {f"{tmp_path}/a", f"{tmp_path}/b"} <= set(roots)
    assert isinstance(snapshot(roots, {}), dict)


def test_what_is_executed_is_watched(tmp_path: Path) -> None:
    """Hooks, the repository's configuration and the agent's own settings are watched."""
    assert watched_roots(str(tmp_path)) == tuple(
        f"{tmp_path}/{name}" for name in (".agents", ".git/config", ".git/hooks")
    )


def test_a_linked_work_tree_watches_the_shared_repository(tmp_path: Path) -> None:
    """Where `.git` is a file, what it leads to is watched, and the file itself."""
    tree, main = tmp_path / "tree", tmp_path / "main" / ".git"
    tree.mkdir()
    (main / "worktrees" / "tree").mkdir(parents=True)
    (main / "worktrees" / "tree" / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {main}/worktrees/tree\n")
    assert set(watched_roots(str(tree))) == {
        f"{tree}/.agents",
        f"{tree}/.git",
        f"{main}/hooks",
        f"{main}/config",
    }


def test_a_strange_git_file_is_watched_all_the_same(tmp_path: Path) -> None:
    """What leads nowhere, or is a pipe, is no reason to fail or to wait."""
    (tmp_path / "d").mkdir()
    (tmp_path / ".git").write_text("gitdir: d")
    os.mkfifo(tmp_path / "d" / "commondir")
    assert f"{tmp_path}/d/hooks" in watched_roots(str(tmp_path))
    (tmp_path / ".git").write_text("gitdir: nowhere")
    assert f"{tmp_path}/.git" in watched_roots(str(tmp_path))
