"""One file of `nightly/`: from what a person wrote to a job with every unit resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.core.job import NAME, Isolate, JobSpec
from harness.stores.files import real_path
from harness.stores.job_keys import LONGEST_RUN_S, JobValues
from harness.stores.job_table import JobFile
from harness.stores.toml_files import Findings, read_text

_BATCH = re.compile(r"([^:]+\.py):([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a job is to do: a prompt or a batch, and the bytes that decide it.

    Attributes:
        source: UTF-8.
        name: the file beside the TOML that holds `source`; None where the TOML itself does.
    """

    prompt: str | None
    batch: str | None
    source: bytes
    name: str | None = None


def check_job(
    name: str, raw: JobFile, *, task: Task, isolate: Isolate, findings: Findings
) -> JobSpec | None:
    """Return the job without its digest, or None with a finding for every mistake."""
    if not NAME.fullmatch(name):
        findings.add(
            "", "a job is named by its file: 1 to 64 of a-z 0-9 _ -, beginning with a-z 0-9"
        )
    values = JobValues(raw=raw, findings=findings)
    workspace = values.workspace()
    spec = JobSpec(
        name=name,
        prompt=task.prompt,
        batch=task.batch,
        workspace=str(workspace),
        tiers=values.tiers(),
        schedule=values.text("schedule"),
        window=values.window(),
        max_delay_s=values.duration("max_delay", 4 * 3600.0, at_least=0.0),
        timeout_s=values.duration("timeout", 45 * 60.0, at_most=LONGEST_RUN_S),
        idle_timeout_s=values.duration("idle_timeout", 10 * 60.0),
        exit_grace_s=values.duration("exit_grace", 30.0, at_least=0.0),
        memory_bytes=values.size("memory", None),
        max_output_bytes=values.size("max_output", 1 << 30) or 1 << 30,
        expected_s=values.duration("expected", 0.0) or None,
        produces=values.produces(workspace),
        guard=values.below("guard", workspace),
        model=values.word("model"),
        mode=values.mode(),
        args=values.arguments(),
        gemini_dir=next(iter(values.paths("gemini_dir")), None),
        env=values.environment(),
        expose=values.expose(),
        isolate=values.isolate(isolate),
        agent_id=values.agent_id(name),
        must_deny=values.texts("must_deny"),
        retries=values.retries(),
        budget=values.budget(),
        site=values.text("site"),
        spool=bool(raw.spool),
    )
    return None if findings.problems else spec


def find_task(raw: JobFile, *, nightly: Path, findings: Findings) -> Task:
    """Return what the job does; empty with a finding where that is not told, or told twice."""
    keys = ("prompt", "prompt_file", "batch")
    given = [key for key in keys if getattr(raw, key) is not None]
    nothing = Task(prompt=None, batch=None, source=b"")
    if not given and findings.has(*keys):
        return nothing
    if len(given) != 1:
        told = " and ".join(given) if given else "none of them"
        findings.add("prompt", f"expected exactly one of prompt, prompt_file and batch, got {told}")
        return nothing
    if raw.batch is not None:
        return _find_batch(raw.batch, nightly, findings) or nothing
    key, prompt = "prompt", raw.prompt
    if raw.prompt_file is not None:
        key = "prompt_file"
        path = _beside(raw.prompt_file, key, nightly, findings)
        prompt = None if path is None else read_text(path, findings, key)
    if prompt is None:
        return nothing
    if not prompt.strip():
        findings.add(key, "expected a prompt, got nothing but blanks")
    if "\0" in prompt:
        findings.add(key, "a prompt cannot hold the character NUL")
    return Task(prompt=prompt, batch=None, source=prompt.encode(), name=raw.prompt_file)


def _find_batch(batch: str, nightly: Path, findings: Findings) -> Task | None:
    match = _BATCH.fullmatch(batch)
    if match is None:
        findings.expected("batch", '"script.py:function"', batch)
        return None
    path = _beside(match[1], "batch", nightly, findings)
    script = None if path is None else read_text(path, findings, "batch")
    if script is None:
        return None
    return Task(prompt=None, batch=batch, source=script.encode(), name=match[1])


def _beside(name: str, key: str, nightly: Path, findings: Findings) -> Path | None:
    """Return a file's path inside `nightly/`; None with a finding where it leads out."""
    written = PurePosixPath(name)
    if not name or "\0" in name or written.is_absolute() or ".." in written.parts:
        findings.expected(key, "a file beside the job's TOML, without ..", name)
        return None
    path = nightly / name
    if not real_path(path).is_relative_to(real_path(nightly)):
        findings.add(key, f"{name} is a link that leads out of nightly/")
        return None
    return path
