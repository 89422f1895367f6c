"""The last known digest of every guarded path, across runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence

import msgspec

from harness.core.evidence import FileDigest
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import HARNESS, SqliteEvents
from harness.stores.sqlite.faults import damaged
from harness.stores.sqlite.records import encode_canonical

# A folder's content lies between `folder/` and `folder0`, the byte after the slash.
BELOW = "SELECT path, digest FROM guard_digests WHERE path = ? OR (path > ? AND path < ?)"
FORGET = "DELETE FROM guard_digests WHERE path = ?"
REMEMBER = """INSERT INTO guard_digests (path, digest) VALUES (?, ?)
    ON CONFLICT (path) DO UPDATE SET digest = excluded.digest"""
_DECODER = msgspec.json.Decoder(FileDigest)


class SqliteGuards:
    """Digests in the table `guard_digests`; a path is stored as the bytes that the system has."""

    def __init__(self, database: Database, events: SqliteEvents) -> None:
        self._database = database
        self._events = events

    def known(self, roots: Sequence[str]) -> dict[str, FileDigest]:
        """Return the last known digests at and below these absolute paths."""
        found: dict[str, FileDigest] = {}
        for root in roots:
            path = os.fsencode(root.rstrip("/"))
            for row in self._database.rows(BELOW, (path or b"/", path + b"/", path + b"0")):
                found[os.fsdecode(row["path"])] = _digest(row["digest"], row["path"])
        return found

    def remember(self, roots: Sequence[str], snapshot: Mapping[str, FileDigest]) -> None:
        """Replace what is known at and below these paths by a snapshot; writes what differs."""
        with self._database.write():
            before = self.known(roots)
            gone = [(os.fsencode(path),) for path in before.keys() - snapshot.keys()]
            changed = [
                (os.fsencode(path), msgspec.json.encode(digest).decode())
                for path, digest in snapshot.items()
                if before.get(path) != digest
            ]
            if gone:
                self._database.change_many("guards.forget", FORGET, gone)
            if changed:
                self._database.change_many("guards.remember", REMEMBER, changed)
            if gone or changed:
                facts = {"paths": str(len(snapshot)), "sha256": _sum_of(snapshot)}
                subject = ", ".join(sorted(roots))[:1000]
                self._events.append(
                    "guards.remembered", actor=HARNESS, subject=subject, facts=facts
                )


def _sum_of(snapshot: Mapping[str, FileDigest]) -> str:
    """One digest for all that counts in a snapshot."""
    total = hashlib.sha256()
    for path in sorted(snapshot):
        total.update(os.fsencode(path) + b"\0")
        total.update(encode_canonical(snapshot[path].meaning).encode())
    return total.hexdigest()


def _digest(text: str, path: bytes) -> FileDigest:
    try:
        return _DECODER.decode(text)
    except (TypeError, msgspec.DecodeError) as error:
        raise damaged(f"the digest of {os.fsdecode(path)}", error) from error
