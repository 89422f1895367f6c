"""After the verdict: the run's folder in order, the workspace without what we put there."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

from harness.core.command import prompt_file_in
from harness.core.model import RunRecord
from harness.errors import HostProblem
from harness.services.house import House
from harness.services.run_files import RunFiles
from harness.stores.files import (
    atomic_write,
    make_private_folder,
    remove_temporaries,
    set_aside,
)


def reclaim(files: RunFiles) -> None:
    """See to it that the run's folder is the harness's own, whatever an agent made of it.

    A link or anything else in its place, and folders where files are to be written, are moved
    aside, not followed and not read. What cannot be mended is left: the verdict stands without.
    """
    with contextlib.suppress(HostProblem):
        folder = Path(files.folder)
        if not _is(folder, stat.S_ISDIR):
            set_aside(folder)
        make_private_folder(folder)
        for path in (files.plan, files.guards, files.guards_after, files.record):
            if not _is(Path(path), stat.S_ISREG):
                set_aside(Path(path))


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.lstat().st_mode)
    except OSError:
        return False


def tidy(house: House, record: RunRecord, files: RunFiles) -> None:
    """Leave a closed run's folder as it is to stay, `record.json` last; the caller holds the lock.

    The row is the truth and the file a convenience: where it cannot be written now, as on a full
    disk, the next command settles that.
    """
    folder = Path(files.folder)
    if folder.is_dir():
        remove_temporaries(folder)
    if not record.evidence.changed_paths and not Path(files.guards_after).exists():
        with contextlib.suppress(OSError):
            Path(files.guards).unlink(missing_ok=True)
    for path in (files.owner, files.census):
        with contextlib.suppress(OSError):
            Path(path).unlink(missing_ok=True)
    data = msgspec.json.format(msgspec.json.encode(record), indent=1)
    with contextlib.suppress(HostProblem):
        atomic_write(Path(files.record), data + b"\n", before_write=house.before_write)


def remove_prompt_file(workspace: str, run_id: str) -> None:
    """Take a long prompt out of the workspace, half-written ones too; the run's folder keeps it."""
    path = Path(prompt_file_in(workspace, run_id))
    with contextlib.suppress(OSError):
        path.unlink()
    remove_temporaries(path.parent, path.name)
