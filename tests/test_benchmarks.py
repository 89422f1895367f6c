"""The benchmarks still measure: at their smallest size, where the figures mean nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "run.py"
GOALS = {
    "run": 2,
    "parsing": 1,
    "recording": 1,
    "history": 2,
    "memory": 1,
    "start": 2,
    "digests": 0,
}
"""How many goals each measurement is held to."""


@pytest.mark.parametrize("name", GOALS)
def test_a_measurement_gives_figures(tmp_path: Path, name: str) -> None:
    """Each measurement ends well, prints its figures, and writes them as JSON."""
    report = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--smoke", "--only", name, "--json", report],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(report.read_bytes())["figures"][name]
    assert figures
    for figure in figures:
        assert figure["name"].strip() in done.stdout
    assert sum(figure["passed"] is not None for figure in figures) == GOALS[name]
