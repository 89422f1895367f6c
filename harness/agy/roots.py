"""Which absolute paths are digested for a job: its guards, and what is watched beside them."""

# ruff: noqa: PTH114, PTH115, PTH118, PTH120, PTH113 - text all the way: a Path folds `..` and
# `//`, and 100,000 objects cost more than the walk

from __future__ import annotations

import os
from collections.abc import Sequence

from harness.agy.files import open_regular
from harness.core.pathtext import encode_path

_MAX_LINKS = 40
_PATH_LIMIT = 4096


def guard_roots(workspace: str, guard: Sequence[str]) -> tuple[str, ...]:
    """Return the absolute paths to digest for guards relative to a workspace, encoded, sorted.

    Links above the last part are resolved, and each one that is met inside the workspace is a
    root itself: pointing it elsewhere is a change although nothing at the old place moved.
    """
    found: set[str] = set()
    base = os.path.realpath(workspace)
    for path in guard:
        found.update(encode_path(root) for root in _resolve(base, path))
    return tuple(sorted(found))


def watched_roots(workspace: str) -> tuple[str, ...]:
    """Return what is executed or decides where code comes from: watched, not canonical.

    In a linked work tree, where `.git` is a file, hooks and configuration stand elsewhere.
    """
    base = os.path.realpath(workspace)
    git = os.path.join(base, ".git")
    watched = [".agents", ".git/hooks", ".git/config"]
    if os.path.isfile(git) and not os.path.islink(git):
        shared = _shared_git_folder(git)
        watched = [".agents", ".git", *(f"{shared}/{name}" for name in ("hooks", "config"))]
    return guard_roots(workspace, watched)


def _shared_git_folder(git: str) -> str:
    """Return where a `.git` file leads; the place beside it where it says nothing usable."""
    folder = os.path.join(os.path.dirname(git), _line_of(git).removeprefix("gitdir:").strip())
    return os.path.join(folder, _line_of(os.path.join(folder, "commondir")))


def _line_of(path: str) -> str:
    """Return the first line of a small file; empty where there is none that can be read."""
    try:
        descriptor = open_regular(path)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        return os.fsdecode(file.read(_PATH_LIMIT).partition(b"\n")[0].strip())


def _resolve(base: str, path: str) -> set[str]:
    """Return the place that is meant, and the links on the way to it."""
    links: set[str] = set()
    followed = 0
    at, waiting = "/" if path.startswith("/") else base, _parts(path)
    while waiting:
        part = waiting.pop()
        place = os.path.dirname(at) if part == ".." else os.path.join(at, part)
        if not waiting or followed >= _MAX_LINKS or not os.path.islink(place):
            at = place
            continue
        followed += 1
        links.add(place)
        target = os.readlink(place)
        at = "/" if target.startswith("/") else at
        waiting.extend(_parts(target))
    return links | {at}


def _parts(path: str) -> list[str]:
    """Return the parts of a path in reverse, without empty ones and dots."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
