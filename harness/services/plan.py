"""What a run was started with, written down before the spawn, so that a crash can be judged.

`plan.json` and `guards.json` in the run's folder hold all that the judgement needs from before:
the job may be edited or gone by the time a later command settles the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from harness.agy.artefacts import ArtefactState
from harness.agy.collect import DEFAULT_LIMIT, Tails
from harness.core.evidence import FileDigest, Head
from harness.core.model import CliIdentity, Finding
from harness.core.output import OutputFormat
from harness.errors import HostProblem, StoreDamaged
from harness.services.run_files import RunFiles
from harness.stores.files import atomic_write, read_bounded
from harness.stores.protocols import BeforeWrite
from harness.stores.snapshots import load_snapshot, save_snapshot

_PLAN_LIMIT = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run before its spawn.

    Attributes:
        workspace: absolute, links resolved.
        guard_roots: canonical files and folders; what changes below them must be explained.
        watched_roots: `.agents/` and git's hooks; what changes there is a finding.
        artefacts: what stood at each declared artefact.
        heads: the head of every canonical key.
        last_event: the last link of the audit trail; what is approved later explains changes.
        gemini_root: where the CLI keeps its transcripts.
        max_output_bytes: of each output file, what is read at most.
        before_known: False for one put together after the plan was lost.
    """

    run_id: str
    job: str
    agent_id: str
    attempt: int = 1
    retry_of: str | None = None
    workspace: str
    guard_roots: tuple[str, ...] = ()
    watched_roots: tuple[str, ...] = ()
    artefacts: Mapping[str, ArtefactState] = field(default_factory=dict)
    may_touch_canonical: bool = False
    cli: CliIdentity = field(default_factory=CliIdentity)
    output_format: OutputFormat = OutputFormat.TEXT
    model_asked: str | None = None
    isolation: str = "off"
    gemini_root: str = ""
    findings: tuple[Finding, ...] = ()
    changed_between_runs: tuple[str, ...] = ()
    heads: Mapping[str, Head] = field(default_factory=dict)
    last_event: int = 0
    max_output_bytes: int = DEFAULT_LIMIT
    before_known: bool = True


def tails_of(files: RunFiles, plan: RunPlan, *, make: bool) -> Tails:
    """Return what reads a run's output; `make` the files where the run is about to start."""
    return Tails(
        stdout_path=files.stdout,
        stderr_path=files.stderr,
        log_path=files.log,
        gemini_root=plan.gemini_root,
        make=make,
        limit=plan.max_output_bytes,
    )


def save_plan(
    files: RunFiles, plan: RunPlan, before: Mapping[str, FileDigest], *, before_write: BeforeWrite
) -> None:
    """Write plan and digests durably; the plan comes last, so that it vouches for both."""
    save_snapshot(Path(files.guards), before, before_write=before_write)
    atomic_write(Path(files.plan), msgspec.json.encode(plan), before_write=before_write)


def load_plan(files: RunFiles) -> tuple[RunPlan, dict[str, FileDigest]] | None:
    """Return plan and digests of a run, or None where the crash came before they stood.

    Raises:
        StoreDamaged: they stand there and cannot be read as what they should be.
    """
    if not Path(files.plan).exists():
        return None
    try:
        plan = msgspec.json.decode(read_bounded(Path(files.plan), _PLAN_LIMIT), type=RunPlan)
    except (HostProblem, msgspec.DecodeError) as problem:
        raise StoreDamaged(f"{files.plan}: cannot be read: {problem}") from problem
    try:
        guards = load_snapshot(Path(files.guards))
    except HostProblem as problem:
        raise StoreDamaged(str(problem)) from problem
    if guards is None:
        raise StoreDamaged(f"{files.guards}: the digests that the plan vouches for are gone")
    _require_paths(files.plan, (plan.workspace, *plan.guard_roots, *plan.watched_roots))
    _require_paths(files.plan, plan.artefacts)
    _require_paths(files.guards, guards)
    if "\0" in plan.gemini_root:
        raise StoreDamaged(f"{files.plan}: the folder of the transcripts is no path")
    return plan, guards


def _require_paths(file: str, paths: Iterable[str]) -> None:
    """Refuse what is no absolute path: an agent may have reached the file."""
    for path in paths:
        if not path.startswith("/") or "\0" in path:
            raise StoreDamaged(f"{file}: expected absolute paths, found {path[:80]!r}")
