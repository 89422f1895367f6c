"""A home opened in the test's own process, with runs that are prepared but not spawned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from harness.agy.host import own_identity
from harness.cli.context import utc_now
from harness.core.model import CliIdentity
from harness.core.process import ProcessIdentity
from harness.core.versions import parse_version
from harness.services.house import House
from harness.services.preflight import Ready
from harness.services.prepare import Party, claim, prepare
from harness.stores.configuration import load_gate_limits, load_home_settings, load_job
from harness.stores.protocols import OpenRun, ignore_write
from harness.stores.sqlite import open_state
from tests.helpers.night import Night


@dataclass(slots=True)
class Told:
    """Whether somebody told the harness to stop, as a test decides."""

    requested: int | None = None

    def fileno(self) -> int:
        """Return no descriptor: nothing waits on this one."""
        return -1

    def acknowledge(self) -> None:
        """Do nothing."""


@contextmanager
def opened(night: Night, **changes: Any) -> Iterator[House]:
    """Open the home of a night as a command does, without settling."""
    home = night.home
    home.prepare_state()
    state = open_state(home.database, clock=utc_now)
    values: dict[str, Any] = {
        "home": home,
        "settings": load_home_settings(home),
        "limits": load_gate_limits(home),
        "state": state,
        "environment": night.environment,
        "actor": "ada@cli",
        "identity": own_identity(),
        "agy": str(night.agy),
        "clock": utc_now,
        "before_write": ignore_write,
    }
    try:
        yield House(**(values | changes))
    finally:
        state.close()


def dead(identity: ProcessIdentity) -> ProcessIdentity:
    """Return a process of another boot: surely none that runs."""
    return ProcessIdentity(pid=identity.pid, started=identity.started, boot_id="another")


def ready(house: House, name: str) -> Ready:
    """Return a job as the preflight lets it start."""
    return Ready(
        job=load_job(house.home, name),
        features=parse_version("1.3.3"),
        cli=CliIdentity(path=str(house.agy), version="1.3.3", known=True),
        isolation="off",
        findings=(),
    )


def open_run(house: House, name: str) -> OpenRun:
    """Claim a run of a job; none may be in its way."""
    run = claim(house, load_job(house.home, name))
    assert isinstance(run, OpenRun)
    return run


def prepared(house: House, name: str, stop: Told | None = None) -> Party:
    """Claim and prepare a run of a job that nothing refuses."""
    party = prepare(
        house, ready(house, name), open_run(house, name), gate="/g", stop=stop or Told()
    )
    assert isinstance(party, Party)
    return party
