"""What a run costs beside its CLI: processor, clock, memory."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import PROBE, Figure, Size, interleaved, python
from stage import EVENTS, Stage, make_stage

MEGABYTE = 1_000_000
MEBIBYTE = 1024 * 1024
GIVEN = (
    ("click",),
    ("psutil",),
    ("structlog",),
    ("sqlite_utils",),
    ("slack_sdk", "slack_sdk.web"),
    ("msgspec",),
    ("packaging.version",),
    ("platformdirs",),
)
"""The libraries of the product; one that is not installed is passed over."""

OWN_GOAL_MS = 60.0
LIBRARIES_GOAL = 1.0
MEMORY_GOAL_MIB = 45.0


@dataclass(slots=True)
class Probed:
    """One command run by `probe.py`, again and again."""

    stage: Stage
    words: tuple[str, ...]
    libraries: str
    reports: list[dict[str, Any]]

    def once(self) -> None:
        """Run it once more and keep the report."""
        path = self.stage.home.root.parent / "report.json"
        python(PROBE, path, self.libraries, *self.words, environment=self.stage.environment)
        self.reports.append(json.loads(path.read_bytes()))

    def times(self, key: str) -> list[float]:
        """Return one time of each report, in seconds."""
        return [float(report[key]) for report in self.reports]

    def library(self, name: str) -> list[float]:
        """Return what one library took in each report, in seconds."""
        return [float(report["libraries_s"].get(name, 0.0)) for report in self.reports]


def measure_run(size: Size, folder: Path) -> list[Figure]:
    """Measure `harness run` beside a bare `subprocess.run` of the same stand-in."""
    stage = make_stage(folder)
    stage.job("quick")
    stage.plays(padding=size.pick(smoke=1, quick=150, full=150) * MEGABYTE)
    words = ("run", "quick", "--json")
    plain = Probed(stage, words, "-", [])
    plain.once()
    digesting_s = plain.reports[0]["total_s"]
    plain.once()
    libraries = folder / "libraries.json"
    loaded = [name for name in plain.reports[-1]["loaded"] if name.split(".")[0] != "harness"]
    libraries.write_text(json.dumps(loaded), encoding="utf-8")
    staged = Probed(stage, words, str(libraries), [])
    given: list[float] = []
    bare = f"import subprocess; subprocess.run([{str(stage.agy)!r}, '--print=x'], check=True)"
    samples = interleaved(
        {
            "bare": lambda: python("-c", bare),
            "harness": lambda: python("-m", "harness", *words, environment=stage.environment),
            "plain": plain.once,
            "staged": staged.once,
            "given": lambda: given.append(_given_libraries_s()),
        },
        size.pick(smoke=1, quick=9, full=25),
        size.patience_s,
    )
    names = sorted({name for report in staged.reports for name in report["libraries_s"]})
    libraries_s = min(sum(report["libraries_s"].values()) for report in staged.reports)
    modules_s, work_s = min(staged.times("own_imports_s")), min(staged.times("own_work_s"))
    return [
        samples["bare"].figure("bare subprocess.run of the stand-in"),
        samples["harness"].figure("harness run of the same"),
        _milliseconds("  its own process, children apart", plain.times("total_s")[2:]),
        _milliseconds("    interpreter", staged.times("interpreter_s")),
        *(_milliseconds(f"    {name}", staged.library(name)) for name in names),
        _milliseconds("    loading own modules", staged.times("own_imports_s")),
        _milliseconds("    own work, store included", staged.times("own_work_s")),
        Figure(
            name="own code and store at work",
            value=work_s * 1000,
            unit="ms",
            at_most=OWN_GOAL_MS,
            note=f"processor; {stage.agy.stat().st_size / MEGABYTE:.0f} MB of binary",
        ),
        Figure(
            name="the same with the loading of own modules",
            value=(work_s + modules_s) * 1000,
            unit="ms",
            note="processor",
        ),
        Figure(
            name="libraries of a run / the libraries of the product",
            value=libraries_s / min(given),
            unit="×",
            at_most=LIBRARIES_GOAL,
            note=f"processor; {libraries_s * 1000:.1f} against {min(given) * 1000:.1f} ms",
        ),
        Figure(
            name="first run of a new binary, own process",
            value=digesting_s * 1000,
            unit="ms",
            note="processor; its digest is taken once",
        ),
    ]


def _milliseconds(name: str, seconds: list[float]) -> Figure:
    return Figure(
        name=name,
        value=statistics.median(seconds) * 1000,
        unit="ms",
        note=f"processor; best {min(seconds) * 1000:.2f}",
    )


def _given_libraries_s() -> float:
    """Return what importing the given libraries takes, in processor seconds."""
    lines = ["import time", "began = time.process_time()"]
    for modules in GIVEN:
        lines += ["try:", *(f"    import {module}" for module in modules)]
        lines += ["except ImportError:", "    pass"]
    lines.append("print(time.process_time() - began)")
    return float(python("-c", "\n".join(lines)))


def measure_memory(size: Size, folder: Path) -> list[Figure]:
    """Measure what a flood of output adds to the resident memory of the harness itself."""
    stage = make_stage(folder)
    stage.job("quick")
    rounds = size.pick(smoke=1, quick=4, full=12)
    chunk = folder / "chunk"
    chunk.write_bytes(_flood(size.pick(smoke=2, quick=25, full=25) * MEGABYTE))
    quiet = Probed(stage, ("run", "quick", "--json"), "-", [])
    flood = Probed(stage, ("run", "quick", "--json"), "-", [])
    seconds: list[float] = []
    for _ in range(size.pick(smoke=1, quick=2, full=3)):
        stage.plays()
        quiet.once()
        stage.plays(first=f"for n in {'1 ' * rounds}; do cat {chunk}; done")
        flood.once()
        seconds.append(flood.reports[-1]["own_work_s"])
    small = max(report["peak_rss_bytes"] for report in quiet.reports) / MEBIBYTE
    large = max(report["peak_rss_bytes"] for report in flood.reports) / MEBIBYTE
    printed = chunk.stat().st_size * rounds / MEGABYTE
    return [
        Figure(name="peak memory of a quiet run", value=small, unit="MiB"),
        Figure(name=f"peak memory of a run that prints {printed:.0f} MB", value=large, unit="MiB"),
        Figure(
            name="what the flood adds",
            value=large - small,
            unit="MiB",
            at_most=MEMORY_GOAL_MIB,
            note="events of 250 bytes and lines of 8 MB",
        ),
        Figure(
            name="reading the flood",
            value=printed / min(seconds),
            unit="MB/s",
            note="by processor time of the harness",
        ),
    ]


def _flood(size: int) -> bytes:
    """Return events of a night, and in their middle lines of 8 MB: an event and plain noise."""
    step = EVENTS.partition("\n")[0]
    long_event = step.replace("Nothing needs to be done.", "a" * 8 * MEGABYTE)
    long_noise = "n" * 8 * MEGABYTE
    short = (step.replace("Nothing needs to be done.", "a few words " * 7) + "\n").encode()
    lines = f"{long_event}\n{long_noise}\n".encode() if size > 16 * MEGABYTE else b""
    half = short * ((size - len(lines)) // len(short) // 2)
    return half + lines + half
