"""Everything that must hold before a run may start, asked in the order of the decision table."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from harness.agy.locate import Configured, Located, NotFound, locate
from harness.agy.stop import Stop
from harness.agy.version import ask_version
from harness.core.environment import environment
from harness.core.job import Isolate, JobSpec, keys_without_effect
from harness.core.model import CliIdentity, Finding, Reason
from harness.core.tiers import Tier
from harness.core.versions import FIRST_VERSION, MINIMUM, Feature, Features, parse_version
from harness.errors import ConfigurationProblem, UnknownName
from harness.services.binaries import digest_of
from harness.services.house import House
from harness.services.switches import accepted_digest, paused, suspension
from harness.stores.configuration import load_job
from harness.stores.files import free_bytes

_VERSION_PATIENCE_S = 60.0
_ALLOWS_ALL = "dangerously-skip-permissions"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReady:
    """Why a run must not start; `detail` is for a person, `job` None where it cannot be read."""

    reason: Reason
    detail: str
    job: JobSpec | None = None
    cli: CliIdentity = field(default_factory=CliIdentity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A job that may start, with the CLI it will use and what is worth noting beforehand."""

    job: JobSpec
    features: Features
    cli: CliIdentity
    isolation: str
    findings: tuple[Finding, ...]


def preflight(
    house: House, name: str, *, unattended: bool, stop: Stop | None = None
) -> Ready | NotReady:
    """Return whether a job may start now: the first reason against it, in the table's order.

    What is returned after a request to stop means nothing: the CLI was not waited for.
    """
    try:
        job = load_job(house.home, name)
    except UnknownName as problem:
        return NotReady(reason=Reason.BAD_JOB, detail=f"{problem}; {problem.hint}")
    except ConfigurationProblem as problem:
        return NotReady(reason=Reason.BAD_JOB, detail=str(problem))
    refusal = _job_refusal(house, job, unattended=unattended)
    if refusal is not None:
        return refusal
    binary = find_binary(house)
    if isinstance(binary, NotFound):
        return NotReady(reason=Reason.CLI_MISSING, detail=binary.problem, job=job)
    found = identify(house, job, binary.path, stop)
    refusal = _cli_refusal(house, job, found)
    if refusal is not None:
        return refusal
    findings = (*version_findings(found), *job_findings(job))
    return Ready(
        job=job, features=found.features, cli=found.cli, isolation="off", findings=findings
    )


def find_binary(house: House) -> Located | NotFound:
    """Return the CLI that this home uses."""
    path = house.settings.agy_path
    configured = Configured(path=path, origin="harness.toml [agy] path") if path else None
    return locate(house.agy, house.environment, configured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """The CLI as it presents itself; `problem` says why its answer cannot be relied on."""

    cli: CliIdentity
    features: Features
    problem: str = ""


def identify(
    house: House, job: JobSpec | None, binary: str, stop: Stop | None = None
) -> Identified:
    """Ask the binary for its version and take its digest."""
    names = job.env if job is not None else ()
    environ = environment(house.environment, names=names, run_id="", job="", gate="")
    answer = ask_version(binary, environ, _VERSION_PATIENCE_S, stop=stop)
    features = parse_version(answer.text)
    identity = CliIdentity(
        path=binary,
        version=features.raw or None,
        sha256=digest_of(house, Path(binary)),
        known=features.known,
    )
    return Identified(cli=identity, features=features, problem=answer.problem)


def version_findings(found: Identified) -> list[Finding]:
    """Return what a person should know of the CLI's version."""
    features = found.features
    if features.unparsable:
        said = found.problem or f"--version answered {features.raw!r}, which is no version"
        return [Finding(id="cli_version_unknown", detail=f"{said}; nothing is assumed of it")]
    if found.problem:
        return [
            Finding(
                id="cli_version_doubtful",
                detail=f"{found.problem}, though it printed {features.raw}",
            ),
            *_age_findings(features),
        ]
    return _age_findings(features)


def _age_findings(features: Features) -> list[Finding]:
    if features.newer:
        return [
            Finding(
                id="cli_newer_than_known",
                detail=f"{features.raw} is newer than every version known here; "
                "it is judged as the newest known",
            )
        ]
    if not features.has(Feature.SOFT_DENIAL):
        return [
            Finding(
                id="cli_below_minimum",
                detail=f"{features.raw} is below {MINIMUM}: it may have approved by itself "
                "what nobody allowed",
            )
        ]
    return []


def job_findings(job: JobSpec) -> list[Finding]:
    """Return what a person should know of the job: keys that promise what nothing keeps yet."""
    idle = keys_without_effect(job)
    if not idle:
        return []
    detail = f"{', '.join(idle)}: read and kept, but without effect in this release"
    return [Finding(id="key_without_effect", detail=detail)]


def _job_refusal(house: House, job: JobSpec, *, unattended: bool) -> NotReady | None:
    """Return why the job itself may not start: what needs no look at the CLI."""
    if job.prompt is None:
        return NotReady(
            reason=Reason.BAD_JOB,
            detail=f"{job.name}: batch jobs cannot be run by this release; "
            "give the job a prompt or a prompt_file",
            job=job,
        )
    if unattended and accepted_digest(house.state, job.name) != job.digest:
        return NotReady(
            reason=Reason.NOT_ACCEPTED,
            detail=f"{job.name} is not as it was accepted; "
            f"read it, then: harness jobs accept {job.name}",
            job=job,
        )
    for run in house.state.runs.unfinished():
        if run.job == job.name:
            return NotReady(
                reason=Reason.ALREADY_RUNNING, detail=f"run {run.run_id} is on", job=job
            )
    pause = paused(house.state)
    if pause is not None:
        return NotReady(
            reason=Reason.PAUSED,
            detail=f"paused by {pause.actor} at {pause.at:%Y-%m-%dT%H:%M:%SZ}"
            + (f": {pause.detail}" if pause.detail else ""),
            job=job,
        )
    return None


def _cli_refusal(house: House, job: JobSpec, found: Identified) -> NotReady | None:
    cli = found.cli

    def refuse(reason: Reason, detail: str) -> NotReady:
        return NotReady(reason=reason, detail=detail, job=job, cli=cli)

    if Tier.CANONICAL in job.tiers:
        against = _canonical_refusal(house, job, found)
        if against is not None:
            return refuse(*against)
    if job.isolate is Isolate.BUBBLEWRAP:  # the home's word is in it already
        return refuse(
            Reason.ISOLATION_UNAVAILABLE,
            'isolate = "bubblewrap" is demanded, and this release cannot isolate',
        )
    free = free_bytes(house.home.state)
    if free < house.settings.min_free_bytes:
        return refuse(
            Reason.DISK,
            f"{house.home.state} has {free // 1024**2} MiB free; "
            f"[state] min_free asks for {house.settings.min_free_bytes // 1024**2} MiB",
        )
    return None


def _canonical_refusal(house: House, job: JobSpec, found: Identified) -> tuple[Reason, str] | None:
    """Return why a job may not touch canonical data, in the table's order."""
    cli, features = found.cli, found.features
    said = f"{cli.path} is version {features.raw!r}"
    if found.problem:
        said += f" ({found.problem})"
    if not features.has(Feature.SOFT_DENIAL):
        return Reason.CLI_TOO_OLD, f"{said}; canonical writes need {MINIMUM} or later"
    if not features.has(Feature.HONOURS_SETTINGS):
        least = FIRST_VERSION[Feature.HONOURS_SETTINGS]
        return (
            Reason.CANONICAL_SUSPENDED,
            f"{said}, by which settings are not honoured; update the CLI to {least} or later",
        )
    suspended = suspension(house.state, job.name)
    if suspended is not None:
        return Reason.CANONICAL_SUSPENDED, f"{suspended.why}; {suspended.clear}"
    if any(arg.startswith("-") and _flag_of(arg) == _ALLOWS_ALL for arg in job.args):
        clear = "take it out of the job, or take canonical out of its tiers"
        return Reason.RULES_TOO_BROAD, f"args holds --{_ALLOWS_ALL}, which allows all; {clear}"
    return None


def _flag_of(arg: str) -> str:
    """Return the name of a flag; one dash or two are the same to the CLI."""
    return arg.lstrip("-").partition("=")[0]
