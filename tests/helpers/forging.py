"""A program that goes around the harness and writes into its database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from harness.core.tiers import sha256_of
from harness.stores.sqlite.schema import TRIGGERS


def outside(path: Path, *statements: str) -> None:
    """Change the file as a program would that knows no rules."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.create_function("sha256", 1, sha256_of)
        for statement in statements:
            other.execute(statement)


def unguarded(path: Path, *statements: str) -> None:
    """Change it with the triggers out of the way, then put them back as they were."""
    outside(
        path,
        *(f"DROP TRIGGER {name}" for name in TRIGGERS),
        *statements,
        *TRIGGERS.values(),
    )
