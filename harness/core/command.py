"""One job and one version of the CLI → the command to start, as a value."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from harness.core.job import JobSpec
from harness.core.model import Finding
from harness.core.output import OutputFormat
from harness.core.versions import Feature, Features
from harness.errors import ConfigurationProblem

#: What one argument of a process may hold on Linux, its closing NUL not counted.
ARGUMENT_LIMIT = 131_071

_PRINT = "--print="
_LARGEST_RESERVE_S = 90.0
_RESERVE_SHARE = 0.1
_SHORTEST_PRINT_TIMEOUT_S = 1
_NO_SLASH_PREFIX = "Your task:\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """All that is needed to start the CLI once.

    Attributes:
        argv: the binary and its arguments.
        env: the whole environment.
        cwd: the folder to start in, the job's workspace.
        output_format: how to read stdout.
        stdin_text: what a finished file on stdin must hold; None for no input at all.
        prompt_file: absolute path of a file that must be written before the start; None for none.
        prompt_file_text: what that file must hold.
        findings: what the person should know of how the job was translated.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    output_format: OutputFormat
    stdin_text: str | None = None
    prompt_file: str | None = None
    prompt_file_text: str | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _PromptRoute:
    """How the prompt travels: the arguments at the end of the line, or stdin, or a file."""

    arguments: tuple[str, ...]
    stdin_text: str | None = None
    prompt_file: str | None = None
    prompt_file_text: str | None = None


def prompt_file_in(workspace: str, run_id: str) -> str:
    """Return where a prompt goes that is too long for a CLI which reads no events on stdin."""
    return posixpath.join(workspace, f".harness-prompt-{run_id}.md")


def print_timeout_s(timeout_s: float) -> int:
    """Return the CLI's own limit in whole seconds: early enough to end before the harness's."""
    reserve = min(_LARGEST_RESERVE_S, _RESERVE_SHARE * timeout_s)
    return max(_SHORTEST_PRINT_TIMEOUT_S, int(timeout_s - reserve))


def build(
    job: JobSpec,
    features: Features,
    *,
    binary: str,
    log_file: str,
    prompt_file: str,
    run_environment: Mapping[str, str],
) -> Command:
    """Return the command that runs a job once.

    Args:
        job: what to run.
        features: what the binary can do.
        binary: path of the CLI.
        log_file: where the CLI shall write its log.
        prompt_file: where a prompt goes that fits neither argument nor stdin; `prompt_file_in`.
        run_environment: the whole environment; `environment`.

    Raises:
        ConfigurationProblem: there is no prompt.
    """
    text = job.prompt
    if text is None or not text.strip():
        raise ConfigurationProblem(
            f"job {job.name}: no prompt to give to the CLI", hint="set prompt or prompt_file"
        )
    output_format = (
        OutputFormat.STREAM_JSON if features.has(Feature.OUTPUT_FORMAT) else OutputFormat.TEXT
    )
    slash_flags, text = _without_slash_command(text, job, features)
    route = _route(text, features, prompt_file)
    argv = (
        binary,
        *job.args,
        *_flags(job, log_file=log_file),
        *_format_flags(output_format),
        *slash_flags,
        *route.arguments,
    )
    return Command(
        argv=argv,
        env=dict(run_environment),
        cwd=job.workspace,
        output_format=output_format,
        stdin_text=route.stdin_text,
        prompt_file=route.prompt_file,
        prompt_file_text=route.prompt_file_text,
        findings=_findings(job, features),
    )


def _flags(job: JobSpec, *, log_file: str) -> tuple[str, ...]:
    flags = ["--add-dir", job.workspace]
    flags += ["--print-timeout", f"{print_timeout_s(job.timeout_s)}s"]
    flags += ["--log-file", log_file]
    if job.model is not None:
        flags += ["--model", job.model]
    if job.mode is not None:
        flags += ["--mode", job.mode]
    if job.gemini_dir is not None:
        flags.append(f"--gemini_dir={job.gemini_dir}")
    return tuple(flags)


def _format_flags(output_format: OutputFormat) -> tuple[str, ...]:
    if output_format is OutputFormat.TEXT:
        return ()
    return ("--output-format", output_format.value)


def _without_slash_command(
    text: str, job: JobSpec, features: Features
) -> tuple[tuple[str, ...], str]:
    """Return flags and prompt such that a prompt that begins with `/` is a task like any other.

    The flag and `--mode` together have cancelled each other on some versions.
    """
    if not text.lstrip().startswith("/"):
        return (), text
    if features.has(Feature.DISABLE_SLASH_COMMANDS) and job.mode is None:
        return ("--disable-slash-commands",), text
    return (), _NO_SLASH_PREFIX + text


def _route(text: str, features: Features, prompt_file: str) -> _PromptRoute:
    """Return the first way that the prompt fits: argument, stdin, a file that is named."""
    # A lone surrogate has no UTF-8, and so no way into any process.
    encoded = text.encode("utf-8", "replace")
    if len(_PRINT) + len(encoded) <= ARGUMENT_LIMIT and b"\0" not in encoded:
        return _PromptRoute(arguments=(_PRINT + encoded.decode(),))
    if features.has(Feature.STREAM_INPUT):
        event = {"event": "user", "message": {"content": encoded.decode()}}
        return _PromptRoute(
            # No prompt flag: with one, stdin is not read.
            arguments=("--input-format", "stream-json"),
            stdin_text=msgspec.json.encode(event).decode() + "\n",
        )
    return _PromptRoute(
        arguments=(f"{_PRINT}Read the file {prompt_file} and do what it says.",),
        prompt_file=prompt_file,
        prompt_file_text=encoded.decode(),
    )


def _findings(job: JobSpec, features: Features) -> tuple[Finding, ...]:
    findings = []
    if job.mode is not None and not features.has(Feature.MODE_HEADLESS):
        findings.append(
            Finding(
                id="mode_not_honoured",
                detail=f"mode {job.mode} has no effect before CLI 1.1.12; this is "
                f"{features.raw or 'an unknown version'}",
            )
        )
    return tuple(findings)
