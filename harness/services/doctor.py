"""What a night needs, checked one by one; nothing is changed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.agy.locate import Configured, NotFound, locate
from harness.core.job import Isolate
from harness.core.versions import Feature
from harness.errors import ConfigurationProblem, HarnessError, HostProblem
from harness.services.house import House
from harness.services.preflight import find_binary, identify, version_findings
from harness.services.switches import canonical_enabled, paused
from harness.stores.configuration import (
    HomeSettings,
    JobProblem,
    check_jobs,
    load_gate_limits,
    load_home_settings,
)
from harness.stores.files import free_bytes
from harness.stores.homes import Home, runtime_folder
from harness.stores.protocols import State


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
    """Look at binary, version, home, store, lock, disk, isolation, jobs and switches."""
    return report_of(
        [
            *_cli_checks(house),
            _home_check(house.home),
            *store_checks(house),
            lock_check(house.home),
            _disk_check(house.home, house.settings),
            _isolation_check(house.settings),
            _socket_check(house.environment),
            *_job_checks(house.home),
            *_switch_checks(house.state),
        ]
    )


def examine_closed(
    home: Home,
    environment: Mapping[str, str],
    open_state: Callable[[], State],
    *,
    agy: str | None,
    problem: HarnessError | None = None,
) -> CheckReport:
    """Look at a home that cannot be opened: what is in the way is a check that does not hold.

    Args:
        home: the home.
        environment: variables of this process.
        open_state: opens the stored state without writing; raises `HarnessError`.
        agy: the CLI that was named; None where it is to be found.
        problem: what kept the home from being opened, where that was tried.
    """
    read, checks = _settings_checks(home)
    settings = read or HomeSettings()
    checks += _closed_store_checks(home, open_state)
    checks += [
        lock_check(home),
        _disk_check(home, settings),
        _isolation_check(settings),
        _socket_check(environment),
        *_job_checks(home),
    ]
    if problem is not None and all(check.ok for check in checks):
        checks.append(Check(name="home", ok=False, detail=str(problem), hint=problem.hint))
    return report_of([_binary_check(agy, environment, settings), _home_check(home), *checks])


def _binary_check(agy: str | None, environment: Mapping[str, str], settings: HomeSettings) -> Check:
    path = settings.agy_path
    configured = Configured(path=path, origin="harness.toml [agy] path") if path else None
    found = locate(agy, environment, configured)
    if isinstance(found, NotFound):
        return Check(name="binary", ok=False, detail=found.problem, hint=found.hint)
    return Check(name="binary", ok=True, detail=f"{found.path} (from {found.origin})")


def _home_check(home: Home) -> Check:
    return Check(name="home", ok=True, detail=str(home.root))


def _settings_checks(home: Home) -> tuple[HomeSettings | None, list[Check]]:
    """Return the settings, None where they cannot be read, and a check for each mistake."""
    settings, checks = None, list[Check]()
    try:
        settings = load_home_settings(home)
    except ConfigurationProblem as problem:
        checks += _mistakes("settings", problem)
    try:
        load_gate_limits(home)
    except ConfigurationProblem as problem:
        checks += _mistakes("gate limits", problem)
    return settings, checks


def _mistakes(name: str, problem: ConfigurationProblem) -> list[Check]:
    return [Check(name=name, ok=False, detail=line) for line in str(problem).splitlines()]


def _closed_store_checks(home: Home, open_state: Callable[[], State]) -> list[Check]:
    if not home.database.exists():
        return [Check(name="store", ok=True, detail=f"{home.database} is not made yet")]
    try:
        state = open_state()
    except HarnessError as problem:
        return [Check(name="store", ok=False, detail=str(problem), hint=problem.hint)]
    try:
        return [*_state_checks(home, state), *_switch_checks(state)]
    except HarnessError as problem:
        return [Check(name="store", ok=False, detail=str(problem), hint=problem.hint)]
    finally:
        state.close()


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
    return _state_checks(house.home, house.state)


def _state_checks(home: Home, state: State) -> list[Check]:
    problems = state.check()
    if not problems:
        return [Check(name="store", ok=True, detail=f"{home.database} is consistent")]
    return [
        Check(
            name="store",
            ok=False,
            detail=problem,
            hint="stop the nights (harness pause) and look at the database before anything else",
        )
        for problem in problems
    ]


def lock_check(home: Home) -> Check:
    """Return whether the home's lock can be taken now, without waiting for it."""
    try:
        descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        return Check(name="lock", ok=False, detail=f"{home.lock}: {problem.strerror}")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Check(
            name="lock",
            ok=False,
            detail=f"{home.lock} is held by another process",
            hint=f"every command waits for it; who holds it: fuser -v {home.lock}",
        )
    except OSError as problem:
        return Check(name="lock", ok=False, detail=f"{home.lock}: {problem.strerror}")
    finally:
        os.close(descriptor)
    return Check(name="lock", ok=True, detail="free")


def _disk_check(home: Home, settings: HomeSettings) -> Check:
    try:
        free = free_bytes(home.state)
    except OSError as problem:
        return Check(name="disk", ok=False, detail=f"{home.state}: {problem.strerror}")
    least = settings.min_free_bytes
    return Check(
        name="disk",
        ok=free >= least,
        detail=f"{free // 1024**2} MiB free, {least // 1024**2} MiB asked for",
        hint="" if free >= least else "free some space, or lower [state] min_free",
    )


def _isolation_check(settings: HomeSettings) -> Check:
    demanded = settings.isolate is Isolate.BUBBLEWRAP
    return Check(
        name="isolation",
        ok=not demanded,
        detail="off: this release cannot isolate, so an agent reaches whatever this user can",
        hint='[agy] isolate = "bubblewrap" refuses every job; set "auto" or "off"' * demanded,
    )


def _socket_check(environment: Mapping[str, str]) -> Check:
    try:
        folder = runtime_folder(environment)
    except HostProblem as problem:
        return Check(name="runtime folder", ok=False, detail=str(problem), hint=problem.hint)
    return Check(name="runtime folder", ok=True, detail=str(folder))


def _job_checks(home: Home) -> list[Check]:
    try:
        _, jobs = check_jobs(home)  # mistakes of the settings are told by a check of their own
    except ConfigurationProblem as problem:
        return _mistakes("jobs", problem)
    if not jobs:
        return [Check(name="jobs", ok=True, detail=f"none yet in {home.nightly}")]
    broken = [job for job in jobs if isinstance(job, JobProblem)]
    summary = Check(
        name="jobs",
        ok=not broken,
        detail=f"{len(jobs) - len(broken)} usable, {len(broken)} broken",
        hint="mend them until it finds nothing: harness jobs check" if broken else "",
    )
    details = [
        Check(
            name=f"job {job.name}",
            ok=False,
            detail="; ".join(problem.line for problem in job.problems),
        )
        for job in broken
    ]
    return [summary, *details]


def _switch_checks(state: State) -> list[Check]:
    enabled = "enabled" if canonical_enabled(state) else "disabled"
    checks = [Check(name="canonical writes", ok=True, detail=enabled)]
    pause = paused(state)
    if pause is not None:
        why = f": {pause.detail}" if pause.detail else ""
        checks.append(
            Check(
                name="pause",
                ok=True,
                detail=f"no job starts, paused by {pause.actor} at "
                f"{pause.at:%Y-%m-%dT%H:%M:%SZ}{why}; to go on: harness resume",
            )
        )
    return checks
