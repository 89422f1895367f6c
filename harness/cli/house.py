"""The composition root: one home with all its collaborators, settled before anything else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from harness.agy.host import own_identity
from harness.cli.context import Options, actor, open_home, utc_now
from harness.cli.render import note
from harness.errors import (
    HarnessError,
    HostProblem,
    NewerSchema,
    StoreDamaged,
    StoreProblem,
)
from harness.services.house import House
from harness.services.settle import settle
from harness.stores.configuration import load_gate_limits, load_home_settings
from harness.stores.homes import Home
from harness.stores.protocols import BeforeWrite, State, ignore_write
from harness.stores.sqlite import open_state

_LAG_WORTH_A_WORD_S = 1.0


@contextmanager
def open_house(
    options: Options, *, channel: str = "cli", before_write: BeforeWrite = ignore_write
) -> Iterator[House]:
    """Open a home for one command: settle what a crash left, say what that was.

    Raises:
        HomeNotFound, ConfigurationProblem: there is no usable home.
        StoreProblem: the database cannot be used.
    """
    home = open_home(options)
    settings, limits = load_home_settings(home), load_gate_limits(home)
    home.prepare_state()
    _refuse_lost(home)
    state = open_state(home.database, clock=utc_now, before_write=before_write)
    try:
        house = House(
            home=home,
            settings=settings,
            limits=limits,
            state=state,
            environment=os.environ,
            actor=actor(channel),
            identity=own_identity(),
            agy=options.agy,
            clock=utc_now,
            before_write=before_write,
        )
        _settle_aloud(house)
        yield house
    finally:
        state.close()


def _refuse_lost(home: Home) -> None:
    """Refuse to begin anew, silently, where runs are there and the database is not."""
    if home.database.exists():
        return
    ran = next((folder for folder in home.runs.iterdir() if folder.is_dir()), None)
    if ran is not None:
        raise StoreDamaged(
            f"{home.database}: the database is gone, though runs were recorded ({ran.name})",
            hint=f"bring back a backup; or, to begin anew, move {home.runs} away",
        )


def _settle_aloud(house: House) -> None:
    lag = house.state.clock_lag_s()
    if lag > _LAG_WORTH_A_WORD_S:
        note(
            f"the clock is {lag:.0f} s behind the last stored time; "
            "stored times go on from there until it has caught up"
        )
    settled = settle(house)
    for record in settled.runs:
        note(f"settled: run {record.run_id} was left open by a crash: {record.outcome.value}")
    for result in settled.applies:
        state = result.state.value if result.state else "unknown"
        note(f"settled: proposal {result.id} was being applied when a process died: now {state}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A home opened to be read; `read_only` where nothing could be settled or swept."""

    home: Home
    state: State
    read_only: bool


@contextmanager
def open_reading(options: Options) -> Iterator[Reading]:
    """Open a home to report on it, also where its disk is full or takes no writes at all."""
    with ExitStack() as stack:
        try:
            house = stack.enter_context(open_house(options))
        except (NewerSchema, StoreDamaged):
            raise
        except (StoreProblem, HostProblem) as problem:
            home = open_home(options)
            state = _open_to_read(home, problem)
            stack.callback(state.close)
            note(f"{problem}: reading without settling")
            yield Reading(home=home, state=state, read_only=True)
        else:
            yield Reading(home=house.home, state=house.state, read_only=False)


def _open_to_read(home: Home, problem: HarnessError) -> State:
    """Open the store without a write; raises the problem that led here where that fails too."""
    try:
        return open_state(home.database, clock=utc_now, read_only=True)
    except StoreProblem:
        raise problem from None
