"""Files beside the database, made private and durable."""

from __future__ import annotations

import os
from pathlib import Path

from harness.stores.files import full_sync


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read; raises FileExistsError where one is."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def sync_file(path: Path) -> None:
    """Make the content of a file durable; not for a database that a connection has open."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        full_sync(descriptor)
    finally:
        os.close(descriptor)
