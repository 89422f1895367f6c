"""What SQLite's and the system's error codes mean to a person: one class, one line, one hint."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from harness.errors import StoreDamaged, StoreProblem

_RESTORE = "keep the file, and put a backup of yours in its place"
_NO_SPACE = "make room on that disk; what was acknowledged before is safe"
_READ_ONLY = "mount the disk writable, or read with `harness report`"
_PERMISSION = "check who owns the file and its folder; the harness needs both for itself"

# The primary code of SQLite -> what is true of the file, and what to do about it.
_MEANING: dict[int, tuple[type[StoreProblem], str, str]] = {
    sqlite3.SQLITE_BUSY: (
        StoreProblem,
        "another process holds the database, nothing was stored",
        "wait until that harness command has ended, then repeat this one",
    ),
    sqlite3.SQLITE_LOCKED: (
        StoreProblem,
        "this process holds the database itself, nothing was stored",
        "repeat the command",
    ),
    sqlite3.SQLITE_FULL: (StoreProblem, "the disk is full, nothing was stored", _NO_SPACE),
    sqlite3.SQLITE_READONLY: (
        StoreProblem,
        "the database cannot be written, nothing was stored",
        _READ_ONLY,
    ),
    sqlite3.SQLITE_CANTOPEN: (StoreProblem, "the database cannot be opened", _PERMISSION),
    sqlite3.SQLITE_PERM: (StoreProblem, "the system denies access to the database", _PERMISSION),
    sqlite3.SQLITE_AUTH: (StoreProblem, "the system denies access to the database", _PERMISSION),
    sqlite3.SQLITE_IOERR: (
        StoreProblem,
        "the disk does not read or write, nothing was stored",
        "look into the system's log for the disk; then run `harness state check`",
    ),
    sqlite3.SQLITE_CORRUPT: (StoreDamaged, "the database is damaged", _RESTORE),
    sqlite3.SQLITE_NOTADB: (StoreDamaged, "the file is not a database", _RESTORE),
    sqlite3.SQLITE_CONSTRAINT: (
        StoreProblem,
        "the database refused a change that breaks its rules, nothing was stored",
        "run `harness state check`",
    ),
}
# The file of the WAL's index cannot grow: SQLite calls that an error of the disk.
_FULL_ALL_THE_SAME = frozenset({sqlite3.SQLITE_IOERR_SHMSIZE})
_CHECK = "run `harness state check`"


def sqlite_problem(error: sqlite3.Error, path: Path) -> StoreProblem:
    """Return the error of the harness for one of SQLite, with SQLite's own words at the end."""
    code = getattr(error, "sqlite_errorcode", None)
    if code in _FULL_ALL_THE_SAME:
        code = sqlite3.SQLITE_FULL
    if code is not None and code & 0xFF in _MEANING:
        kind, what, hint = _MEANING[code & 0xFF]
        return kind(f"{path}: {what} ({error})", hint=hint)
    if "Could not decode to UTF-8" in str(error):
        return StoreDamaged(f"{path}: a stored text is not UTF-8 ({error})", hint=_RESTORE)
    return StoreProblem(f"{path}: the database cannot be used ({error})", hint=_CHECK)


def system_problem(error: OSError, path: Path) -> StoreProblem:
    """Return the error of the harness for a file or folder that the system refuses."""
    hints = {errno.ENOSPC: _NO_SPACE, errno.EDQUOT: _NO_SPACE, errno.EROFS: _READ_ONLY}
    what = error.strerror or str(error)
    return StoreProblem(
        f"{path}: the database cannot be created ({what})",
        hint=hints.get(error.errno or 0, _PERMISSION),
    )


def damaged(what: str, error: Exception) -> StoreDamaged:
    """Return the error for a row that does not hold what this program wrote into it."""
    return StoreDamaged(f"{what} cannot be read back ({error})", hint=_CHECK)
