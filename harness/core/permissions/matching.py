"""Whether one command target covers one line.

What cannot be told is None. An allow rule then counts as covering and a deny rule as not: the
model may call a rule broader than it is, never narrower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from harness.core.permissions.commandline import CommandLine, Part, parse_line, whole_line
from harness.core.permissions.grammar import (
    EVERYTHING,
    EXACT_SHELLS,
    LONGEST_RULE,
    REGEX,
    Action,
    Behaviour,
    behaviours,
    clean,
    parse_rule,
)
from harness.core.permissions.regexes import Fate, Pattern, compile_pattern
from harness.core.permissions.shellwords import target_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A command target, ready to be compared.

    Attributes:
        text: the target, trimmed.
        pattern: the text of its pattern; None for a plain target.
        everything: it covers every line.
        doubt: why it cannot be judged; empty where it can.
        words: what the first words of a command are compared with; None where it has no words
            or they cannot work.
        zero: it has no words at all.
        whole: the pattern for whole lines; None for a plain target.
    """

    text: str
    pattern: str | None = None
    everything: bool = False
    doubt: str = ""
    words: tuple[str | Pattern, ...] | None = None
    zero: bool = False
    whole: Pattern | None = None

    def covers_words(self, part: Part) -> bool:
        """Return whether the words are a prefix of a simple command."""
        if not self.words or part.opaque or len(self.words) > len(part.words):
            return False
        return all(
            mine == theirs if isinstance(mine, str) else mine.matches(theirs) is True
            for mine, theirs in zip(self.words, part.words, strict=False)
        )

    def covers_whole(self, line: CommandLine) -> bool:
        """Return whether the line as a whole is the target, or matches it."""
        if not line.text:
            return False
        if self.whole is not None:
            return self.whole.matches(line.text) is True
        return line.text == self.text


@lru_cache(maxsize=1024)
def read_target(text: str, behaviour: Behaviour) -> Target:
    """Return a target ready to be compared."""
    trimmed = text.strip()
    if text == EVERYTHING:
        return Target(text=trimmed, everything=True)
    if trimmed == EVERYTHING:
        return Target(text=trimmed, doubt="blanks stand around the *")
    if len(text) > LONGEST_RULE:
        return Target(text=trimmed, doubt=f"the rule has more than {LONGEST_RULE} signs")
    if not text.startswith(REGEX):
        return _plain_target(text, behaviour)
    pattern = text[len(REGEX) :]
    return _regex_target(trimmed, pattern, behaviour, whole=compile_pattern(pattern))


def _plain_target(text: str, behaviour: Behaviour) -> Target:
    if behaviour.tokens_are_regexes:
        return _regex_target(text.strip(), text, behaviour, whole=None)
    words = target_words(text)
    zero = words == ()
    everything = zero and behaviour.zero_words_cover_all
    return Target(text=text.strip(), words=words or None, zero=zero, everything=everything)


def _regex_target(
    text: str, pattern: str, behaviour: Behaviour, *, whole: Pattern | None
) -> Target:
    words = target_words(pattern)
    zero = words == ()
    patterns = tuple(compile_pattern(word) for word in words or ())
    doubts = [one.why for one in (*patterns, whole) if one and one.fate is Fate.UNKNOWN]
    usable = patterns and all(one.fate is Fate.COMPILED for one in patterns)
    return Target(
        text=text,
        pattern=pattern,
        everything=zero and behaviour.zero_words_cover_all,
        doubt=doubts[0] if doubts else "",
        words=patterns if usable else None,
        zero=zero,
        whole=whole,
    )


def read_line(text: str, shell: str) -> CommandLine | None:
    """Return a line as the rules of a shell see it; None where it cannot be judged."""
    return whole_line(text) if shell in EXACT_SHELLS else parse_line(text)


def covers_line(target: Target, line: CommandLine | None) -> bool | None:
    """Return whether a target alone lets a line pass; None where it cannot be told.

    A line that the parser cannot make sense of is taken for what could be made of it.
    """
    if target.everything:
        return True
    if target.doubt or line is None:
        return None
    if target.covers_whole(line):
        return True
    return not line.exact and bool(line.parts) and all(map(target.covers_words, line.parts))


def covers(rule: str, command_line: str, *, shell: str = "bash", version: str = "1.3.3") -> bool:
    """Return whether one `command(…)` rule covers a line; redirections are left aside.

    Fails closed for an allow rule: what cannot be judged (a pattern or line that is too large, a
    library that is missing) counts as covered. A version that cannot be read counts as each of
    the versions that match in different ways. Never raises on any text.

    Args:
        rule: the whole text of the rule; every other action covers no line.
        command_line: the line that the agent wants to run.
        shell: `bash`, `zsh`, `sh` compare words; `pwsh` and `cmd` whole lines.
        version: of the CLI, as it prints it.
    """
    parsed = parse_rule(clean(rule))
    if parsed is None or parsed.action is not Action.COMMAND:
        return False
    line = read_line(clean(command_line), shell)
    return any(
        covers_line(read_target(parsed.target, behaviour), line) is not False
        for behaviour in behaviours(version)
    )


def blocks_line(target: Target, line: CommandLine | None) -> bool:
    """Return whether a deny or ask rule certainly catches a line.

    One simple command is enough. What stands inside substitutions or behind a quoted name is not
    seen, and a line that cannot be parsed is caught by `*` alone.
    """
    if target.everything:
        return True
    if target.doubt or line is None:
        return False
    if line.exact and target.covers_whole(line):
        return True
    return not line.broken and any(map(target.covers_words, line.parts))
