"""Who belonged to a run, noted while it lives: so that a crash of the harness hides nobody.

A daemon that left the CLI's session and scrubbed the run's id is known only to the harness that
adopted it. The list is a help, not evidence: one that cannot be read is an empty one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.core.process import ProcessIdentity
from harness.errors import HostProblem
from harness.stores.files import atomic_write, read_bounded

_MOST = 10_000
_LIMIT = 4 * 1024 * 1024


def note(path: str, members: Sequence[ProcessIdentity]) -> None:
    """Replace the list; where that fails, the run goes on without."""
    with contextlib.suppress(HostProblem):
        atomic_write(Path(path), msgspec.json.encode(list(members[:_MOST])))


def noted(path: str) -> tuple[ProcessIdentity, ...]:
    """Return who was noted last."""
    try:
        return msgspec.json.decode(
            read_bounded(Path(path), _LIMIT), type=tuple[ProcessIdentity, ...]
        )
    except (HostProblem, msgspec.MsgspecError):
        return ()
