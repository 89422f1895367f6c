"""What a night needs, checked one by one; nothing is changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

from harness.agy.ancestry import inside
from harness.agy.locate import NotFound
from harness.core.versions import Feature
from harness.errors import HostProblem
from harness.services.house import House
from harness.services.preflight import find_binary, identify, version_findings
from harness.services.switches import canonical_enabled, paused
from harness.stores.configuration import JobProblem, load_jobs
from harness.stores.files import free_bytes
from harness.stores.homes import runtime_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at: whether it holds, what was seen, what to do where it does not."""

    name: str
    ok: bool
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """All checks; `ok` where every one holds."""

    ok: bool
    checks: tuple[Check, ...]


def report_of(checks: list[Check]) -> CheckReport:
    """Return checks with their sum."""
    return CheckReport(ok=all(check.ok for check in checks), checks=tuple(checks))


def examine(house: House) -> CheckReport:
    """Look at binary, version, home, store, lock, disk, socket folder, jobs and switches."""
    return report_of(
        [
            *_cli_checks(house),
            Check(name="home", ok=True, detail=str(house.home.root)),
            *store_checks(house),
            _lock_check(house),
            _disk_check(house),
            _socket_check(house),
            *_job_checks(house),
            *_switch_checks(house),
        ]
    )


def _cli_checks(house: House) -> list[Check]:
    found = find_binary(house)
    if isinstance(found, NotFound):
        return [Check(name="binary", ok=False, detail=found.problem, hint=found.hint)]
    binary = Check(name="binary", ok=True, detail=f"{found.path} (from {found.origin})")
    answer = identify(house, None, found.path)
    features, findings = answer.features, version_findings(answer)
    detail = answer.cli.version or "no version"
    if findings:
        detail = f"{detail}: {findings[0].detail}"
    good = features.has(Feature.SOFT_DENIAL)
    hint = "" if good else "canonical writes stay refused; update the CLI"
    return [binary, Check(name="version", ok=good, detail=detail, hint=hint)]


def store_checks(house: House) -> list[Check]:
    """Return whether the store contradicts itself anywhere."""
    problems = house.state.check()
    if not problems:
        return [Check(name="store", ok=True, detail=f"{house.home.database} is consistent")]
    return [
        Check(
            name="store",
            ok=False,
            detail=problem,
            hint="stop the nights (harness pause) and look at the database before anything else",
        )
        for problem in problems
    ]


def _lock_check(house: House) -> Check:
    try:
        with house.lock():
            pass
    except HostProblem as problem:
        return Check(name="lock", ok=False, detail=str(problem), hint=problem.hint)
    return Check(name="lock", ok=True, detail="free")


def _disk_check(house: House) -> Check:
    free = free_bytes(house.home.state)
    least = house.settings.min_free_bytes
    return Check(
        name="disk",
        ok=free >= least,
        detail=f"{free // 1024**2} MiB free, {least // 1024**2} MiB asked for",
        hint="" if free >= least else "free some space, or lower [state] min_free",
    )


def _socket_check(house: House) -> Check:
    try:
        folder = runtime_folder(house.environment)
    except HostProblem as problem:
        return Check(name="runtime folder", ok=False, detail=str(problem), hint=problem.hint)
    found = inside(house.environment, os.getpid())
    detail = str(folder) if found is None else f"{folder}; inside an agent ({found.variable})"
    return Check(name="runtime folder", ok=True, detail=detail)


def _job_checks(house: House) -> list[Check]:
    jobs = load_jobs(house.home)
    if not jobs:
        return [Check(name="jobs", ok=True, detail=f"none yet in {house.home.nightly}")]
    broken = [job for job in jobs if isinstance(job, JobProblem)]
    good = len(jobs) - len(broken)
    summary = Check(name="jobs", ok=not broken, detail=f"{good} usable, {len(broken)} broken")
    return [
        summary,
        *(
            Check(
                name=f"job {job.name}",
                ok=False,
                detail=str(job.problems[0]),
                hint="harness jobs check",
            )
            for job in broken
        ),
    ]


def _switch_checks(house: House) -> list[Check]:
    pause = paused(house.state)
    checks = [
        Check(
            name="canonical writes",
            ok=True,
            detail="enabled" if canonical_enabled(house.state) else "disabled",
        )
    ]
    if pause is not None:
        checks.append(
            Check(name="paused", ok=True, detail=f"by {pause.actor}: {pause.detail}".rstrip(": "))
        )
    return checks
