"""Each command by itself: what it answers, with which status, to a person and to a script."""

from __future__ import annotations

import json
import stat

import pytest

from tests.helpers.night import Night
from tests.helpers.terminals import CONTROL, in_terminal, plain

ANSWERS = '[[steps]]\ntext = "All is well."\n'
CANONICAL = ["journal", "canonical"]


def write(night: Night, key: str, value: str, reason: str = "because") -> str:
    """Propose a canonical write from a person's shell; returns the proposal's id."""
    said = night.harness(
        "gate", "write", key, "--tier", "canonical", "--value", value, "--reason", reason, "--json"
    )
    assert said.status == 0, said.err
    assert said.json["applied"] is False
    identity: str = said.json["pending_id"]
    return identity


def test_doctor_says_what_a_night_needs(night: Night) -> None:
    """Each check has a name, a word on whether it holds, and a hint where it does not."""
    night.job("ads", ANSWERS)
    good = night.harness("doctor", "--json")
    assert (good.status, good.json["ok"]) == (0, True)
    names = {check["name"] for check in good.json["checks"]}
    assert {"binary", "version", "home", "store", "lock", "disk", "jobs"} <= names
    (night.home.nightly / "broken.toml").write_text("prompt = 1\n")
    night.harness("pause", "--reason", "away")
    bad = night.harness("doctor", HARNESS_AGY="/nowhere/agy")
    assert bad.status == 1
    for words in ("BAD binary", "does not exist", "BAD job broken", "paused", "by root", "away"):
        assert words in bad.out, words


def test_doctor_names_a_version_that_cannot_be_trusted(night: Night) -> None:
    """An old CLI is named, and what follows from it."""
    (night.user / "fake-agy.toml").write_text('version = "1.1.2"\n' + ANSWERS)
    said = night.harness("doctor", "--json")
    (version,) = [check for check in said.json["checks"] if check["name"] == "version"]
    assert not version["ok"]
    assert "1.1.2" in version["detail"]
    refused = night.harness("canonical", "enable", "--yes")
    assert refused.status == 1
    assert "approvals passed by silently" in refused.out
    assert night.harness("canonical", "status", "--json").json["enabled"] is False


def test_canonical_writes_are_switched_by_a_person(night: Night) -> None:
    """They start disabled; enabling asks, or needs --yes; status names who and whom."""
    night.job("ads", ANSWERS, tiers=CANONICAL)
    before = night.harness("canonical", "status", "--json").json
    assert before["enabled"] is False
    assert before["suspended"][0]["job"] == "ads"
    assert night.harness("canonical", "enable").status == 2
    shown = in_terminal("canonical", "enable", environment=night.environment, keys="n\n")
    assert "Enable?" in shown
    assert night.harness("canonical", "status", "--json").json["enabled"] is False
    in_terminal("canonical", "enable", environment=night.environment, keys="y\n")
    after = night.harness("canonical", "status")
    assert "enabled" in after.out
    assert "root@cli" in after.out
    assert night.harness("canonical", "disable", "--reason", "enough").status == 0
    assert "switched off" in night.harness("canonical", "status").out


def test_a_dry_run_starts_nothing(night: Night) -> None:
    """It shows the command, the environment's names and the guards; or why it would not start."""
    night.job("ads", ANSWERS, guard=["data"], model="gemini", args=["--sandbox"])
    said = night.harness("run", "ads", "--dry-run", "--json")
    assert said.status == 0
    argv = said.json["argv"]
    assert argv[-1] == "--print=Do your work."
    assert argv[argv.index("--add-dir") + 1] == str(night.workspace.resolve())
    assert "HARNESS_GATE" in said.json["environment"]
    assert said.json["guards"] == [str(night.workspace.resolve() / "data")]
    assert "would start now" in night.harness("run", "ads", "--dry-run").out
    refused = night.harness("run", "ads", "--dry-run", "--unattended")
    assert refused.status == 5
    assert "not_accepted" in refused.out
    assert night.harness("runs", "list", "--json").json == []


def test_values_come_from_an_option_a_file_or_stdin(night: Night) -> None:
    """Exactly one of the three; too long, or no UTF-8, is refused with nothing stored."""
    identity = write(night, "a/option", "値 1")
    (waiting,) = night.harness("pending", "list", "--json").json
    assert (waiting["id"], waiting["value"], waiting["job"]) == (identity, "値 1", None)
    path = night.folder / "value"
    path.write_text("from a file", encoding="utf-8")
    gate = ("gate", "write", "a/file", "--tier", "canonical", "--reason", "r")
    assert night.harness(*gate, "--value-file", str(path)).status == 0
    assert night.harness(*gate).status == 2
    assert night.harness(*gate, "--value", "1", "-").status == 2
    assert night.harness(*gate, "--value-file", "/nowhere").status == 2
    path.write_bytes(b"\xff\xfe")
    assert "UTF-8" in night.harness(*gate, "--value-file", str(path)).err
    path.write_bytes(b"x" * (1024 * 1024 + 1))
    assert night.harness(*gate, "--value-file", str(path)).status == 2
    empty = night.harness(*gate, "-")
    assert empty.status == 0
    keys = {each["key"]: each["value"] for each in night.harness("pending", "list", "--json").json}
    assert keys == {"a/option": "値 1", "a/file": ""}


def test_a_journal_entry_from_a_shell_is_the_persons_own(night: Night) -> None:
    """Appended under the user's name, or another agent's where it is said."""
    said = night.harness("gate", "write", "x", "--tier", "journal", "--value", "1", "--reason", "r")
    assert said.status == 0
    assert night.harness("journal", "append", "noted", "--decision", "b").status == 0
    assert night.harness("journal", "append", "theirs", "--agent", "ads").status == 0
    entries = night.harness("journal", "list", "--json").json
    assert [(each["agent_id"], each["scope"], each["entry"]) for each in entries] == [
        ("ads", "general", "theirs"),
        ("root", "general", "noted"),
        ("root", "x", "1"),
    ]
    assert night.harness("journal", "list", "--scope", "nosuch").out == "no entries\n"
    ephemeral = ("gate", "write", "x", "--tier", "ephemeral", "--value", "1", "--reason", "r")
    assert night.harness(*ephemeral).status == 1


def test_decisions_stand_one_by_one(night: Night) -> None:
    """One unknown id is an error of its own; the others are decided; a beginning is enough."""
    first, second = write(night, "a", "1"), write(night, "b", "2")
    said = night.harness("approve", first[:6], "nosuch", first, "--json")
    assert said.status == 1
    by_id = {each["id"]: each for each in said.json["results"]}
    assert by_id[first]["state"] == "approved"
    assert by_id["nosuch"]["error"]
    assert len(by_id) == 2
    rejected = night.harness("reject", second, "--reason", "not now", "--json")
    assert rejected.json["results"][0] == {
        "id": second,
        "state": "rejected",
        "version": None,
        "error": None,
    }
    assert night.harness("reject", second, "--reason", "again").status == 1
    assert night.harness("approve", first, second, "--sha256", "x").status == 2
    shown = night.harness("pending", "show", second)
    assert "not now" in shown.out
    assert "by root@cli" in shown.out
    assert night.harness("pending", "show", "nosuch").status == 2
    assert len(night.harness("pending", "list", "--all", "--json").json) == 2


def test_a_moved_base_is_a_conflict(night: Night) -> None:
    """What was approved against another base is not written."""
    night.job("a", PROPOSAL.format(key="k", value="1"), tiers=CANONICAL)
    night.job("b", PROPOSAL.format(key="k", value="2"), tiers=CANONICAL)
    night.enable()
    first, second = night.run("a")[1]["pending"][0], night.run("b")[1]["pending"][0]
    assert night.harness("approve", first).status == 0
    shown = night.harness("pending", "show", second)
    assert "moved" in shown.out
    said = night.harness("approve", second, "--json")
    assert said.status == 1
    assert said.json["results"][0]["state"] == "conflict"
    assert night.harness("canonical", "get", "k").out == "1\n"


PROPOSAL = """
[[steps]]
command = ["harness", "gate", "write", "{key}", "--tier", "canonical", "--value", "{value}",
           "--reason", "r"]
"""


def test_absent_canonical_data_is_exit_1(night: Night) -> None:
    """A key that has no value is told as such, also as JSON."""
    said = night.harness("canonical", "get", "nosuch", "--json")
    assert (said.status, said.json["value"], said.json["version"]) == (1, None, 0)
    assert night.harness("canonical", "history", "nosuch").status == 1
    identity = write(night, "there", "1")
    night.harness("approve", identity)
    assert "root@cli" in night.harness("canonical", "history", "there").out


def test_logs_of_a_run_can_be_read(night: Night) -> None:
    """Every stream of a run, by its name; nothing for a run that does not exist."""
    night.job("ads", ANSWERS)
    _, record = night.run("ads")
    assert (
        "All is well." in night.harness("runs", "log", record["run_id"], "--stream", "stdout").out
    )
    prompt = night.harness("runs", "log", record["run_id"], "--stream", "prompt", "--json").json
    assert prompt["text"] == "Do your work."
    assert night.harness("runs", "show", "nosuch").status == 2
    assert (
        night.harness("runs", "show", "2").out
        == night.harness("runs", "show", record["run_id"]).out
    )
    assert night.harness("runs", "restore", record["run_id"]).status == 2
    assert night.harness("runs", "ack", record["run_id"], "--reason", "x").status == 2
    listed = night.harness("runs", "list", "--outcome", "untouched", "--job", "ads")
    assert record["run_id"] in listed.out
    assert night.harness("runs", "list", "--outcome", "held").out == "no such runs\n"


def test_restoring_leaves_what_somebody_repaired(night: Night) -> None:
    """A path that was changed after the run is named and left, unless it is forced."""
    target = night.workspace / "prices.json"
    target.write_text("original")
    edit = '[[steps]]\nwrite_file = { path = "prices.json", content = "changed" }\n' + ANSWERS
    night.job("prices", edit, guard=["prices.json"])
    status, record = night.run("prices")
    assert status == 4
    target.write_text("repaired by hand")
    left = night.harness("runs", "restore", record["run_id"])
    assert left.status == 1
    assert target.read_text() == "repaired by hand"
    assert night.harness("runs", "restore", record["run_id"], "--force").status == 0
    assert target.read_text() == "original"


def test_the_report_of_a_time_that_is_no_time(night: Night) -> None:
    """--since takes ISO 8601, and says so."""
    said = night.harness("report", "--since", "yesterday")
    assert said.status == 2
    assert "2026-11-30T18:00" in said.err
    assert night.harness("report", "--since", "2020-01-01T00:00:00Z", "--json").json["runs"] == []


def test_a_terminal_gets_colours_a_pager_and_one_screen(night: Night) -> None:
    """At 80 × 24 no line is longer than the terminal; a pipe gets no colours."""
    for number in range(30):
        write(night, f"key/{number:02}", "値" * 60, reason="理由" * 60)
    shown = in_terminal("report", environment=night.environment)
    assert CONTROL.search(shown)
    lines = plain(shown).splitlines()
    from harness.core.text import display_width

    assert max(display_width(line) for line in lines) <= 80
    assert any("more: harness pending list" in line for line in lines[:23])
    piped = night.harness("report").out
    assert not CONTROL.search(piped)


def test_a_long_run_shows_that_it_lives(night: Night) -> None:
    """At a terminal one line renews itself with job, time and tokens, and is gone at the end."""
    night.job("slow", "[[steps]]\nsleep = 2\n" + ANSWERS)
    shown = in_terminal(
        "run", "slow", environment={**night.environment, **night.scenario_of("slow")}
    )
    assert "\r\x1b[2Kslow" in shown
    assert "tokens" in shown
    assert "untouched / no_change" in shown
    assert "event=run.finished" not in shown


def test_logs_are_events_with_facts(night: Night) -> None:
    """In a pipe as key and value, on request as JSON; stdout holds the result alone."""
    night.job("ads", ANSWERS)
    text = night.harness("run", "ads", "--json")
    assert "event=run.finished" in text.err
    lines = night.harness("run", "ads", "--json", "--log-format", "json").err.splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["run.requested", "run.finished"]
    assert events[1]["outcome"] == "untouched"


def test_state_is_private_and_consistent(night: Night) -> None:
    """Folders 0700, and files 0600 but for the CLI's own log; check finds nothing."""
    night.job("ads", ANSWERS)
    night.run("ads")
    for path in [night.home.state, *night.home.state.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0 or path.name == "agy.log", f"{path} {mode:o}"
    assert night.harness("state", "check", "--json").json["ok"] is True


def test_a_store_that_is_no_database_refuses_the_run(night: Night) -> None:
    """`run` answers 5, store_unreachable; the others 1; and nobody sees a traceback."""
    night.job("ads", ANSWERS)
    night.home.prepare_state()
    night.home.database.write_bytes(b"this is no database" * 100)
    status, record = night.run("ads")
    assert (status, record["reason"]) == (5, "store_unreachable")
    said = night.harness("report")
    assert said.status == 1
    assert "Traceback" not in said.err
    checked = night.harness("state", "check", "--json")
    assert (checked.status, checked.json["ok"]) == (1, False)


@pytest.mark.parametrize("bad", ["../../etc/passwd", "nosuch job", "x" * 200, "\x1b[31mred", ""])
def test_a_hostile_job_name_is_only_a_name(night: Night, bad: str) -> None:
    """Whatever is given as a job, it is refused, recorded under a safe id, and shown harmlessly."""
    said = night.harness("run", bad, "--json")
    assert (said.status, said.json["reason"]) == (5, "bad_job")
    assert "/" not in said.json["run_id"]
    assert "\x1b" not in night.harness("report").out
    assert night.harness("runs", "log", said.json["run_id"]).status == 1
