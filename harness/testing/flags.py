"""The CLI's command line: which flags a version has, and how it refuses the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from harness.testing.behaviour import Behaviour, Trait
from harness.testing.go import FALSE, TRUE, GoProblem, parse_duration, quote


class Kind(StrEnum):
    """What a flag takes."""

    TEXT = "string"
    BOOL = ""
    DURATION = "duration"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its name, what it takes, since when, and whether the usage text hides it."""

    name: str
    kind: Kind
    help: str
    since: Trait | None = None
    hidden: bool = False


PROMPT_FLAGS = ("p", "print", "prompt")
_PROMPT_HELP = "Run a single prompt non-interactively and print the response"
FLAGS = (
    Flag("add-dir", Kind.TEXT, "Add a directory to the workspace (repeatable)"),
    Flag("continue", Kind.BOOL, "Continue the most recent conversation"),
    Flag("conversation", Kind.TEXT, "Resume a conversation by id"),
    Flag("dangerously-skip-permissions", Kind.BOOL, "Approve every tool without asking"),
    Flag("disable-slash-commands", Kind.BOOL, "Take the prompt literally", Trait.DISABLE_SLASH),
    Flag("gemini_dir", Kind.TEXT, "Root of configuration and state", Trait.GEMINI_DIR, hidden=True),
    Flag("input-format", Kind.TEXT, "Input format (text, stream-json)", Trait.STREAM_INPUT),
    Flag("json-schema", Kind.TEXT, "JSON schema for structured output", Trait.FORMATS),
    Flag("log-file", Kind.TEXT, "Write the log to this file"),
    Flag("mode", Kind.TEXT, "Permission mode (accept-edits, plan)"),
    Flag("model", Kind.TEXT, "Model for this session"),
    Flag("output-format", Kind.TEXT, "Output format (text, json, stream-json)", Trait.FORMATS),
    Flag("p", Kind.TEXT, _PROMPT_HELP),
    Flag("print", Kind.TEXT, _PROMPT_HELP),
    Flag("print-timeout", Kind.DURATION, "Longest wait for the response in print mode"),
    Flag("prompt", Kind.TEXT, _PROMPT_HELP),
    Flag("sandbox", Kind.BOOL, "Run terminal commands with restrictions"),
    Flag("version", Kind.BOOL, "Print the version"),
)


class UsageFault(Exception):
    """A command line that the CLI refuses with exit 2; the message is its first line."""


class HelpAsked(Exception):
    """The usage text was asked for."""


@dataclass(slots=True)
class Options:
    """The command line of one start.

    Attributes:
        prompt: None where no prompt flag was given.
        print_timeout_s: None where the flag was not given.
        words: what stands after the flags: a subcommand and its arguments.
    """

    texts: dict[str, str] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    add_dirs: list[str] = field(default_factory=list)
    prompt: str | None = None
    print_timeout_s: float | None = None
    words: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        """Return the value of a string flag; empty where it was not given."""
        return self.texts.get(name, "")

    def on(self, name: str) -> bool:
        """Return whether a boolean flag is set."""
        return self.switches.get(name, False)


def flags_of(behaviour: Behaviour) -> dict[str, Flag]:
    """Return the flags that a version knows, hidden ones included."""
    return {flag.name: flag for flag in FLAGS if flag.since is None or behaviour.has(flag.since)}


def usage_text(behaviour: Behaviour) -> str:
    """Return the usage text of a version."""
    lines = ["Usage of agy:"]
    for flag in flags_of(behaviour).values():
        if not flag.hidden:
            dashes = "-" if len(flag.name) == 1 else "--"
            shown = f"{dashes}{flag.name} {flag.kind}".rstrip()
            lines.append(f"  {shown}\n    \t{flag.help}")
    lines += ["Available subcommands:", "  models", "    \tList available models"]
    return "\n".join(lines) + "\n"


def parse(argv: list[str], behaviour: Behaviour) -> Options:
    """Read a command line as this version does; raise `UsageFault` or `HelpAsked`."""
    known = flags_of(behaviour)
    options = Options()
    unknown: list[str] = []
    rest = list(argv)
    while rest:
        argument = rest[0]
        if len(argument) < 2 or not argument.startswith("-"):  # noqa: PLR2004 (a dash and a name)
            break
        rest.pop(0)
        if argument == "--":
            break
        name, given, value = _split(argument)
        flag = known.get(name)
        if flag is None:
            if name in ("h", "help"):
                raise HelpAsked
            unknown.append(f"-{name}")
        elif flag.kind is Kind.BOOL:
            options.switches[name] = _truth(name, value) if given else True
        else:
            _store(options, flag, value if given else _next(rest, name, behaviour), behaviour)
    if unknown:
        raise UsageFault(f"flags provided but not defined: {' '.join(unknown)}")
    options.words = rest
    return options


def _split(argument: str) -> tuple[str, bool, str]:
    bare = argument[2:] if argument.startswith("--") else argument[1:]
    if not bare or bare[0] in "-=":
        raise UsageFault(f"bad flag syntax: {argument}")
    name, given, value = bare.partition("=")
    return name, bool(given), value


def _truth(name: str, value: str) -> bool:
    if value not in TRUE + FALSE:
        shown = quote(value)
        raise UsageFault(
            f"invalid boolean value {shown} for -{name}: "
            f"strconv.ParseBool: parsing {shown}: invalid syntax"
        )
    return value in TRUE


def _next(rest: list[str], name: str, behaviour: Behaviour) -> str:
    strict = name in PROMPT_FLAGS and behaviour.has(Trait.PROMPT_NEEDS_VALUE)
    if not rest or (strict and rest[0].startswith("-")):
        raise UsageFault(f"flag needs an argument: -{name}")
    return rest.pop(0)


def _store(options: Options, flag: Flag, value: str, behaviour: Behaviour) -> None:
    if flag.kind is Kind.DURATION:
        try:
            options.print_timeout_s = parse_duration(value)
        except GoProblem as problem:
            raise UsageFault(
                f"invalid value {quote(value)} for flag -{flag.name}: {problem}"
            ) from None
    elif flag.name in PROMPT_FLAGS:
        if not value and behaviour.has(Trait.PROMPT_NEEDS_VALUE):
            raise UsageFault(f"flag needs an argument: -{flag.name}")
        options.prompt = value
    elif flag.name == "add-dir":
        options.add_dirs.append(value)
    else:
        options.texts[flag.name] = value
