"""Everything that reaches a person: data on stdout, talk on stderr, nothing hidden in either.

Text that others wrote is neutralised here, so that no command can forget it.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import stat
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from harness.core.columns import columns, pairs, wrap_text
from harness.core.text import escape_hidden, neutralise, one_line
from harness.errors import HostProblem

if TYPE_CHECKING:
    from pathlib import Path

JSON_FILE_LIMIT = 1024 * 1024
_CHUNK = 64 * 1024


def emit(result: object, *, as_json: bool, text: str = "") -> None:
    """Print a command's one result: as JSON, or as the text that was made from it.

    Args:
        result: dataclasses, mappings, sequences and plain values; times are aware.
        as_json: print the result itself, in one line.
        text: what a person reads; an empty one prints nothing.
    """
    if as_json:
        write_text(as_json_text(result))
    elif text:
        write_text(neutralise(text))


def fail(error: Exception) -> None:
    """Print what the harness cannot do on stderr: a line per problem, and what to do about it."""
    for line in str(error).splitlines() or [type(error).__name__]:
        note(f"error: {one_line(line)}")
    hint = getattr(error, "hint", "")
    if hint:
        note(f"hint: {one_line(hint)}")


def note(text: str) -> None:
    """Say something on stderr that is no part of the result."""
    tell(neutralise(text) + "\n")


def tell(text: str) -> None:
    """Write to stderr as it is; where that takes nothing, nobody can be told, and work goes on."""
    try:
        click.echo(text.encode(errors="backslashreplace"), nl=False, err=True)
    except OSError:
        let_go(2)


def pass_through(path: Path, *, as_json: bool) -> None:
    """Print a file that a process wrote: byte for byte into a pipe, made visible on a terminal.

    As JSON it is one object with the file's size and at most `JSON_FILE_LIMIT` bytes of it.

    Raises:
        HostProblem: the file cannot be read, or something else has taken its place.
    """
    try:
        with _open_regular(path) as file:
            if as_json:
                size = os.fstat(file.fileno()).st_size
                text = file.read(JSON_FILE_LIMIT).decode(errors="backslashreplace")
                emit({"path": str(path), "bytes": size, "text": text}, as_json=True)
                return
            shows_escapes = sys.stdout.isatty()
            decoder = codecs.getincrementaldecoder("utf-8")(errors="backslashreplace")
            while chunk := file.read(_CHUNK):
                if shows_escapes:
                    chunk = neutralise(decoder.decode(chunk)).encode()
                write(chunk)
    except FileNotFoundError as problem:
        raise HostProblem(f"{path}: this file was never written, or has been cleared away") from (
            problem
        )


def _open_regular(path: Path) -> BinaryIO:
    """Open a file that agents could reach: no link is followed, no pipe waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        if problem.errno != errno.ELOOP:
            raise
    else:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
    raise HostProblem(
        f"{path}: expected the file that the run wrote, found something else in its place",
        hint="somebody replaced it, perhaps the run's agent; what was read of it in time stands "
        "in the record",
    )


def as_json_text(result: object) -> str:
    """Return a result as one line of JSON that is safe to show in a terminal."""
    plain = msgspec.to_builtins(result, enc_hook=str)
    return escape_hidden(json.dumps(plain, ensure_ascii=False))


def terminal_width() -> int | None:
    """Return how many columns stdout shows; None where it is no terminal and nothing is cut."""
    if not sys.stdout.isatty():
        return None
    import shutil  # only a person at a terminal needs it

    return shutil.get_terminal_size().columns


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    flexible: Collection[str] | None = None,
    optional: Sequence[str] = (),
) -> str:
    """Return rows under headings, each cell one line; at a terminal they fit its width.

    Args:
        headings: a name for each column.
        rows: the cells.
        flexible: columns that may be shortened there; by default the last one.
        optional: columns that are left out there, in this order, before it comes to blocks.
    """
    lines = columns(
        headings,
        [[one_line(cell) for cell in row] for row in rows],
        width=terminal_width(),
        flexible=headings[-1:] if flexible is None else flexible,
        optional=optional,
    )
    return "\n".join(lines)


def fields(named: Sequence[tuple[str, str]]) -> str:
    """Return names and values, values beneath each other; at a terminal wrapped between words."""
    return "\n".join(pairs([(name, one_line(value)) for name, value in named], terminal_width()))


def prose(text: str) -> str:
    """Return sentences as they are shown: at a terminal wrapped between words."""
    width = terminal_width()
    return text if width is None else wrap_text(neutralise(text), width)


def write_text(text: str) -> None:
    """Print to stdout as UTF-8 whatever the locale says; lone surrogates become escapes."""
    write(text.encode(errors="backslashreplace") + b"\n")


def write(data: bytes) -> None:
    """Print bytes to stdout.

    Raises:
        BrokenPipeError: nobody reads any more.
        HostProblem: it takes nothing; what was done before stands all the same.
    """
    try:
        sys.stdout.flush()
        click.echo(data, nl=False)
    except BrokenPipeError:
        raise
    except OSError as problem:
        let_go(1)
        raise HostProblem(f"standard output takes nothing: {problem.strerror}") from problem


def let_go(descriptor: int) -> None:
    """Point a stream that takes nothing nowhere, so that what it still holds does no harm."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
