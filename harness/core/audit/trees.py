"""What no agent may write, whatever its job: places that decide over it, or run for a person."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from harness.core.audit.model import Tree

_SHELL_FILES = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout"),
    *(".config/fish", ".config/environment.d", ".pam_environment", ".inputrc"),
)
_RUN_FOR_A_PERSON = (
    (".config/systemd/user", "systemd units of the user"),
    (".local/share/systemd/user", "systemd units of the user"),
    (".config/autostart", "programs that start with the session"),
    (".ssh", "keys, and commands that ssh runs"),
    (".gitconfig", "git's configuration"),
    (".config/git", "git's configuration"),
)


def protected_trees(
    *,
    home: str,
    path_folders: Sequence[str],
    harness_home: str | None,
    extra: Sequence[str],
) -> tuple[Tree, ...]:
    """Return what must be kept from every agent, each path once.

    Args:
        home: the user's home folder, absolute.
        path_folders: the absolute folders of PATH.
        harness_home: the harness's home; None where there is none.
        extra: what the policy adds, absolute.
    """
    trees: list[Tree] = []
    if harness_home is not None:
        trees.append(Tree(path=harness_home, what="the harness's home: jobs, rules, state"))
    trees += [
        Tree(path=posixpath.join(home, name), what="a shell start file") for name in _SHELL_FILES
    ]
    trees += [Tree(path=posixpath.join(home, name), what=what) for name, what in _RUN_FOR_A_PERSON]
    trees += [Tree(path=folder, what="a folder of PATH") for folder in path_folders]
    trees += [Tree(path=path, what="protected by rules/audit.toml") for path in extra]
    first: dict[str, Tree] = {}
    for tree in trees:
        path = posixpath.normpath(tree.path)
        first.setdefault(path, Tree(path=path, what=tree.what))
    return tuple(first.values())


def split_path(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the absolute folders of PATH, and its entries that depend on where one stands."""
    entries = list(dict.fromkeys(text.split(":"))) if text else []
    absolute = tuple(entry for entry in entries if entry.startswith("/"))
    return absolute, tuple(entry for entry in entries if not entry.startswith("/"))
