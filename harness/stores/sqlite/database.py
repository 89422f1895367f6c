"""One connection to the database file; `write()` is the only way to change a row.

A write is `BEGIN IMMEDIATE`: it waits for its turn at the start, where the busy timeout
applies, and never finds in the middle that what it has read is old.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from harness.errors import StoreDamaged, StoreProblem
from harness.stores.protocols import BeforeWrite
from harness.stores.sqlite.faults import sqlite_problem

Parameters = tuple[Any, ...]


class Database:
    """A connection with its transactions and its errors in the harness's own words.

    Attributes:
        path: the database file, for messages.
        connection: plain `sqlite3`, without transactions of its own.
        read_only: every write is refused before it is tried.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        before_write: BeforeWrite,
        read_only: bool,
    ) -> None:
        self.path = path
        self.connection = connection
        self.read_only = read_only
        self.before_write = before_write
        self._writing = False
        self._files = {str(path): _identity(str(path)), f"{path}-wal": None}
        connection.row_factory = sqlite3.Row
        connection.create_function("digest", 1, _digest, deterministic=True)

    def write(self) -> AbstractContextManager[None]:
        """Open a transaction, or join the one that is open; rolls back on any exception.

        An inner one that fails takes back what it wrote itself and leaves the outer one usable.
        Durable when the outermost one has ended. Raises `StoreProblem` where it cannot be.
        """
        return self._inner() if self._writing else self._outer()

    def change(self, name: str, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement that writes, inside `write()`; return how many rows it changed."""
        self._require_transaction()
        self.before_write(name)
        return self._execute(sql, parameters).rowcount

    def change_many(self, name: str, sql: str, rows: Iterable[Parameters]) -> None:
        """Run one statement for many rows, inside `write()`."""
        self._require_transaction()
        self.before_write(name)
        with self._reported():
            self.connection.executemany(sql, rows)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """Return all rows of a query; an unfinished reader would keep the WAL from shrinking."""
        with self._reported():
            return self.connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Parameters = ()) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    def close(self) -> None:
        """Give the connection back; again is no harm."""
        self._files.clear()
        with self._reported():
            self.connection.close()

    @contextmanager
    def _outer(self) -> Iterator[None]:
        if self.read_only:
            raise StoreProblem(
                f"{self.path}: opened for reading only, nothing was stored",
                hint="repeat the command where the disk can be written",
            )
        self._check_in_place()
        self._execute("BEGIN IMMEDIATE")
        self._writing = True
        try:
            yield
            self.before_write("commit")
            self._execute("COMMIT")
            self._check_in_place()
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._writing = False

    @contextmanager
    def _inner(self) -> Iterator[None]:
        self._require_transaction()
        self._execute("SAVEPOINT joined")
        try:
            yield
        except BaseException:
            # A full disk makes SQLite take back the whole transaction by itself.
            if self.connection.in_transaction:
                self._execute("ROLLBACK TO joined")
                self._execute("RELEASE joined")
            raise
        self._execute("RELEASE joined")

    def _check_in_place(self) -> None:
        """Refuse to go on where somebody took the files away: this connection would never know.

        Whatever it writes then stands in files without a name, and is gone with the process.
        """
        for path, known in self._files.items():
            found = _identity(path)
            if known is None:
                self._files[path] = found
            elif found != known:
                raise StoreDamaged(
                    f"{path}: was deleted or replaced while it was in use; "
                    "what was written last is not stored",
                    hint="find out who did that; then put a backup of yours in its place",
                )

    def _require_transaction(self) -> None:
        """Refuse a statement that would be committed on its own."""
        if not (self._writing and self.connection.in_transaction):
            raise StoreProblem(
                f"{self.path}: the transaction is gone, nothing was stored",
                hint="repeat the command",
            )

    def _roll_back(self) -> None:
        """Take the transaction back; a connection that cannot do so is closed, which does it."""
        if not self.connection.in_transaction:
            return
        try:
            self.connection.execute("ROLLBACK")
        except sqlite3.Error:
            self.connection.close()

    def _execute(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        with self._reported():
            return self.connection.execute(sql, parameters)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise sqlite_problem(error, self.path) from error
        except UnicodeEncodeError as error:
            raise StoreProblem(
                f"{self.path}: a text with a lone surrogate can be neither stored nor looked up",
                hint="give the text as valid UTF-8",
            ) from error


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from any other; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - twice in each transaction
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _digest(content: bytes | None) -> str:
    """Hex SHA-256 inside SQL: a value altered by an outsider may not even be text any more."""
    return hashlib.sha256(content or b"").hexdigest()
