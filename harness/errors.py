"""The errors of the harness itself: what it cannot do, never what an agent did.

A failing CLI is an observation and a refused write is a value; these are for the rest.

    HarnessError              exit 1
    ├── UsageProblem          exit 2   bad input of a person: file, key, expectation
    │   ├── ConfigurationProblem       a TOML file that cannot be used
    │   ├── HomeNotFound               no home, or one that nobody registered
    │   └── UnknownName                a run, proposal, key or job that does not exist
    ├── InsideRefused         exit 1   an agent asked for a command that is a person's
    ├── GateRefused           exit 1   a write that the gate does not take
    ├── StoreProblem          exit 1   the database cannot be used
    │   ├── NewerSchema                written by a newer harness
    │   └── StoreDamaged               not a database, or its checks fail
    ├── DoorProblem           exit 1   the run's socket is not there or does not answer
    ├── HostProblem           exit 1   the machine refuses what is needed (disk, process)
    └── Interrupted           exit 130 told to stop before anything was begun
"""

from __future__ import annotations

from typing import ClassVar

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class HarnessError(Exception):
    """Something the harness cannot do: one line for the person, one exit status, one hint.

    Attributes:
        exit_status: what the process ends with.
        hint: what to do about it, one line; empty where there is nothing to add.
    """

    exit_status: ClassVar[int] = EXIT_FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageProblem(HarnessError):
    """Input of a person that cannot be used as it is."""

    exit_status = EXIT_USAGE


class ConfigurationProblem(UsageProblem):
    """A configuration file that cannot be used; the message names file, key, expectation."""


class HomeNotFound(UsageProblem):
    """No home was found, or the one named is not a home."""


class UnknownName(UsageProblem):
    """A name that stands for nothing in this home."""


class InsideRefused(HarnessError):
    """A command that only a person may give, asked for inside a run."""


class GateRefused(HarnessError):
    """A write that the gate does not take; nothing was stored."""


class StoreProblem(HarnessError):
    """The database cannot be used; nothing was acknowledged."""


class NewerSchema(StoreProblem):
    """The database was written by a newer harness; this one leaves it alone."""


class StoreDamaged(StoreProblem):
    """The file is not a database, or it contradicts itself."""


class DoorProblem(HarnessError):
    """The run's socket is missing, refuses this process or does not answer."""


class HostProblem(HarnessError):
    """The machine refuses what is needed: a file, a folder, a process."""


class Interrupted(HarnessError):
    """Somebody told the harness to stop before anything was begun; nothing was stored."""

    exit_status = EXIT_INTERRUPTED
