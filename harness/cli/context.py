"""What every command shares: the global options, and how its collaborators are put together."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from harness.errors import HomeNotFound

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from harness.stores.homes import Home

_P = ParamSpec("_P")
_R = TypeVar("_R")
LOG_FORMATS = ("json", "text")
_ENDLESS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The global options of one call, from before the command and after it.

    Attributes:
        home: `--home` as given; None where the home is to be found.
        agy: `--agy` as given; None where the CLI is to be found.
        log_format: `json`, `text`, or None for whatever suits the place.
        as_json: the result goes to stdout as JSON.
    """

    home: str | None = None
    agy: str | None = None
    log_format: str | None = None
    as_json: bool = False


class CommandGroup(click.Group):
    """A group whose help shows the whole first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its line, wrapped where it is long, never cut."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(_ENDLESS)) for name, each in named if each]
            )


def add_global_options(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """Give a click callback `--home`, `--agy`, `--log-format` and `--json` as arguments."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        click.option(
            "--log-format", type=click.Choice(LOG_FORMATS), help="How logs look on stderr."
        ),
        click.option("--agy", metavar="PATH", help="The Antigravity CLI to use."),
        click.option("--home", metavar="DIR", help="The folder with harness.toml."),
    ):
        command = option(command)
    return command


def common_options(
    function: Callable[Concatenate[Options, _P], _R],
) -> Callable[..., _R]:
    """Let a command take the global options too; it gets all of them as its first argument.

    What stands after the command wins over what stands before it.
    """

    @functools.wraps(function)
    def with_options(
        *args: Any,
        home: str | None,
        agy: str | None,
        log_format: str | None,
        as_json: bool,
        **kwargs: Any,
    ) -> _R:
        before = click.get_current_context().find_object(Options) or Options()
        options = Options(
            home=home if home is not None else before.home,
            agy=agy if agy is not None else before.agy,
            log_format=log_format or before.log_format,
            as_json=as_json or before.as_json,
        )
        return function(options, *args, **kwargs)

    return add_global_options(with_options)


def open_home(options: Options) -> Home:
    """Find the home that a command works on.

    Raises:
        HomeNotFound: there is none, or the one named is not a home.
    """
    from pathlib import Path

    from harness.stores.homes import find_home

    here = Path.cwd()
    try:
        home = find_home(options.home, environment=os.environ, start=here)
    except HomeNotFound as problem:
        if options.home or os.environ.get("HARNESS_HOME"):
            raise
        raise HomeNotFound(str(problem), hint=_with_known_homes(problem.hint)) from problem
    if options.home is None:
        _warn_of_another(home, here)
    return home


def _with_known_homes(hint: str) -> str:
    """Return a hint that names the homes that this user has, where there are any."""
    from harness.stores.registry import registered_homes

    homes = [_for_a_person(root) for root in registered_homes() if root.is_dir()]
    if not homes:
        return hint
    return f"your homes: {', '.join(homes)}; cd there, or --home DIR; or {hint}"


@functools.cache
def _warn_of_another(home: Home, here: Path) -> None:
    """Say once that settings which stand nearer were passed over."""
    from harness.cli.render import note
    from harness.stores.homes import SETTINGS_NAME

    for folder in (here, *here.parents):
        settings = folder / SETTINGS_NAME
        if settings.is_file():
            if folder.resolve() != home.root:
                note(f"warning: {settings} is passed over; this is about the home {home.root}")
            return


def home_elsewhere(home: Home) -> str:
    """Return the home's folder for a person; empty where this is the home, or within it."""
    from pathlib import Path

    return "" if Path.cwd().is_relative_to(home.root) else _for_a_person(home.root)


def _for_a_person(folder: Path) -> str:
    from pathlib import Path

    user = Path.home()
    return f"~/{folder.relative_to(user)}" if folder.is_relative_to(user) else str(folder)


def utc_now() -> datetime:
    """Return the machine's clock as an aware UTC time."""
    from datetime import UTC, datetime

    return datetime.now(UTC)


def actor(channel: str = "cli") -> str:
    """Return who acts, for the audit trail: the operating-system user and the channel."""
    import pwd

    user = os.geteuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = f"uid{user}"
    return f"{name}@{channel}"
