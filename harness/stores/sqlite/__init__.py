"""The local backend: one SQLite database in the home's state folder."""
