"""Which scenario this start plays: the environment, the file in HOME, the job, the prompt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.testing import deeds
from harness.testing.decode import ScenarioProblem, table
from harness.testing.endings import Deny
from harness.testing.scenario import (
    PROBE_MARKER,
    SHIPPED,
    Scenario,
    build,
    read_table,
    shipped_table,
)
from harness.testing.steps import Step

FILE = "fake-agy.toml"
INHERITED = ("record", "time_scale", "version")
_PROBE = Deny(kind="command", target=PROBE_MARKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What was chosen, and where relative paths of it begin.

    Attributes:
        state: the CLI's own folder in HOME, for what the stand-in must remember.
    """

    scenario: Scenario
    folder: Path
    state: Path | None


def choose(environment: Mapping[str, str]) -> Chosen:
    """Return the scenario of this start; raise `ScenarioProblem` where it is broken."""
    home = environment.get("HOME")
    state = Path(home) / ".gemini" / "antigravity-cli" if home else None
    content, where, folder = _find(environment, state)
    scenario = build(_of_job(content, environment.get("HARNESS_JOB", ""), where), where)
    scenario = replace(scenario, version=_updated(scenario.version, state))
    scale = environment.get("FAKE_AGY_TIME_SCALE")
    if scale:
        scenario = replace(scenario, time_scale=_scale(scale))
    return Chosen(scenario=scenario, folder=folder, state=state)


def _find(
    environment: Mapping[str, str], state: Path | None
) -> tuple[dict[str, object], str, Path]:
    named = environment.get("FAKE_AGY_SCENARIO", "")
    home = Path(environment.get("HOME", "/"))
    if named and "/" not in named and not named.endswith(".toml"):
        return shipped_table(named, "FAKE_AGY_SCENARIO"), named, home
    candidates = [Path(named)] if named else [home / FILE, *([state / FILE] if state else [])]
    for path in candidates:
        if named or path.is_file():
            return read_table(path), str(path), path.parent
    return read_table(SHIPPED / "default.toml"), "default", home


def _of_job(content: dict[str, object], job: str, where: str) -> dict[str, object]:
    """Return the table for a job: its own one if there is one, else the top of the file."""
    jobs = table(content.get("jobs", {}), f"{where}.jobs")
    top = {key: value for key, value in content.items() if key != "jobs"}
    if job not in jobs:
        return top if top.keys() - set(INHERITED) else {"scenario": "default", **top}
    own = table(jobs[job], f"{where}.jobs.{job}")
    # a shipped scenario stands for itself; of the top it takes what goes for the whole file
    kept = INHERITED if "scenario" in own else tuple(top)
    return {**{key: top[key] for key in kept if key in top}, **own}


def _updated(version: str, state: Path | None) -> str:
    """Return what self-updates have made of a version; those of another version do not count."""
    try:
        lines = (state / deeds.UPDATES).read_text().splitlines() if state else []
    except OSError:
        return version
    for before, _, after in (line.partition(" ") for line in lines):
        version = after if before == version else version
    return version


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = -1.0
    if not 0 <= scale < float("inf"):
        raise ScenarioProblem(f"FAKE_AGY_TIME_SCALE: expected a number of at least 0, not {text!r}")
    return scale


def steps_for(
    chosen: Chosen, *, prompt: str, resumed: bool, job: str
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return the startup and the steps for one turn."""
    scenario = chosen.scenario
    if PROBE_MARKER in prompt and scenario.probe == "deny":
        return (), (_PROBE,)
    counts = any(when.start is not None for when in scenario.when)
    start = _count(chosen.state, job) if counts else 0
    for when in scenario.when:
        if when.prompt is not None and when.prompt not in prompt:
            continue
        if when.resumed is not None and when.resumed != resumed:
            continue
        if when.start is not None and when.start != start:
            continue
        if when.scenario:
            shipped = build(shipped_table(when.scenario, "when"), when.scenario)
            return shipped.startup, shipped.steps
        return when.startup, when.steps
    return scenario.startup, scenario.steps


def _count(state: Path | None, job: str) -> int:
    """Count this turn in a file that grows by a byte each time; two at once never share one."""
    if state is None:
        return 1
    state.mkdir(parents=True, exist_ok=True)
    path = state / f"fake-agy.starts-{Path(job).name or 'none'}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, b".")
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    finally:
        os.close(descriptor)


def check(path: Path) -> None:
    """Read a file as every one of its jobs would; raise `ScenarioProblem` at the first fault."""
    content = read_table(path)
    for job in ("", *table(content.get("jobs", {}), f"{path}.jobs")):
        build(_of_job(content, job, str(path)), str(path))
