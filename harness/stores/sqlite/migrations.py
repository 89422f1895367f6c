"""The numbered steps from an empty file to the present schema.

Step n takes a database from schema n - 1 to n. A step that has been released is never
edited. All steps that are due run in one transaction: processes that start together wait
for the first one, then find the work done.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import NewerSchema
from harness.stores.files import sync_folder
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.faults import sqlite_problem, system_problem
from harness.stores.sqlite.files import create_private, sync_file
from harness.stores.sqlite.schema import APPLICATION_ID, INDEXES, TABLES, TRIGGERS

if TYPE_CHECKING:
    import sqlite_utils

Migration = Callable[["sqlite_utils.Database"], None]
"""One step; it must not commit."""


def create_schema(tables: sqlite_utils.Database) -> None:
    """Create everything of schema 1."""
    for statement in (*TABLES, *INDEXES, *TRIGGERS.values()):
        tables.execute(statement)


MIGRATIONS: tuple[Migration, ...] = (create_schema,)


def version_of(database: Database) -> int:
    """Return the number of the last step that was applied; 0 for an empty file."""
    return int(database.rows("PRAGMA user_version")[0][0])


def migrate(database: Database, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Apply the steps that are due, after a backup where there is something to lose."""
    if version_of(database) == len(migrations):
        return
    # Only here, since it takes longer to import than all else that a command does.
    import sqlite_utils

    with database.write():
        version = version_of(database)  # another process may have been first
        if version > len(migrations):
            raise NewerSchema(f"{database.path}: a newer harness has just migrated it")
        if 0 < version < len(migrations):
            back_up(database, backup_path(database.path, version))
        tables = sqlite_utils.Database(
            database.connection, recursive_triggers=False, execute_plugins=False
        )
        for number, step in enumerate(migrations[version:], start=version + 1):
            database.before_write(f"migration.{number}")
            step(tables)
        database.change("migration.owner", f"PRAGMA application_id = {APPLICATION_ID}")
        database.change("migration.version", f"PRAGMA user_version = {len(migrations)}")


def backup_path(path: Path, version: int) -> Path:
    """Return where the backup of a database of this schema goes."""
    return path.with_name(f"{path.name}.backup-v{version}")


def back_up(database: Database, target: Path) -> None:
    """Copy the database as it was last committed, durably, readable by its owner only.

    Raises `StoreProblem` where the copy cannot be made; an earlier copy stays as it is then.
    """
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        create_private(partial)
        # A connection of its own: SQLite does not copy from one that is in a transaction.
        with (
            closing(sqlite3.connect(database.path)) as source,
            closing(sqlite3.connect(partial)) as copy,
        ):
            source.backup(copy)
        sync_file(partial)
        partial.replace(target)
        sync_folder(target.parent)
    except sqlite3.Error as error:
        raise sqlite_problem(error, target) from error
    except OSError as error:
        raise system_problem(error, target) from error
