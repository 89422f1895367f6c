"""Folders to guard, and a hand without rights."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.agy.guards import snapshot
from harness.core.evidence import FileDigest
from harness.core.pathtext import encode_path

NOBODY = 65534
REPOSITORY = Path(__file__).parents[2]


def digests(*roots: Path, known: Mapping[str, FileDigest] | None = None) -> dict[str, FileDigest]:
    """Return the snapshot of some roots, which is not too large."""
    found = snapshot([encode_path(str(root)) for root in roots], known or {})
    assert isinstance(found, dict)
    return found


def below(root: Path, found: Mapping[str, FileDigest]) -> dict[str, str]:
    """Return the kinds of a snapshot by path relative to a root."""
    return {os.path.relpath(path, root): digest.kind.value for path, digest in found.items()}


@contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that a process without rights owns and can reach."""
    folder = Path(tempfile.mkdtemp(prefix="harness-test-")).resolve()
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    try:
        yield folder
    finally:
        for path, _, _ in os.walk(folder):
            Path(path).chmod(0o700)
        shutil.rmtree(folder)


_DROP_RIGHTS = """
import os, sys
import harness.agy.artefacts, harness.agy.guards, harness.services.restore, harness.stores.copies
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""


def without_rights(code: str, *arguments: Path) -> str:
    """Run Python code as a user who may not do everything; return what it printed.

    The rights are dropped after the imports: the interpreter itself may be the root user's.
    """
    done = subprocess.run(
        [sys.executable, "-B", "-c", _DROP_RIGHTS + code, *map(str, arguments)],
        env={"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"]},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
