"""Acceptance of a job: a person read it and said that it may run unattended as it is.

What is accepted is a digest over all that decides what the job does; the text is kept beside it
only to show later what changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from harness.core.diffs import text_diff
from harness.core.job import JobSpec
from harness.errors import HostProblem
from harness.services.switches import accepted, accepted_digest
from harness.stores.configuration import LoadedJob
from harness.stores.files import atomic_write, make_private_folder, read_bounded
from harness.stores.homes import Home
from harness.stores.protocols import BeforeWrite, State, ignore_write
from harness.stores.toml_files import FILE_LIMIT


class Standing(StrEnum):
    """How a job stands to what a person accepted."""

    ACCEPTED = "accepted"
    CHANGED = "changed"  #: accepted once; something that decides it changed since
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What `jobs accept` recorded.

    Attributes:
        job: the job's name.
        digest: what is accepted from now on.
        before: how the job stood until now.
        changes: what changed in the job's file since the last acceptance, lines that begin with
            `+`, `-`, a blank or `@`; empty where the file is the same or was never accepted.
    """

    job: str
    digest: str
    before: Standing
    changes: tuple[str, ...]


def standing_of(state: State | None, job: JobSpec) -> Standing:
    """Return how a job stands; a home without a state has accepted nothing."""
    digest = None if state is None else accepted_digest(state, job.name)
    if digest is None:
        return Standing.NEW
    return Standing.ACCEPTED if digest == job.digest else Standing.CHANGED


def accept(
    home: Home,
    state: State,
    loaded: LoadedJob,
    *,
    actor: str,
    before_write: BeforeWrite = ignore_write,
) -> Acceptance:
    """Record that a job may run unattended as it was just read.

    The copy is written first: the digest alone decides, so a crash between the two leaves the
    job as little accepted as it was.

    Raises:
        HostProblem: the copy cannot be written; nothing is accepted.
        StoreProblem: the acceptance cannot be stored.
    """
    job = loaded.spec
    before = standing_of(state, job)
    changes = changes_since(home, loaded)
    make_private_folder(home.accepted)
    copy = home.accepted / f"{job.name}.toml"
    atomic_write(copy, loaded.text.encode(), before_write=before_write)
    state.switches.set(accepted(job.name), on=True, actor=actor, detail=job.digest)
    return Acceptance(job=job.name, digest=job.digest, before=before, changes=changes)


def changes_since(home: Home, loaded: LoadedJob) -> tuple[str, ...]:
    """Return what differs between the accepted file and the one just read, a line each."""
    name = f"{loaded.spec.name}.toml"
    try:
        text = read_bounded(home.accepted / name, FILE_LIMIT).decode(errors="replace")
    except HostProblem:
        return ()
    diff = text_diff(text, loaded.text, label=f"nightly/{name}, against what was accepted")
    return tuple(f"{line.kind}{line.text}" for line in diff.lines)
