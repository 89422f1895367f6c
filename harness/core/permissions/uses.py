"""What a program can be used for, in a form that a table of programs can be written in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from harness.core.permissions.levels import Level, Trait


@dataclass(frozen=True, slots=True)
class _Grade:
    """How broad a use is: with arguments of the agent's choosing, and as one exact line."""

    prefix: Level
    exact: Level
    traits: frozenset[Trait] = frozenset()


_CODE = frozenset({Trait.WORKSPACE_CODE})
_READ = frozenset({Trait.WIDE_READ})
_SEND = frozenset({Trait.EGRESS})


class Kind(Enum):
    """A use of a program; the value says how broad a rule that gives it is."""

    ANY_CODE = (1, _Grade(Level.CRITICAL, Level.HIGH))
    """Runs code or programs that stand in the arguments."""
    FETCHES = (2, _Grade(Level.CRITICAL, Level.HIGH, _SEND))
    """Runs code that somebody published."""
    OVERWRITES = (3, _Grade(Level.CRITICAL, Level.HIGH))
    """Writes chosen content to any file."""
    CONTROLS = (4, _Grade(Level.CRITICAL, Level.CRITICAL))
    """Controls the machine, an agent or this harness."""
    BUILDS = (5, _Grade(Level.CRITICAL, Level.MEDIUM, _CODE))
    """Runs the workspace's code, and any program that an argument names."""
    SENDS_FILES = (6, _Grade(Level.CRITICAL, Level.HIGH, _SEND))
    """Copies any file to or from anywhere."""
    DAMAGES = (7, _Grade(Level.HIGH, Level.HIGH))
    """Deletes or changes what it is told to."""
    TESTS = (8, _Grade(Level.HIGH, Level.MEDIUM, _CODE))
    """Runs the workspace's code; arguments can name other code."""
    CHANGES_REMOTE = (9, _Grade(Level.HIGH, Level.HIGH, _SEND))
    """Changes something on a server."""
    SENDS = (10, _Grade(Level.HIGH, Level.MEDIUM, _SEND))
    """Reaches any host."""
    RUNS_FILE = (11, _Grade(Level.MEDIUM, Level.MEDIUM, _CODE))
    """Runs one file of the workspace."""
    SECRETS = (12, _Grade(Level.MEDIUM, Level.MEDIUM, _READ))
    """Shows secrets."""
    READS = (13, _Grade(Level.MEDIUM, Level.NARROW, _READ))
    """Reads any file: command rules have no path scope and ignore file denies."""
    CHANGES = (14, _Grade(Level.MEDIUM, Level.MEDIUM))
    """Changes a limited thing."""
    BROAD = (15, _Grade(Level.MEDIUM, Level.NARROW))
    """A broad tool without a known escape."""
    HARMLESS = (16, _Grade(Level.LOW, Level.NARROW))
    """Shows something that is not secret."""

    @property
    def prefix(self) -> Level:
        """How broad a rule is that leaves the arguments to the agent."""
        return self.value[1].prefix

    @property
    def exact(self) -> Level:
        """How broad one exact line is."""
        return self.value[1].exact

    @property
    def traits(self) -> frozenset[Trait]:
        """What the use brings to combinations."""
        return self.value[1].traits


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table of programs.

    Attributes:
        names: programs, or `program: subcommand subcommand`, or `program sub: subcommand`.
        kind: what it can be used for with arguments of the agent's choosing.
        why: the reason, which completes the sentence "`name` …".
        operand: what is left once the first argument is fixed and is no option.
        flags: options in front of a subcommand or operand that change nothing.
        runs: the words that follow are a program, which is judged itself, at least this broad.
    """

    names: str
    kind: Kind
    why: str
    operand: Kind | None = None
    flags: str = ""
    runs: Kind | None = None


@dataclass(slots=True)
class Node:
    """A program or subcommand, with what stands below it.

    Attributes:
        name: the words up to here.
        entry: what is known; for a node without an entry of its own, that of its program.
        children: subcommand → node.
    """

    name: str
    entry: Entry
    children: dict[str, Node] = field(default_factory=dict)
    _worst: Node | None = None

    @property
    def flags(self) -> frozenset[str]:
        """Options that change nothing."""
        return frozenset(self.entry.flags.split())

    def worst(self) -> Node:
        """Return the broadest node here or below; the nearest of equals."""
        if self._worst is None:
            below = (child.worst() for child in self.children.values())
            self._worst = max([self, *below], key=_breadth)
        return self._worst


def _breadth(node: Node) -> int:
    return node.entry.kind.prefix.rank


def tree_of(entries: tuple[Entry, ...]) -> dict[str, Node]:
    """Return programs by name; subcommands come after the program they belong to."""
    programs: dict[str, Node] = {}
    for entry in entries:
        path, colon, subcommands = entry.names.rpartition(": ")
        if not colon:
            for name in entry.names.split():
                programs[name] = Node(name=name, entry=entry)
            continue
        for program in path.split("|"):
            node = _find(programs, program.split())
            for name in subcommands.split():
                node.children[name] = Node(name=f"{node.name} {name}", entry=entry)
    return programs


def _find(programs: dict[str, Node], words: list[str]) -> Node:
    node = programs[words[0]]
    for word in words[1:]:
        node = node.children[word]
    return node
