"""The root of the command line: a table of commands, each imported when it is called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module

import click

from harness.cli.context import Options, add_global_options
from harness.errors import InsideRefused

COMMANDS: Mapping[str, tuple[str, str]] = {
    name: (f"harness.cli.commands.{name}:command", summary)
    for name, summary in (
        ("init", "Make a home: settings, rules, and a folder for jobs."),
        ("home", "Say which folders with a harness.toml are homes."),
        ("demo", "Show a whole night in a minute, without the real CLI."),
        ("doctor", "Check what a night needs: CLI, home, store, jobs."),
        ("pause", "Let no job start until resume."),
        ("resume", "Let jobs start again."),
        ("jobs", "List, show, check and accept jobs."),
        ("run", "Run one job and say what came of it."),
        ("runs", "List, show and acknowledge runs."),
        ("pending", "List and show canonical writes that wait for a person."),
        ("approve", "Apply canonical writes, each exactly once."),
        ("reject", "Decide against canonical writes."),
        ("gate", "Write through the gate, from inside a run or a shell."),
        ("journal", "Append to an agent's memory of 30 days, and list it."),
        ("canonical", "Read canonical data, and switch canonical writes on or off."),
        ("audit", "Judge every allow rule before canonical writes are enabled."),
        ("report", "Tell the truth about the night."),
        ("state", "Check and look after the stored state."),
    )
}
"""Name → module and attribute, and the line that `--help` shows without importing either."""

ALLOWED_INSIDE = (
    ("gate", "write"),
    ("journal", "append"),
    ("journal", "list"),
    ("canonical", "get"),
    ("mcp",),
)


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only when it is needed.

    Attributes:
        table: name → (`module:attribute`, one line of help).
    """

    table: Mapping[str, tuple[str, str]] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None for a name that is not in the table."""
        del ctx
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}: {attribute} is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table, importing nothing."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.table.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of these words; inside a run, only one that an agent may give.

        click asks this before anything of a command is imported, opened or called.
        """
        if not ctx.resilient_parsing:
            self.refuse_inside(args)
            if args[0] not in self.table and not args[0].startswith("-"):
                import difflib

                near = difflib.get_close_matches(args[0], self.table, n=1)
                guess = f" Did you mean {near[0]!r}?" if near else ""
                ctx.fail(f"No such command {args[0]!r}.{guess}")
        return super().resolve_command(ctx, args)

    def inside(self) -> str | None:
        """Return the variable, or the name, that shows that this is inside a run, or None."""
        from harness.agy.ancestry import inside

        found = inside(os.environ, os.getpid())
        return None if found is None else found.variable

    def refuse_inside(self, words: Sequence[str]) -> None:
        """Refuse a command that is a person's, where an agent asks for it.

        Raises:
            InsideRefused: this process works inside a run, and the words are not allowed there.
        """
        if allowed_inside(words):
            return
        variable = self.inside()
        if variable is not None:
            raise InsideRefused(
                f"harness {words[0]}: refused inside a run ({variable} of this process or a parent "
                "shows it)",
                hint="an agent may use: gate write, journal append, journal list, canonical get; "
                "a person: a terminal that neither the CLI nor its IDE opened",
            )


def allowed_inside(words: Sequence[str]) -> bool:
    """Tell whether the words after `harness` are a command that an agent may give.

    The names must stand together at the front, so that no option can hide another command
    between them; `--help` counts where nothing before it could take it for a value.
    """
    if any(tuple(words[: len(path)]) == path for path in ALLOWED_INSIDE):
        return True
    *before, last = words
    return last == "--help" and not any(word.startswith("-") for word in before)


def _show_version(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Print the version that runs, which a checkout has without being installed."""
    del param
    if not value or ctx.resilient_parsing:
        return
    root.refuse_inside(["--version"])
    import harness
    from harness.cli.render import emit

    emit(None, as_json=False, text=f"harness {harness.__version__}")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["--help", "-h"]})
@add_global_options
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Print the version.",
)
@click.pass_context
def root(
    ctx: click.Context,
    home: str | None,
    agy: str | None,
    log_format: str | None,
    *,
    as_json: bool,
) -> None:
    """Run jobs of the Antigravity CLI at night, and tell the truth about them in the morning."""
    ctx.obj = Options(home=home, agy=agy, log_format=log_format, as_json=as_json)
