"""How broad a `command(…)` target is: the worst line that it lets the agent write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from harness.core.permissions.commandline import CommandLine, missing, parse_line
from harness.core.permissions.grammar import EXACT_SHELLS
from harness.core.permissions.levels import Finding, Level, Trait, broadest
from harness.core.permissions.matching import Target
from harness.core.permissions.patterns import (
    Shape,
    chains,
    shapes_of,
    word_choices,
)
from harness.core.permissions.patternsyntax import UntranslatableError
from harness.core.permissions.programs import AnyWord, Word, exact_use, prefix_use
from harness.core.permissions.regexes import Fate
from harness.core.permissions.shellwords import (
    DECLARATIONS,
    is_assignment,
    strip_wrappers,
    target_words,
)

_HANDFUL = 8
"""Programs that one pattern may name; with more, it names them all."""
_MOST_SHAPES = 512
_PREFIX = frozenset({Trait.PREFIX})
_INERT = Finding(level=Level.INERT, why="it matches no line")


def command_findings(target: Target, shell: str) -> list[Finding]:
    """Return what is to be said of a target, at least one thing; the broadest counts."""
    if target.everything:
        why = "it covers every command"
        if target.zero:
            why = "a target without words covers every command before 1.1.11"
        return [Finding(level=Level.CRITICAL, why=why, traits=frozenset({Trait.EVERY_COMMAND}))]
    if target.doubt:
        return [Finding(level=Level.UNKNOWN, why=target.doubt)]
    if target.pattern is not None:
        return _pattern_findings(target, shell)
    return [_plain_finding(target, shell)]


def _plain_finding(target: Target, shell: str) -> Finding:
    line = parse_line(target.text)
    if line is None:
        why = missing() or "the line is too long to be parsed"
        return Finding(level=Level.UNKNOWN, why=why)
    quoted = any(part.opaque for part in line.parts)
    if target.words is not None and shell not in EXACT_SHELLS and (quoted or not line.exact):
        found = prefix_use(tuple(word for word in target.words if isinstance(word, str)))
        return broadest([_with_prefix(found), *_outputs(line)])
    if target.zero and not line.inner and [part.words for part in line.parts] != [("env",)]:
        return _zero_finding(target.text)
    return exact_line(line)


def _with_prefix(found: Finding) -> Finding:
    if found.level is Level.INERT:
        return found
    why = found.why
    if found.level is Level.LOW:
        why += "; as a prefix it carries environment prefixes and options such as --output"
    return Finding(level=found.level, why=why, traits=found.traits | _PREFIX)


def _zero_finding(text: str) -> Finding:
    if any(text.startswith(word) for word in DECLARATIONS):
        why = "it has no words and works as little as any such rule, but variables change commands"
        return Finding(level=Level.HIGH, why=why)
    why = "it has no words once assignments and wrappers are taken off"
    return Finding(level=Level.INERT, why=why)


def exact_line(line: CommandLine) -> Finding:
    """Return how broad it is to let exactly one line pass."""
    parts = [exact_use(part.words) for part in (*line.parts, *line.inner)]
    forced = line.exact and not line.inner and any(len(part.words) > 1 for part in line.parts)
    if forced:
        why = "the line holds a flag or a form that runs or deletes something"
        parts.append(Finding(level=Level.HIGH, why=why))
    narrow = Finding(level=Level.NARROW, why="it is one exact line")
    return broadest([narrow, *parts, *_outputs(line)])


def _outputs(line: CommandLine) -> Iterator[Finding]:
    """Yield a finding for each file that a fixed line writes by redirection."""
    for output in line.outputs:
        where = output or "a file of no fixed place"
        yield Finding(level=Level.HIGH, why=f"the line writes {where} by redirection")


def _pattern_findings(target: Target, shell: str) -> list[Finding]:
    pattern, whole = target.pattern or "", target.whole
    works = whole is not None and whole.fate is Fate.COMPILED
    worded = target.words is not None and shell not in EXACT_SHELLS
    if not works and not worded:
        why = whole.why if whole is not None else "its words are no patterns"
        return [Finding(level=Level.INERT, why=f"the pattern does not compile: {why}")]
    try:
        found = [_chain_finding()] if works and chains(pattern) else []
        if worded:
            found += [_with_prefix(one) for one in _shape_findings(_open_shapes(pattern), True)]
        if works:
            found += _shape_findings(list(shapes_of(pattern)), False)
    except UntranslatableError:
        return [Finding(level=Level.UNKNOWN, why="what the pattern can match cannot be told")]
    return found or [_INERT]


def _chain_finding() -> Finding:
    why = "the pattern can match signs that start another command, so it lets a chain pass"
    return Finding(level=Level.CRITICAL, why=why)


def _open_shapes(pattern: str) -> list[Shape]:
    """Return the words that a command must begin with, one shape for each way to choose them."""
    choices = [word_choices(word) for word in target_words(pattern) or ()]
    kept = [[one for one in words if one != ""] or [""] for words in choices]
    found = [Shape(words) for words in islice(product(*kept), _MOST_SHAPES + 1)]
    return found if len(found) <= _MOST_SHAPES else [Shape((AnyWord(),))]


def _shape_findings(shapes: list[Shape], free: bool) -> list[Finding]:  # noqa: FBT001  # private
    """Return what the shapes of a pattern give away.

    Args:
        shapes: of its words or of its whole lines.
        free: whether anything may follow the words.
    """
    bare = [Shape(_unwrapped(shape.words), shape.more) for shape in shapes]
    programs = {shape.words[0] for shape in bare if shape.words}
    if len(programs) > _HANDFUL or any(shape.more and not shape.words for shape in bare):
        return [Finding(level=Level.CRITICAL, why="its first word can name any program")]
    return [_shape_finding(shape, free=free) for shape in bare if shape.words]


def _shape_finding(shape: Shape, *, free: bool) -> Finding:
    if free:
        return prefix_use(shape.words)
    fixed = tuple(word for word in shape.words if isinstance(word, str))
    if len(fixed) == len(shape.words) and not shape.more:
        return exact_use(fixed)
    found = prefix_use(shape.words)
    if found.level is Level.LOW:
        return Finding(
            level=Level.NARROW,
            why=f"an anchored pattern without signs of the shell: {found.why}",
            traits=found.traits,
        )
    return found


def _unwrapped(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words of a line without assignments and wrappers; `env` alone stays."""
    named = [word if isinstance(word, str) else "any" for word in words]
    at = 0
    while at < len(named) and is_assignment(named[at]):
        at += 1
    left = len(strip_wrappers(named[at:]))
    return words[len(words) - left :] if left or named[at:] != ["env"] else words[at:]
