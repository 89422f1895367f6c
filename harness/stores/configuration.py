"""What a person configured: settings of the home, jobs, limits of the gate.

Every mistake is found at once where possible, and each is one line: file, key, what was
expected, what was given. One broken job never hides the others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.core.job import NAME, Isolate, JobSpec
from harness.core.limits import GateLimits
from harness.core.text import bounded, one_line
from harness.core.tiers import VALUE_LIMIT
from harness.errors import ConfigurationProblem, HostProblem, UnknownName
from harness.stores.files import read_bounded, real_path, reason_of
from harness.stores.homes import Home
from harness.stores.job_files import check_job, find_task
from harness.stores.job_keys import isolate_of, size_of
from harness.stores.job_table import WORDS, JobFile
from harness.stores.shipped import shipped_folder
from harness.stores.toml_files import (
    FILE_LIMIT,
    Findings,
    Problem,
    decode_table,
    decode_tables,
    parse_toml,
    read_text,
)

_JOBS_LIMIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeSettings:
    """`harness.toml`, with defaults filled in.

    Attributes:
        agy_path: the Antigravity CLI, absolute; None where it is to be found on PATH.
        isolate: for jobs that do not say it themselves.
        min_free_bytes: no job starts with less room on the disk of the state.
    """

    agy_path: str | None = None
    isolate: Isolate = Isolate.AUTO
    min_free_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProblem:
    """A file of `nightly/` that is no usable job, with every mistake found in it."""

    name: str
    path: Path
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedJob:
    """A job with the texts it was read from, all of one reading.

    Attributes:
        text: its file.
        source_name: the file of its prompt or script; None where the prompt stands in `text`.
        source: that file's content; "" where there is none.
    """

    spec: JobSpec
    text: str
    source_name: str | None = None
    source: str = ""


class _AgyTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str | None = None
    isolate: str | None = None


class _StateTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    min_free: str | None = None


_MIN_FREE = 'a size in quotes such as "256MiB"'


class _LimitsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    value_bytes: int | str | None = None
    reason_bytes: int | str | None = None
    proposals_per_run: int | None = None
    journal_entries_per_run: int | None = None
    journal_bytes_per_run: int | str | None = None
    journal_entry_bytes: int | str | None = None


def load_home_settings(home: Home) -> HomeSettings:
    """Read `harness.toml`.

    Raises:
        ConfigurationProblem: it is missing or wrong; a line per mistake.
    """
    findings = Findings(file=str(home.settings_file))
    text = read_text(home.settings_file, findings)
    raw = None if text is None else parse_toml(text, findings)
    findings.raise_any()
    tables = decode_tables(raw or {}, {"agy": None, "state": None}, findings)
    agy = decode_table(tables["agy"], _AgyTable, findings, prefix="agy.")
    state = decode_table(
        tables["state"], _StateTable, findings, prefix="state.", words={"min_free": _MIN_FREE}
    )
    default = HomeSettings()
    settings = HomeSettings(
        agy_path=_agy_path(agy.path, findings),
        isolate=isolate_of(agy.isolate, "agy.isolate", default.isolate, findings),
        min_free_bytes=_min_free(state.min_free, default.min_free_bytes, findings),
    )
    findings.raise_any()
    return settings


def load_job(home: Home, name: str) -> JobSpec:
    """Read one job.

    Raises:
        UnknownName: there is no such job.
        ConfigurationProblem: the job, the settings or the rules are wrong; a line per mistake.
    """
    return read_job(home, name).spec


def read_job(home: Home, name: str) -> LoadedJob:
    """Read one job with the text of its file; raises like `load_job`."""
    path = home.nightly / f"{name}.toml"
    if not NAME.fullmatch(name) or not path.exists():
        import difflib

        known = [stem for stem, _ in _job_files(home)]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "the jobs there are: harness jobs list"
        raise UnknownName(f"no job {bounded(one_line(name), 100)} in {home.nightly}", hint=hint)
    loaded = _read_job(home, name, path, load_home_settings(home), _rules_of(home))
    if isinstance(loaded, LoadedJob):
        return loaded
    raise ConfigurationProblem(
        "\n".join(problem.line for problem in loaded.problems),
        hint="all mistakes of all jobs: harness jobs check",
    )


def load_jobs(home: Home) -> list[JobSpec | JobProblem]:
    """Read every job, sorted by name; a broken one stands as its problems.

    Raises:
        ConfigurationProblem: the settings or the rules, which every job needs, are wrong.
    """
    problem, jobs = check_jobs(home)
    if problem is not None:
        raise problem
    return jobs


def check_jobs(home: Home) -> tuple[ConfigurationProblem | None, list[JobSpec | JobProblem]]:
    """Read every job even where the settings or rules are wrong, and return what is.

    The jobs' digests mean nothing where there is a problem.
    """
    settings, rules = HomeSettings(), list[tuple[str, bytes]]()
    general = None
    try:
        settings, rules = load_home_settings(home), _rules_of(home)
    except ConfigurationProblem as problem:
        general = problem
    found: list[JobSpec | JobProblem] = []
    for name, path in _job_files(home):
        loaded = _read_job(home, name, path, settings, rules)
        found.append(loaded if isinstance(loaded, JobProblem) else loaded.spec)
    return general, found


def load_gate_limits(home: Home) -> GateLimits:
    """Read `rules/gate.toml` of the home; where it is absent, the one that is shipped.

    Raises:
        ConfigurationProblem: it is wrong; a line per mistake.
    """
    path = home.rules / "gate.toml"
    if not path.exists():
        path = shipped_folder("rules") / "gate.toml"
    findings = Findings(file=str(path))
    text = read_text(path, findings)
    raw = None if text is None else parse_toml(text, findings)
    findings.raise_any()
    tables = decode_tables(raw or {}, {"limits": None}, findings)
    table = decode_table(tables["limits"], _LimitsTable, findings, prefix="limits.")
    numbers: dict[str, int] = {}
    for name in _LimitsTable.__struct_fields__:
        given = getattr(table, name)
        if given is None:
            continue
        number = size_of(given) if isinstance(given, str) else given
        most = VALUE_LIMIT if name == "value_bytes" else (1 << 40)
        if number is None or not 1 <= number <= most:
            findings.expected(f"limits.{name}", f"a size or number from 1 to {most}", given)
            continue
        numbers[name] = number
    findings.raise_any()
    return GateLimits(**numbers)


def workspaces_of(home: Home) -> list[Path]:
    """Return the workspaces that the jobs of a home name, links resolved.

    Read leniently: a job that cannot be read names none, and cannot run either.
    """
    found = []
    for _, path in _job_files(home):
        findings = Findings(file=str(path))
        text = read_text(path, findings)
        raw = None if text is None else parse_toml(text, findings)
        named = (raw or {}).get("workspace")
        if isinstance(named, str) and "\0" not in named:
            try:
                found.append(real_path(Path(named).expanduser()))
            except RuntimeError:
                continue  # ~name of nobody
    return found


def _read_job(
    home: Home,
    name: str,
    path: Path,
    settings: HomeSettings,
    rules: Iterable[tuple[str, bytes]],
) -> LoadedJob | JobProblem:
    findings = Findings(file=f"nightly/{path.name}")
    text = read_text(path, findings)
    raw = None if text is None else parse_toml(text, findings)
    if text is not None and raw is not None:
        job_file = decode_table(raw, JobFile, findings, words=WORDS)
        task = find_task(job_file, nightly=home.nightly, findings=findings)
        spec = check_job(name, job_file, task=task, isolate=settings.isolate, findings=findings)
        if spec is not None:
            digest = _digest(
                ("job", text.encode()),
                ("task", task.source),
                ("agy", _agy_settings(settings)),
                *rules,
            )
            return LoadedJob(
                spec=dataclasses.replace(spec, digest=digest),
                text=text,
                source_name=task.name,
                source=task.source.decode() if task.name is not None else "",
            )
    return JobProblem(name=name, path=path, problems=tuple(findings.problems))


def _job_files(home: Home) -> list[tuple[str, Path]]:
    """Return name and path of every job file, sorted."""
    found = [(path.name.removesuffix(".toml"), path) for path in _toml_files(home.nightly)]
    if len(found) > _JOBS_LIMIT:
        raise ConfigurationProblem(f"{home.nightly}: expected at most {_JOBS_LIMIT} jobs")
    return found


def _toml_files(folder: Path) -> list[Path]:
    """Return the TOML files of a folder, sorted; hidden ones are editors' leftovers.

    A folder that is missing holds none; one that cannot be read is an error, never empty.
    """
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if path.name.endswith(".toml") and not path.name.startswith(".")
        )
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise ConfigurationProblem(f"{folder}: cannot be read: {reason_of(problem)}") from problem


def _rules_of(home: Home) -> list[tuple[str, bytes]]:
    """Return name and content of every rules file, for the digest."""
    try:
        return [
            (f"rules/{path.name}", read_bounded(path, FILE_LIMIT))
            for path in _toml_files(home.rules)
        ]
    except HostProblem as problem:
        raise ConfigurationProblem(str(problem)) from problem


def _digest(*parts: tuple[str, bytes]) -> str:
    """Return one digest over named parts; no content of one can pass for another part."""
    whole = hashlib.sha256()
    for name, data in parts:
        label = name.encode(errors="surrogateescape")
        whole.update(b"%d:%b:%d:%b" % (len(label), label, len(data), data))
    return whole.hexdigest()


def _agy_settings(settings: HomeSettings) -> bytes:
    return json.dumps([settings.agy_path, settings.isolate]).encode()


def _agy_path(text: str | None, findings: Findings) -> str | None:
    if text is None:
        return None
    try:
        path = Path(text).expanduser()
        if path.is_absolute() and "\0" not in text:
            return str(path)
    except RuntimeError:
        pass  # ~name of nobody: said below
    findings.expected("agy.path", "an absolute path, or one that begins with ~/", text)
    return None


def _min_free(text: str | None, default: int, findings: Findings) -> int:
    if text is None:
        return default
    number = size_of(text)
    if number is None:
        findings.expected("state.min_free", _MIN_FREE, text)
        return default
    return number
