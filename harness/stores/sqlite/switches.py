"""What a person has switched, and who did."""

from __future__ import annotations

from harness.core.tiers import sha256_of
from harness.stores.protocols import Switch
from harness.stores.sqlite.database import Database
from harness.stores.sqlite.events import SqliteEvents
from harness.stores.sqlite.faults import damaged
from harness.stores.sqlite.records import clean
from harness.stores.sqlite.times import to_text, to_time

GET = "SELECT * FROM switches WHERE name = ?"
SET = """INSERT INTO switches (name, is_on, at, actor, detail) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET
        is_on = excluded.is_on, at = excluded.at,
        actor = excluded.actor, detail = excluded.detail"""


class SqliteSwitches:
    """The switches in the table `switches`; their history stands in the audit trail."""

    def __init__(self, database: Database, events: SqliteEvents) -> None:
        self._database = database
        self._events = events

    def get(self, name: str) -> Switch | None:
        """Return a switch, or None where nobody ever threw it."""
        row = self._database.row(GET, (name,))
        if row is None:
            return None
        try:
            return Switch(
                name=row["name"],
                on=bool(row["is_on"]),
                at=to_time(row["at"]),
                actor=row["actor"],
                detail=row["detail"],
            )
        except (TypeError, ValueError) as error:
            raise damaged(f"switch {name}", error) from error

    def set(self, name: str, *, on: bool, actor: str, detail: str = "") -> Switch:
        """Throw a switch and record who did."""
        with self._database.write():
            now, words = self._events.now(), clean(detail)
            row = (name, int(on), to_text(now), clean(actor), words)
            self._database.change("switch.set", SET, row)
            facts = {"on": "true" if on else "false", "detail_sha256": sha256_of(words)}
            self._events.append("switch.set", actor=actor, subject=name, facts=facts)
        return Switch(name=name, on=on, at=now, actor=clean(actor), detail=words)
