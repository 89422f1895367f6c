"""What a person should know of a job that is no mistake, but will surprise one at night."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from harness.core.job import Isolate, JobSpec, keys_without_effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One remark on one key of a job."""

    job: str
    key: str
    message: str


def notices_of(job: JobSpec) -> list[Notice]:
    """Return what the keys of a job promise and this release, or this machine, does not keep."""
    found = [(key, "has no effect in this release") for key in keys_without_effect(job)]
    found += [
        ("guard", f"{path} is not there; it is watched all the same, from the moment it appears")
        for path in job.guard
        if not os.path.lexists(Path(job.workspace) / path)
    ]
    if job.isolate is Isolate.BUBBLEWRAP:
        found.append(("isolate", "this release cannot isolate: every run of the job is refused"))
    return [Notice(job=job.name, key=key, message=message) for key, message in found]
