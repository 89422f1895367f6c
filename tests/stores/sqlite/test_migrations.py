"""Numbered steps, all or none of them, with a backup where there is something to lose."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils

from harness.errors import NewerSchema, StoreProblem
from harness.stores.sqlite import open_state
from harness.stores.sqlite.migrations import (
    MIGRATIONS,
    Migration,
    back_up,
    backup_path,
    create_schema,
    migrate,
    version_of,
)
from harness.stores.sqlite.opening import open_database
from tests.helpers.states import HandClock, ran


def add_colour(tables: sqlite_utils.Database) -> None:
    """A second step, for these tests."""
    tables.table("switches").add_column("colour", str)


def add_shape(tables: sqlite_utils.Database) -> None:
    """A third step."""
    tables.table("switches").add_column("shape", str)


NEWER: tuple[Migration, ...] = (create_schema, add_colour, add_shape)


def columns(path: Path) -> set[str]:
    """Return the columns of the table that the steps change."""
    with closing(sqlite3.connect(path)) as connection:
        return {row[1] for row in connection.execute("PRAGMA table_info(switches)")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of the present schema, with one run."""
    with closing(open_state(tmp_path / "harness.db", clock=HandClock())) as state:
        ran(state, "r1")
    return tmp_path / "harness.db"


def test_a_fresh_file_needs_no_backup(tmp_path: Path) -> None:
    """All steps are applied to an empty file, and nothing is backed up."""
    with closing(open_database(tmp_path / "harness.db", migrations=NEWER)) as database:
        assert version_of(database) == 3
    assert {"colour", "shape"} <= columns(tmp_path / "harness.db")
    assert list(tmp_path.glob("*backup*")) == []


def test_an_older_database_is_backed_up_first(path: Path) -> None:
    """The backup holds all that was there, in the old schema, private."""
    with closing(open_database(path, migrations=NEWER)) as database:
        assert version_of(database) == 3
    backup = backup_path(path, 1)
    assert backup.name == "harness.db.backup-v1"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert "colour" not in columns(backup)
    with closing(open_state(backup, clock=HandClock())) as state:
        assert state.runs.get("r1") is not None
        assert state.check() == []


def test_changes_that_only_the_wal_holds_are_in_the_backup(path: Path) -> None:
    """A backup is what was committed, not what the main file happens to hold."""
    with closing(open_state(path, clock=HandClock())) as state:
        ran(state, "r2")
        with closing(open_database(path, migrations=NEWER)):
            pass
    with closing(open_state(backup_path(path, 1), clock=HandClock())) as restored:
        assert restored.runs.get("r2") is not None


def test_the_harness_that_migrated_is_newer(path: Path) -> None:
    """After the migration the older harness refuses the database."""
    with closing(open_database(path, migrations=NEWER)):
        pass
    with pytest.raises(NewerSchema):
        open_database(path)


@pytest.mark.parametrize("stop", ["migration.2", "migration.3", "migration.version", "commit"])
def test_a_migration_is_all_or_nothing(path: Path, stop: str) -> None:
    """Stopped anywhere, the database is as it was and can be migrated again."""

    def fail(name: str) -> None:
        if name == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_database(path, migrations=NEWER, before_write=fail)
    with closing(open_database(path)) as database:
        assert version_of(database) == 1
    assert not {"colour", "shape"} & columns(path)
    with closing(open_database(path, migrations=NEWER)) as database:
        assert version_of(database) == 3


def test_a_migration_that_fails_says_so(path: Path) -> None:
    """An error of SQLite inside a step becomes one of the store, and nothing stays."""

    def broken(tables: sqlite_utils.Database) -> None:
        tables.execute("CREATE TABLE runs (x)")

    with pytest.raises(StoreProblem, match="already exists"):
        open_database(path, migrations=(create_schema, add_colour, broken))
    assert "colour" not in columns(path)


def test_another_process_may_be_first(path: Path) -> None:
    """Whoever waited for the lock finds the work done, or done by a newer harness."""
    with closing(open_database(path)) as waiting:

        def overtake(migrations: tuple[Migration, ...]) -> None:
            with closing(open_database(path, migrations=migrations)):
                pass

        overtake(NEWER[:2])
        migrate(waiting, NEWER[:2])
        with pytest.raises(NewerSchema):
            migrate(waiting, MIGRATIONS)


def test_an_older_schema_is_not_read_only_readable(path: Path) -> None:
    """Where nothing can be written an older database cannot be migrated, and that is said."""
    with pytest.raises(StoreProblem, match="schema 1 is older"):
        open_database(path, migrations=NEWER, read_only=True)


def test_no_migration_without_its_backup(path: Path) -> None:
    """Where the backup cannot be made, the database stays as it is."""
    backup_path(path, 1).mkdir()
    with pytest.raises(StoreProblem, match="backup-v1: the database cannot be"):
        open_database(path, migrations=NEWER)
    assert "colour" not in columns(path)


def test_a_damaged_database_is_not_backed_up_in_silence(path: Path, tmp_path: Path) -> None:
    """An error of SQLite while copying is an error of the store."""
    with closing(open_database(path)) as database:
        database.path = tmp_path / "garbage.db"
        database.path.write_bytes(b"garbage" * 1000)
        with pytest.raises(StoreProblem, match="not a database"):
            back_up(database, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
