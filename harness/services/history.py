"""Looking back at runs: find one, see what it changed, put it back, take note of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.agy.guards import TooLarge, snapshot
from harness.core.diffs import content_diff
from harness.core.evidence import FileDigest, PathKind, below, changed_paths
from harness.core.model import Acknowledgement, Outcome, RunRecord
from harness.core.report import Change
from harness.core.restored import RestoreResult
from harness.errors import GateRefused, UnknownName, UsageProblem
from harness.services.house import House
from harness.services.plan import load_plan
from harness.services.restore import restore
from harness.services.run_files import files_of
from harness.stores.copies import Copies
from harness.stores.protocols import State
from harness.stores.snapshots import load_snapshot

_SHOWN_CHANGES = 50
_NAMED = 5


def find_run(state: State, prefix: str) -> RunRecord:
    """Return the closed run that an id or its unique beginning names.

    Raises:
        UnknownName: no run, more than one, or one that is still on.
    """
    record = state.runs.get(prefix)
    if record is not None:
        return record
    candidates = list(state.runs.matching(prefix)) if prefix else []
    if len(candidates) > 1:
        raise UnknownName(f"{prefix} is the beginning of {', '.join(candidates)}: say more of it")
    record = state.runs.get(candidates[0]) if candidates else None
    if record is not None:
        return record
    if candidates:
        raise UnknownName(f"run {candidates[0]} is still on and has no verdict yet")
    raise UnknownName(f"no run is called {prefix!r}", hint="harness runs list shows the last ones")


def acknowledge(house: House, record: RunRecord, reason: str) -> Acknowledgement:
    """Take note of a bypass.

    Raises:
        GateRefused: no reason is given.
        UsageProblem: the run bypassed nothing.
    """
    if not reason.strip():
        raise GateRefused("a reason is required: say what you found and did")
    if record.outcome is not Outcome.BYPASSED:
        raise UsageProblem(
            f"run {record.run_id} is {record.outcome.value}, not bypassed: "
            "there is nothing to acknowledge"
        )
    return house.state.runs.acknowledge(record.run_id, reason=reason, actor=house.actor)


def changes_of(house: House, record: RunRecord) -> list[Change]:
    """Return what a run changed at guarded paths, from the copies that were kept."""
    snapshots = _snapshots(house, record)
    if snapshots is None:
        return []
    before, after, _ = snapshots
    copies = _copies(house)
    return [
        Change(
            title=change.path,
            diff=content_diff(
                _content(copies, change.before), _content(copies, change.after), label=change.path
            ),
        )
        for change in changed_paths(before, after)[:_SHOWN_CHANGES]
    ]


def _content(copies: Copies, digest: FileDigest | None) -> bytes | None:
    if digest is None or digest.kind not in (PathKind.FILE, PathKind.LINK):
        return None
    return copies.content(digest.sha256)


def _nothing_to_restore(record: RunRecord) -> UsageProblem:
    changed = record.evidence.changed_paths
    if not changed:
        return UsageProblem(f"run {record.run_id} changed no guarded file: nothing to put back")
    return UsageProblem(
        f"what run {record.run_id} left could not be kept, so nothing is put back by itself",
        hint=f"put back by hand: {', '.join(changed[:_NAMED])}",
    )


def restore_run(house: House, record: RunRecord, *, force: bool) -> RestoreResult:
    """Put guarded files back to what stood before a run.

    Raises:
        UsageProblem: none changed, what it changed is not known precisely enough, or a run that
            is on works there.
    """
    with house.lock():  # no run is claimed and none is settled meanwhile
        return _restore_locked(house, record, force=force)


def _restore_locked(house: House, record: RunRecord, *, force: bool) -> RestoreResult:
    snapshots = _snapshots(house, record)
    if snapshots is None:
        raise _nothing_to_restore(record)
    before, after, roots = snapshots
    _require_quiet(house, roots)
    result = restore(
        record.run_id,
        before=before,
        after=after,
        copies=_copies(house),
        aside=Path(files_of(house.home, record.run_id).folder) / "restored-aside",
        only=record.evidence.changed_paths,
        force=force,
        before_write=house.before_write,
    )
    standing = before if result.complete else snapshot(roots, before)
    with house.state.transaction():
        if not isinstance(standing, TooLarge):
            house.state.guards.remember(roots, standing)
        house.state.events.append(
            "run.restored",
            actor=house.actor,
            subject=record.run_id,
            facts={"complete": str(result.complete).lower()},
        )
    return result


def _require_quiet(house: House, roots: tuple[str, ...]) -> None:
    for run in house.state.runs.unfinished():
        theirs = (run.workspace, *run.guards)
        if any(below(one, roots) for one in theirs) or any(below(one, theirs) for one in roots):
            raise UsageProblem(
                f"run {run.run_id} of {run.job} is on and works there: nothing was put back",
                hint="restore when it has ended",
            )


def _snapshots(
    house: House, record: RunRecord
) -> tuple[Mapping[str, FileDigest], Mapping[str, FileDigest], tuple[str, ...]] | None:
    files = files_of(house.home, record.run_id)
    after = load_snapshot(Path(files.guards_after))
    loaded = load_plan(files) if after is not None else None
    if after is None or loaded is None:
        return None
    plan, before = loaded
    return (
        {path: digest for path, digest in before.items() if below(path, plan.guard_roots)},
        {path: digest for path, digest in after.items() if below(path, plan.guard_roots)},
        plan.guard_roots,
    )


def _copies(house: House) -> Copies:
    return Copies(house.home.archive / "guards", before_write=house.before_write)
