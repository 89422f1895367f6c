"""Before canonical writes are enabled: what must hold, and what suspends whom."""

from __future__ import annotations

from dataclasses import dataclass

from harness.agy.locate import NotFound
from harness.core.tiers import Tier
from harness.core.versions import MINIMUM, Feature
from harness.services.doctor import Check, store_checks
from harness.services.house import House
from harness.services.preflight import find_binary, identify
from harness.services.switches import CANONICAL, canonical_enabled, suspension
from harness.stores.configuration import JobProblem, load_jobs
from harness.stores.protocols import Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """A job whose canonical writes are suspended, why, and the command that clears it."""

    job: str
    why: str
    clear: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalStatus:
    """Whether canonical writes are on, who switched them last, and which jobs are suspended."""

    enabled: bool
    changed_by: str | None
    suspended: tuple[Suspended, ...]


def checks(house: House) -> list[Check]:
    """Return what must hold before canonical writes are enabled."""
    return [version_check(house), *store_checks(house)]


def version_check(house: House) -> Check:
    """Return whether the CLI denies by itself what it cannot ask a person about."""
    found = find_binary(house)
    if isinstance(found, NotFound):
        return Check(name="version", ok=False, detail=found.problem, hint=found.hint)
    answer = identify(house, None, found.path)
    said = f"{found.path} is version {answer.cli.version or 'unknown'}"
    if answer.problem:
        said += f" ({answer.problem})"
    if answer.features.has(Feature.SOFT_DENIAL):
        return Check(name="version", ok=True, detail=said)
    return Check(
        name="version",
        ok=False,
        detail=f"{said}; before {MINIMUM}, approvals passed by silently",
        hint=f"update the CLI to {MINIMUM} or later",
    )


def enable_canonical(house: House) -> Switch:
    """Switch canonical writes on; the caller has looked at `checks`."""
    return house.state.switches.set(CANONICAL, on=True, actor=house.actor)


def status_of(house: House) -> CanonicalStatus:
    """Return whether canonical writes are on, and for which jobs something suspends them."""
    switch = house.state.switches.get(CANONICAL)
    suspended = []
    for job in load_jobs(house.home):
        if isinstance(job, JobProblem) or Tier.CANONICAL not in job.tiers:
            continue
        found = suspension(house.state, job.name)
        if found is not None:
            suspended.append(Suspended(job=job.name, why=found.why, clear=found.clear))
    return CanonicalStatus(
        enabled=canonical_enabled(house.state),
        changed_by=f"{switch.actor} at {switch.at:%Y-%m-%dT%H:%M:%SZ}" if switch else None,
        suspended=tuple(suspended),
    )
