"""What taking back a run's changes came to; the keys of `runs restore --json`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Restored(StrEnum):
    """What became of one path."""

    RESTORED = "restored"  #: the earlier content, or kind, is back
    RECREATED = "recreated"  #: it was gone and is back
    MODE = "mode"  #: the content was right, the permission bits are back
    MOVED_ASIDE = "moved_aside"  #: the run had added it
    ALREADY = "already"  #: it is as it was before the run
    LEFT = "left"  #: somebody changed it after the run
    NOT_KEPT = "not_kept"  #: no copy of the earlier content exists
    FAILED = "failed"  #: the machine refused


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredPath:
    """One guarded path of a restore.

    Attributes:
        path: as written in the snapshots.
        detail: why it is not restored, in words; empty otherwise.
        aside: where what stood there is kept now; None where nothing was taken away.
    """

    path: str
    result: Restored
    detail: str = ""
    aside: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """What a restore did, by path in order."""

    run_id: str
    paths: tuple[RestoredPath, ...]

    @property
    def complete(self) -> bool:
        """True where every path is as it was before the run."""
        open_results = (Restored.LEFT, Restored.NOT_KEPT, Restored.FAILED)
        return not any(path.result in open_results for path in self.paths)
