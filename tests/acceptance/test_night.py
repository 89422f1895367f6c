"""A night from its first job to the morning's decision, through the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.helpers.night import Night, marked, wait_until
from tests.helpers.stand_in import alive

WRITE = ["harness", "gate", "write", "ads/floor", "--tier", "canonical", "--value", "0.12"]
PROPOSE = f"[[steps]]\ncommand = {json.dumps([*WRITE, '--reason', 'the median rose'])}\n"
PROPOSES = '[[steps]]\ntext = "I propose it."\n' + PROPOSE
EDIT = '[[steps]]\nwrite_file = { path = "data/prices.json", content = "changed" }\n'
EDITS = '[[steps]]\ntext = "Done."\n' + EDIT + PROPOSE
SLEEPS = '[[steps]]\nsleep = 60\n[[steps]]\ntext = "late"\n'
ANSWERS = '[[steps]]\ntext = "All is well."\n'
CANONICAL = ["journal", "canonical"]
# everything is imported by a first call, before this process gives up its rights
AS_NOBODY = """
import contextlib, io, os, pathlib
from harness.cli import run_arguments
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    run_arguments(["report", "--json"])  # loads what this process may not read afterwards
state = pathlib.Path(os.environ["HARNESS_HOME"], "state")
for path in (state, *state.rglob("*")):
    path.chmod(0o755 if path.is_dir() else 0o644)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
raise SystemExit(run_arguments(["report", "--json"]))
"""


@pytest.fixture
def guarded(night: Night) -> Night:
    """Return a night with a guarded price list and canonical writes enabled."""
    (night.workspace / "data").mkdir()
    (night.workspace / "data" / "prices.json").write_text("original", encoding="utf-8")
    night.job("prices", EDITS, tiers=CANONICAL, guard=["data/prices.json"])
    night.enable()
    return night


def test_a_held_write_reaches_the_store_by_one_approval(night: Night) -> None:
    """Proposed, released, shown, approved, read back: each step says what the next one needs."""
    night.job("ads", PROPOSES, tiers=CANONICAL)
    night.enable()
    status, record = night.run("ads")
    assert (status, record["outcome"], record["reason"], record["rule"]) == (
        0,
        "held",
        "pending",
        "held",
    )
    assert record["table_row"] == 1
    (waiting,) = night.harness("pending", "list", "--json").json
    assert waiting["id"] == record["pending"][0]
    assert (waiting["key"], waiting["value"], waiting["state"]) == ("ads/floor", "0.12", "pending")
    assert (waiting["run_id"], waiting["base_version"]) == (record["run_id"], 0)
    assert night.harness("canonical", "get", "ads/floor").status == 1
    approved = night.harness(
        "approve", waiting["id"], "--sha256", waiting["value_sha256"], "--json"
    )
    assert approved.status == 0
    assert approved.json == {
        "results": [{"id": waiting["id"], "state": "approved", "version": 1, "error": None}]
    }
    value = night.harness("canonical", "get", "ads/floor", "--json").json
    assert (value["value"], value["version"], value["target"]) == ("0.12", 1, "sqlite")
    again = night.harness("approve", waiting["id"])
    assert again.status == 1
    assert len(night.harness("canonical", "history", "ads/floor", "--json").json) == 1
    assert night.harness("state", "check").status == 0


def test_a_direct_change_is_a_bypass_whatever_else_was_proposed(guarded: Night) -> None:
    """A harmless proposal beside a changed guard: exit 4, evidence, quarantine, masked held."""
    status, record = guarded.run("prices")
    assert (status, record["outcome"], record["table_row"]) == (4, "bypassed", 4)
    assert record["masked"]["outcome"] == "held"
    assert record["evidence"]["canonical_changed"] is True
    assert record["evidence"]["changed_paths"] == [
        str((guarded.workspace / "data" / "prices.json").resolve())
    ]
    assert record["pending"] == []
    assert len(record["quarantined"]) == 1
    refused = guarded.harness("approve", record["quarantined"][0])
    assert refused.status == 1
    shown = guarded.harness("runs", "show", record["run_id"])
    assert "original" in shown.out
    assert "changed" in shown.out


def test_a_bypass_that_also_fails_is_a_bypass(guarded: Night) -> None:
    """Exit 3 with an error line does not hide the changed guard; `masked` tells the failure."""
    failing = EDITS + '[[steps]]\nerror = { short_error = "overloaded", error_code = 503 }\n'
    guarded.play("prices", failing)
    status, record = guarded.run("prices")
    assert (status, record["outcome"], record["exit_code"]) == (4, "bypassed", 3)
    assert record["masked"]["reason"] == "agy_error.transient"


def test_a_bypass_suspends_its_job_until_it_is_acknowledged(guarded: Night) -> None:
    """The job is refused, others go on; restore and ack bring it back."""
    _, record = guarded.run("prices")
    guarded.job("other", ANSWERS)
    status, refused = guarded.run("prices")
    assert (status, refused["outcome"], refused["reason"]) == (5, "refused", "canonical_suspended")
    assert record["run_id"] in refused["detail"]
    assert guarded.run("other")[0] == 0
    restored = guarded.harness("runs", "restore", record["run_id"], "--json")
    assert restored.status == 0, restored.err
    assert (guarded.workspace / "data" / "prices.json").read_text() == "original"
    empty = guarded.harness("runs", "ack", record["run_id"], "--reason", " ")
    assert empty.status == 1
    assert guarded.harness("runs", "ack", record["run_id"], "--reason", "rule removed").status == 0
    guarded.play("prices", ANSWERS)
    status, record = guarded.run("prices")
    assert (status, record["outcome"]) == (0, "untouched")
    assert record["evidence"]["changed_between_runs"] == []


def test_a_bypass_stays_in_the_report_until_it_is_acknowledged(guarded: Night) -> None:
    """A report of a later time still names it; after the acknowledgement it does not."""
    _, record = guarded.run("prices")
    later = ("report", "--since", datetime.now(UTC).isoformat(), "--json")
    assert [run["run_id"] for run in guarded.harness(*later).json["earlier_bypasses"]] == [
        record["run_id"]
    ]
    guarded.harness("runs", "ack", record["run_id"], "--reason", "seen")
    assert guarded.harness(*later).json["earlier_bypasses"] == []


def test_a_change_between_runs_is_a_finding(guarded: Night) -> None:
    """Somebody edited the guard while no run was on: told, and no run is blamed."""
    guarded.play("prices", ANSWERS)
    assert guarded.run("prices")[1]["outcome"] == "untouched"
    (guarded.workspace / "data" / "prices.json").write_text("edited by a person")
    status, record = guarded.run("prices")
    assert (status, record["outcome"]) == (0, "untouched")
    assert len(record["evidence"]["changed_between_runs"]) == 1
    assert "changed_between_runs" in {found["id"] for found in record["findings"]}


def test_twenty_runs_of_one_job_are_one(night: Night) -> None:
    """One runs, nineteen end with 75 and leave no trace."""
    night.job("slow", SLEEPS, timeout="50s")
    started = [night.start("run", "slow", "--json") for _ in range(20)]
    wait_until(lambda: sum(process.poll() is not None for process in started) >= 19, 100)
    alive = [process for process in started if process.poll() is None]
    assert len(alive) == 1
    alive[0].send_signal(signal.SIGTERM)
    statuses = []
    for process in started:
        process.communicate(timeout=60)
        statuses.append(process.returncode)
    assert sorted(statuses) == [3] + [75] * 19
    assert len(night.harness("runs", "list", "--json").json) == 1


def test_twenty_approvals_of_one_proposal_are_one(night: Night) -> None:
    """One applies; the others are told that it is done; the key has one version."""
    night.job("ads", PROPOSES, tiers=CANONICAL)
    night.enable()
    _, record = night.run("ads")
    started = [night.start("approve", record["pending"][0], "--json") for _ in range(20)]
    for process in started:
        process.communicate(timeout=100)
    assert sorted(process.returncode for process in started) == [0] + [1] * 19
    assert len(night.harness("canonical", "history", "ads/floor", "--json").json) == 1


def test_a_told_stop_ends_classifies_and_records(night: Night) -> None:
    """SIGTERM to the harness: the run is errored/interrupted, and nothing of it lives on."""
    night.job("slow", SLEEPS, timeout="50s")
    process = night.start("run", "slow", "--json")
    stdouts = night.home.runs
    wait_until(lambda: any(stdouts.glob("*/stdout")))
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    record = json.loads(out)
    assert (process.returncode, record["outcome"], record["reason"]) == (
        3,
        "errored",
        "interrupted",
    ), err
    assert record["killed"] == "interrupted"
    assert marked(record["run_id"]) == []


def test_a_killed_harness_is_settled_by_the_next_command(night: Night) -> None:
    """SIGKILL in mid-run: the next command closes the run, kills survivors, quarantines."""
    night.job("ads", PROPOSES + SLEEPS, tiers=CANONICAL, timeout="50s")
    night.enable()
    process = night.start("run", "ads")
    wait_until(lambda: len(night.harness("pending", "list", "--json").json) == 1)
    (proposal,) = night.harness("pending", "list", "--json").json
    assert proposal["state"] == "proposed"
    early = night.harness("approve", proposal["id"])
    assert early.status == 1
    process.kill()
    process.communicate(timeout=30)
    report = night.harness("report", "--json").json
    (record,) = report["runs"]
    assert (record["outcome"], record["reason"]) == ("errored", "harness_crashed")
    assert record["quarantined"] == [proposal["id"]]
    assert record["evidence"]["survivors_killed"] >= 1
    assert report["running"] == []
    assert marked(record["run_id"]) == []
    assert night.harness("approve", proposal["id"]).status == 1
    assert night.harness("approve", proposal["id"], "--quarantined").status == 0


def test_a_daemon_that_hid_from_a_killed_harness_is_ended_by_the_next_command(
    night: Night,
) -> None:
    """It left the session and scrubbed the run's id: known, because its harness had noted it."""
    hides = "[[steps]]\ndaemon = { scrub = true, escapes = true, ignore_sighup = true }\n"
    night.job("ads", f'record = "{night.folder}/record"\n{hides}{SLEEPS}', timeout="50s")
    process = night.start("run", "ads")
    record = night.folder / "record"
    wait_until(lambda: record.exists() and '"daemon"' in record.read_text())
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    (daemon,) = [line for line in lines if line.get("kind") == "daemon"]
    wait_until(
        lambda: any(
            f'"pid":{daemon["pid"]},' in path.read_text()
            for path in night.home.runs.glob("*/processes.json")
        )
    )
    process.kill()
    process.communicate(timeout=30)
    (settled,) = night.harness("report", "--json").json["runs"]
    assert settled["reason"] == "harness_crashed"
    assert settled["evidence"]["survivors_killed"] >= 2
    assert not alive(daemon["pid"])
    assert not list(night.home.runs.glob("*/processes.json"))


def test_agent_configuration_that_appears_between_runs_is_a_finding(night: Night) -> None:
    """What later runs execute or obey is watched between them too."""
    night.job("ads", ANSWERS)
    night.run("ads")
    (night.workspace / ".agents").mkdir()
    (night.workspace / ".agents" / "hooks.json").write_text("{}")
    _, record = night.run("ads")
    assert "agent_configuration_changed" in {found["id"] for found in record["findings"]}
    _, record = night.run("ads")
    assert record["findings"] == []


def test_a_job_touches_only_the_tiers_it_declares(night: Night) -> None:
    """A canonical write of a journal job is refused at the door, and the run says so."""
    night.job("notes", PROPOSES)
    _, record = night.run("notes")
    assert record["outcome"] == "untouched"
    assert "event_without_queue" in {found["id"] for found in record["findings"]}
    assert night.harness("pending", "list", "--json").json == []


def test_journal_entries_of_a_run_are_listed_under_its_agent(night: Night) -> None:
    """An entry written in mid-run is there afterwards, in the tongue it was written in."""
    text = "下限を上げた 🎌"
    night.job(
        "notes",
        f'[[steps]]\ncommand = ["harness", "journal", "append", "--scope", "ads", "{text}"]\n'
        '[[steps]]\ncommand = { run = ["harness", "journal", "list", "--json"], say = true }\n',
        agent_id="floors",
    )
    _, record = night.run("notes")
    assert text in record["response"]
    (entry,) = night.harness("journal", "list", "--agent", "floors", "--json").json
    assert (entry["entry"], entry["scope"], entry["run_id"]) == (text, "ads", record["run_id"])
    assert text in night.harness("journal", "list").out


@pytest.mark.parametrize("words", [("report",), ("approve", "x"), ("run", "ads"), ("init",)])
def test_inside_a_run_a_persons_commands_are_refused(night: Night, words: tuple[str, ...]) -> None:
    """An agent that asks for a person's command gets exit 1, and nothing is recorded."""
    step = json.dumps(["harness", *words])
    night.job("ads", f'[[steps]]\ncommand = {{ run = {step} }}\n[[steps]]\ntext = "tried"\n')
    text = (night.user / "ads.toml").read_text()
    (night.user / "ads.toml").write_text(f'record = "{night.folder / "record"}"\n' + text)
    _, record = night.run("ads")
    lines = [json.loads(line) for line in (night.folder / "record").read_text().splitlines()]
    (command,) = [line for line in lines if line["line"] == "command"]
    assert command["exit"] == 1
    assert "refused inside a run" in command["stderr"]
    assert len(night.harness("runs", "list", "--json").json) == 1
    assert record["outcome"] == "untouched"


def test_an_unattended_run_needs_an_accepted_job(night: Night) -> None:
    """A job nobody accepted, or that changed since, is refused; accepting it opens the way."""
    night.job("ads", ANSWERS)
    status, record = night.run("ads", "--unattended")
    assert (status, record["reason"]) == (5, "not_accepted")
    assert night.harness("jobs", "accept", "ads").status == 0
    assert night.run("ads", "--unattended")[0] == 0
    path = night.home.nightly / "ads.toml"
    path.write_text(path.read_text() + 'timeout = "30m"\n')
    assert night.run("ads", "--unattended")[1]["reason"] == "not_accepted"
    assert night.run("ads")[0] == 0


def test_a_pause_refuses_until_resume(night: Night) -> None:
    """Paused nights refuse every job, with the reason that was given."""
    night.job("ads", ANSWERS)
    assert night.harness("pause", "--reason", "on holiday").status == 0
    status, record = night.run("ads")
    assert (status, record["reason"]) == (5, "paused")
    assert "on holiday" in record["detail"]
    assert night.harness("resume").status == 0
    assert night.run("ads")[0] == 0


def test_refusals_name_their_reason(night: Night) -> None:
    """A missing CLI, an old one, switched-off canonical writes, and a job that is not there."""
    night.job("ads", PROPOSES, tiers=CANONICAL)
    assert night.run("ads")[1]["reason"] == "canonical_suspended"
    missing = night.harness("run", "ads", "--json", "--agy", "/nowhere/agy")
    assert (missing.status, missing.json["reason"]) == (5, "cli_missing")
    night.play("ads", 'version = "1.1.2"\n' + PROPOSES)
    assert night.run("ads")[1]["reason"] == "cli_too_old"
    unknown = night.harness("run", "nosuch", "--json")
    assert (unknown.status, unknown.json["reason"]) == (5, "bad_job")
    (night.home.nightly / "broken.toml").write_text("prompt = 3\nworkspace = '/nowhere'\n")
    broken = night.harness("run", "broken", "--json")
    assert (broken.status, broken.json["reason"]) == (5, "bad_job")
    assert "broken.toml" in broken.json["detail"]
    night.job("bubble", ANSWERS, isolate="bubblewrap")
    assert night.run("bubble")[1]["reason"] == "isolation_unavailable"
    outcomes = night.harness("report", "--json").json["counts"]
    assert outcomes["refused"] == 6


def test_no_command_prints_a_traceback_for_bad_input(night: Night) -> None:
    """Whatever is wrong, a person gets one line, the status of the design, and a hint."""
    (night.home.root / "harness.toml").write_text("[agy]\npth = 1\n")
    said = night.harness("report")
    assert said.status == 2
    assert "pth" in said.err
    assert "Traceback" not in said.err
    assert night.harness("report", "--home", str(night.folder)).status == 2
    assert night.harness("nosuch").status == 2
    assert night.harness("approve").status == 2


def test_the_morning_says_it_on_the_first_screen(guarded: Night) -> None:
    """Bypassed stands first, every outcome is counted, and the screen is at most 24 lines."""
    guarded.run("prices")
    guarded.job("ads", PROPOSES, tiers=CANONICAL)
    guarded.run("ads")
    guarded.job("quiet", ANSWERS)
    guarded.run("quiet")
    guarded.job("broken", "[[steps]]\nexit = 1\n")
    guarded.run("broken")
    said = guarded.harness("report")
    lines = said.out.splitlines()
    text = "\n".join(lines[:23])
    assert "1 run changed canonical data past the gate" in text
    assert text.index("BYPASSED") < text.index("HELD") < text.index("ERRORED") < text.index("quiet")
    assert "the median rose" in text
    assert "take stock of the allow rules" in text
    assert "+0.12" in said.out
    data = guarded.harness("report", "--json").json
    assert data["counts"] == {
        "held": 1,
        "errored": 1,
        "untouched": 1,
        "bypassed": 1,
        "refused": 0,
    }


def test_a_store_that_takes_no_writes_is_reported_on(night: Night) -> None:
    """`report` reads a state folder that cannot be written, and says that it did not settle."""
    night.job("ads", ANSWERS)
    night.run("ads")
    for path in [*night.folder.parents][:3]:
        if path.stat().st_mode & 0o7777 == 0o700:
            path.chmod(0o711)
    for path in [night.folder, *night.folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY],
        # coverage could not write where this process may not
        env={key: text for key, text in night.environment.items() if not key.startswith("COV")},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["untouched"] == 1
    assert any("read-only" in note for note in json.loads(done.stdout)["notes"])
