"""File targets: recursive prefixes by component, and what the CLI grants without any rule."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.core.permissions.grammar import EVERYTHING, REGEX
from harness.core.permissions.levels import Decision

_PATTERN = re.compile(r"^~|[*?$]")
_BRACKETS = frozenset("[]{}")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_GUARDED = re.compile(r"\.git|\.env.*|\.npmrc|\.pypirc|\.netrc|\.vscode")
_TEMPORARY = ("tmp",)

Parts = tuple[str, ...]
"""The components of a cleaned absolute path; empty for the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a run happens: two absolute folders, cleaned."""

    workspace: Parts
    home: Parts

    @property
    def configuration(self) -> Parts:
        """The folder of the CLI's own configuration."""
        return (*self.home, ".gemini")


def clean_parts(path: str) -> Parts:
    """Return the components of an absolute path without `.`, `..` and doubled slashes."""
    found: list[str] = []
    for part in PurePosixPath("/" + path.lstrip("/")).parts[1:]:
        if part == "..":
            del found[-1:]
        else:
            found.append(part)
    return tuple(found)


def place_of(workspace: str, home: str) -> Place:
    """Return the place for two absolute paths."""
    return Place(workspace=clean_parts(workspace), home=clean_parts(home))


def below(path: Parts, root: Parts) -> bool:
    """Return whether a path is a folder or lies in it."""
    return path[: len(root)] == root


def shown(path: Parts) -> str:
    """Return a path as text."""
    return "/" + "/".join(path)


def is_windows(target: str) -> bool:
    """Return whether a target is an absolute path of another system."""
    return _WINDOWS.match(target) is not None


def is_pattern(target: str) -> bool:
    """Return whether a target is written as a pattern, which the engine takes for a name."""
    return target.startswith(REGEX) or _PATTERN.search(target) is not None


def is_doubtful(target: str) -> bool:
    """Return whether a deny rule with this target may protect nothing."""
    leaves = not target.startswith("/") and ".." in target.split("/")
    return is_pattern(target) or leaves or target != target.strip() or bool(_BRACKETS & set(target))


def roots(target: str, place: Place) -> tuple[Parts, ...]:
    """Return the folders that a target covers; none where it cannot match.

    Relative targets belong to the workspace and cannot leave it; an absolute one is also read
    as a path inside the workspace.
    """
    if target == EVERYTHING:
        return ((),)
    if target.startswith("/"):
        path = clean_parts(target)
        return (path, (*place.workspace, *path))
    depth = 0
    for part in target.split("/"):
        depth += (part == "..") * -1 + (part not in {"", ".", ".."})
        if depth < 0:
            return ()
    return ((*place.workspace, *clean_parts(target)),)


def request_path(target: str, place: Place) -> Parts:
    """Return the path that a request means; relative ones start at the workspace."""
    if target.startswith("/"):
        return clean_parts(target)
    return clean_parts(f"{shown(place.workspace)}/{target}")


def covers_path(target: str, path: Parts, place: Place, *, surely: bool = False) -> bool:
    """Return whether a rule's target covers a path.

    Args:
        target: of a `read_file` or `write_file` rule.
        path: what the agent asks for.
        place: where the run happens.
        surely: leave out what may be read in two ways, as a deny rule must.
    """
    if surely and target != EVERYTHING and is_doubtful(target):
        return False
    return any(below(path, root) for root in roots(target, place))


def default_read(path: Parts, place: Place) -> Decision:
    """Return what happens to a read that no rule speaks of."""
    return default_write(path, place)


def default_write(path: Parts, place: Place) -> Decision:
    """Return what happens to a write that no rule speaks of.

    Older versions refuse writes that newer ones grant; the grant is what is reported.
    """
    if below(path, place.configuration):
        return Decision.DENY
    if below(path, place.workspace):
        inside = path[len(place.workspace) :]
        guarded = bool(inside) and _GUARDED.fullmatch(inside[0]) is not None
        return Decision.ASK if guarded else Decision.ALLOW
    return Decision.ALLOW if below(path, _TEMPORARY) else Decision.ASK
