"""The bounds of what one run may write through the gate."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.tiers import VALUE_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class GateLimits:
    """How much one run may write; a write over a bound is refused, nothing is cut.

    Attributes:
        value_bytes: UTF-8 bytes of one canonical value; never more than `VALUE_LIMIT`.
        reason_bytes: UTF-8 bytes of the reason given with a write.
        proposals_per_run: canonical proposals of one run.
        journal_entries_per_run: journal entries of one run.
        journal_bytes_per_run: UTF-8 bytes of all journal entries of one run.
        journal_entry_bytes: UTF-8 bytes of one journal entry.
    """

    value_bytes: int = VALUE_LIMIT
    reason_bytes: int = 4096
    proposals_per_run: int = 100
    journal_entries_per_run: int = 1000
    journal_bytes_per_run: int = 16 * 1024 * 1024
    journal_entry_bytes: int = 32 * 1024
