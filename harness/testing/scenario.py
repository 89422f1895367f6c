"""A scenario: which version the stand-in is, and what it does.

    description = "One sentence."
    version = "1.2.10"

    [[steps]]
    text = "Done."

A file may take a shipped scenario (`scenario = "held"`) and change some of its keys, may hold
one scenario per job (`[jobs.<name>]`, chosen by `HARNESS_JOB`), and may answer some prompts
differently (`[[when]]`). A file has one version, as a machine has one binary: `version` at the
top goes for all of its jobs, unless a job states its own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.testing import deeds, endings, steps, waits
from harness.testing.decode import (
    PLAIN,
    Reader,
    ScenarioProblem,
    decode,
    list_of,
    table,
)
from harness.testing.stage import TOKENS
from harness.testing.steps import Step

SHIPPED = Path(__file__).parent / "scenarios"
PROBE_MARKER = "harness-probe"
"""A prompt that holds it is a probe of the rules: denied, unless the scenario plays it."""

NEWEST_VERSION = "1.3.3"
KINDS: Mapping[str, type[Step]] = {
    "auth": endings.Auth,
    "cd": deeds.Cd,
    "child": deeds.Child,
    "claim_file": deeds.ClaimFile,
    "command": deeds.Run,
    "control_characters": steps.ControlCharacters,
    "cut_last_line": endings.CutLastLine,
    "daemon": deeds.Daemon,
    "deny": endings.Deny,
    "err": steps.Err,
    "error": endings.Error,
    "event": steps.Event,
    "exit": endings.ExitStep,
    "flood": steps.Flood,
    "hang": waits.Hang,
    "invalid_utf8": steps.InvalidUtf8,
    "log": steps.Log,
    "long_line": steps.LongLine,
    "memory": waits.Memory,
    "out": steps.Out,
    "read_stdin": waits.ReadStdin,
    "result": endings.Result,
    "retry": waits.Retry,
    "signal_self": deeds.SignalSelf,
    "sleep": waits.Sleep,
    "text": steps.Text,
    "tool": steps.Tool,
    "update_self": deeds.UpdateSelf,
    "wait_for": waits.WaitFor,
    "write_file": deeds.WriteFile,
}
_TOKEN = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a harness must conclude from a run of this scenario.

    Attributes:
        outcome, reason, killed: as in the record of a run; `killed` empty for None.
        masked: the reason of the verdict that a bypass hides; empty for None.
        exit_code: of the stand-in; None where a signal ends it or it is not started.
        signal: the number of the signal that ends it.
        findings: ids that must be among the run's findings.
        denied: permissions that must be among the denials.
        job: keys of a job's TOML that the scenario needs, beside prompt and workspace.
        files: files that the workspace must hold before the run, by path.
        note: what else to look for, in words.
    """

    outcome: str
    reason: str
    killed: str = ""
    masked: str = ""
    exit_code: int | None = None
    signal: int | None = None
    findings: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    job: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, object] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Other steps for some starts; the first one whose conditions all hold is taken.

    Attributes:
        prompt: a text that the prompt must hold.
        resumed: whether a known conversation is resumed.
        start: the how-manieth turn of this job it is, counted from 1 in the CLI's folder.
        scenario: the shipped scenario whose steps are played.
    """

    prompt: str | None = None
    resumed: bool | None = None
    start: int | None = None
    scenario: str = ""
    startup: tuple[Step, ...] = ()
    steps: tuple[Step, ...] = ()

    def problem(self) -> str | None:
        """Return what is wrong with the conditions."""
        if self.prompt is None and self.resumed is None and self.start is None:
            return "at least one of prompt, resumed, start is needed"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What the stand-in plays.

    Attributes:
        version: any text; one that is no number behaves as the newest known version.
        time_scale: by what times in steps are multiplied; `FAKE_AGY_TIME_SCALE` beats it.
        record: where starts, processes and commands are written down; relative to the file.
        model: the label that the log names; the one asked for, where empty.
        models: what `agy models` lists, id and label.
        models_read_stdin: `agy models` reads stdin to its end first.
        no_log: no log file is ever made.
        tools, permission_mode: for the `init` event.
        print_timeout_status: the result's status after a print-timeout from 1.1.28 on.
        probe: what happens to prompts that hold `PROBE_MARKER`, `deny` or `play`.
        startup: steps before the first word; the print-timeout does not cover them.
        steps: the turn.
    """

    description: str = ""
    version: str = NEWEST_VERSION
    scenario: str = ""
    time_scale: float = 1.0
    record: str = ""
    model: str = ""
    models: Mapping[str, object] = field(default_factory=dict)
    models_read_stdin: bool = False
    no_log: bool = False
    tools: tuple[str, ...] = ("run_command", "view_file", "write_to_file")
    permission_mode: str = ""
    print_timeout_status: str = field(default="ERROR", metadata={"one_of": ("ERROR", "SUCCESS")})
    probe: str = field(default="deny", metadata={"one_of": ("deny", "play")})
    startup: tuple[Step, ...] = ()
    steps: tuple[Step, ...] = ()
    when: tuple[When, ...] = ()
    expected: Expected | None = None

    def problem(self) -> str | None:
        """Return what is wrong with the version."""
        fine = self.version and "\n" not in self.version
        return None if fine else "version: expected one line of text"


def read_step(value: object, where: str) -> Step:
    """Return one step; its table has exactly one key, the kind."""
    content = table(value, where)
    if len(content) != 1:
        found = ", ".join(content) or "nothing"
        raise ScenarioProblem(f"{where}: a step has exactly one kind; found {found}")
    ((kind, given),) = content.items()
    cls = KINDS.get(kind)
    if cls is None:
        raise ScenarioProblem(f"{where}.{kind}: unknown step; known: {', '.join(KINDS)}")
    place = f"{where}.{kind}"
    _check_tokens(given, place)
    if cls.free or (cls.main and not isinstance(given, dict)):
        given = {cls.main: given}
    elif given is True:
        given = {}
    return decode(cls, given, place, READERS)


def _check_tokens(value: object, where: str) -> None:
    match value:
        case str():
            unknown = [name for name in _TOKEN.findall(value) if name not in TOKENS]
            if unknown:
                raise ScenarioProblem(
                    f"{where}: unknown {{{{{unknown[0]}}}}}; known: {', '.join(TOKENS)}"
                )
        case dict():
            for key, entry in value.items():
                _check_tokens(entry, f"{where}.{key}")
        case list():
            for entry in value:
                _check_tokens(entry, where)
        case _:
            pass


READERS: Mapping[str, Reader] = {
    **PLAIN,
    "tuple[Step, ...]": list_of(read_step),
    "tuple[Asked, ...]": list_of(lambda value, where: decode(endings.Asked, value, where, PLAIN)),
    "tuple[When, ...]": list_of(lambda value, where: decode(When, value, where, READERS)),
    "Expected": lambda value, where: decode(Expected, value, where, PLAIN),
}


def read_table(path: Path) -> dict[str, object]:
    """Return a TOML file; raise `ScenarioProblem` where it cannot be read."""
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as problem:
        raise ScenarioProblem(f"{path}: {problem.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ScenarioProblem(f"{path}: not TOML: {problem}") from None


def shipped_table(name: str, where: str) -> dict[str, object]:
    """Return the table of a shipped scenario; `where` begins the message if there is none."""
    path = SHIPPED / f"{Path(name).name}.toml"
    if not name or path.stem != name or not path.is_file():
        raise ScenarioProblem(
            f"{where}: no shipped scenario is called {name!r}; "
            "python -m harness.testing.scenarios lists them"
        )
    return read_table(path)


def build(content: Mapping[str, object], where: str) -> Scenario:
    """Return the scenario of a table without `jobs`, shipped parts filled in."""
    whole = dict(content)
    if "scenario" in whole:
        base = shipped_table(str(whole["scenario"]), f"{where}: scenario")
        whole = {**base, **whole}
    scenario = decode(Scenario, whole, where, READERS)
    for number, when in enumerate(scenario.when, start=1):
        if when.scenario:
            shipped_table(when.scenario, f"{where}.when[{number}].scenario")
    return scenario
