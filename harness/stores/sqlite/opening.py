"""From a path to a usable connection: created private and durable, or opened for reading only."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from harness.errors import NewerSchema, StoreDamaged, StoreProblem
from harness.stores.files import sync_folder
from harness.stores.protocols import BeforeWrite, ignore_write
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.faults import sqlite_problem, system_problem
from harness.stores.sqlite.files import create_private
from harness.stores.sqlite.migrations import MIGRATIONS, Migration, migrate, version_of
from harness.stores.sqlite.schema import APPLICATION_ID

BUSY_TIMEOUT_MS = 5000
_RETRY_S = 0.01
_WRITING = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",  # macOS: flush the drive's own cache; elsewhere without effect
    "PRAGMA checkpoint_fullfsync = ON",
)
_ALWAYS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",  # the file may have been altered by somebody else
)


def open_database(
    path: Path,
    *,
    before_write: BeforeWrite = ignore_write,
    read_only: bool = False,
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    migrations: tuple[Migration, ...] = MIGRATIONS,
) -> Database:
    """Open the database, creating and migrating it as needed.

    Raises:
        NewerSchema: a newer harness wrote it; it is left as it is.
        StoreDamaged: the file is no database, or one of another program.
        StoreProblem: it cannot be created, opened, locked or migrated.
    """
    if read_only:
        connection = _connect_for_reading(path, busy_timeout_ms)
    else:
        _create(path)
        connection = _connect(str(path), busy_timeout_ms, path)
    database = Database(connection, path, before_write=before_write, read_only=read_only)
    try:
        _set_up(database, busy_timeout_ms / 1000, migrations)
    except sqlite3.Error as error:
        connection.close()
        raise sqlite_problem(error, path) from error
    except BaseException:
        connection.close()
        raise
    return database


def _set_up(database: Database, patience_s: float, migrations: tuple[Migration, ...]) -> None:
    """Refuse a file that is not ours before anything about it is changed; then make it ready."""
    for pragma in _ALWAYS:
        database.connection.execute(pragma)
    _refuse_foreign(database)
    version = version_of(database)
    if version > len(migrations):
        raise NewerSchema(
            f"{database.path}: written by a newer harness (schema {version}, "
            f"this one knows {len(migrations)})",
            hint="update the harness, or use the home of the older one",
        )
    if database.read_only:
        if version < len(migrations):
            raise StoreProblem(
                f"{database.path}: schema {version} is older than this harness reads",
                hint="run any command where the disk can be written; it migrates the database",
            )
        return
    _use_wal(database.connection, patience_s)
    for pragma in _WRITING:
        database.connection.execute(pragma)
    migrate(database, migrations)


def _refuse_foreign(database: Database) -> None:
    owner = database.rows("PRAGMA application_id")[0][0]
    tables = database.rows("SELECT COUNT(*) FROM sqlite_master")[0][0]
    if owner != APPLICATION_ID and (owner or tables):
        raise StoreDamaged(
            f"{database.path}: this is the database of another program",
            hint="move it away, or put a backup of yours in its place",
        )


def _use_wal(connection: sqlite3.Connection, patience_s: float) -> None:
    """Switch to write-ahead logging; SQLite does not wait here, so processes at once must."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _create(path: Path) -> None:
    """Create an empty file that only its owner may read, in a folder of the same kind."""
    # An existing file is not opened here: closing it would drop SQLite's locks on it.
    if path.is_file():
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_private(path)
        sync_folder(path.parent)
    except OSError as error:
        # Another process may just have been first.
        if not path.is_file():
            raise system_problem(error, path) from error


def _connect(
    target: str, busy_timeout_ms: int, path: Path, *, uri: bool = False
) -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            target, timeout=busy_timeout_ms / 1000, isolation_level=None, uri=uri
        )
    except sqlite3.Error as error:
        raise sqlite_problem(error, path) from error


def _connect_for_reading(path: Path, busy_timeout_ms: int) -> sqlite3.Connection:
    """Open without any write; as an immutable file where no WAL can be opened and none is due."""
    address = path.absolute().as_uri() + "?mode=ro"
    connection = _connect(address, busy_timeout_ms, path, uri=True)
    try:
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if not path.is_file() or error.sqlite_errorcode & 0xFF not in (
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_IOERR,  # no room for the index of the WAL
        ):
            raise sqlite_problem(error, path) from error
        _refuse_lost_wal(path)
        return _connect(address + "&immutable=1", busy_timeout_ms, path, uri=True)
    except sqlite3.Error as error:
        connection.close()
        raise sqlite_problem(error, path) from error
    return connection


def _refuse_lost_wal(path: Path) -> None:
    """Refuse to read past a WAL: the newest runs stand only there."""
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        raise StoreProblem(
            f"{path}: its newest changes stand in {wal.name}, which cannot be read here",
            hint="copy the state folder to a disk that can be written and read it there",
        )
