"""Files beside the database, made private and durable."""

from __future__ import annotations

import os
from pathlib import Path


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read; raises FileExistsError where one is."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def sync_file(path: Path) -> None:
    """Make the content of a file durable; not for a database that a connection has open."""
    _sync(path, os.O_RDWR)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
