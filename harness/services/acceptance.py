"""Acceptance of a job: a person read it and said that it may run unattended as it is.

What is accepted is a digest over all that decides what the job does. The texts that a person
was shown, the job's file and its prompt or script, are kept beside it only to show later what
changed.
"""

from __future__ import annotations

import contextlib
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
    """What `jobs accept` would record, or has recorded.

    Attributes:
        job: the job's name.
        digest: what is accepted from now on.
        before: how the job stood until now.
        changes: what changed in the job's texts since the last acceptance, lines that begin
            with `+`, `-`, a blank or `@`; all of the texts where there was none.
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


def proposed(home: Home, state: State, loaded: LoadedJob) -> Acceptance:
    """Return what accepting a job would mean, for a person's eye; writes nothing."""
    job = loaded.spec
    before = standing_of(state, job)
    # Without a word that still stands, an old copy must not make half of the job look known.
    against = None if before is Standing.NEW else home
    changes = (
        *_changes(against, f"{job.name}.toml", f"nightly/{job.name}.toml", loaded.text),
        *_source_changes(against, loaded),
    )
    return Acceptance(job=job.name, digest=job.digest, before=before, changes=changes)


def accept(
    home: Home,
    state: State,
    loaded: LoadedJob,
    *,
    actor: str,
    before_write: BeforeWrite = ignore_write,
) -> Acceptance:
    """Record that a job may run unattended as it was just read.

    The copies are written first: the digest alone decides, so a crash between the two leaves
    the job as little accepted as it was.

    Raises:
        HostProblem: a copy cannot be written; nothing is accepted.
        StoreProblem: the acceptance cannot be stored.
    """
    job = loaded.spec
    acceptance = proposed(home, state, loaded)
    make_private_folder(home.accepted)
    for name, text in ((f"{job.name}.toml", loaded.text), (_source_copy(job), loaded.source)):
        atomic_write(home.accepted / name, text.encode(), before_write=before_write)
    state.switches.set(accepted(job.name), on=True, actor=actor, detail=job.digest)
    return acceptance


def _source_changes(against: Home | None, loaded: LoadedJob) -> tuple[str, ...]:
    name = loaded.source_name
    label = f"nightly/{name}" if name is not None else "its prompt or script in a file of its own"
    return _changes(against, _source_copy(loaded.spec), label, loaded.source)


def _source_copy(job: JobSpec) -> str:
    """Return the name of the copy; no job can be named so, so it stands in no job's way."""
    return f"{job.name}.task.txt"


def _changes(against: Home | None, name: str, label: str, text: str) -> tuple[str, ...]:
    """Return what differs between an accepted text and the one just read, a line each."""
    before = None
    if against is not None:
        with contextlib.suppress(HostProblem):
            before = read_bounded(against.accepted / name, FILE_LIMIT).decode(errors="replace")
    if before is None:
        return (f"@{label}", *(f"+{line}" for line in text.splitlines())) if text else ()
    diff = text_diff(before, text, label=f"{label}, against what was accepted")
    return tuple(f"{line.kind}{line.text}" for line in diff.lines)
