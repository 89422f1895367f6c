"""How a figure is taken on a machine that others use too: interleaved rounds, median and best.

A ratio is taken between things measured in the same rounds. Goals are judged by the best round,
because others can only slow a program down; the median is what a person sees.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FEWEST_ROUNDS = 3
PROBE = Path(__file__).with_name("probe.py")


class Size(StrEnum):
    """How much is measured; `smoke` only shows that the script still works."""

    SMOKE = "smoke"
    QUICK = "quick"
    FULL = "full"

    def pick(self, *, smoke: int, quick: int, full: int) -> int:
        """Return the number that belongs to this size."""
        return {Size.SMOKE: smoke, Size.QUICK: quick, Size.FULL: full}[self]

    @property
    def patience_s(self) -> float:
        """How long one set of rounds may take, on a machine that others keep busy."""
        return float(self.pick(smoke=0, quick=6, full=60))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing that was measured.

    Attributes:
        name: what, in a few words.
        at_most: the goal of a figure that should be small; None where there is none.
        at_least: the goal of a figure that should be large; None where there is none.
        note: what it was measured against, or what else the reader must know.
    """

    name: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    def line(self) -> str:
        """Return the figure as a line for a person."""
        mark = {True: "PASS", False: "FAIL", None: ""}[self.passed]
        goal = ""
        if self.at_most is not None:
            goal = f"  goal ≤ {self.at_most:g}"
        elif self.at_least is not None:
            goal = f"  goal ≥ {self.at_least:g}"
        note = f"  {self.note}" if self.note else ""
        return f"{mark:4}  {self.name:<52} {self.value:>10,.2f} {self.unit:6}{goal:14}{note}"

    def plain(self) -> dict[str, object]:
        """Return the figure as plain values for JSON."""
        return {**asdict(self), "passed": self.passed}


@dataclass(slots=True)
class Samples:
    """What the rounds gave for one contestant: seconds of the clock and of the processor."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def figure(self, name: str) -> Figure:
        """Return the median of the clock in milliseconds; the rest stands in the note."""
        return Figure(
            name=name,
            value=statistics.median(self.wall) * 1000,
            unit="ms",
            note=f"best {min(self.wall) * 1000:,.2f}; processor {spread(self.cpu)}",
        )


def spread(seconds: Iterable[float]) -> str:
    """Return median and best of some times, in milliseconds."""
    times = sorted(seconds)
    return f"{statistics.median(times) * 1000:,.2f}, best {times[0] * 1000:,.2f}"


def interleaved(
    contestants: Mapping[str, Callable[[], object]], rounds: int, patience_s: float
) -> dict[str, Samples]:
    """Call each contestant once a round, in turn; a few rounds at least, whatever they take."""
    samples = {name: Samples() for name in contestants}
    started = time.monotonic()
    for number in range(rounds):
        if number >= _FEWEST_ROUNDS and time.monotonic() - started > patience_s:
            break
        for name, act in contestants.items():
            used, began = _cpu_s(), time.perf_counter()
            act()
            samples[name].wall.append(time.perf_counter() - began)
            samples[name].cpu.append(_cpu_s() - used)
    return samples


def _cpu_s() -> float:
    """Return the processor seconds of this process and of the children it has waited for."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime


def python(
    *words: str | Path,
    environment: Mapping[str, str] | None = None,
    statuses: tuple[int, ...] = (0,),
) -> bytes:
    """Run this interpreter and return what it printed; any other exit status ends the script."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env={**(os.environ if environment is None else environment), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode not in statuses:
        complaint = done.stderr.decode(errors="replace")
        raise SystemExit(f"{done.args}: exit status {done.returncode}\n{complaint}")
    return done.stdout
