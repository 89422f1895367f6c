"""The table of a job as a person writes it: its keys, and what each is expected to hold."""

from __future__ import annotations

import msgspec

DURATION = 'a duration such as "45m" or "1h30m"'
SIZE = 'a size such as "512MiB" or "4G"'
WORDS = {
    **dict.fromkeys(("max_delay", "timeout", "idle_timeout", "exit_grace", "expected"), DURATION),
    **dict.fromkeys(("memory", "max_output"), SIZE),
}
"""Key → what is expected there, where that says more than its type."""


class JobFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a job as they are written; None where a key is absent."""

    prompt: str | None = None
    prompt_file: str | None = None
    batch: str | None = None
    workspace: str | None = None
    tiers: list[str] | None = None
    schedule: str | None = None
    window: str | None = None
    max_delay: str | None = None
    timeout: str | None = None
    idle_timeout: str | None = None
    exit_grace: str | None = None
    memory: str | None = None
    max_output: str | None = None
    expected: str | None = None
    produces: list[str] | None = None
    guard: list[str] | None = None
    model: str | None = None
    mode: str | None = None
    args: list[str] | None = None
    gemini_dir: str | None = None
    env: list[str] | None = None
    expose: list[str] | None = None
    isolate: str | None = None
    agent_id: str | None = None
    must_deny: list[str] | None = None
    retries: int | None = None
    budget: float | None = None
    site: str | None = None
    spool: bool | None = None
