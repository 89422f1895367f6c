"""A job as the person wrote it, with every default filled in and every unit resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import date
from enum import StrEnum

from harness.core.tiers import Tier

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(iB|B)?")
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WITHOUT_EFFECT = (
    *("schedule", "window", "max_delay_s", "expose", "must_deny"),
    *("expected_s", "retries", "budget", "site", "spool"),
)
"""Fields of `JobSpec` that are read and kept, but that nothing acts on yet."""


class Isolate(StrEnum):
    """How much of the machine the agent's tree may see."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One job, ready to run: absolute paths, seconds, bytes.

    Attributes:
        name: the stem of its file in `nightly/`.
        prompt: the text for the CLI; None for a batch job.
        batch: `script.py:function`; None for a prompt job.
        workspace: absolute path, passed as `--add-dir`.
        produces: artefacts, relative to the workspace; `{date}` not yet filled in.
        guard: canonical files or folders, relative to the workspace.
        digest: hex SHA-256 over all that decides what the job does.
    """

    name: str
    prompt: str | None
    batch: str | None = None
    workspace: str
    tiers: tuple[Tier, ...] = (Tier.JOURNAL,)
    schedule: str | None = None
    window: str | None = None
    max_delay_s: float = 4 * 3600.0
    timeout_s: float = 45 * 60.0
    idle_timeout_s: float = 10 * 60.0
    exit_grace_s: float = 30.0
    memory_bytes: int | None = None
    max_output_bytes: int = 1 << 30
    expected_s: float | None = None
    produces: tuple[str, ...] = ()
    guard: tuple[str, ...] = ()
    model: str | None = None
    mode: str | None = None
    args: tuple[str, ...] = ()
    gemini_dir: str | None = None
    env: tuple[str, ...] = ()
    expose: tuple[str, ...] = ()
    isolate: Isolate = Isolate.AUTO
    agent_id: str
    must_deny: tuple[str, ...] = ()
    retries: int = 0
    budget: float | None = None
    site: str | None = None
    spool: bool = False
    digest: str = ""

    @property
    def may_touch_canonical(self) -> bool:
        """True where the job declares the canonical tier or guards canonical files."""
        return Tier.CANONICAL in self.tiers or bool(self.guard)


def keys_without_effect(job: JobSpec) -> tuple[str, ...]:
    """Return the keys that a job sets although this release does not act on them.

    Such a key may read like a protection (`must_deny`, `window`, `budget`), so it is never
    passed over in silence. A key set to its default asks for nothing and is not named.
    """
    default = {field.name: field.default for field in fields(JobSpec)}
    return tuple(
        name.removesuffix("_s") for name in _WITHOUT_EFFECT if getattr(job, name) != default[name]
    )


def parse_duration(text: str) -> float | None:
    """Return the seconds of `45m`, `1h30m`, `10s`, `500ms`; None where it is no duration."""
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def parse_size(text: str) -> int | None:
    """Return the bytes of `4G`, `1GiB`, `512M`, `100`; None where it is no size."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    return int(float(match[1]) * _FACTOR[match[2]])


def unknown_placeholders(pattern: str) -> tuple[str, ...]:
    """Return what stands in braces in a pattern of `produces` and is not filled in."""
    return tuple(found for found in re.findall(r"\{[^{}]*\}", pattern) if found != "{date}")


def fill_date(pattern: str, day: date) -> str:
    """Return a pattern of `produces` with every `{date}` as `YYYY-MM-DD`."""
    return pattern.replace("{date}", day.isoformat())
