"""The model against what was measured on the engine, and what an expert said of rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.permissions import Level, covers, decide, judge
from harness.core.permissions.commandline import parse_line
from harness.core.permissions.probes import PROBES

DATA = Path(__file__).parent / "data"
HOME = "/home/u"
WORKSPACE = "/home/u/proj"

CORRECTED = {
    "command(ln)": Level.CRITICAL,
    "command(gh)": Level.CRITICAL,
    "command(curl)": Level.CRITICAL,
    "command(rm -rf build)": Level.HIGH,
    "write_file(/src)": Level.HIGH,
}
"""Rules that the expert judged safer than the criteria say.

`ln` puts a link over the CLI's configuration, as `cp` puts a copy. `gh alias set --shell` and
`gh extension install` run any code. `curl -o` writes any file. `rm -rf build /` begins with
`rm -rf build`. `/src` lies outside the workspace.
"""


def load(name: str) -> Any:
    """Return the content of a file of measured facts."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("shell", ["bash", "pwsh"])
def test_every_cell_of_the_matrix(shell: str) -> None:
    """Each of 100 targets covers exactly the lines that the engine let pass."""
    wrong = {}
    for target, expected in load("command_matrix")[shell].items():
        covered = {
            probe["id"]
            for probe in load_probes()
            if covers(f"command({target})", probe["cmd"], shell=shell)
        }
        if covered != set(expected):
            wrong[target] = sorted(covered ^ set(expected))
    assert wrong == {}


def load_probes() -> list[dict[str, Any]]:
    """Return the lines of the corpus as they were measured."""
    return list(PROBE_RECORDS)


PROBE_RECORDS: list[dict[str, Any]] = load("probes")


@pytest.mark.parametrize("probe", PROBE_RECORDS, ids=lambda probe: probe["id"])
def test_lines_are_split_as_the_engine_does(probe: dict[str, Any]) -> None:
    """The simple commands of each line, and whether it is compared whole, are the engine's."""
    line = parse_line(probe["cmd"])
    assert line is not None
    assert [list(part.words) for part in line.parts] == probe["parts"]
    assert line.exact == probe["exact"]


def test_the_corpus_is_the_measured_one() -> None:
    """The lines that ship with the package are those that were measured."""
    shipped = [(probe.id, str(probe.sort), probe.text) for probe in PROBES]
    assert shipped == [(one["id"], one["cls"], one["cmd"]) for one in PROBE_RECORDS]


@pytest.mark.parametrize(
    "record", load("decisions")["decisions"], ids=lambda one: f"{one['case']}: {one['request']}"
)
def test_every_measured_decision(record: dict[str, Any]) -> None:
    """Whole lists of rules decide each request as the engine did."""
    rules: dict[str, list[str]] = {}
    for entry in record["rules"]:
        name, _, text = entry.partition(":")
        rules.setdefault(name, []).append(text)
    decision = decide(
        rules, record["request"], workspace=WORKSPACE, home=HOME, version=record["version"]
    )
    assert decision == record["decision"]


@pytest.mark.parametrize("record", load("rule_verdicts"), ids=lambda one: one["rule"])
def test_every_verdict(record: dict[str, Any]) -> None:
    """Each rule is as broad as the expert said or, where the criteria say so, broader."""
    text = record["rule"].replace("<HOME>", HOME).replace("<workspace>", WORKSPACE)
    judged = judge(text, workspace=WORKSPACE, home=HOME, version=record["version"])
    assert judged.level == CORRECTED.get(record["rule"], record["expect"])
    assert judged.level >= record["expect"]
    if "danger_probes" in record:
        assert judged.covers_danger == record["danger_probes"]
        assert judged.covers_benign == record["benign_probes"]
