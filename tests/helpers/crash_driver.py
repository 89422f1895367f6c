"""The real composition, killed where a test says.

Run as `python -m tests.helpers.crash_driver`: a server that has imported everything and forks
one process for each deed, so that a hundred crashes cost no more than a hundred runs. Each line
on stdin is one request, each line on stdout its answer; `tests.helpers.crash` is the client.

A request: `deed` and `words` (what to do), `environment`, `cwd`; `signal` (its number), sent `at` a
place (before the how-manieth durable write, counted from 1, or before the first one of a name) or
`after_s` seconds; `fill`, a folder whose disk is filled at the place instead.
An answer: `status` (negative for a signal), `out`, `err`, `points` (the writes that were reached).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.cli import run_arguments
from harness.cli.commands.run import EXIT_STATUS
from harness.cli.context import Options
from harness.cli.house import open_house
from harness.errors import EXIT_INTERRUPTED, HarnessError
from harness.services.decisions import decide
from harness.services.gate import DecisionResult, approve, reject
from harness.services.history import find_run, restore_run
from harness.services.house import House
from harness.services.runs import run_job

FILLER = "filler"
_WARM = (
    "harness.cli.commands.report",
    "harness.cli.commands.runs",
    "harness.cli.commands.state",
    "harness.cli.render_progress",
    "psutil",
    "sqlite_utils",
)


class Strike:
    """Called right before each durable write; does its own process harm at one of them.

    Every name is written down first, so that a test can say where the process was.

    Args:
        place: before which write: its number, counted from 1, or its name; None for none.
        harm: what happens there.
    """

    def __init__(self, place: int | str | None, harm: Callable[[], None], ledger: Path) -> None:
        self._place = place
        self._harm = harm
        self._count = 0
        self._ledger = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def __call__(self, name: str) -> None:
        """Count this write, and strike before it where it is the one."""
        self._count += 1
        os.write(self._ledger, f"{name}\n".encode())
        if self._place in (self._count, name):
            self._place = None
            self._harm()


def fill_disk(folder: Path) -> None:
    """Leave no byte free on the disk of a folder."""
    with (folder / FILLER).open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 65536):
            pass


def _run(house: House, words: Sequence[str]) -> int:
    answer = run_job(house, words[0])
    sys.stdout.write(answer.record.run_id if answer.recorded else "")
    return EXIT_STATUS[answer.record.outcome]


def _settle(_house: House, _words: Sequence[str]) -> int:
    """Do nothing: opening the house has settled."""
    return 0


def _approve(house: House, words: Sequence[str]) -> int:
    quarantined = "--quarantined" in words
    return _decided(
        house,
        words[0],
        lambda found: approve(
            house.state, found, actor=house.actor, value_sha256=None, quarantined=quarantined
        ),
    )


def _reject(house: House, words: Sequence[str]) -> int:
    return _decided(
        house,
        words[0],
        lambda found: reject(house.state, found, actor=house.actor, reason="a test says no"),
    )


def _decided(house: House, name: str, act: Callable[[str], DecisionResult]) -> int:
    (result,) = decide(house, [name], act)
    sys.stdout.write(result.error or str(result.state))
    return 0 if result.error is None else 1


def _restore(house: House, words: Sequence[str]) -> int:
    result = restore_run(house, find_run(house.state, words[0]), force=False)
    return 0 if result.complete else 1


DEEDS: Mapping[str, Callable[[House, Sequence[str]], int]] = {
    "run": _run,
    "settle": _settle,
    "approve": _approve,
    "reject": _reject,
    "restore": _restore,
}


def _perform(request: Mapping[str, Any], ledger: Path) -> int:
    words = request["words"]
    if request["deed"] == "command":
        return run_arguments(words)
    if request["fill"] is not None:
        harm = functools.partial(fill_disk, Path(request["fill"]))
    else:
        harm = functools.partial(os.kill, os.getpid(), request["signal"])
    strike = Strike(request["at"], harm, ledger)
    try:
        with open_house(Options(), before_write=strike) as house:
            return DEEDS[request["deed"]](house, words)
    except HarnessError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return problem.exit_status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _be_the_process(request: Mapping[str, Any], folder: Path) -> None:
    """Do the deed as a process of its own would, and end."""
    status = 70
    try:
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["cwd"])
        for name, number in (("out", 1), ("err", 2)):
            file = os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o600)
            os.dup2(file, number)
            os.close(file)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        status = _perform(request, folder / "points")
    except BaseException:  # noqa: BLE001 - what escapes is the test's to see
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _wait(pid: int, number: int, after_s: float | None) -> int:
    if after_s is not None:
        handle = os.pidfd_open(pid)
        ended, _, _ = select.select([handle], [], [], after_s)
        if not ended:
            signal.pidfd_send_signal(handle, number)
        os.close(handle)
    _, raw = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(raw)


def _answer(request: Mapping[str, Any], folder: Path) -> dict[str, object]:
    pid = os.fork()
    if pid == 0:
        _be_the_process(request, folder)
    status = _wait(pid, request["signal"], request["after_s"])
    texts = {}
    for name in ("out", "err", "points"):
        path = folder / name
        texts[name] = path.read_text(errors="replace") if path.exists() else ""
    return {
        "status": status,
        "out": texts["out"],
        "err": texts["err"],
        "points": texts["points"].split(),
    }


def serve() -> None:
    """Answer requests until stdin ends."""
    for name in _WARM:
        importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            answers.write(json.dumps(_answer(json.loads(line), Path(folder))) + "\n")
            answers.flush()


if __name__ == "__main__":
    serve()
