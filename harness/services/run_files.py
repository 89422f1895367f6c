"""Where the files of one run stand."""

from __future__ import annotations

from dataclasses import dataclass

from harness.stores.homes import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """The files of one run's folder."""

    folder: str

    @property
    def stdout(self) -> str:
        """What the CLI printed, byte for byte."""
        return f"{self.folder}/stdout"

    @property
    def stderr(self) -> str:
        """What it complained of, byte for byte."""
        return f"{self.folder}/stderr"

    @property
    def log(self) -> str:
        """The CLI's own log."""
        return f"{self.folder}/agy.log"

    @property
    def prompt(self) -> str:
        """The prompt as it was given."""
        return f"{self.folder}/prompt"

    @property
    def stdin(self) -> str:
        """The finished file that the CLI read as its stdin, where the prompt went that way."""
        return f"{self.folder}/stdin"

    @property
    def plan(self) -> str:
        """The plan, for settling after a crash."""
        return f"{self.folder}/plan.json"

    @property
    def guards(self) -> str:
        """What stood at guarded paths before the spawn."""
        return f"{self.folder}/guards.json"

    @property
    def guards_after(self) -> str:
        """What stood there afterwards; kept only where something differs."""
        return f"{self.folder}/guards-after.json"

    @property
    def census(self) -> str:
        """Which processes were the run's when it was last looked at; gone with the verdict."""
        return f"{self.folder}/processes.json"

    @property
    def owner(self) -> str:
        """What the harness that owns the run holds a lock on, from the claim to the verdict."""
        return f"{self.folder}/owner"

    @property
    def record(self) -> str:
        """The record, derived from the row in the database."""
        return f"{self.folder}/record.json"


def files_of(home: Home, run_id: str) -> RunFiles:
    """Return the places of one run."""
    return RunFiles(folder=str(home.run_folder(run_id)))
