"""Every measurement of the product with its goal, in one run, for ratios that mean something.

    python benchmarks/run.py [--quick] [--only NAME] [--json FILE]

Exit status 1 where a goal is missed. It is to be run by an interpreter that has the libraries of
the harness, as `.venv/bin/python` after `make test`. NAME is one of run, parsing, recording,
history, memory, start, digests.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import checkout  # noqa: F401 - first: it says which harness is measured
from digesting import measure_digests
from measuring import Figure, Size
from reading import measure_reading
from running import measure_memory, measure_run
from starting import measure_start
from storing import measure_history, measure_recording

Measure = Callable[[Size, Path], list[Figure]]
MEASUREMENTS: Mapping[str, tuple[str, Measure]] = {
    "run": ("What a run costs beside its CLI", measure_run),
    "parsing": ("Reading events, beside json.loads of each line", measure_reading),
    "recording": ("Recording runs, beside bare commits", measure_recording),
    "history": ("Report and settling over more and more recorded runs", measure_history),
    "memory": ("Memory of the harness under a flood of output", measure_memory),
    "start": ("Starting a command, beside a bare click program", measure_start),
    "digests": ("Guarded files that nobody changed", measure_digests),
}


def main() -> int:
    """Measure, print, and return 1 where a goal is missed."""
    arguments = _arguments()
    size: Size = arguments.size
    names = [arguments.only] if arguments.only else list(MEASUREMENTS)
    found: dict[str, list[Figure]] = {}
    for name in names:
        title, measure = MEASUREMENTS[name]
        print(f"\n{name}: {title}", flush=True)
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="hb-") as folder:
            found[name] = measure(size, Path(folder))
        for figure in found[name]:
            print(figure.line().rstrip(), flush=True)
        print(f"      [{time.perf_counter() - began:.0f} s]", flush=True)
    if arguments.json:
        _write(Path(arguments.json), size, found)
    missed = [each for figures in found.values() for each in figures if each.passed is False]
    print("\n" + ("every goal is met" if not missed else "missed goals:"))
    for figure in missed:
        print(figure.line().rstrip())
    return 1 if missed and size is not Size.SMOKE else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.set_defaults(size=Size.FULL)
    parser.add_argument(
        "--quick",
        dest="size",
        action="store_const",
        const=Size.QUICK,
        help="at most a minute, on a quiet machine",
    )
    parser.add_argument(
        "--smoke",
        dest="size",
        action="store_const",
        const=Size.SMOKE,
        help="only show that the script works; the figures mean nothing",
    )
    parser.add_argument("--only", choices=list(MEASUREMENTS), help="one measurement")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    return parser.parse_args()


def _write(path: Path, size: Size, found: dict[str, list[Figure]]) -> None:
    report = {
        "size": size.value,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "figures": {name: [each.plain() for each in figures] for name, figures in found.items()},
    }
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
