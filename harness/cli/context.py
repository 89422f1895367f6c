"""What every command shares: the global options, and how its collaborators are put together."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from datetime import datetime

    from harness.stores.homes import Home

_P = ParamSpec("_P")
_R = TypeVar("_R")
LOG_FORMATS = ("json", "text")


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

    return find_home(options.home, environment=os.environ, start=Path.cwd())


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
