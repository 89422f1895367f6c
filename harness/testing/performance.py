"""One start from its first byte to its exit status."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from harness.testing.attention import Attention, Exit, Interrupted, TimedOut, TurnEnded
from harness.testing.behaviour import Behaviour, Trait
from harness.testing.choice import Chosen, steps_for
from harness.testing.files import Conversation, Files, new_id
from harness.testing.flags import Options
from harness.testing.record import Record
from harness.testing.slash import answer, is_slash, list_models
from harness.testing.stage import Stage
from harness.testing.steps import Step
from harness.testing.turns import begin_turn, end_turn, interrupted, timed_out
from harness.testing.voice import Voice

DEFAULT_TIMEOUT_S = 300.0
STDIN_CUT = 191_000
_CHUNK = 65_536
_NO_TERMINAL = (
    "CLI error: bubbletea: could not open TTY: open /dev/tty: no such device or address\n"
)


class Refused(Exception):
    """The start fails its own checks: exit 1, one line."""


def perform(chosen: Chosen, behaviour: Behaviour, options: Options, record: Record) -> int:
    """Play one start; return the exit status."""
    attention = Attention(scale=chosen.scenario.time_scale)
    voice = Voice(options.text("output-format") or "text", behaviour)
    try:
        _check(options)
        if options.words:
            return _subcommand(chosen, options, attention, voice)
        files = _files(chosen, options)
        if is_slash(options):
            has = {trait: behaviour.has(trait) for trait in Trait}
            return answer(options.prompt or "", voice, files, has)
        if options.prompt is None and options.text("input-format") != "stream-json":
            voice.out(_NO_TERMINAL.encode())
            return 0
        stage = _stage(chosen, behaviour, options, record, attention, voice, files)
    except Refused as problem:
        voice.complain(behaviour.failure(str(problem)))
        return 1
    except Interrupted:
        voice.complain("error: interrupted")
        return 1
    return _play(stage, chosen)


def _check(options: Options) -> None:
    for folder in options.add_dirs:
        if not Path(folder).is_absolute():
            raise Refused(f'--add-dir "{folder}": path must be absolute')
        if not Path(folder).is_dir():
            raise Refused(f'--add-dir "{folder}": no such directory')
    for name, known in (
        ("output-format", ("text", "json", "stream-json")),
        ("input-format", ("text", "stream-json")),
        ("mode", ("accept-edits", "plan")),
    ):
        value = options.text(name)
        if value and value not in known:
            raise Refused(f'invalid --{name} "{value}" (valid: {", ".join(known)})')


def _subcommand(chosen: Chosen, options: Options, attention: Attention, voice: Voice) -> int:
    name, *arguments = options.words
    if name != "models":
        raise Refused(f"unknown subcommand: {name}")
    if arguments:
        raise Refused(f"flags provided but not defined: {arguments[0]}")
    if chosen.scenario.models_read_stdin:
        _read_all(attention)
    return list_models(chosen.scenario, voice)


def _files(chosen: Chosen, options: Options) -> Files:
    root = options.text("gemini_dir")
    if not root and not os.environ.get("HOME"):
        raise Refused("$HOME is not defined")
    gemini = Path(root) if root else Path(os.environ["HOME"]) / ".gemini"
    return Files(
        gemini.absolute(),
        log_file=options.text("log-file"),
        keeps_log=not chosen.scenario.no_log,
    )


def _stage(
    chosen: Chosen,
    behaviour: Behaviour,
    options: Options,
    record: Record,
    attention: Attention,
    voice: Voice,
    files: Files,
) -> Stage:
    workspace = options.add_dirs[0] if options.add_dirs else str(Path.cwd())
    cwd = workspace
    if not options.add_dirs and not behaviour.has(Trait.WORKS_WHERE_STARTED):
        scratch = files.app / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        cwd = str(scratch)
    return Stage(
        behaviour=behaviour,
        options=options,
        files=files,
        record=record,
        attention=attention,
        voice=voice,
        conversation=_conversation(options, files, voice),
        cwd=cwd,
        workspace=workspace,
        state=chosen.state,
        timeout_status=chosen.scenario.print_timeout_status,
    )


def _conversation(options: Options, files: Files, voice: Voice) -> Conversation:
    wanted = options.text("conversation")
    found = files.conversation(wanted) if wanted else None
    if wanted and found is None:
        voice.complain(f'warning: conversation "{wanted}" not found')
    if found is None and options.on("continue"):
        found = files.latest()
    return found or Conversation(id=new_id())


def _play(stage: Stage, chosen: Chosen) -> int:
    try:
        for number, prompt in enumerate(_prompts(stage)):
            resumed = stage.conversation.turns > 0
            job = os.environ.get("HARNESS_JOB", "")
            startup, steps = steps_for(chosen, prompt=prompt, resumed=resumed, job=job)
            if number == 0:
                _start(stage, chosen, startup)
            _turn(stage, prompt, steps)
        stage.settle_background()
    except Exit as ending:
        return ending.code
    except Interrupted:
        return interrupted(stage)
    except TimedOut:
        return timed_out(stage)
    finally:
        stage.end_daemons()
    return stage.turn.exit


def _start(stage: Stage, chosen: Chosen, startup: tuple[Step, ...]) -> None:
    scenario, options = chosen.scenario, stage.options
    for step in startup:
        step.play(stage)
    asked = options.text("model")
    stage.files.log("Print mode: starting")
    if asked or scenario.model:
        label = scenario.model or asked
        stage.files.log(f'Propagating selected model override to backend: label="{label}"')
    init = {"cwd": stage.cwd, "tools": scenario.tools, "permission_mode": _mode(scenario, stage)}
    model = {"model": asked} if asked else {}
    event = {"event": "init", "conversation_id": stage.conversation.id}
    stage.voice.event({**event, "init": {**model, **init}})


def _mode(scenario: object, stage: Stage) -> str:
    given = str(getattr(scenario, "permission_mode", ""))
    if given:
        return given
    if stage.options.on("dangerously-skip-permissions"):
        return "always-proceed"
    return str(stage.files.settings().get("toolPermission") or "request-review")


def _turn(stage: Stage, prompt: str, steps: tuple[Step, ...]) -> None:
    begin_turn(stage, prompt)
    stage.attention.limit(_timeout(stage))
    try:
        stage.attention.check()
        for step in steps:
            step.play(stage)
            stage.attention.check()
    except TurnEnded:
        pass
    if not stage.turn.resulted:
        end_turn(stage)


def _timeout(stage: Stage) -> float | None:
    """Return the seconds that a turn may take; None for no limit."""
    unlimited = stage.behaviour.has(Trait.AGY_ERROR)
    asked = stage.options.print_timeout_s
    if asked is None:
        stage.options.print_timeout_s = asked = 0.0 if unlimited else DEFAULT_TIMEOUT_S
    return None if unlimited and asked <= 0 else asked


def _prompts(stage: Stage) -> Iterator[str]:
    """Give the prompts of this start: the flag's, or those of the stream on stdin."""
    prompt = stage.options.prompt
    if prompt is None:
        yield from _streamed(stage)
    elif stage.behaviour.has(Trait.LEAVES_STDIN_ALONE):
        yield prompt
    else:
        more = _read_all(stage.attention).decode(errors="replace")[:STDIN_CUT]
        yield f"{prompt}\n{more}" if more else prompt


def _streamed(stage: Stage) -> Iterator[str]:
    pending = b""
    while True:
        line, newline, pending = pending.partition(b"\n")
        if not newline:
            chunk = stage.attention.read(0, _CHUNK)
            pending = line + chunk
            if chunk:
                continue
            line, pending = pending, b""
        if line.strip():
            yield _content(line)
        if not newline:
            return


def _content(line: bytes) -> str:
    try:
        message = json.loads(line)
        if message["event"] == "user":
            return str(message["message"]["content"])
    except (ValueError, KeyError, TypeError):
        pass
    return ""


def _read_all(attention: Attention) -> bytes:
    parts = []
    while chunk := attention.read(0, _CHUNK):
        parts.append(chunk)
    return b"".join(parts)
