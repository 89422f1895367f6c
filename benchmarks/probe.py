"""Run one command of the harness in this very process and write down what it cost.

`python probe.py REPORT LIBRARIES WORD…`: the report is a JSON file. LIBRARIES is a JSON list of
modules to import first, each charged to its package, so that what is left is the harness's own;
with `-` nothing is imported first, and the report names what the command loaded by itself.
"""

from __future__ import annotations

import sys
import time

_INTERPRETER_S = time.process_time()
_PRESENT = frozenset(sys.modules)


def _import_first(path: str) -> dict[str, float]:
    """Import modules in the order of a list; return the processor seconds by package."""
    import importlib
    import json
    from pathlib import Path

    spent: dict[str, float] = {}
    for name in json.loads(Path(path).read_bytes()):
        package = name.partition(".")[0]
        owner = "standard library" if package in sys.stdlib_module_names else package
        began = time.process_time()
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        spent[owner] = spent.get(owner, 0.0) + time.process_time() - began
    return spent


def main() -> int:
    """Measure; the command's own exit status is ours."""
    report, libraries, *words = sys.argv[1:]
    spent = {} if libraries == "-" else _import_first(libraries)
    before_own = time.process_time()
    import gc
    import importlib

    from harness.cli import OBJECTS_A_COLLECTION

    gc.set_threshold(OBJECTS_A_COLLECTION)  # as the command itself would before it loads these
    importlib.import_module("harness.cli.group")
    importlib.import_module(f"harness.cli.commands.{words[0]}")
    before_work = time.process_time()
    status = _status_of(words)
    done = time.process_time()
    _write(
        report,
        {
            "interpreter_s": _INTERPRETER_S,
            "libraries_s": spent,
            "own_imports_s": before_work - before_own,
            "own_work_s": done - before_work,
            "total_s": done,
            "peak_rss_bytes": _peak_rss_bytes(),
            "loaded": [name for name in sys.modules if name not in _PRESENT],
        },
    )
    return status


def _status_of(words: list[str]) -> int:
    """Run a command as the console script does, up to where the process would end."""
    from harness.cli import main as harness

    try:
        harness(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


def _write(path: str, report: dict[str, object]) -> None:
    import json
    from pathlib import Path

    Path(path).write_text(json.dumps(report), encoding="utf-8")


def _peak_rss_bytes() -> int:
    """Return the largest resident memory of this process alone; 0 where nobody says."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123 - no import
            found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return int(found[0]) * 1024 if found else 0


if __name__ == "__main__":
    sys.exit(main())
