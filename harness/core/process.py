"""What tells one process of the machine from every other, also after its pid is used again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """One process: the same only while pid, start time and boot agree.

    Attributes:
        started: the start in seconds since the epoch, as psutil gives it.
        boot_id: names one boot of the machine together with the clock's word on when it
            began, so that a clock that is set later changes nobody's identity. Opaque:
            whether two are of one boot is asked of the machine's side, not of the text.
    """

    pid: int
    started: float
    boot_id: str
