"""The nouns of an audit: what is audited, what was found, and the report of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from harness.core.permissions import Judgement, Level
from harness.core.settings import ListName, RuleSource, SettingsView, WrittenRule
from harness.core.versions import NEWEST_KNOWN

#: The levels, the worst first.
ORDER = (
    Level.CRITICAL,
    Level.UNKNOWN,
    Level.HIGH,
    Level.MEDIUM,
    Level.LOW,
    Level.NARROW,
    Level.INERT,
)

#: What stands for the file of a finding that no file explains.
DEFAULT = "default"


class AuditVerdict(StrEnum):
    """What an audit says of canonical writes."""

    PASS = "pass"  # noqa: S105 - a verdict
    WARN = "warn"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing that was found; the field names are the keys of `harness audit --json`.

    Attributes:
        id: a stable name, such as `RULE` or `ENV_PREFIX`.
        list: `allow`, `ask` or `deny`; None for what is no rule.
        rule: the rule as written, or a few words for what is none; None for a whole file.
        file: absolute path; `default` for what the CLI grants by itself, `job:<name>` for a
            job's own words, `command line` for `--rule`.
        pointer: JSON pointer into the file; empty for the whole of it.
        covers_danger: how many of the dangerous lines it covers; None where lines mean nothing.
        covers_benign: how many of the harmless lines.
        examples: lines that it covers, rules that it combines with, paths that it reaches.
        narrower: what to write instead; None where nothing is to be said.
        accepted_until: the last day of its acceptance, `YYYY-MM-DD`; None where there is none.
    """

    id: str
    level: Level
    list: ListName | None = None
    rule: str | None = None
    file: str
    pointer: str = ""
    line: int | None = None
    why: str
    covers_danger: int | None = None
    covers_benign: int | None = None
    examples: tuple[str, ...] = ()
    narrower: str | None = None
    accepted_until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The findings in their order, the worst first, and what follows from them.

    Attributes:
        counts: every level with the number of its findings, the worst first.
        fingerprint: hex digest over what the rules mean; equal where nothing that counts differs.
        version: the CLI version that was assumed.
        notes: what a person should know of how the audit came about.
    """

    verdict: AuditVerdict
    counts: Mapping[str, int]
    findings: tuple[AuditFinding, ...]
    fingerprint: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A file or folder that no agent may write, and what it is to a person."""

    path: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One run's worth of permissions: what the CLI would read, and what must be kept from it.

    Attributes:
        workspace: absolute; a place that nothing else uses where no run is meant.
        home: the user's home folder, absolute.
        version: of the CLI, as it says it; the newest known where none was found.
        version_readable: the version is one.
        job: the job's name; None where no job is meant.
        args: the job's own arguments of the CLI.
        mode: the job's `mode`.
        guards: canonical files and folders of the job, absolute.
        trees: what no agent may write: the harness's home, shell start files and so on.
        relative_path_folders: entries of PATH that are no absolute paths.
        harness_home: the harness's own home; None where there is none.
        known_entry: the entry of the server `harness`, compact, as `harness mcp install`
            writes it; None where that is not known.
        watched: the harness digests guards, `.agents/` and git hooks around each run.
        isolated: the agent sees guards, hooks and git's configuration read-only.
    """

    view: SettingsView
    workspace: str
    home: str
    shell: str = "bash"
    version: str = str(NEWEST_KNOWN)
    version_readable: bool = True
    job: str | None = None
    args: tuple[str, ...] = ()
    mode: str | None = None
    guards: tuple[str, ...] = ()
    trees: tuple[Tree, ...] = ()
    relative_path_folders: tuple[str, ...] = ()
    harness_home: str | None = None
    known_entry: str | None = None
    watched: bool = True
    isolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A rule that the CLI obeys, with the judgement on it alone."""

    rule: WrittenRule
    judgement: Judgement

    @property
    def action(self) -> str:
        """The word before the parenthesis."""
        return self.rule.text.partition("(")[0]

    @property
    def target(self) -> str:
        """What stands between the outer parentheses; empty for what is no rule."""
        inner = self.rule.text.partition("(")[2]
        return inner[:-1] if inner.endswith(")") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """All rules of one subject that the CLI obeys, judged; by list."""

    allow: tuple[Judged, ...] = ()
    ask: tuple[Judged, ...] = ()
    deny: tuple[Judged, ...] = ()

    def lists(self) -> dict[str, list[str]]:
        """Return the texts by list, as `decide` takes them."""
        return {
            name.value: [each.rule.text for each in getattr(self, name.value)] for name in ListName
        }

    def paths(self) -> dict[str, list[str]]:
        """Return the rules that speak of files alone: no other rule decides about a file."""
        return {
            name: [text for text in texts if text.startswith(("read_file(", "write_file("))]
            for name, texts in self.lists().items()
        }


@dataclass(slots=True)
class Collector:
    """Takes findings while they are made."""

    found: list[AuditFinding] = field(default_factory=list)

    def add(
        self,
        id_: str,
        level: Level,
        why: str,
        *,
        source: RuleSource,
        rule: str | None = None,
        list_name: ListName | None = None,
        examples: Iterable[str] = (),
        narrower: str | None = None,
    ) -> None:
        """Note one finding that no judgement of a rule stands behind."""
        self.found.append(
            AuditFinding(
                id=id_,
                level=level,
                list=list_name,
                rule=rule,
                file=source.file,
                pointer=source.pointer,
                line=source.line,
                why=why,
                examples=tuple(examples),
                narrower=narrower,
            )
        )


def where(source: RuleSource) -> str:
    """Return a place in one word: `file:line`, or the file alone."""
    return source.file if source.line is None else f"{source.file}:{source.line}"
