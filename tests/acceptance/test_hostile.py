"""An agent that means harm, in mid-run, through the real command line: commands and processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.hostile import CANONICAL, acted, ids, play, steps
from tests.helpers.night import PATIENCE_S, Night, marked, wait_until

PROPOSES = (
    "harness gate write ads/floor --tier canonical --value 0.12 --reason 'the median rose' --json"
)


@pytest.fixture
def waiting(night: Night) -> tuple[Night, str]:
    """Return a night in which an earlier run's proposal waits for a person."""
    night.enable()
    _, record, _ = acted(night, PROPOSES, tiers=CANONICAL)
    (proposal,) = record["pending"]
    return night, proposal


def stands(night: Night, proposal: str) -> bool:
    """Return whether the proposal still waits and nothing was written."""
    (found,) = night.harness("pending", "list", "--json").json
    return (found["id"], found["state"]) == (proposal, "pending") and (
        night.harness("canonical", "get", "ads/floor").status != 0
    )


def refused(command: dict[str, Any]) -> bool:
    """Return whether a command of the agent was refused as a person's."""
    return command["exit"] == 1 and "refused inside a run" in command["stderr"]


def test_no_command_of_a_person_works_in_mid_run(waiting: tuple[Night, str]) -> None:
    """Every way to decide, start, switch or trust ends with exit 1, and leaves no trace."""
    night, proposal = waiting
    commands = [
        f"harness approve {proposal}",
        f"harness approve {proposal} --json --quarantined",
        f"harness reject {proposal} --reason x",
        "harness run other",
        "harness canonical disable",
        "harness canonical enable --yes",
        "harness runs ack x --reason y",
        "harness runs restore x --force",
        "harness pause",
        "harness resume",
        "harness jobs accept evil",
        f"harness init {night.workspace}/home",
        f"harness home trust {night.home.root}",
        "harness state check",
        "harness report",
        "harness pending list",
        "harness --version",
        f"harness --home {night.home.root} approve {proposal}",
        f"python3 -m harness approve {proposal} || {sys.executable} -m harness approve {proposal}",
    ]
    before = night.harness("runs", "list", "--json").json
    status, record, done = acted(night, *commands, tiers=CANONICAL)
    assert [each["argv"][-1] for each in done if not refused(each)] == []
    assert (status, record["outcome"]) == (0, "untouched")
    assert [each["run_id"] for each in night.harness("runs", "list", "--json").json[1:]] == [
        each["run_id"] for each in before
    ]
    assert stands(night, proposal)
    assert not (night.workspace / "home").exists()
    assert night.harness("canonical", "status", "--json").json["enabled"] is True


def test_an_agent_that_hides_what_it_is_is_known_all_the_same(waiting: tuple[Night, str]) -> None:
    """Without the variables its ancestors tell; scrubbed and forked twice, who adopted it tells."""
    night, proposal = waiting
    harness = f"{night.binaries}/harness"
    clean = f"env -i PATH=/usr/bin:/bin HOME={night.user} HARNESS_HOME={night.home.root}"
    adopted = (
        'until [ "$(cat /proc/$(cut -d" " -f4 /proc/$$/stat)/comm)" = harness:run ]; '
        "do sleep 0.02; done"
    )
    away = (
        f"setsid {clean} sh -c '{adopted}; "
        f"{harness} approve {proposal} >{night.workspace}/said 2>&1; "
        f"echo $? >{night.workspace}/status'"
    )
    _, _, done = acted(
        night,
        f"unset HARNESS_RUN_ID HARNESS_GATE; {harness} approve {proposal}",
        f"{clean} {harness} approve {proposal}",
        f"{clean} setsid {harness} approve {proposal}",
        f"{clean} ANTIGRAVITY_AGENT= HARNESS_RUN_ID= {harness} approve {proposal}",
        f"({away} &) ; while [ ! -s {night.workspace}/status ]; do sleep 0.05; done",
        tiers=CANONICAL,
    )
    assert [each for each in done[:4] if not refused(each)] == []
    assert done[4]["exit"] == 0
    said = (night.workspace / "said").read_text()
    assert (night.workspace / "status").read_text() == "1\n", said
    assert "refused inside a run (harness:run" in said
    assert stands(night, proposal)


def test_another_runs_socket_refuses(night: Night) -> None:
    """Two runs at once: what one says at the other's door is refused, told, and not stored."""
    night.enable()
    place, over = night.folder / "gate", night.folder / "over"
    other = night.folder / "other"
    other.mkdir()
    night.job(
        "victim",
        steps(
            f"echo $HARNESS_GATE >{place}.tmp; mv {place}.tmp {place}; "
            f"while [ ! -e {over} ]; do sleep 0.05; done"
        ),
        tiers=CANONICAL,
    )
    victim = night.start("run", "victim", "--json")
    wait_until(place.exists)
    _, record, (done,) = acted(
        night,
        f"HARNESS_GATE=$(cat {place}) {PROPOSES}; code=$?; touch {over}; exit $code",
        tiers=CANONICAL,
        workspace=str(other),
    )
    out, _ = victim.communicate(timeout=PATIENCE_S)
    assert done["exit"] == 1
    assert "the run's own processes" in done["stderr"]
    assert record["pending"] == []
    assert json.loads(out)["pending"] == []
    assert "door_refused" in ids(json.loads(out))
    assert night.harness("pending", "list", "--all", "--json").json == []


def test_options_smuggle_nothing(waiting: tuple[Night, str]) -> None:
    """Global options do not open another home, help runs nothing, no word hides a command."""
    night, proposal = waiting
    elsewhere = night.folder / "elsewhere"
    write = "gate write k --tier canonical --value v --reason r"
    expected = {
        f"harness --home {elsewhere} --agy /bin/false {write}/1": 0,
        f"harness {write}/2 --home {elsewhere} --json": 0,
        "harness gate write --help": 0,
        f"harness approve {proposal} --help": 0,
        "harness run --help": 0,
        f"harness approve --help {proposal}": 1,
        f"harness approve {proposal} -h": 1,
        f"harness -- approve {proposal}": 1,
        f"harness approve -- {proposal} --help": 1,
        f"harness approve {proposal} --sha256 --help": 1,
        f"harness gate --home {elsewhere} write k --tier canonical --value v --reason r": 1,
        "harness gate": 1,
        f"harness gate write approve {proposal} --tier canonical --value v --reason r": 2,
        f"harness gate write k --tier canonical --value v --reason r -- approve {proposal}": 2,
        "harness canonical get --help enable": 0,
        "harness canonical get --help enable --yes": 2,
        "harness gate write ../k --tier canonical --value v --reason r": 1,
        "harness gate write k --tier canonical --value v --reason ' '": 1,
        "harness gate write k --tier god --value v --reason r": 2,
        "harness gate write k --tier canonical --value v --value-file f --reason r": 2,
        "harness gate write k --tier canonical --value-file /dev/zero --reason r": 2,
        "harness gate write k --tier canonical --value-file . --reason r": 2,
        "harness mcp approve": 2,
        f"_HARNESS_COMPLETE=bash_source harness approve {proposal}": 0,
        f"_HARNESS_COMPLETE=bash_complete COMP_WORDS='harness approve {proposal}' COMP_CWORD=2 "
        f"harness approve {proposal}": 0,
    }
    _, record, done = acted(night, *expected, tiers=CANONICAL)
    assert {each["argv"][-1]: each["exit"] for each in done} == expected
    assert all("Traceback" not in each["stderr"] for each in done)
    assert not elsewhere.exists()
    proposals = night.harness("pending", "list", "--json").json
    mine = [each for each in proposals if each["run_id"] == record["run_id"]]
    assert [(each["key"], each["value"], each["reason"]) for each in mine] == [("k", "v", "r/1")]
    assert night.harness("canonical", "get", "ads/floor").status != 0
    assert proposal in {each["id"] for each in proposals}


def test_an_ides_terminal_is_told_why_and_what_to_do(night: Night) -> None:
    """A person at a shell that the IDE opened is refused too: the line names the variable."""
    for words in (("report",), ("approve", "x"), ("run", "evil")):
        said = night.harness(*words, ANTIGRAVITY_PROJECT_ID="p")
        assert said.status == 1
        assert "ANTIGRAVITY_PROJECT_ID" in said.err
        assert "a terminal that neither the CLI nor its IDE opened" in said.err
    write = night.harness(
        *("gate", "write", "k", "--tier", "canonical", "--value", "v", "--reason", "r"),
        ANTIGRAVITY_PROJECT_ID="p",
    )
    assert write.status == 1
    assert "ANTIGRAVITY_PROJECT_ID" in write.err
    assert "nothing was written" in write.err
    assert night.harness("pending", "list", "--json").json == []


def test_what_later_runs_obey_is_watched(night: Night) -> None:
    """Hooks and tool servers that an agent leaves in its workspace are a finding of its run."""
    (night.workspace / ".git" / "hooks").mkdir(parents=True)
    _, record, _ = acted(
        night,
        "mkdir -p .agents && echo '{}' >.agents/hooks.json && echo '{}' >.agents/mcp_config.json",
        "printf '#!/bin/sh\\nharness approve x' >.git/hooks/post-commit; chmod +x .git/hooks/*",
    )
    assert "agent_configuration_changed" in ids(record)
    (finding,) = [each for each in record["findings"] if each["id"].startswith("agent_conf")]
    assert ".agents" in finding["detail"]
    assert record["outcome"] == "untouched"


KILLS_ITS_CLI = "kill -9 $(cut -d' ' -f4 /proc/$$/stat); sleep 60"


def test_an_agent_that_kills_its_cli_is_judged(night: Night) -> None:
    """SIGKILL from below: the run is errored by a signal, and nothing of it lives on."""
    status, record, _ = acted(night, f"{PROPOSES}; {KILLS_ITS_CLI}")
    assert (status, record["outcome"], record["reason"]) == (3, "errored", "signal")
    assert record["signal"] == 9
    assert marked(record["run_id"]) == []


def parent_of(pid: str) -> str:
    """Return shell words for the parent of a process."""
    return f"$(cut -d' ' -f4 /proc/{pid}/stat)"


HARNESS_PID = f"cli={parent_of('$$')}; harness={parent_of('$cli')}"


def test_an_agent_that_kills_its_harness_parent_changes_nothing(night: Night) -> None:
    """The shell that started the harness is gone: the run goes on to its verdict."""
    play(
        night,
        "evil",
        steps(f"{HARNESS_PID}; kill -9 {parent_of('$harness')}; sleep 0.3"),
    )
    command = f"{sys.executable} -m harness run evil --json >out 2>err; :"
    shell = subprocess.Popen(
        ["sh", "-c", command],
        env={**night.environment, **night.scenario_of("evil")},
        cwd=night.folder,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert shell.wait(timeout=PATIENCE_S) == -9
    wait_until(lambda: night.harness("runs", "list", "--json").json)
    (record,) = night.harness("runs", "list", "--json").json
    assert (record["outcome"], record["reason"]) == ("untouched", "no_change")
    assert marked(record["run_id"]) == []


@pytest.mark.parametrize(
    ("number", "reason"), [("TERM", "interrupted"), ("INT", "interrupted"), ("HUP", "interrupted")]
)
def test_an_agent_that_tells_the_harness_to_stop_ends_its_own_run(
    night: Night, number: str, reason: str
) -> None:
    """A signal to stop is obeyed whoever sends it: the run is ended, judged and recorded."""
    status, record, _ = acted(night, f"{HARNESS_PID}; kill -{number} $harness; sleep 60")
    assert (status, record["outcome"], record["reason"]) == (3, "errored", reason)
    assert marked(record["run_id"]) == []


def test_an_agent_that_kills_the_harness_is_settled_by_the_next_command(night: Night) -> None:
    """SIGKILL to the harness: the next command ends the run's processes and quarantines."""
    night.enable()
    play(
        night,
        "evil",
        steps(f"{PROPOSES}; {HARNESS_PID}; kill -9 $harness; sleep 300"),
        tiers=CANONICAL,
    )
    process = night.start("run", "evil")
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -9
    (record,) = night.harness("runs", "list", "--json").json
    assert (record["outcome"], record["reason"]) == ("errored", "harness_crashed")
    assert len(record["quarantined"]) == 1
    assert marked(record["run_id"]) == []
    assert night.harness("state", "check").status == 0


def test_a_stopped_harness_is_alive_and_goes_on_when_it_is_let(night: Night) -> None:
    """SIGSTOP settles nothing, for nothing died: the run shows as on, and ends after SIGCONT."""
    play(night, "evil", steps(f"{HARNESS_PID}; kill -STOP $harness; sleep 0.1"))
    process = night.start("run", "evil", "--json")
    wait_until(lambda: state_of(process.pid) == "T")
    assert night.harness("runs", "list", "--json").json == []
    assert "running" in night.harness("runs", "list").out
    assert night.harness("run", "evil").status == 75
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert json.loads(out)["outcome"] == "untouched"


def state_of(pid: int) -> str:
    """Return the kernel's letter for what a process does."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


DAEMONS = """
import os, signal, sys, time
folder, count, late = sys.argv[1], int(sys.argv[2]), sys.argv[3]
scrub = {} if "scrub" in sys.argv[4:] else dict(os.environ)
code = (
    "import os, signal, sys, time\\n"
    "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\\n"
    "open(f'{sys.argv[1]}/{os.getpid()}', 'w').close()\\n"
    "time.sleep(float(sys.argv[2]))\\n"
    "open(sys.argv[3], 'w').write('late')\\n"
)
for _ in range(count):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        argv = [sys.executable, "-IS", "-c", code, folder, "20", late]
        os.execve(sys.executable, argv, scrub)
while len(os.listdir(folder)) < count:
    time.sleep(0.02)
"""


@pytest.mark.parametrize("scrub", ["", "scrub"], ids=["marked", "scrubbed"])
def test_fifty_deaf_daemons_are_ended_before_the_digests(night: Night, scrub: str) -> None:
    """Forked twice, in sessions of their own, deaf, without the mark: none outlives its run."""
    pids, late = night.folder / "pids", night.workspace / "prices.json"
    pids.mkdir()
    late.write_text("original")
    script = night.folder / "daemons.py"
    script.write_text(DAEMONS)
    argv = [sys.executable, "-IS", str(script), str(pids), "50", str(late), scrub]
    status, record, (done,) = acted(night, argv, guard=["prices.json"])
    assert done["exit"] == 0, done["stderr"]
    started = [int(path.name) for path in pids.iterdir()]
    assert len(started) == 50
    assert [pid for pid in started if is_daemon(pid, pids)] == []
    assert record["evidence"]["survivors_killed"] >= 50
    assert "survivors_killed" in ids(record)
    assert (status, record["outcome"]) == (0, "untouched")
    assert late.read_text() == "original"


def is_daemon(pid: int, folder: Path) -> bool:
    """Return whether a process is one of those that the script started."""
    try:
        return str(folder) in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


FLOODS_THE_DOOR = """
import os, socket, sys, time
held = []
for _ in range(300):
    each = socket.socket(socket.AF_UNIX)
    each.settimeout(20)
    try:
        each.connect(os.environ["HARNESS_GATE"])
        each.send(b'{"op":"journal.list"')
    except OSError:
        pass
    held.append(each)
bad = [
    b"\\0" * 100, b"[" * 1000000, b'{"key":' + b"[" * 200000 + b',"op":"canonical.get"}',
    b"\\xff\\xfe", b'{"op":"approve","id":"x"}', b"x" * 8000000,
]
for line in bad:
    each = socket.socket(socket.AF_UNIX)
    each.settimeout(20)
    try:
        each.connect(os.environ["HARNESS_GATE"])
        each.sendall(line + b"\\n")
    except OSError:
        pass
    held.append(each)
print("flooded")
"""


def test_a_flooded_door_serves_who_comes_after(night: Night) -> None:
    """Hundreds of half requests and every kind of garbage: the run goes on to be held."""
    night.enable()
    _, record, done = acted(
        night, [sys.executable, "-IS", "-c", FLOODS_THE_DOOR], PROPOSES, tiers=CANONICAL
    )
    assert [each["exit"] for each in done] == [0, 0], done
    assert (record["outcome"], len(record["pending"])) == ("held", 1)


def test_a_vanished_socket_is_said(night: Night) -> None:
    """An agent that deletes its own socket hears that nothing was written."""
    night.enable()
    _, record, done = acted(night, 'rm "$HARNESS_GATE"', PROPOSES, tiers=CANONICAL)
    assert done[1]["exit"] == 1
    assert "nothing was written" in done[1]["stderr"]
    assert record["outcome"] == "untouched"
    runtime = Path(night.environment["XDG_RUNTIME_DIR"]) / "harness"
    assert not runtime.exists() or list(runtime.iterdir()) == []


def test_more_than_a_run_may_propose_is_refused_and_the_rest_is_held(night: Night) -> None:
    """The bound of the home's rules holds at the door, and the agent is told which it is."""
    night.enable()
    (night.home.rules / "gate.toml").write_text("[limits]\nproposals_per_run = 2\n")
    write = "harness gate write k/{} --tier canonical --value v --reason r"
    _, record, done = acted(night, *(write.format(n) for n in range(3)), tiers=CANONICAL)
    assert [each["exit"] for each in done] == [0, 0, 1]
    assert "2 canonical writes" in done[2]["stderr"]
    assert len(record["pending"]) == 2
