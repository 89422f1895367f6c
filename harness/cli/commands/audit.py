"""`harness audit`: what the CLI's permissions would let an agent do past the gate."""

from __future__ import annotations

import os
from pathlib import Path

import click

from harness.cli.context import Options, common_options, open_home, utc_now
from harness.cli.render import as_json_text, emit, note
from harness.core.audit.compare import AuditDiff, KeptAudit, compare, kept
from harness.core.audit.model import ORDER, AuditReport
from harness.core.job import JobSpec
from harness.core.permissions import Level
from harness.core.versions import parse_version
from harness.errors import HomeNotFound, HostProblem, UsageProblem
from harness.services.audit import (
    Audited,
    Surroundings,
    audit,
    audit_rules,
    audit_would,
    find_features,
)
from harness.stores.homes import Home

_LEVELS = click.Choice([level.value for level in ORDER], case_sensitive=False)


@click.command(name="audit")
@click.option("--job", metavar="JOB", help="Judge what the runs of this job would read.")
@click.option(
    "--rule",
    "rules",
    metavar="RULE",
    multiple=True,
    help="Judge this rule alone, such as 'command(git)' or 'deny:command(rm)'; repeatable.",
)
@click.option(
    "--would", metavar="REQUEST", help="Say what would become of 'command(git push)', and why."
)
@click.option("--diff", "show_diff", is_flag=True, help="Say what changed since the last audit.")
@click.option(
    "--fail-on", metavar="LEVEL", type=_LEVELS, help="Refuse at this level and above instead."
)
@click.option("--settings-root", metavar="DIR", help="In place of ~/.gemini, or the job's own.")
@click.option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0; - is stdout.")
@click.option("--cli-version", metavar="V", help="Assume this version; the CLI is not asked.")
@common_options
def command(  # noqa: PLR0913, PLR0917 - click hands over every option by name
    options: Options,
    job: str | None,
    rules: tuple[str, ...],
    would: str | None,
    show_diff: bool,  # noqa: FBT001 - as above
    fail_on: str | None,
    settings_root: str | None,
    sarif: str | None,
    cli_version: str | None,
) -> int:
    """Judge every allow rule before canonical writes are enabled.

    Exit status 1 where a finding other than UNKNOWN refuses canonical writes, 3 where an UNKNOWN
    one stands, else 0. Reads files alone: the same files give the same report.
    """
    if sum(map(bool, (rules, would, show_diff))) > 1:
        raise UsageProblem("--rule, --would and --diff each answer another question: give one")
    home = _home(options, needed=job is not None)
    spec = _job(home, job)
    root = _folder(settings_root)
    around = _surroundings(options, home, cli_version)
    if would is not None:
        return _would(options, around, would, spec, root)
    level = Level(fail_on.upper()) if fail_on else None
    if rules:
        audited = audit_rules(around, rules, spec, settings_root=root, fail_on=level)
    else:
        audited = audit(around, spec, settings_root=root, fail_on=level)
    diff = None
    if not rules and home is not None:
        diff = _since_last(home, f"job={job or ''} root={root or ''}", audited.report)
    if sarif is not None:
        _write_sarif(audited.report, sarif)
    if sarif != "-":
        _show(options, audited, diff if show_diff else None, with_diff=show_diff)
    return audited.exit_status


def _home(options: Options, *, needed: bool) -> Home | None:
    """Return the home; None where there is none and none was named: rules can be judged anyway."""
    named = options.home or os.environ.get("HARNESS_HOME")
    try:
        return open_home(options)
    except HomeNotFound:
        if needed or named:
            raise
        return None


def _job(home: Home | None, name: str | None) -> JobSpec | None:
    if home is None or name is None:
        return None
    from harness.stores.configuration import load_job

    return load_job(home, name)


def _folder(name: str | None) -> str | None:
    if name is None:
        return None
    path = Path(name).expanduser()
    if not path.is_dir():
        raise UsageProblem(f"--settings-root {name}: expected a folder that is there")
    return os.path.abspath(path)  # noqa: PTH100 - links stay: the CLI would go through them


def _surroundings(options: Options, home: Home | None, cli_version: str | None) -> Surroundings:
    from harness.stores.configuration import HomeSettings, load_home_settings

    if cli_version is not None:
        features, notes = parse_version(cli_version), tuple[str, ...]()
    else:
        settings = load_home_settings(home) if home is not None else HomeSettings()
        features, notes = find_features(options.agy, settings, os.environ)
    return Surroundings(
        home=home,
        environ=os.environ,
        features=features,
        today=utc_now().astimezone().date(),
        notes=notes,
    )


def _would(
    options: Options, around: Surroundings, request: str, job: JobSpec | None, root: str | None
) -> int:
    from harness.cli.render_audit import would_text

    answers = audit_would(around, request, job, settings_root=root)
    freest = max(answers, key=lambda each: ("DENY", "ASK", "ALLOW").index(each.answer.decision))
    shown = {
        **{name: getattr(freest.answer, name) for name in freest.answer.__dataclass_fields__},
        "results": answers,
    }
    emit(shown, as_json=options.as_json, text=would_text(answers))
    return 0


def _since_last(home: Home, subject: str, report: AuditReport) -> AuditDiff:
    """Return what changed since the last audit of the same thing, and keep this one."""
    from harness.stores.audit_results import keep_audit, last_audit

    now = kept(report.findings)
    diff = compare(last_audit(home, subject), now, report.fingerprint)
    this = KeptAudit(at=utc_now(), fingerprint=report.fingerprint, findings=now)
    try:
        home.prepare_state()
        keep_audit(home, subject, this)
    except HostProblem as problem:
        note(f"{problem}: the next --diff will not know of this audit")
    return diff


def _write_sarif(report: AuditReport, name: str) -> None:
    import harness
    from harness.core.audit.sarif import sarif_of
    from harness.stores.files import atomic_write

    log = sarif_of(report, version=harness.__version__)
    if name == "-":
        emit(log, as_json=True)
        return
    atomic_write(
        Path(name), as_json_text(log).encode(errors="backslashreplace") + b"\n", mode=0o644
    )


def _show(options: Options, audited: Audited, diff: AuditDiff | None, *, with_diff: bool) -> None:
    report = audited.report
    if options.as_json:
        from dataclasses import fields

        shown = {each.name: getattr(report, each.name) for each in fields(report)}
        emit({**shown, **({"diff": diff} if with_diff else {})}, as_json=True)
        return
    from harness.cli.render_audit import show_audit

    for words in report.notes:
        note(words)
    show_audit(audited, diff)
