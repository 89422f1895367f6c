"""The keys of a job: what of each can be used, and what is a mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.core.environment import forbidden
from harness.core.job import Isolate, parse_duration, parse_size, unknown_placeholders
from harness.core.tiers import Tier
from harness.stores.files import is_folder, real_path
from harness.stores.job_table import DURATION, SIZE, JobFile
from harness.stores.toml_files import Findings

_LONGEST_S = 366 * 86400.0
LONGEST_RUN_S = 7 * 86400.0
"""A job that is told to run for longer is told so by mistake."""
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AGENT_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_WINDOW = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d")
MODES = ("accept-edits", "plan")
"""The modes that the CLI knows."""
_NUMBER_LENGTH = 32
_OWNED_FLAGS = {
    "p": "prompt",
    "print": "prompt",
    "prompt": "prompt",
    "i": "prompt",
    "prompt-interactive": "prompt",
    "prompt_interactive": "prompt",
    "add-dir": "workspace",
    "add_dir": "workspace",
    "print-timeout": "timeout",
    "print_timeout": "timeout",
    "model": "model",
    "mode": "mode",
    "gemini_dir": "gemini_dir",
    "gemini-dir": "gemini_dir",
    "output-format": "",
    "output_format": "",
    "input-format": "",
    "input_format": "",
    "log-file": "",
    "log_file": "",
    "conversation": "",
    "continue": "",
    "c": "",
    "version": "",
    "help": "",
    "h": "",
}
"""Flags of the CLI that the harness sets itself → the key of the job that decides them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobValues:
    """Reads single keys of a job; each mistake is a finding and gives a harmless value."""

    raw: JobFile
    findings: Findings

    def text(self, key: str) -> str | None:
        """Return a text as written; None where the key is absent."""
        value: str | None = getattr(self.raw, key)
        if value is not None and not value.strip():
            self.findings.add(key, "expected some text, got nothing; leave the key out instead")
        return value

    def word(self, key: str) -> str | None:
        """Return a value that becomes one argument of the CLI."""
        value = self.text(key)
        if value is not None and (value.startswith("-") or not value.isprintable()):
            self.findings.expected(key, "a name that does not begin with -", value)
        return value

    def mode(self) -> str | None:
        """Return the CLI's mode; another one would be an error at night."""
        value = self.text("mode")
        if value and value.strip() and value not in MODES:
            self.findings.expected("mode", " or ".join(f'"{mode}"' for mode in MODES), value)
        return value

    def window(self) -> str | None:
        """Return the allowed hours."""
        value = self.text("window")
        if value and value.strip() and not _WINDOW.fullmatch(value):
            self.findings.expected("window", 'hours such as "22:00-06:00"', value)
        return value

    def produces(self, workspace: Path) -> tuple[str, ...]:
        """Return the declared artefacts; a name in braces that nothing fills in is refused."""
        values = self.below("produces", workspace)
        for value in values:
            for unknown in unknown_placeholders(value):
                self.findings.add(
                    "produces", f"{unknown} is filled in by nothing; known is {{date}}"
                )
        return values

    def expose(self) -> tuple[str, ...]:
        """Return the paths given back under isolation; all of them would be none of it."""
        values = self.paths("expose")
        if any(real_path(Path(value)) == Path("/") for value in values):
            self.findings.add("expose", "/ gives back everything; name the folders that are needed")
        return values

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, none of them empty."""
        values: list[str] = getattr(self.raw, key) or []
        for value in values:
            if not value.strip() or "\0" in value:
                self.findings.expected(key, "texts that are not empty", value)
        return tuple(values)

    def tiers(self) -> tuple[Tier, ...]:
        """Return the declared tiers, the smallest first."""
        if self.raw.tiers is None:
            return (Tier.JOURNAL,)
        choices = ", ".join(f'"{tier}"' for tier in Tier)
        if not self.raw.tiers:
            self.findings.expected("tiers", f"at least one of {choices}", self.raw.tiers)
        for value in self.raw.tiers:
            if value not in list(Tier):
                self.findings.expected("tiers", f"some of {choices}", value)
        return tuple(tier for tier in Tier if tier in self.raw.tiers)

    def duration(
        self,
        key: str,
        default: float,
        *,
        at_least: float = 0.001,
        at_most: float = _LONGEST_S,
    ) -> float:
        """Return a duration in seconds.

        Args:
            key: the key of the job.
            default: for a key that is absent or wrong.
            at_least: the smallest value, in seconds; 0 lets the person switch it off.
            at_most: the largest value, in seconds.
        """
        text: str | None = getattr(self.raw, key)
        if text is None:
            return default
        seconds = parse_duration(text) if len(text) <= _NUMBER_LENGTH else None
        if seconds is None or not at_least <= seconds <= at_most:
            above = ", more than nothing" if at_least else ""
            below = f", at most {at_most / 86400:g} days" if at_most < _LONGEST_S else ""
            self.findings.expected(key, DURATION + above + below, text)
            return default
        return seconds

    def size(self, key: str, default: int | None) -> int | None:
        """Return a size in bytes."""
        text: str | None = getattr(self.raw, key)
        if text is None:
            return default
        number = size_of(text)
        if not number:
            self.findings.expected(key, f"{SIZE}, more than nothing", text)
        return number or default

    def workspace(self) -> Path:
        """Return the workspace, absolute and without links; `/` where it cannot be used."""
        text = self.raw.workspace
        if text is None:
            if not self.findings.has("workspace"):
                self.findings.add("workspace", 'missing: expected a folder, such as "~/sites/blog"')
            return Path("/")
        path = self._absolute("workspace", text)
        if path is None:
            return Path("/")
        if not is_folder(path):
            self.findings.add("workspace", f"expected a folder that is there, got {path}")
        return real_path(path)

    def paths(self, key: str) -> tuple[str, ...]:
        """Return absolute paths, `~` resolved."""
        value: str | list[str] | None = getattr(self.raw, key)
        values = [value] if isinstance(value, str) else value or []
        found = [self._absolute(key, text) for text in values]
        return tuple(str(path) for path in found if path is not None)

    def _absolute(self, key: str, text: str) -> Path | None:
        try:
            path = Path(text).expanduser()
            if "\0" not in text and path.is_absolute():
                return path
        except RuntimeError:
            pass  # ~name of nobody: said below
        self.findings.expected(key, "an absolute path, or one that begins with ~/", text)
        return None

    def below(self, key: str, workspace: Path) -> tuple[str, ...]:
        """Return paths relative to the workspace that stay in it, also through links."""
        values: list[str] = getattr(self.raw, key) or []
        for value in values:
            written = PurePosixPath(value)
            if not value or "\0" in value or written.is_absolute() or ".." in written.parts:
                self.findings.expected(key, "a path relative to the workspace, without ..", value)
            elif written.parts and not _stays_in(workspace, written):
                self.findings.add(key, f"{value} leads out of the workspace through a link")
        return tuple(values)

    def arguments(self) -> tuple[str, ...]:
        """Return the additional flags of the CLI; those that the harness sets are refused."""
        values = self.texts("args")
        for position, value in enumerate(values):
            if not value.strip():
                continue
            if value == "--" or (position == 0 and not value.startswith("-")):
                self.findings.expected("args", "flags of the CLI", value)
                continue
            written = re.split(r"[= ]", value, maxsplit=1)[0]
            flag = written.lstrip("-").lower()
            if value.startswith("-") and flag in _OWNED_FLAGS:
                owner = _OWNED_FLAGS[flag]
                remedy = f'use the key "{owner}"' if owner else "leave it out"
                self.findings.add("args", f"the harness itself sets {written}; {remedy}")
        return values

    def environment(self) -> tuple[str, ...]:
        """Return the names of variables to pass on."""
        values: list[str] = self.raw.env or []
        for value in values:
            if not _ENV_NAME.fullmatch(value):
                self.findings.expected("env", "names of variables, without values", value)
            elif forbidden(value):
                self.findings.add("env", f"{value} is never passed on to the CLI")
        return tuple(values)

    def isolate(self, default: Isolate) -> Isolate:
        """Return the choice of isolation."""
        return isolate_of(self.raw.isolate, "isolate", default, self.findings)

    def agent_id(self, name: str) -> str:
        """Return the namespace in the journal; by default the name of the job."""
        value = self.raw.agent_id
        if value is not None and not _AGENT_ID.fullmatch(value):
            self.findings.expected("agent_id", "1 to 128 of A-Z a-z 0-9 . _ -", value)
        return value or name

    def retries(self) -> int:
        """Return how often a transient failure is tried again."""
        value = self.raw.retries or 0
        if not 0 <= value <= 100:  # noqa: PLR2004 - more is a mistake of the hand
            self.findings.expected("retries", "a whole number from 0 to 100", value)
        return value

    def budget(self) -> float | None:
        """Return the most that the job may cost."""
        value = self.raw.budget
        if value is not None and not 0 < value < float("inf"):
            self.findings.expected("budget", "a positive amount of money", value)
        return value


def _stays_in(workspace: Path, written: PurePosixPath) -> bool:
    """Tell whether the folder of a path lies in the workspace; the path itself may be a link."""
    return real_path((workspace / written).parent).is_relative_to(workspace)


def isolate_of(text: str | None, key: str, default: Isolate, findings: Findings) -> Isolate:
    """Return the choice of isolation; the default with a finding where it is none."""
    if text is None:
        return default
    if text not in list(Isolate):
        choices = ", ".join(f'"{choice}"' for choice in Isolate)
        findings.expected(key, f"one of {choices}", text)
        return default
    return Isolate(text)


def size_of(text: str) -> int | None:
    """Return the bytes of a size; None where it is none or beyond every machine."""
    return parse_size(text) if len(text) <= _NUMBER_LENGTH else None
