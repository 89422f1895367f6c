"""Where the data that the package ships stands: in the installed package, or in a checkout."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HostProblem

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped data: `rules`, `nightly` or `systemd`.

    Raises:
        HostProblem: the installation is incomplete.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise HostProblem(
        f"the installation is incomplete: its folder {name} is missing",
        hint="install the package agy-harness again",
    )
