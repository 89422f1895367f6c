"""The home of a user: where things stand in it, how it is made, and how it is found."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.text import one_line
from harness.errors import HomeNotFound, HostProblem
from harness.stores.files import (
    atomic_write,
    is_file,
    is_folder,
    make_private_folder,
    real_path,
    sync_folder,
)
from harness.stores.registry import default_home_folder, register, registered_homes
from harness.stores.shipped import shipped_folder

SETTINGS_NAME = "harness.toml"
SOCKET_PATH_LIMIT = 107
_APPLICATION = "harness"

SAMPLE_SETTINGS = """\
# Settings of this home. Every key has a default; take the # away to change it.

[agy]
# The Antigravity CLI. Without this: agy, then antigravity, on PATH.
# path = "~/.local/bin/agy"
# How much of the machine a job's agent may see: "auto", "bubblewrap" or "off".
# isolate = "auto"

[state]
# No job starts with less room than this on the disk of the state.
# min_free = "256MiB"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """One home and the places in it; `root` is an absolute path without links."""

    root: Path

    @property
    def settings_file(self) -> Path:
        """`harness.toml`, which makes a folder a home."""
        return self.root / SETTINGS_NAME

    @property
    def nightly(self) -> Path:
        """The jobs, a TOML file each, with their prompts beside them."""
        return self.root / "nightly"

    @property
    def rules(self) -> Path:
        """The policies of this home."""
        return self.root / "rules"

    @property
    def state(self) -> Path:
        """Everything that the harness itself writes; private to this user."""
        return self.root / "state"

    @property
    def database(self) -> Path:
        """The SQLite database."""
        return self.state / "harness.db"

    @property
    def runs(self) -> Path:
        """A folder a run, with what its process printed."""
        return self.state / "runs"

    @property
    def archive(self) -> Path:
        """Copies of guarded content, so that a run's changes can be taken back."""
        return self.state / "archive"

    @property
    def accepted(self) -> Path:
        """Copies of the jobs as a person accepted them."""
        return self.state / "accepted"

    @property
    def lock(self) -> Path:
        """The file whose lock orders who claims a run, settles, decides or takes a run back."""
        return self.state / "lock"

    def run_folder(self, run_id: str) -> Path:
        """Return the folder of one run; its files are stdout, stderr, agy.log, prompt, record."""
        return self.runs / run_id

    def prepare_state(self) -> None:
        """Make the folders of the state that are missing. Raises `HostProblem`."""
        for folder in (self.state, self.runs, self.archive, self.accepted):
            make_private_folder(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeHome:
    """What `harness init` did: paths below the home that it made, and those it found."""

    home: Home
    created: tuple[str, ...]
    kept: tuple[str, ...]


def find_home(explicit: str | None, *, environment: Mapping[str, str], start: Path) -> Home:
    """Return the home to work on.

    The first of: `explicit`, `$HARNESS_HOME`, the nearest folder from `start` upwards that is
    a registered home and lies in no workspace, the platform's configuration directory.

    Raises:
        HomeNotFound: none of these is a home, or the one named is not.
    """
    named = explicit or environment.get("HARNESS_HOME")
    if named:
        return _named_home(named, "--home" if explicit else "HARNESS_HOME")
    passed_over = None
    here = real_path(start)
    candidates = [folder for folder in (here, *here.parents) if is_file(folder / SETTINGS_NAME)]
    if candidates:
        registered = registered_homes()
        for folder in candidates:
            if folder in registered and not _in_a_workspace(folder, registered):
                return Home(root=folder)
        passed_over = candidates[0]
    default = default_home_folder()
    if is_file(default / SETTINGS_NAME):
        return Home(root=real_path(default))
    if passed_over is not None:
        raise HomeNotFound(
            f"{passed_over / SETTINGS_NAME} is there, but this folder is no home of yours:"
            " it was never registered, or it lies inside the workspace of a job",
            hint=f"look at it; if it is yours: harness home trust {passed_over}, or --home DIR",
        )
    raise HomeNotFound(
        f"no home: no --home, no HARNESS_HOME, no registered folder above, nothing in {default}",
        hint="make one: harness init",
    )


def make_home(folder: Path) -> MadeHome:
    """Make a folder a home and register it; what is there already stays as it is.

    Raises:
        HostProblem: a folder or file cannot be made.
    """
    created: list[str] = []
    kept: list[str] = []
    try:
        if not is_folder(folder):
            folder.mkdir(parents=True)
            sync_folder(folder.parent)
        home = Home(root=real_path(folder))
        for part in (home.nightly, home.rules, home.state):
            (kept if is_folder(part) else created).append(f"{part.name}/")
        for part in (home.nightly, home.rules):
            part.mkdir(exist_ok=True)
    except OSError as problem:
        where = problem.filename or folder
        raise HostProblem(f"{where}: cannot be made: {problem.strerror}") from problem
    home.prepare_state()
    files = [(f"rules/{path.name}", path.read_bytes()) for path in _shipped_rules()]
    for name, data in (*files, (SETTINGS_NAME, SAMPLE_SETTINGS.encode())):
        if os.path.lexists(home.root / name):
            kept.append(name)
            continue
        atomic_write(home.root / name, data, mode=0o644)
        created.append(name)
    register(home.root)
    return MadeHome(home=home, created=tuple(created), kept=tuple(kept))


def trust_home(folder: Path) -> tuple[Home, bool]:
    """Register a home that is there; the flag is False where it was registered already.

    Raises:
        HomeNotFound: the folder holds no harness.toml.
    """
    home = _named_home(str(folder), "home trust")
    return home, register(home.root)


def runtime_folder(environment: Mapping[str, str], *, room: int = 40) -> Path:
    """Return a private folder for sockets, short enough for `room` more bytes of path.

    `$XDG_RUNTIME_DIR/harness` where that is this user's own and short, else a folder in /tmp
    that is verified to be this user's and closed to others.

    Raises:
        HostProblem: somebody else made the folder, or it cannot be made.
    """
    given = environment.get("XDG_RUNTIME_DIR", "")
    base = Path(given)
    if base.is_absolute() and len(os.fsencode(given)) + len("/harness") + room < SOCKET_PATH_LIMIT:
        try:
            usable = base.stat().st_uid == os.geteuid() and base.is_dir()
        except OSError:
            usable = False
        if usable:
            return _own_private_folder(base / _APPLICATION)
    return _own_private_folder(Path("/tmp") / f"{_APPLICATION}-{os.geteuid()}")  # noqa: S108 - verified


def _own_private_folder(path: Path) -> Path:
    """Make or verify a folder that may stand beside other users': never through a link."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as problem:
        raise HostProblem(f"{path}: cannot be made: {problem.strerror}") from problem
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise HostProblem(
            f"{path}: expected a folder of this user, found something of another's making",
            hint="remove it, or set XDG_RUNTIME_DIR to a folder of your own",
        )
    if stat.S_IMODE(found.st_mode) != 0o700:  # noqa: PLR2004 - private
        path.chmod(0o700)
    return path


def _named_home(name: str, told_by: str) -> Home:
    try:
        folder = Path(name).expanduser()
        root = real_path(folder)
    except (ValueError, RuntimeError) as problem:
        raise HomeNotFound(f"{told_by}: {one_line(name)} cannot be a folder") from problem
    if not is_file(root / SETTINGS_NAME):
        raise HomeNotFound(
            f"{told_by}: {folder} is no home: it holds no {SETTINGS_NAME}",
            hint=f"make it one: harness init {folder}",
        )
    return Home(root=root)


def _in_a_workspace(folder: Path, registered: list[Path]) -> bool:
    """Tell whether a job of any of these homes, or of the folder itself, may write there."""
    from harness.stores.configuration import workspaces_of

    return any(
        folder.is_relative_to(workspace)
        for root in (folder, *registered)
        for workspace in workspaces_of(Home(root=root))
    )


def _shipped_rules() -> list[Path]:
    return sorted(path for path in shipped_folder("rules").iterdir() if is_file(path))
