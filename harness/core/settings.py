"""What the Antigravity CLI's settings say, layer by layer, each word with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class ListName(StrEnum):
    """The list that a rule stands in; all layers merge, and deny beats ask beats allow."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class LayerKind(StrEnum):
    """What a file of the settings is to the CLI."""

    GLOBAL = "global"  #: the CLI's own settings.json
    SHARED = "shared"  #: config.json, shared with the app and the IDE
    PROJECT = "project"
    HOOKS = "hooks"
    SIDECAR = "sidecar"
    MCP = "mcp"
    FOLDER = "folder"  #: a folder on the way to them
    DECOY = "decoy"  #: looks like settings, and is not read


class FaultKind(StrEnum):
    """What is wrong with a file of the settings, apart from the rules in it."""

    UNREADABLE = "unreadable"
    NOT_REGULAR = "not_regular"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"
    SYMLINK = "symlink"
    OTHER_OWNER = "other_owner"
    WORLD_WRITABLE = "world_writable"
    EMPTY = "empty"
    MALFORMED = "malformed"  #: JSON with liberties, which a strict reader refuses
    WRONG_TYPE = "wrong_type"  #: a value of a type that nobody expects there
    BROKEN = "broken"  #: not JSON by any reading


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSource:
    """Where a word of the settings stands.

    Attributes:
        file: absolute path, as it was opened.
        pointer: JSON pointer (RFC 6901) into the file.
        line: counted from 1; None where a line means nothing.
    """

    file: str
    pointer: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRule:
    """One rule as it is written.

    Attributes:
        ignored: why the CLI does not obey it; empty where it does.
    """

    text: str
    list_name: ListName
    source: RuleSource
    ignored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One mode setting: a name of `core.settings_files`, and its value as text."""

    name: str
    value: str
    source: RuleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command that runs at an event of the agent; `command` is empty where none was found."""

    name: str
    event: str
    command: str
    enabled: bool
    source: RuleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server that the CLI starts or connects to.

    Attributes:
        name: what its tools are called by, `<plugin>_<server>` for one of a plugin's.
        entry: the whole entry as compact JSON, duplicates kept.
        words: program and arguments; empty for a server that is only connected to.
        url: where it is; empty for one that is started.
    """

    name: str
    entry: str
    words: tuple[str, ...]
    url: str
    enabled: bool
    source: RuleSource


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFault:
    """One thing that is wrong with a file; `line` is None where the whole of it is meant."""

    kind: FaultKind
    detail: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One file that is there.

    Attributes:
        file: absolute path, as the CLI opens it.
        real_file: the same with every link resolved.
        rejected: the CLI refuses the whole file; what it says is what it would say once mended.
        folders: what a project names as its folders, absolute.
        identity: what a project calls itself; its file's stem and its `id`.
    """

    kind: LayerKind
    file: str
    real_file: str
    rejected: bool = False
    rules: tuple[WrittenRule, ...] = ()
    settings: tuple[Setting, ...] = ()
    hooks: tuple[Hook, ...] = ()
    servers: tuple[McpServer, ...] = ()
    faults: tuple[FileFault, ...] = ()
    folders: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsView:
    """All that the CLI would read for one run, and what looks as if it would.

    Attributes:
        root: the CLI's root folder, `~/.gemini` unless it was moved.
        workspace: the folder of the run; None where no run is meant.
        layers: every file found, in a fixed order.
    """

    root: str
    workspace: str | None = None
    layers: tuple[Layer, ...] = field(default=())
