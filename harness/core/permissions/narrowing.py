"""The narrowest useful replacement for a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.core.permissions.grammar import EXACT_SHELLS, Action, Rule
from harness.core.permissions.matching import Target
from harness.core.permissions.paths import Parts, Place, below, is_windows, roots, shown
from harness.core.permissions.patterns import CHAIN_SIGNS
from harness.core.permissions.probes import Probe

_SPECIAL = frozenset(".+*?")
_UNUSABLE = frozenset(CHAIN_SIGNS + "[]\\^\"'#~!")
_MOST_LINES = 8
_SYSTEM = frozenset(
    {"home", "Users", "root", "etc", "usr", "var", "opt", "tmp", "bin", "proc", "dev"}
)


def candidates(
    rule: Rule, target: Target | None, covered: Sequence[Probe], place: Place, shell: str
) -> Iterator[str]:
    """Yield rules that could stand in for one, the best first; none may be narrower."""
    match rule.action:
        case Action.COMMAND | Action.UNSANDBOXED if target is not None:
            for line in _lines(target, covered, shell):
                yield f"{rule.action}({line})"
        case Action.WRITE_FILE | Action.READ_FILE:
            for path in _folders(rule, place):
                yield f"{rule.action}({shown(path)})"
        case _:
            return


def _folders(rule: Rule, place: Place) -> Iterator[Parts]:
    """Yield folders of the workspace for a rule that covers more than a part of it."""
    covered = () if is_windows(rule.target) else roots(rule.target, place)
    if not covered or (below(covered[0], place.workspace) and covered[0] != place.workspace):
        return
    if rule.action is Action.READ_FILE:
        yield place.workspace
        return
    root = covered[0]
    if root and root != place.workspace and root[0] not in _SYSTEM:
        yield (*place.workspace, *root)
    yield (*place.workspace, "reports")


def _lines(target: Target, covered: Sequence[Probe], shell: str) -> Iterator[str]:
    """Yield targets for exact lines: the benign ones that were covered, then the rule's own."""
    useful = [probe.text for probe in covered if not probe.dangerous]
    if target.everything or len({line.split()[0] for line in useful}) > 1:
        return
    if shell in EXACT_SHELLS:
        yield from useful[:1]
        return
    for lines in (useful[:_MOST_LINES], _own_line(target)):
        written = exact_lines(lines)
        if written is not None:
            yield written


def _own_line(target: Target) -> list[str]:
    """Return the line that consists of a plain rule's words; none for a program alone."""
    words = [word for word in target.words or () if isinstance(word, str)]
    return [" ".join(words)] if len(words) > 1 else []


def exact_lines(lines: list[str]) -> str | None:
    """Return a pattern that matches these lines of one program and nothing else.

    A group with a blank inside keeps the engine from comparing words, which would let anything
    follow. None where there is nothing to write, or a line cannot be written safely.
    """
    if not lines or any(_UNUSABLE & set(line) for line in lines):
        return None
    split = [line.split() for line in lines]
    program = split[0][0]
    tails = sorted({"".join(f" {word}" for word in words[1:]) for words in split})
    written = "|".join(_escaped(tail) for tail in tails if tail)
    optional = "?" if "" in tails else ""
    return f"regex:{_escaped(program)}({written or ' '}){optional}"


def _escaped(text: str) -> str:
    return "".join(f"[{sign}]" if sign in _SPECIAL else sign for sign in text)
