"""How commands speak: what was handled is quiet, what fails says what to do, lists fit."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness.core.text import display_width
from harness.services.run_files import files_of
from tests.helpers.night import Night, wait_until
from tests.helpers.terminals import in_terminal, plain

ANSWERS = '[[steps]]\ntext = "All is well."\n'
EDITS = '[[steps]]\nwrite_file = { path = "prices.json", content = "changed" }\n' + ANSWERS
FAILS = "[[steps]]\nexit = 1\n"
PROPOSES = """
[[steps]]
command = ["harness", "gate", "write", "k", "--tier", "canonical", "--value", "1", "--reason", "r"]
"""
CANONICAL = ["journal", "canonical"]


def propose(night: Night, key: str, reason: str = "because") -> str:
    """Propose a canonical write from a person's shell; returns its id."""
    options = ("--tier", "canonical", "--value", "1", "--reason", reason, "--json")
    identity: str = night.harness("gate", "write", key, *options).json["pending_id"]
    return identity


def checks_of(night: Night) -> dict[str, dict[str, object]]:
    """Return the checks of the doctor by name."""
    said = night.harness("doctor", "--json")
    return {check["name"]: check for check in said.json["checks"]}


def test_an_acknowledged_bypass_is_quiet_everywhere(night: Night) -> None:
    """Report and `runs show` say who took note of it, and advise nothing more about it."""
    (night.workspace / "prices.json").write_text("original")
    night.job("prices", EDITS, guard=["prices.json"])
    run_id = night.run("prices")[1]["run_id"]
    loud = night.harness("report").out
    assert "1 run changed canonical data past the gate." in loud
    assert "Nothing waits for you" not in loud
    night.harness("runs", "restore", run_id)
    assert night.harness("runs", "ack", run_id, "--reason", "put back").status == 0
    quiet = night.harness("report").out
    assert "Nothing new got past the gate; 1 bypass acknowledged." in quiet
    assert "by root: put back" in quiet
    (word,) = night.harness("report", "--json").json["acknowledged"]
    assert (word["run_id"], word["actor"], word["reason"]) == (run_id, "root@cli", "put back")
    shown = night.harness("runs", "show", run_id).out
    assert "by root@cli: put back" in shown
    assert "next " not in shown


def test_a_command_does_not_advise_itself(night: Night) -> None:
    """`runs show` leaves out the advice to give `runs show`; `run` gives it."""
    night.job("ads", ANSWERS, produces=["nothing.md"])
    said = night.harness("run", "ads")
    assert "harness runs show" in said.out
    run_id = night.harness("runs", "list", "--json").json[0]["run_id"]
    assert "harness runs show" not in night.harness("runs", "show", run_id).out
    overloaded = '[[steps]]\nerror = { short_error = "overloaded", error_code = 503 }\n'
    night.play("ads", overloaded)
    again = night.harness("run", "ads").out
    assert "run it again: a passing failure" in again
    assert "harness run ads" not in again


def test_the_log_of_a_run_is_what_there_is(night: Night) -> None:
    """Where the CLI wrote no log, stderr is shown, then stdout, and which one is said."""
    night.job("ads", ANSWERS)
    run_id = night.run("ads")[1]["run_id"]
    files = files_of(night.home, run_id)
    Path(files.log).unlink()
    Path(files.stderr).write_text("it complained")
    said = night.harness("runs", "log", run_id)
    assert (said.out, "this is its stderr" in said.err) == ("it complained", True)
    Path(files.stderr).write_text("")
    said = night.harness("runs", "log", run_id)
    assert "All is well." in said.out
    assert "this is its stdout" in said.err
    Path(files.stdout).unlink()
    said = night.harness("runs", "log", run_id)
    assert (said.status, "agy.log" in said.err) == (1, True)


def test_a_run_that_is_on_can_be_looked_at(night: Night) -> None:
    """Its job, its start and its files are known; a second start names it and nothing else."""
    night.job("slow", "[[steps]]\nsleep = 60\n" + ANSWERS, timeout="90s")
    with night.start("run", "slow", "--json") as process:
        try:
            wait_until(lambda: "running" in night.harness("runs", "list").out)
            (folder,) = night.home.runs.iterdir()
            shown = night.harness("runs", "show", folder.name)
            assert (shown.status, "still on" in shown.out) == (0, True)
            told = night.harness("runs", "show", folder.name[:9], "--json").json
            assert (told["job"], told["outcome"]) == ("slow", None)
            assert told["files"]["stdout"] == str(folder / "stdout")
            wait_until(lambda: night.harness("runs", "log", folder.name).status == 0)
            second = night.harness("run", "slow")
            assert second.status == 75
            assert second.out.count(folder.name) == 1
            assert "\nrun " not in second.out
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def test_a_mistyped_job_brings_the_nearest_name(night: Night) -> None:
    """It is refused and recorded, says what was meant, and no file is to be mended."""
    night.job("dead-links", ANSWERS)
    status, record = night.run("dead-link")
    assert (status, record["reason"]) == (5, "bad_job")
    assert "did you mean dead-links?" in record["detail"]
    assert record["advice"].startswith("harness jobs list")


def test_a_quarantined_proposal_says_why_and_how(night: Night) -> None:
    """Its run's verdict, and the command that approves it all the same."""
    night.job("ads", PROPOSES + FAILS, tiers=CANONICAL)
    night.enable()
    (identity,) = night.run("ads")[1]["quarantined"]
    shown = night.harness("pending", "show", identity).out
    assert "its run is errored / exit" in shown
    assert f"harness approve {identity} --quarantined" in shown
    report = night.harness("report").out
    assert "QUARANTINED" in report
    assert identity in report


def test_a_new_key_is_called_new_and_a_decided_one_has_not_moved(night: Night) -> None:
    """No empty line is taken away where nothing was; what is decided warns of nothing."""
    identity = propose(night, "k")
    waiting = night.harness("pending", "show", identity).out
    assert "a new key" in waiting
    assert "\n-" not in waiting
    assert "  new key" in night.harness("report").out
    night.harness("approve", identity)
    assert "moved" not in night.harness("pending", "show", identity).out


def test_an_id_stands_once_in_an_error(night: Night) -> None:
    """Errors of decisions name the proposal once, and an unknown one says where ids are."""
    said = night.harness("approve", "nosuch")
    assert said.err.count("nosuch") == 1
    assert "harness pending list --all" in said.err
    identity = propose(night, "k")
    night.harness("reject", identity, "--reason", "no")
    assert night.harness("approve", identity).err.count(identity) == 1


def test_what_fails_at_one_proposal_is_that_ones_result(night: Night) -> None:
    """The others are decided and printed."""
    identity = propose(night, "k")
    other = propose(night, "l")
    said = night.harness("reject", identity, "--reason", " ", "--json")
    assert said.status == 1
    assert "reason" in said.json["results"][0]["error"]
    said = night.harness("approve", "", other, "--json")
    assert [bool(each["error"]) for each in said.json["results"]] == [True, False]


def test_the_doctor_looks_at_a_broken_home(night: Night) -> None:
    """Broken settings, limits or database are checks that do not hold, beside all the others."""
    night.job("ads", ANSWERS)
    (night.home.nightly / "broken.toml").write_text('prompt = 1\ntimeout = "x"\n')
    night.home.settings_file.write_text("[agy]\npath = 3\n")
    (night.home.rules / "gate.toml").write_text("[limits]\nvalue_bytes = 0\n")
    found = checks_of(night)
    assert [name for name, check in found.items() if not check["ok"]] == [
        "settings",
        "gate limits",
        "jobs",
        "job broken",
    ]
    assert "timeout" in str(found["job broken"]["detail"])
    assert "Problem(" not in str(found)
    assert {"binary", "home", "store", "lock", "disk", "isolation"} <= set(found)
    said = night.harness("doctor")
    assert said.status == 1
    assert said.out.count("harness jobs check") == 1


def test_the_doctor_looks_at_a_broken_database(night: Night) -> None:
    """A file that is no database is told as such, and the rest is looked at all the same."""
    night.home.prepare_state()
    night.home.database.write_bytes(b"this is no database" * 100)
    found = checks_of(night)
    assert not found["store"]["ok"]
    assert found["jobs"]["ok"]


def test_the_doctor_does_not_wait_for_the_lock(night: Night) -> None:
    """A lock that somebody holds is told at once."""
    night.harness("runs", "list")
    descriptor = os.open(night.home.lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    found = checks_of(night)
    os.close(descriptor)
    assert not found["lock"]["ok"]
    assert found["store"]["ok"]
    assert checks_of(night)["lock"]["ok"]


def test_a_demanded_isolation_is_told_as_missing(night: Night) -> None:
    """This release cannot isolate; a home that demands it hears so from the doctor."""
    assert checks_of(night)["isolation"]["ok"]
    night.home.settings_file.write_text('[agy]\nisolate = "bubblewrap"\n')
    assert not checks_of(night)["isolation"]["ok"]


def test_a_pause_is_named_where_people_look(night: Night) -> None:
    """The report notes it, and the doctor has a line of its own for it."""
    night.harness("pause", "--reason", "away")
    assert "note: no job starts, paused by root@cli: away" in night.harness("report").out
    assert "away" in str(checks_of(night)["pause"]["detail"])


def test_since_takes_what_people_type(night: Night) -> None:
    """A time of day, a span, or ISO 8601; never a time ahead."""
    for since in ("18:00", "8:05", "90m", "2h", "3d", "2026-01-01", "2026-01-01T18:00:00Z"):
        assert night.harness("report", "--since", since, "--json").status == 0, since
    for since in ("2999-01-01", "25:00", "2w", "999999d999"):
        assert night.harness("report", "--since", since).status == 2, since


def test_the_report_shows_twenty_differences_and_counts_the_rest(night: Night) -> None:
    """What is not shown is counted; in a pipe every proposal is named, none cut."""
    ids = [propose(night, f"key/{number}", "r" * 200) for number in range(22)]
    text = night.harness("report").out
    assert "… and 2 more differences" in text
    assert all(identity in text for identity in ids)
    assert "r" * 200 in text


def test_the_report_names_a_home_that_is_elsewhere(night: Night) -> None:
    """Its first line says which home it is about, unless one stands in it."""
    assert night.harness("report").out.startswith(f"home {night.home.root}\n")
    environment = {**night.environment, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [str(night.binaries / "harness"), "report"],
        env=environment,
        cwd=night.home.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith("The night ")


def test_an_empty_entry_is_refused(night: Night) -> None:
    """A journal entry says something."""
    said = night.harness("journal", "append", " ")
    assert (said.status, "an empty entry" in said.err) == (2, True)


def test_mistakes_of_the_settings_are_told_once(night: Night) -> None:
    """`jobs check` names each of them on one line, on one stream."""
    night.job("ads", ANSWERS)
    night.home.settings_file.write_text("[agy]\npath = 3\n")
    said = night.harness("jobs", "check")
    assert said.status == 2
    assert (said.out + said.err).count("agy.path") == 1


@pytest.mark.parametrize("columns", [40, 80])
def test_lists_fit_the_terminal(night: Night, columns: int) -> None:
    """At a terminal no line of a list is wider than it; what does not fit is shortened."""
    night.job("a-job-with-a-rather-long-name", ANSWERS, tiers=CANONICAL, schedule="*-*-* 02:00:00")
    night.enable()
    night.run("a-job-with-a-rather-long-name")
    propose(night, "a/key/that/is/long/enough/to/matter", "理由" * 40)
    for words in (
        ("runs", "list"),
        ("jobs", "list"),
        ("jobs", "show", "a-job-with-a-rather-long-name"),
        ("pending", "list"),
        ("doctor",),
    ):
        shown = plain(in_terminal(*words, environment=night.environment, columns=columns))
        assert max(map(display_width, shown.splitlines())) <= columns, shown
        assert "Traceback" not in shown


def test_a_pipe_gets_everything(night: Night) -> None:
    """Reasons and keys stand whole where nobody measured a terminal."""
    propose(night, "k/" * 100 + "k", "r" * 300)
    text = night.harness("pending", "list").out
    assert "k/" * 100 in text
    assert "r" * 300 in text


def test_a_terminals_pager_gets_colours_through(night: Night) -> None:
    """Without LESS of one's own, less is told to show colours; one's own stays."""
    for number in range(30):
        propose(night, f"key/{number}")
    pager = night.binaries / "pager"
    pager.write_text('#!/bin/sh\necho "flags:$LESS"\ncat\n')
    pager.chmod(0o755)
    environment = {**night.environment, "PAGER": str(pager)}
    assert "flags:-FRX" in in_terminal("report", environment=environment, pager=str(pager))
    own = {**environment, "LESS": "-S"}
    assert "flags:-S" in in_terminal("report", environment=own, pager=str(pager))
    flat = in_terminal("report", "--no-pager", environment=environment, pager=str(pager))
    assert "flags:" not in flat


def test_the_demo_can_be_looked_around_in(tmp_path: Path) -> None:
    """Its last lines work as they are printed, from any environment; --json is alone on stdout."""
    import sys

    root = Path(__file__).parents[2]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-m", "harness", "demo", "--json", "--dir", str(tmp_path / "stage")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert json.loads(done.stdout)["ok"] is True
    assert "BYPASSED" in done.stderr
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("look around: ")]
    looked = subprocess.run(
        ["sh", "-c", line.removeprefix("look around: ")],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "price-list" in looked.stdout
