"""The text of a rule, and how its reading depends on the version of the CLI."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from packaging.version import Version

from harness.core.versions import parse_version

REGEX = "regex:"
EVERYTHING = "*"
LONGEST_RULE = 4096
"""Characters of a rule that are judged; beyond, the verdict is that it cannot be."""

EXACT_SHELLS = frozenset({"pwsh", "powershell", "cmd"})
WORD_SHELLS = frozenset({"bash", "zsh", "sh"})

_SHAPE = re.compile(r"([^(]*)\((.*)\)")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LISTS = frozenset({"allow", "ask", "deny"})


class Action(StrEnum):
    """What a rule speaks of."""

    COMMAND = "command"
    UNSANDBOXED = "unsandboxed"
    READ_FILE = "read_file"
    WRITE_FILE = "write_file"
    READ_URL = "read_url"
    EXECUTE_URL = "execute_url"
    MCP = "mcp"


_ACTIONS = {action.value: action for action in Action}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule or request, taken apart.

    Attributes:
        name: the text before the bracket.
        action: what that stands for; None for a name that the CLI does not know.
        target: the text inside the brackets.
    """

    name: str
    action: Action | None
    target: str

    @property
    def may_mean_something(self) -> bool:
        """True for an unknown name of the right form: another version may know it."""
        return bool(_NAME.fullmatch(self.name)) and self.name not in _LISTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What of the matching differs between versions.

    Attributes:
        zero_words_cover_all: a target without words covers every command.
        tokens_are_regexes: the words of a plain target are patterns.
        own_unsandboxed: `unsandboxed(…)` is a grant of its own, and needed.
    """

    zero_words_cover_all: bool = False
    tokens_are_regexes: bool = False
    own_unsandboxed: bool = False


_STRICT_TOKENS = Version("1.0.13")
_ZERO_WORDS_MENDED = Version("1.1.11")
_UNSANDBOXED_GONE = Version("1.2.2")


def clean(text: str) -> str:
    """Return a text that can be encoded: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def parse_rule(text: str) -> Rule | None:
    """Return a rule's parts; None for what the CLI drops as no rule at all."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        return None
    name, target = found.groups()
    return Rule(name=name, action=_ACTIONS.get(name), target=target)


def parse_request(text: str) -> Rule | None:
    """Return a request's parts; unlike a rule it may have several lines."""
    name, bracket, rest = text.partition("(")
    if not bracket or not rest.endswith(")"):
        return None
    return Rule(name=name, action=_ACTIONS.get(name), target=rest[:-1])


@lru_cache(maxsize=64)
def behaviours(version: str) -> tuple[Behaviour, ...]:
    """Return the behaviours that a version may have: one, or all for a text that is no version."""
    parsed = parse_version(version).parsed
    versions = (
        [parsed]
        if parsed is not None
        else [Version("1.0.0"), Version("1.1.0"), Version("1.2.0"), _UNSANDBOXED_GONE]
    )
    return tuple(
        Behaviour(
            zero_words_cover_all=one < _ZERO_WORDS_MENDED,
            tokens_are_regexes=one < _STRICT_TOKENS,
            own_unsandboxed=one < _UNSANDBOXED_GONE,
        )
        for one in versions
    )
