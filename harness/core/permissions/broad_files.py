"""How broad `read_file` and `write_file` targets are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.core.permissions.grammar import EVERYTHING
from harness.core.permissions.levels import Finding, Level, Trait
from harness.core.permissions.paths import (
    Parts,
    Place,
    below,
    clean_parts,
    is_pattern,
    is_windows,
    roots,
    shown,
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_START_FILES = _names(
    ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin "
    ".config .local .ssh .gitconfig .npmrc .cargo .vimrc .emacs .emacs.d .netrc .pam_environment "
    ".xprofile .xsessionrc .xinitrc .inputrc .tmux.conf .docker .kube .aws .gnupg .claude .codex "
    ".cursor .vscode Library bin .pypirc .condarc .gem .m2 .gradle .oh-my-zsh"
)
"""Names in a home that start programs, or hold what starts them."""
_SECRET_FILES = _names(
    ".ssh .aws .gnupg .netrc .config .kube .docker .gemini .npmrc .pypirc .local .mozilla "
    ".git-credentials .password-store .azure .terraform.d .claude .codex .cargo Library "
    ".bash_history .zsh_history"
)
"""Names in a home that hold keys and credentials."""
_RUNNING = _names(".git .vscode .idea .husky .devcontainer .cursor .claude")
"""Folders of a workspace that later calls take programs from."""
_DATA = _names(
    "reports report data out output outputs logs log results notes artifacts artefacts journal "
    "drafts tmp temp cache exports inbox"
)
"""Folders of a workspace that hold data, by their usual names."""
_DOCUMENT = re.compile(r"[^./][^/]*\.(md|txt|json|jsonl|ndjson|csv|tsv|log|pdf|png|jpg|svg)")
_CODE_DATA = _names(
    "package.json package-lock.json tsconfig.json composer.json deno.json CMakeLists.txt "
    "requirements.txt turbo.json nx.json AGENTS.md GEMINI.md CLAUDE.md"
)
"""Files that look like documents and decide what is run."""
_DOTENV = re.compile(r"\.env.*|\.npmrc|\.pypirc|\.netrc")
_TEMPORARY = ("tmp",)
_PROCESSES = ("proc",)


def _finding(level: Level, why: str, *traits: Trait) -> Finding:
    return Finding(level=level, why=why, traits=frozenset(traits))


def _dead(target: str, covered: tuple[Parts, ...]) -> Finding | None:
    """Return the verdict on a target that matches nothing or belongs to another system."""
    if is_windows(target):
        return _finding(Level.UNKNOWN, "the path is one of another system")
    if target != EVERYTHING and is_pattern(target):
        return _finding(Level.INERT, "`~`, `$`, `*`, `?` and `regex:` are literal text in a path")
    if not covered:
        return _finding(Level.INERT, "a relative path cannot leave the workspace")
    return None


def write_finding(target: str, place: Place, protected: Sequence[str]) -> Finding:
    """Return how broad a `write_file` target is.

    Args:
        target: what stands in the brackets.
        place: where the run happens.
        protected: paths whose writing gives everything away.
    """
    covered = roots(target.strip(), place)
    dead = _dead(target, covered)
    if dead is not None:
        return dead
    for root in covered:
        what = next(_vital(root, place, protected), "")
        if what:
            return _finding(
                Level.CRITICAL, f"it lets the agent write {what}", Trait.WORKSPACE_WRITE
            )
    return _write_place(covered[0], place)


def _vital(root: Parts, place: Place, protected: Sequence[str]) -> Iterator[str]:
    """Yield what a folder covers, or lies in, whose writing gives everything away."""
    if _touches(root, place.configuration):
        yield "the CLI's own configuration"
    home = shown(place.home)
    for path in protected:
        whole = path if path.startswith("/") else f"{shown(place.workspace)}/{path}"
        whole = home + path[1:] if path.startswith("~/") else whole
        if _touches(root, clean_parts(whole)):
            yield f"{path}, which is protected"
    if below(root, (*place.workspace, ".agents")):
        yield "hooks, which run at every tool call"
    for name in () if below(root, place.workspace) else sorted(_START_FILES):
        if _touches(root, (*place.home, name)):
            yield f"{home}/{name}, which starts programs"


def _touches(root: Parts, path: Parts) -> bool:
    return below(path, root) or below(root, path)


def _write_place(root: Parts, place: Place) -> Finding:
    if below(place.workspace, root):
        whole = root == place.workspace
        what = "the whole workspace" if whole else "the workspace and what lies beside it"
        traits = (Trait.WORKSPACE_WRITE, Trait.GIT_CONFIGURATION)
        return _finding(Level.HIGH, f"it covers {what}", *traits)
    if below(root, place.workspace):
        return _write_inside(root[len(place.workspace) :])
    if below(root, _TEMPORARY):
        return _finding(Level.LOW, "the temporary folder is writable without a rule, too")
    return _finding(Level.HIGH, f"{shown(root)} lies outside the workspace")


def _write_inside(inside: Parts) -> Finding:
    write, first, last = Trait.WORKSPACE_WRITE, inside[0], inside[-1]
    if first in _RUNNING:
        git = [Trait.GIT_CONFIGURATION] if first == ".git" else []
        return _finding(Level.HIGH, f"{first} holds what later calls run", write, *git)
    if _DOCUMENT.fullmatch(last) and last not in _CODE_DATA:
        return _finding(Level.NARROW, "it is one document of the workspace")
    if first in _DATA:
        return _finding(Level.LOW, "it is a folder of the workspace for data")
    return _finding(Level.MEDIUM, "it writes in the workspace what may be code", write)


def read_finding(target: str, place: Place) -> Finding:
    """Return how broad a `read_file` target is."""
    covered = roots(target.strip(), place)
    dead = _dead(target, covered)
    if dead is not None:
        return dead
    root = covered[0]
    if below(root, place.workspace):
        return _read_inside(root[len(place.workspace) :])
    secrets = [place.configuration, *((*place.home, name) for name in sorted(_SECRET_FILES))]
    if any(_touches(root, path) for path in secrets):
        return _finding(Level.HIGH, "it reads keys and credentials", Trait.WIDE_READ)
    if _touches(root, _PROCESSES):
        return _finding(Level.HIGH, "it reads the environment of every process", Trait.WIDE_READ)
    if below(root, _TEMPORARY):
        return _finding(Level.LOW, "the temporary folder is readable without a rule, too")
    why = f"it reads {shown(root)}, outside the workspace"
    return _finding(Level.MEDIUM, why, Trait.WIDE_READ)


def _read_inside(inside: Parts) -> Finding:
    if inside and _DOTENV.fullmatch(inside[-1]):
        return _finding(Level.MEDIUM, "it shows secrets of the workspace")
    if inside and "." in inside[-1].lstrip("."):
        return _finding(Level.NARROW, "it is one file of the workspace")
    return _finding(Level.LOW, "it reads in the workspace, .env included")
