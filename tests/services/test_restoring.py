"""Putting back what a run changed, beside other runs and in parts."""

from __future__ import annotations

import pytest

from harness.core.evidence import below
from harness.core.model import OutputReport, RunRecord
from harness.errors import UsageProblem
from harness.services.conclude import Aftermath, conclude
from harness.services.history import restore_run
from harness.services.house import House
from tests.helpers.houses import open_run, opened, prepared
from tests.helpers.night import Night


def bypassed(house: House, night: Night) -> RunRecord:
    """Return a closed run that changed two guarded files."""
    party = prepared(house, "ads")
    (night.workspace / "data" / "prices").write_text("after")
    (night.workspace / "data" / "more").write_text("new")
    aftermath = Aftermath(report=OutputReport(), harness_crashed=True)
    return conclude(house, party.run, party.plan, party.before, party.files, aftermath)


def test_nothing_is_put_back_under_a_run_that_is_on(night: Night) -> None:
    """Its agent would see files change, and be accused of it."""
    with opened(night) as house:
        record = bypassed(house, night)
        run = open_run(house, "ads")
        with pytest.raises(UsageProblem, match=f"run {run.run_id} of ads is on"):
            restore_run(house, record, force=False)
    assert (night.workspace / "data" / "prices").read_text() == "after"


def test_a_run_elsewhere_is_in_nobodys_way(night: Night) -> None:
    """Another workspace is another world."""
    other = night.folder / "other"
    other.mkdir()
    night.job("deps", "[[steps]]\nsleep = 0\n", workspace=str(other))
    with opened(night) as house:
        record = bypassed(house, night)
        open_run(house, "deps")
        assert restore_run(house, record, force=False).complete


def test_after_a_part_was_put_back_the_store_knows_what_stands_there(night: Night) -> None:
    """What somebody repaired otherwise is not told as a change that no run made."""
    with opened(night) as house:
        record = bypassed(house, night)
        (night.workspace / "data" / "more").write_text("repaired")
        assert not restore_run(house, record, force=False).complete
        again = prepared(house, "ads")
        assert again.plan.changed_between_runs == ()
        assert any(below(path, again.plan.guard_roots) for path in again.before)
        assert (night.workspace / "data" / "more").read_text() == "repaired"
