"""What a run would do: every check of the preflight, and the command, starting nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from harness.agy.roots import guard_roots
from harness.core.model import CliIdentity, Finding, Reason
from harness.services.house import House
from harness.services.preflight import NotReady, preflight
from harness.services.prepare import command_of, dated, new_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """A run that was not started.

    Attributes:
        reason: why it would be refused; None where it would start.
        argv: the command, with the run's own paths as they would be.
        environment: names of the variables that would be handed on.
        guards: absolute paths that would be digested before and after.
    """

    ready: bool
    job: str
    reason: Reason | None = None
    detail: str = ""
    cli: CliIdentity = field(default_factory=CliIdentity)
    isolation: str = "off"
    workspace: str = ""
    argv: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def dry_run(house: House, name: str, *, unattended: bool) -> DryRun:
    """Return what a run of a job would do now."""
    checked = preflight(house, name, unattended=unattended)
    if isinstance(checked, NotReady):
        return DryRun(
            ready=False, job=name, reason=checked.reason, detail=checked.detail, cli=checked.cli
        )
    job = checked.job
    workspace = os.path.realpath(job.workspace)
    run_id = new_run_id(job.name, house.state.now())
    today = dated(checked, house.state.now())
    command = command_of(house, today, run_id, workspace, gate="(a socket)")
    return DryRun(
        ready=True,
        job=name,
        cli=checked.cli,
        isolation=checked.isolation,
        workspace=workspace,
        argv=command.argv,
        environment=tuple(sorted(command.env)),
        guards=guard_roots(workspace, job.guard),
        findings=(*checked.findings, *command.findings),
    )
