"""`harness jobs`: list, show, check and accept jobs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING

import click

from harness.cli.context import CommandGroup, Options, common_options, open_home
from harness.cli.render import emit, fields, note, prose, table
from harness.errors import EXIT_USAGE

if TYPE_CHECKING:
    from harness.core.job import JobSpec
    from harness.services.acceptance import Acceptance, Standing
    from harness.stores.configuration import JobProblem
    from harness.stores.homes import Home
    from harness.stores.job_notices import Notice
    from harness.stores.toml_files import Problem


@click.group(cls=CommandGroup)
def command() -> None:
    """List, show, check and accept jobs."""


@command.command("list")
@common_options
def list_jobs(options: Options) -> None:
    """List every job, the broken ones with what is wrong."""
    from harness.core.job import JobSpec
    from harness.stores.configuration import load_jobs

    home = open_home(options)
    jobs = load_jobs(home)
    standings = _standings(options, home, [job for job in jobs if isinstance(job, JobSpec)])
    result = [_entry(job, standings) for job in jobs]
    columns = ("name", "tiers", "schedule", "workspace", "standing", "problem")
    rows = [[_cell(entry[column]) for column in columns] for entry in result]
    flexible = ("name", "tiers", "schedule", "workspace", "problem")
    text = table(columns, rows, flexible=flexible, optional=["workspace"])
    emit(result, as_json=options.as_json, text=text if rows else _no_jobs(home))


@command.command()
@click.argument("job")
@common_options
def show(options: Options, job: str) -> None:
    """Show a job with every default filled in."""
    from harness.stores.configuration import load_job

    home = open_home(options)
    spec = load_job(home, job)
    standing = _standings(options, home, [spec])[spec.name]
    result = {field.name: getattr(spec, field.name) for field in fields_of(spec)}
    result["standing"] = standing
    pairs = [(name, _cell(value)) for name, value in result.items() if name != "prompt"]
    text = fields(pairs)
    if spec.prompt is not None:
        text += f"\n\n{prose(spec.prompt.rstrip())}"
    emit(result, as_json=options.as_json, text=text)


@command.command()
@common_options
def check(options: Options) -> int:
    """Name every mistake of every job, of the settings and of the rules; exit 2 if there is one.

    Notices on stderr name keys that are no mistake and do not do what they seem to.
    """
    from harness.core.job import JobSpec
    from harness.stores.job_notices import notices_of

    home = open_home(options)
    general, jobs = _read_all(home)
    problems = [problem for job in jobs if not isinstance(job, JobSpec) for problem in job.problems]
    specs = [job for job in jobs if isinstance(job, JobSpec)]
    lines = [*general, *(problem.line for problem in problems)]
    notices = [notice for job in specs for notice in notices_of(job)]
    result = {
        "ok": not lines,
        "jobs": [
            {
                "name": job.name,
                "ok": isinstance(job, JobSpec),
                "problems": [] if isinstance(job, JobSpec) else _as_results(job.problems),
                "notices": [_as_notice(notice) for notice in notices if notice.job == job.name],
            }
            for job in jobs
        ],
        "problems": lines,
    }
    summary = f"jobs checked: {len(jobs)}; mistakes: {len(lines)}"
    emit(result, as_json=options.as_json, text="\n".join([*lines, summary]))
    for notice in notices:
        note(f"notice: {notice.job}: {notice.key}: {notice.message}")
    standings = {} if general else _standings(options, home, specs)
    waiting = [name for name, standing in standings.items() if standing != "accepted"]
    if waiting:
        note(f"hint: not accepted for unattended runs: {', '.join(waiting)}")
        note(f"hint: read it, then: harness jobs accept {waiting[0]}")
    return EXIT_USAGE if lines else 0


@command.command()
@click.argument("job")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def accept(options: Options, job: str, *, yes: bool) -> None:
    """Accept a job as it is now: it may run unattended until something of it changes.

    What would be accepted is shown first, the prompt or script in its file included; at a
    terminal you are asked.
    """
    from harness.cli.house import open_house
    from harness.services.acceptance import accept as record
    from harness.services.acceptance import proposed
    from harness.stores.configuration import read_job

    home = open_home(options)
    # Read once: what is shown is what is accepted, whatever happens to the files meanwhile.
    loaded = read_job(home, job)
    with open_house(options) as house:
        note(_proposed_text(proposed(home, house.state, loaded)))
    if not yes and sys.stdin.isatty():
        click.confirm("May it run unattended like this?", abort=True, err=True)
    with open_house(options) as house:
        accepted = record(home, house.state, loaded, actor=house.actor)
    text = f"{accepted.job} may run unattended until it changes ({accepted.digest[:12]})"
    emit(accepted, as_json=options.as_json, text=text)


def _read_all(home: Home) -> tuple[list[str], Sequence[JobSpec | JobProblem]]:
    """Return the mistakes outside the jobs, and the jobs, checked even where there are some."""
    from harness.errors import ConfigurationProblem
    from harness.stores.configuration import check_jobs, load_gate_limits

    settings_problem, jobs = check_jobs(home)
    lines = [] if settings_problem is None else str(settings_problem).splitlines()
    try:
        load_gate_limits(home)
    except ConfigurationProblem as problem:
        lines += str(problem).splitlines()
    return lines, jobs


def _standings(options: Options, home: Home, jobs: Sequence[JobSpec]) -> dict[str, Standing]:
    """Return how each job stands; a home that never ran anything is not given a database."""
    from harness.services.acceptance import standing_of
    from harness.stores.files import is_file

    if not jobs or not is_file(home.database):
        return {job.name: standing_of(None, job) for job in jobs}
    from harness.cli.house import open_reading

    with open_reading(options) as reading:
        return {job.name: standing_of(reading.state, job) for job in jobs}


def _entry(job: JobSpec | JobProblem, standings: dict[str, Standing]) -> dict[str, object]:
    from harness.core.job import JobSpec

    if isinstance(job, JobSpec):
        standing = standings[job.name]
        return {
            "name": job.name,
            "tiers": job.tiers,
            "schedule": job.schedule,
            "workspace": job.workspace,
            "accepted": standing == "accepted",
            "standing": standing,
            "problem": None,
        }
    return {
        "name": job.name,
        "tiers": (),
        "schedule": None,
        "workspace": None,
        "accepted": False,
        "standing": None,
        "problem": "; ".join(problem.line for problem in job.problems),
    }


def _proposed_text(acceptance: Acceptance) -> str:
    lines = list(acceptance.changes)
    if not lines:
        same = (
            "is accepted as it is"
            if acceptance.before == "accepted"
            else ("has the same file, prompt and script; the rules or settings of the home changed")
        )
        lines.append(f"{acceptance.job} {same}")
    return "\n".join(lines)


def _as_notice(notice: Notice) -> dict[str, str]:
    return {"key": notice.key, "message": notice.message}


def _as_results(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [
        {"file": problem.file, "key": problem.key, "message": problem.message}
        for problem in problems
    ]


def _no_jobs(home: Home) -> str:
    return f"no jobs yet: put one into {home.nightly}"


def _cell(value: object) -> str:
    """Return a value of a job as a person writes it."""
    match value:
        case None:
            return "-"
        case tuple() | list():
            return ", ".join(str(entry) for entry in value) or "-"
        case float():
            return f"{value:g}"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
