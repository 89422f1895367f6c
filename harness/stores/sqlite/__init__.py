"""The local backend: one SQLite database in the home's state folder."""

from harness.stores.sqlite.state import SqliteState, open_state

__all__ = ["SqliteState", "open_state"]
