"""The command line: where collaborators are chosen and the only place that prints."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from harness.errors import EXIT_INTERRUPTED

OBJECTS_A_COLLECTION = 100_000
"""Loading a command makes tens of thousands of objects that stay; by default Python would look
through them again and again while it does."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and end the process with its exit status."""
    gc.set_threshold(OBJECTS_A_COLLECTION)
    _open_missing_streams()
    try:
        status = run_arguments(sys.argv[1:] if arguments is None else arguments)
        status = _flush(status)
    except KeyboardInterrupt:  # click sees to those inside a command; this one came beside it
        status = EXIT_INTERRUPTED
    gc.freeze()  # spares the interpreter several looks at all that it is about to drop
    sys.exit(status)


def run_arguments(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; what goes wrong is one line on stderr."""
    import click

    from harness.cli.group import root
    from harness.errors import HarnessError

    try:
        status = root.main(args=list(arguments), prog_name="harness", standalone_mode=False)
    except HarnessError as error:
        _fail(error)
        return error.exit_status
    except click.Abort:
        return EXIT_INTERRUPTED
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except Exception as problem:  # the one border: a person gets a line, no traceback
        if os.environ.get("HARNESS_DEBUG"):
            raise
        return _unexpected(problem)
    return status if isinstance(status, int) else 0


def _fail(error: Exception) -> None:
    from harness.cli.render import fail

    fail(error)


def _unexpected(problem: Exception) -> int:
    """Report what no error class covers: the machine's refusals by name, the rest as a fault."""
    from harness.errors import EXIT_FAILED, HarnessError, HostProblem

    error: HarnessError
    if isinstance(problem, OSError):
        where = f"{problem.filename}: " if problem.filename is not None else ""
        error = HostProblem(f"{where}{problem.strerror or problem}")
    else:
        error = HarnessError(
            f"internal error: {type(problem).__name__}: {problem}",
            hint="run it again with HARNESS_DEBUG=1 for the whole story, and report it",
        )
    _fail(error)
    return EXIT_FAILED


def _open_missing_streams() -> None:
    """Open the standard streams that are closed, so that no file of ours takes their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # the lowest free number is given out: this very one
            os.open(os.devnull, os.O_RDONLY if name == "stdin" else os.O_WRONLY)
            stream = open(number, "r" if name == "stdin" else "w", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _flush(status: int) -> int:
    """Let out what was printed; where nobody reads, silence the interpreter's own flush too.

    Returns the exit status: the one given, or 1 where that was 0 and the rest cannot be let out.
    """
    try:
        sys.stdout.flush()
    except OSError as problem:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if status == 0 and not isinstance(problem, BrokenPipeError):
            return _unexpected(problem)
    return status
