"""Two jobs at once: what is told, what is recorded; and which tiers a run may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.night import Night, wait_until


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """Return a home without jobs."""
    return Night(tmp_path)


def test_another_job_in_the_same_workspace_is_recorded_as_refused(night: Night) -> None:
    """Its night did not come about, and the morning says so; the same job twice is only told."""
    begun = night.folder / "begun"
    night.job("first", f"[[steps]]\ncommand = 'touch {begun}; sleep 60'\n")
    night.job("second", "ok")
    with night.start("run", "first", "--json") as process:
        wait_until(begun.exists)
        status, record = night.run("second")
        assert (status, record["outcome"], record["reason"]) == (5, "refused", "already_running")
        assert "shares its workspace" in record["detail"]
        status, told = night.run("first")
        assert (status, told["reason"]) == (75, "already_running")
        runs = night.harness("runs", "list", "--json").json
        assert [run["run_id"] for run in runs] == [record["run_id"]]
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize(("tiers", "status"), [(["journal"], 1), (["ephemeral"], 0)])
def test_a_run_writes_only_to_tiers_that_its_job_declares(
    night: Night, tiers: list[str], status: int
) -> None:
    """Ephemeral state is a tier like the others."""
    out = night.workspace / "status"
    words = "harness gate write k --tier ephemeral --value 1 --reason why"
    night.job("ads", f"[[steps]]\ncommand = '{words}; echo $? > {out}'\n", tiers=tiers)
    night.run("ads")
    assert out.read_text().strip() == str(status)
