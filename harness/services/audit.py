"""What the CLI's permissions would let an agent do past the gate: settings, jobs and policy joined.

Nothing here asks the network or changes anything; the same files give the same report.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from harness.agy.locate import Configured, NotFound, locate
from harness.agy.roots import guard_roots
from harness.agy.settings import read_settings
from harness.agy.version import ask_version
from harness.core.audit.fingerprint import fingerprint_of
from harness.core.audit.model import AuditReport, Subject, Tree
from harness.core.audit.own_server import server_entry
from harness.core.audit.policy import AuditPolicy, exit_status, report_of, with_threshold
from harness.core.audit.rules import judge_given, judge_rules
from harness.core.audit.trees import protected_trees, split_path
from harness.core.audit.whole import audit_subject
from harness.core.audit.would import Would, would
from harness.core.environment import environment
from harness.core.job import JobSpec
from harness.core.pathtext import decode_path
from harness.core.permissions import Level
from harness.core.settings import ListName, RuleSource, SettingsView, WrittenRule
from harness.core.versions import NEWEST_KNOWN, Features, parse_version
from harness.errors import UsageProblem
from harness.services.house import House
from harness.stores.audit_policy import load_audit_policy
from harness.stores.configuration import HomeSettings, JobProblem, check_jobs
from harness.stores.homes import Home

#: Stands for the workspace where no run is meant.
NO_WORKSPACE = "/workspace"
COMMAND_LINE = "command line"
_VERSION_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """All of the world that an audit depends on, beside the files of the settings.

    Attributes:
        home: the harness's home; None where there is none.
        environ: the environment that a run inherits: HOME, PATH.
        features: what is known of the CLI's version.
        today: the local day, on which acceptances are looked at.
        notes: what a person should know of how these were found.
        isolated: runs see guards, `.agents/` and git's configuration read-only.
    """

    home: Home | None
    environ: Mapping[str, str]
    features: Features
    today: date
    notes: tuple[str, ...] = ()
    isolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A report with what it was made from.

    Attributes:
        policy: the policy that decided, a threshold of this call included.
        subjects: every run that was judged; none where rules alone were.
    """

    report: AuditReport
    policy: AuditPolicy
    subjects: tuple[Subject, ...] = field(default=())

    @property
    def exit_status(self) -> int:
        """What `harness audit` ends with."""
        return exit_status(self.report, self.policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldOf:
    """What the CLI would do with a request in the runs of one job; None for no job at all."""

    job: str | None
    workspace: str
    answer: Would


def surroundings_of(house: House, features: Features) -> Surroundings:
    """Return the surroundings of a home whose CLI has been asked for its version."""
    return Surroundings(
        home=house.home,
        environ=house.environment,
        features=features,
        today=house.clock().astimezone().date(),
    )


def find_features(
    agy: str | None, settings: HomeSettings, environ: Mapping[str, str]
) -> tuple[Features, tuple[str, ...]]:
    """Ask the CLI for its version; return what is known of it, and notes for a person.

    Where there is no CLI, the newest known version is assumed.
    """
    configured = settings.agy_path
    found = locate(
        agy,
        environ,
        Configured(path=configured, origin="harness.toml [agy] path") if configured else None,
    )
    if isinstance(found, NotFound):
        note = f"no CLI was found ({found.problem}): judged as version {NEWEST_KNOWN}"
        return parse_version(str(NEWEST_KNOWN)), (note,)
    names = environment(environ, names=(), run_id="", job="", gate="")
    features = parse_version(ask_version(found.path, names, _VERSION_PATIENCE_S).text)
    if features.newer:
        note = f"CLI {features.raw} is newer than all that is known: judged as {NEWEST_KNOWN}"
        return features, (note,)
    return features, ()


def audit(
    around: Surroundings,
    job: JobSpec | None = None,
    *,
    settings_root: str | None = None,
    fail_on: Level | None = None,
) -> Audited:
    """Audit what the runs of one job would read; without a job, of every canonical job.

    Args:
        around: the surroundings.
        job: the job; None for every canonical job, or the default root where there is none.
        settings_root: in place of the root that the job's run would use; absolute.
        fail_on: in place of the policy's levels: this level and every worse one refuses.

    Raises:
        ConfigurationProblem: the policy or the home's settings cannot be read.
    """
    subjects, notes, policy = _prepared(around, job, settings_root, fail_on)
    findings = [finding for subject in subjects for finding in audit_subject(subject)]
    report = report_of(findings, policy, today=around.today)
    report = replace(
        report,
        fingerprint=fingerprint_of(subjects),
        version=around.features.raw,
        notes=(*around.notes, *notes),
    )
    return Audited(report=report, policy=policy, subjects=subjects)


def audit_rules(
    around: Surroundings,
    rules: Sequence[str],
    job: JobSpec | None = None,
    *,
    settings_root: str | None = None,
    fail_on: Level | None = None,
) -> Audited:
    """Judge rules that a person asks about, as if they stood in the settings; no file is judged.

    A rule may say its list: `deny:command(rm)`. Raises like `audit`.
    """
    subjects, notes, policy = _prepared(around, job, settings_root, fail_on)
    written = [_written(text, index) for index, text in enumerate(rules)]
    findings = [finding for subject in subjects for finding in judge_given(subject, written)]
    report = report_of(findings, policy, today=around.today, whole=False)
    report = replace(report, version=around.features.raw, notes=(*around.notes, *notes))
    return Audited(report=report, policy=policy)


def audit_would(
    around: Surroundings,
    request: str,
    job: JobSpec | None = None,
    *,
    settings_root: str | None = None,
) -> list[WouldOf]:
    """Return what the CLI would do with a request, for each run that `audit` would judge.

    Raises:
        UsageProblem: the request is none.
    """
    name, opening, rest = request.partition("(")
    if not opening or not rest.endswith(")") or not name.isidentifier():
        raise UsageProblem(
            f"--would {request}: expected a request such as command(git push) or write_file(/srv/a)"
        )
    subjects, _, _ = _prepared(around, job, settings_root, None)
    return [
        WouldOf(
            job=subject.job,
            workspace=subject.workspace,
            answer=would(subject, judge_rules(subject).rules, request),
        )
        for subject in subjects
    ]


def _prepared(
    around: Surroundings, job: JobSpec | None, settings_root: str | None, fail_on: Level | None
) -> tuple[tuple[Subject, ...], tuple[str, ...], AuditPolicy]:
    policy = load_audit_policy(around.home)
    jobs, notes = _jobs(around.home)
    make = _maker(around, policy, jobs, settings_root)
    chosen = [job] if job is not None else [each for each in jobs if each.may_touch_canonical]
    subjects = tuple(make(each) for each in chosen) or (make(None),)
    if fail_on is not None:
        policy = with_threshold(policy, fail_on)
    return subjects, notes, policy


def _jobs(home: Home | None) -> tuple[list[JobSpec], tuple[str, ...]]:
    if home is None:
        return [], ()
    problem, found = check_jobs(home)
    if problem is not None:
        raise problem
    broken = [each.name for each in found if isinstance(each, JobProblem)]
    notes = (f"not judged, because they cannot run: {', '.join(broken)}",) if broken else ()
    return [each for each in found if isinstance(each, JobSpec)], notes


def _maker(
    around: Surroundings,
    policy: AuditPolicy,
    jobs: Sequence[JobSpec],
    settings_root: str | None,
) -> Callable[[JobSpec | None], Subject]:
    """Return what makes the subject of a job; what all jobs share is found once."""
    environ = around.environ
    home = os.path.normpath(environ.get("HOME") or str(Path.home()))
    folders, relative = split_path(environ.get("PATH", ""))
    harness_home = str(around.home.root) if around.home is not None else None
    trees = _with_real_paths(
        protected_trees(
            home=home, path_folders=folders, harness_home=harness_home, extra=policy.trees
        )
    )
    program = shutil.which("harness", path=environ.get("PATH", ""))
    guards = tuple(dict.fromkeys(guard for each in jobs for guard in _guards(each)))
    views: dict[tuple[str, str | None], SettingsView] = {}

    def make(job: JobSpec | None) -> Subject:
        root = settings_root or (job.gemini_dir if job is not None else None) or f"{home}/.gemini"
        workspace = job.workspace if job is not None else None
        key = (os.path.normpath(root), workspace)
        view = views.setdefault(key, read_settings(*key)) if key not in views else views[key]
        own = _guards(job) if job is not None else ()
        return Subject(
            view=view,
            workspace=workspace or NO_WORKSPACE,
            home=home,
            version=around.features.raw,
            version_readable=not around.features.unparsable,
            job=job.name if job is not None else None,
            args=job.args if job is not None else (),
            mode=job.mode if job is not None else None,
            guards=tuple(dict.fromkeys((*own, *guards))),
            trees=trees,
            relative_path_folders=relative,
            harness_home=harness_home,
            known_entry=server_entry(program) if program is not None else None,
            isolated=around.isolated,
        )

    return make


def _guards(job: JobSpec) -> tuple[str, ...]:
    """Return a job's guarded paths, as written and with links resolved."""
    written = [os.path.normpath(f"{job.workspace}/{guard}") for guard in job.guard]
    real = [decode_path(root) for root in guard_roots(job.workspace, job.guard)]
    return tuple(dict.fromkeys((*written, *real)))


def _with_real_paths(trees: Sequence[Tree]) -> tuple[Tree, ...]:
    """Return trees with the places that they are links to, since either way leads there."""
    found = {tree.path: tree for tree in trees}
    for tree in trees:
        real = os.path.realpath(tree.path)
        found.setdefault(real, Tree(path=real, what=tree.what))
    return tuple(found.values())


def _written(text: str, index: int) -> WrittenRule:
    name, colon, rest = text.partition(":")
    list_name = ListName.ALLOW
    if colon and name in list(ListName):
        list_name, text = ListName(name), rest
    source = RuleSource(file=COMMAND_LINE, pointer=f"/{index}")
    return WrittenRule(text=text, list_name=list_name, source=source)
