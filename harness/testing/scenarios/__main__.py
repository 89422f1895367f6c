"""List the shipped scenarios, or check scenario files: `python -m harness.testing.scenarios`."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.testing.choice import check
from harness.testing.decode import ScenarioProblem
from harness.testing.scenarios import load, names


def main(arguments: list[str]) -> int:
    """List or check; return the exit status."""
    if not arguments:
        for name in names():
            scenario = load(name)
            sys.stdout.write(f"{name}\t{scenario.version}\t{scenario.description}\n")
    for argument in arguments:
        try:
            check(Path(argument))
        except ScenarioProblem as problem:
            sys.stderr.write(f"fake-agy: {problem}\n")
            return problem.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
