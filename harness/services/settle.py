"""What an earlier crash left: open runs without a process, half-applied writes, survivors.

Every command that opens the store settles first. Settling twice, or from two commands at once,
does no harm: it happens under the home's lock, and only for runs whose owner is dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.model import RunRecord
from harness.core.tiers import ProposalState
from harness.services.house import House
from harness.services.owner import is_dead
from harness.services.run_files import RunFiles, files_of
from harness.stores.protocols import OpenRun

if TYPE_CHECKING:
    from harness.services.gate import DecisionResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What settling did."""

    runs: tuple[RunRecord, ...] = ()
    applies: tuple[DecisionResult, ...] = ()


def settle(house: House) -> Settled:
    """Write down what expired, close runs whose harness died, finish interrupted applies."""
    house.state.proposals.sweep()
    if not _needed(house):
        return Settled()
    # Only here: what judges a run takes longer to load than most commands to run.
    from harness.services.crashed import settle_run
    from harness.services.gate import settle_applying
    from harness.services.tidy import tidy

    with house.lock():
        runs = tuple(settle_run(house, run) for run in _left_open(house))
        applies = tuple(settle_applying(house.state))
        for record, files in _without_record(house):
            tidy(house, record, files)
    return Settled(runs=runs, applies=applies)


def _needed(house: House) -> bool:
    """Return whether there is anything to settle; a quiet look, without the lock."""
    state = house.state
    return (
        bool(_left_open(house))
        or bool(state.proposals.listed([ProposalState.APPLYING]))
        or bool(_without_record(house))
    )


def _left_open(house: House) -> list[OpenRun]:
    """Return the open runs that nobody works on any more."""
    return [
        run
        for run in house.state.runs.unfinished()
        if is_dead(run, files_of(house.home, run.run_id))
    ]


def _without_record(house: House) -> list[tuple[RunRecord, RunFiles]]:
    """Return the newest closed runs whose folder a crash kept from being tidied.

    A few are looked at, for another run may have ended beside one that crashed.
    """
    found = []
    for run_id in house.state.runs.matching(""):
        files = files_of(house.home, run_id)
        if Path(files.folder).is_dir() and not Path(files.record).exists():
            record = house.state.runs.get(run_id)
            if record is not None:  # one that is on has no record yet
                found.append((record, files))
    return found
