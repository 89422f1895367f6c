"""The last known digest of every guarded path, across runs."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

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
_REMEMBERED = "guards.remembered"
_TOLD = "SELECT id, facts FROM events WHERE kind = ? ORDER BY id"
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
        """Replace what is known at and below these paths by a snapshot; writes what differs.

        One link of the audit trail holds a digest for each of these paths below which something
        differs, so that `check` can hold the rows to it.
        """
        with self._database.write():
            before = self.known(roots)
            gone = sorted(before.keys() - snapshot.keys())
            changed = sorted(path for path in snapshot if before.get(path) != snapshot[path])
            if gone:
                rows = [(os.fsencode(path),) for path in gone]
                self._database.change_many("guards.forget", FORGET, rows)
            if changed:
                told = [(os.fsencode(path), _encode(snapshot[path])) for path in changed]
                self._database.change_many("guards.remember", REMEMBER, told)
            if gone or changed:
                facts = _sums(roots, snapshot, gone, changed)
                subject = ", ".join(sorted(roots))[:1000]
                self._events.append(_REMEMBERED, actor=HARNESS, subject=subject, facts=facts)

    def check(self) -> list[str]:
        """Return where the rows are not those that the audit trail gives a path.

        Where a path below a remembered one was remembered after it, only the lower one tells
        what must stand there now, and the rest of the upper one is not judged.
        """
        last = self._last()
        outdated = {
            above if last[above][0] < link else path
            for path, (link, _) in last.items()
            for above in _above(path)
            if above in last
        }
        problems = [
            f"guard {path}: what is known of it is not what the audit trail says"
            for path, (_, told) in last.items()
            if path not in outdated and told != _sum_of(self.known([path]))
        ]
        for row in self._database.rows("SELECT path FROM guard_digests ORDER BY path"):
            path = os.fsdecode(row["path"])
            if path not in last and not any(above in last for above in _above(path)):
                problems.append(f"guard {path}: no link of the audit trail put it there")
        return problems

    def _last(self) -> dict[str, tuple[int, str]]:
        """Return the newest link and digest of each path that was ever remembered."""
        last: dict[str, tuple[int, str]] = {}
        for row in self._database.rows(_TOLD, (_REMEMBERED,)):
            try:
                facts = msgspec.json.decode(row["facts"], type=dict[str, str])
            except (TypeError, msgspec.DecodeError) as error:
                raise damaged(f"link {row['id']} of the audit trail", error) from error
            last |= {name: (row["id"], sha) for name, sha in facts.items() if name.startswith("/")}
        return last


def _sums(
    roots: Sequence[str],
    snapshot: Mapping[str, FileDigest],
    gone: Sequence[str],
    changed: Sequence[str],
) -> dict[str, str]:
    """Return the number of paths, and a digest for each root below which something differs."""
    paths, facts = sorted(snapshot), {"paths": str(len(snapshot))}
    for root in {root.rstrip("/") or "/" for root in roots}:
        if _below(root, gone) or _below(root, changed):
            facts[root] = _sum_of({path: snapshot[path] for path in _below(root, paths)})
    return facts


def _above(path: str) -> Iterator[str]:
    """Yield the folders above a path, nearest first."""
    while len(path) > 1:
        path = path.rpartition("/")[0] or "/"
        yield path


def _below(root: str, paths: Sequence[str]) -> list[str]:
    """Return what of sorted paths is a path or lies below it."""
    bare = root.rstrip("/")
    at = bisect_left(paths, bare or "/")
    own = [paths[at]] if at < len(paths) and paths[at] == (bare or "/") else []
    below = paths[bisect_left(paths, bare + "/") : bisect_left(paths, bare + "0")]
    return own + [path for path in below if path not in own]


def _encode(digest: FileDigest) -> str:
    return msgspec.json.encode(digest).decode()


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
