"""The table of programs, and what a command's first words say of its use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from harness.core.permissions.known_development import DEVELOPMENT
from harness.core.permissions.known_services import SERVICES
from harness.core.permissions.known_system import SYSTEM
from harness.core.permissions.levels import Finding, Level, Trait
from harness.core.permissions.paths import clean_parts, shown
from harness.core.permissions.uses import Entry, Kind, Node, tree_of

_NAME = re.compile(r"[A-Za-z0-9_.+@\[-][A-Za-z0-9_.+@-]*|[:.]")
_SUBCOMMAND = re.compile(r"[A-Za-z0-9_./:@=+,%-]+")
_VERSIONED = re.compile(r"([A-Za-z][A-Za-z+_-]*?)-?\d+(\.\d+)*")
_SYSTEM_FOLDERS = (
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/",
)
_SHARED_FOLDERS = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108  # named to be refused
_INPUT = re.compile(r"-|.*\$.*|/dev/(stdin|fd/.*)|/proc/.*|.*://.*|.*@.*")
_SECRET = re.compile(
    r"(^|/)\.(ssh|aws|gnupg|netrc|env|kube|docker|gemini|npmrc|pypirc|config/gcloud|git-credentials)"
    r"|/etc/shadow|credential|secret|token|/proc/"
)
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class AnyWord:
    """A word of a pattern that can be many.

    Attributes:
        dash: it can begin with a dash, so it can be an option.
        anywhere: it can name a file outside the folder that its fixed part names.
        many: it can be more than one or two signs away from a fixed word.
    """

    dash: bool = True
    anywhere: bool = True
    many: bool = True


Word = str | AnyWord


@cache
def _table() -> dict[str, Node]:
    return tree_of((*SYSTEM, *DEVELOPMENT, *SERVICES))


def known(name: str) -> Node | None:
    """Return what is known of a program; a version at the end of its name is left aside."""
    table = _table()
    if name in table:
        return table[name]
    versioned = _VERSIONED.fullmatch(name)
    return table.get(versioned[1]) if versioned else None


def can_be_a_program(word: str) -> bool:
    """Return whether a word can name a program at all; patterns and blanks cannot."""
    return _NAME.fullmatch(word.rpartition("/")[2]) is not None


def prefix_use(words: tuple[Word, ...], depth: int = 0) -> Finding:
    """Return how broad a rule is whose command begins with these words and goes on freely."""
    program = words[0]
    if isinstance(program, AnyWord):
        return Finding(level=Level.CRITICAL, why="its first word can name any program")
    if program == "env" and len(words) > 1:
        return Finding(level=Level.CRITICAL, why="`env` runs what stands in its argument")
    if "/" in program:
        return _path_use(program, words, depth)
    if not can_be_a_program(program):
        return Finding(level=Level.INERT, why=f"no program is called `{program}`")
    node = known(program)
    if node is None:
        return Finding(level=Level.HIGH, why=f"`{program}` is a program that the tables lack")
    return _node_use(node, words[1:], depth)


def _path_use(program: str, words: tuple[Word, ...], depth: int) -> Finding:
    """Return the use of a program that is named by its path."""
    folder, _, name = program.rpartition("/")
    named = prefix_use((name, *words[1:]), depth)
    if _lies_in_shared(program):
        return Finding(level=Level.CRITICAL, why=f"`{program}` lies where the agent can write")
    if f"{folder}/".startswith(_SYSTEM_FOLDERS):
        if named.level is Level.INERT:
            return Finding(level=Level.CRITICAL, why=f"`{program}` can name any program")
        return named
    if program.startswith(("/", "~")) or ".." in program.split("/"):
        why = f"`{program}` is a program that the tables lack"
        return _at_least(named, Finding(level=Level.HIGH, why=why), known(name) is not None)
    why = f"`{program}` runs code of the workspace"
    local = Finding(level=Level.MEDIUM, why=why, traits=frozenset({Trait.WORKSPACE_CODE}))
    return _at_least(named, local, known(name) is not None)


def _lies_in_shared(word: str) -> bool:
    """Return whether a path leads to a folder in which the agent may write without a rule."""
    return word.startswith("/") and f"{shown(clean_parts(word))}/".startswith(_SHARED_FOLDERS)


def _at_least(named: Finding, floor: Finding, counts: bool) -> Finding:  # noqa: FBT001  # private
    """Return the broader of a floor and, where it counts, what the name says."""
    traits = floor.traits | (named.traits if counts else frozenset())
    broader = named if counts and named.level > floor.level else floor
    return Finding(level=broader.level, why=broader.why, traits=traits)


def _node_use(node: Node, rest: tuple[Word, ...], depth: int) -> Finding:
    """Walk down the subcommands that the words fix, then say what is left to the agent."""
    while rest:
        word = rest[0]
        if isinstance(word, AnyWord):
            break
        if word in node.children:
            node = node.children[word]
        elif word not in node.flags:
            break
        rest = rest[1:]
    if rest and node.entry.runs and not _is_option(rest[0]) and depth < _DEEPEST:
        return _inner_use(node, rest, depth)
    if rest and node.children and not node.entry.operand and _names_nothing(rest[0]):
        return Finding(level=Level.INERT, why=f"`{node.name}` has no subcommand `{rest[0]}`")
    if rest and node.entry.operand:
        fixed = _operand_use(node, node.entry.operand, rest[0])
        if fixed is not None:
            return fixed
    worst = node.worst()
    return _finding(worst.name, worst.entry.kind, worst.entry, node)


def _is_option(word: Word) -> bool:
    return word.dash if isinstance(word, AnyWord) else word.startswith("-") or not word


def _names_nothing(word: Word) -> bool:
    """Return whether no subcommand can be called so; a variable can become any."""
    if isinstance(word, AnyWord) or not word or "$" in word:
        return False
    return _SUBCOMMAND.fullmatch(word) is None


def _inner_use(node: Node, rest: tuple[Word, ...], depth: int) -> Finding:
    """Return the use of a program that another one starts."""
    inner = prefix_use(rest, depth + 1)
    floor = node.entry.runs or Kind.HARMLESS
    if inner.level is Level.INERT or inner.level >= floor.prefix:
        return Finding(level=inner.level, why=inner.why, traits=inner.traits | floor.traits)
    return _finding(f"{node.name} {rest[0]}", floor, node.entry, node, inner.traits)


def _operand_use(node: Node, operand: Kind, word: Word) -> Finding | None:
    """Return what is left where the first argument is a fixed file; None where it is none."""
    if isinstance(word, AnyWord):
        if word.dash or word.anywhere:
            return None
        if not word.many:
            why = f"`{node.name}` runs a file, and more if the agent can write it"
            return Finding(level=operand.prefix, why=why, traits=operand.traits)
        why = f"`{node.name}` runs any file of the folder it is started in"
        return Finding(level=max(Level.HIGH, operand.prefix), why=why, traits=operand.traits)
    if _is_option(word) or _INPUT.fullmatch(word) or _lies_in_shared(word):
        return None
    if any(sign in word for sign in "*?[") or ".." in word.split("/"):
        why = f"`{node.name} {word}` runs a file of no fixed place"
        return Finding(level=max(Level.HIGH, operand.prefix), why=why, traits=operand.traits)
    why = f"`{node.name} {word}` runs a file, and more if the agent can write it"
    return Finding(level=operand.prefix, why=why, traits=operand.traits)


def _finding(
    name: str, kind: Kind, entry: Entry, node: Node, more: frozenset[Trait] = frozenset()
) -> Finding:
    traits = kind.traits | node.entry.kind.traits | more
    program = node.name.split()[0]
    if program == "git":
        traits |= {Trait.GIT}
        if node.name in {"git", "git config"}:
            traits |= {Trait.GIT_CONFIGURATION}
    return Finding(level=kind.prefix, why=f"`{name}` {entry.why}", traits=traits)


def exact_use(words: tuple[str, ...], depth: int = 0) -> Finding:
    """Return how broad one simple command is of which every word is fixed."""
    free = prefix_use(words, depth)
    node, rest = _node_of(words)
    if free.level <= Level.LOW:
        return _lowered(free, Level.NARROW)
    if node is None or (node.name == "env" and rest):
        return free
    if node.entry.runs and rest and depth < _DEEPEST and not rest[0].startswith("-"):
        inner = exact_use(rest, depth + 1)
        return _lowered(free, max(inner.level, node.entry.runs.exact))
    return _lowered(free, _exact_level(node, rest))


def _exact_level(node: Node, rest: tuple[str, ...]) -> Level:
    """Return how broad a program is with these arguments and no others."""
    kind, alone = node.entry.kind, not rest and " " not in node.name
    if alone and node.children:
        return Level.NARROW
    if alone and kind is Kind.ANY_CODE:
        return kind.prefix
    if rest and node.entry.operand and _operand_use(node, node.entry.operand, rest[0]):
        return node.entry.operand.exact
    if kind is Kind.READS and any(map(_SECRET.search, rest)):
        return kind.prefix
    return kind.exact


def _lowered(free: Finding, level: Level) -> Finding:
    """Return what is left of a use when nothing can be added to it."""
    if level >= free.level:
        return free
    why = f"even as an exact line, {free.why}"
    if level is Level.NARROW:
        why = "only exact lines pass, and they are harmless"
    return Finding(level=level, why=why, traits=free.traits)


def _node_of(words: tuple[str, ...]) -> tuple[Node | None, tuple[str, ...]]:
    """Return the node that fixed words lead to, and the words that are left."""
    name = words[0]
    if name.startswith(_SYSTEM_FOLDERS):
        name = name.rpartition("/")[2]
    node, rest = known(name), words[1:]
    while node is not None and rest and (rest[0] in node.children or rest[0] in node.flags):
        node = node.children.get(rest[0], node)
        rest = rest[1:]
    return node, rest
