"""A run from its start to the death of its last process."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.agy.collect import Tails
from harness.agy.limits import Limits
from harness.agy.process import Child
from harness.agy.stop import StopSignals
from harness.agy.watch import Ending, Listeners, Progress, no_progress, no_tick, watch
from harness.core.model import Killed
from harness.core.output import Stream
from tests.helpers.processes import launch_of, ledger, started, still_running, wait_for
from tests.helpers.reader import PlainReader

SAY = "\ndef say(*words):\n    print(*words, flush=True)\n"


class Run:
    """One watched run in a folder; what it left can be looked at afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reader = PlainReader()
        self.selector = selectors.DefaultSelector()
        self.child: Child | None = None

    def __call__(
        self,
        body: str,
        *,
        tick: Callable[[], None] = no_tick,
        progress: Callable[[Progress], None] = no_progress,
        timeout_s: float = 60,
        idle_timeout_s: float = 60,
        exit_grace_s: float = 60,
        memory_bytes: int | None = None,
        max_output_bytes: int = 1 << 30,
    ) -> Ending:
        tails = Tails(
            stdout_path=str(self.folder / "stdout"),
            stderr_path=str(self.folder / "stderr"),
            log_path=str(self.folder / "agy.log"),
            gemini_root=str(self.folder / "gemini"),
        )
        with StopSignals() as stop, self.selector:
            self.child = started(launch_of(self.folder, SAY + body))
            try:
                return watch(
                    self.child,
                    reader=self.reader,
                    tails=tails,
                    limits=Limits(
                        timeout_s=timeout_s,
                        idle_timeout_s=idle_timeout_s,
                        exit_grace_s=exit_grace_s,
                        memory_bytes=memory_bytes,
                        max_output_bytes=max_output_bytes,
                    ),
                    selector=self.selector,
                    stop=stop,
                    listeners=Listeners(tick=tick, progress=progress),
                )
            finally:
                tails.close()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run with short waits for what does not obey."""
    monkeypatch.setattr("harness.agy.tree.POLITE_S", 0.3)
    monkeypatch.setattr("harness.agy.watch.RUNAWAY_POLITE_S", 0.3)
    monkeypatch.setattr("harness.agy.tree.STRAGGLER_GRACE_S", 0.2)
    return Run(tmp_path)


def test_a_run_that_ends_by_itself(run: Run, tmp_path: Path) -> None:
    """Exit status, output and use of the machine are what they were."""
    ending = run("say('hello'); print('oops', file=sys.stderr); say('bye'); sys.exit(3)")
    assert (ending.exit_code, ending.signal, ending.killed) == (3, None, None)
    assert (ending.survivors_killed, ending.survivors_left, ending.sync_problem) == (0, 0, "")
    assert run.reader.lines == ["hello", "bye"]
    assert run.reader.fed[Stream.STDERR] == b"oops\n"
    assert ending.cpu_s > 0
    assert still_running(tmp_path) == []


def test_a_signal_from_outside_is_told(run: Run) -> None:
    """A CLI that somebody else kills ends by that signal, and not by the harness."""
    ending = run("os.kill(os.getpid(), signal.SIGKILL)")
    assert (ending.exit_code, ending.signal, ending.killed) == (None, 9, None)


def test_the_exit_is_not_slept_through(run: Run) -> None:
    """A long limit does not delay the end, and a daemon that holds stdout does not either."""
    before = time.monotonic()
    ending = run("child(rest, setsid=True, double=True); say('done')", timeout_s=1000)
    assert time.monotonic() - before < 30
    assert ending.survivors_killed == 1
    assert still_running(run.folder) == []


@pytest.mark.parametrize(
    ("body", "limits", "killed"),
    [
        ("while True: say('x'); time.sleep(0.05)", {"timeout_s": 1}, Killed.TIMEOUT),
        ("while True: print(1, file=sys.stderr); time.sleep(.1)", {"idle_timeout_s": 1}, "idle"),
        ("say('tool'); rest()", {"idle_timeout_s": 0.5}, Killed.IDLE),
        ("say('result'); rest()", {"exit_grace_s": 0.3}, Killed.EXIT_HANG),
        ("say('result'); rest()", {"timeout_s": 1}, Killed.EXIT_HANG),
        ("say('result\\nbackground'); rest()", {"exit_grace_s": 0, "timeout_s": 1}, "exit_hang"),
        (
            "say('result\\nbackground'); time.sleep(1); say('background-end'); rest()",
            {"exit_grace_s": 0.2},
            Killed.EXIT_HANG,
        ),
        ("x = b'x' * (300 << 20); rest()", {"memory_bytes": 200 << 20}, Killed.MEMORY),
        (
            "child(lambda: (b'x' * (300 << 20), rest()), setsid=True); rest()",
            {"memory_bytes": 200 << 20},
            Killed.MEMORY,
        ),
        (
            "while True: os.write(2, b'x' * 65536); time.sleep(.001)",
            {"max_output_bytes": 1 << 20},
            Killed.OUTPUT_LIMIT,
        ),
    ],
)
def test_each_limit_ends_the_run_and_all_of_its_tree(
    run: Run, tmp_path: Path, body: str, limits: dict[str, float], killed: Killed
) -> None:
    """The cause is named, the signal is what was really seen, and nothing is left."""
    deaf = killed in (Killed.IDLE, Killed.MEMORY)
    prepare = f"""
signal.signal(signal.SIGINT, signal.SIG_DFL)
if {deaf}:
    deaf()
child(lambda: child(scrubbed, setsid=True), setsid=True)
"""
    ending = run(prepare + body, **limits)  # type: ignore[arg-type]
    assert ending.killed == killed
    assert ending.signal == (signal.SIGKILL if deaf else signal.SIGINT)
    assert ending.survivors_killed >= 1
    assert still_running(tmp_path) == []
    assert len(ledger(tmp_path)) >= 3
    if "memory_bytes" in limits:
        assert ending.peak_rss_bytes > limits["memory_bytes"]


def test_a_working_agent_is_not_idle(run: Run, tmp_path: Path) -> None:
    """Growth of the log or the transcript, or a running tool, keeps the run going."""
    folder = tmp_path / "gemini/antigravity-cli/brain/c1/.system_generated/logs"
    folder.mkdir(parents=True)
    body = f"""
def grow(path):
    for _ in range(6):
        with open(path, "a") as file:
            file.write("x")
        time.sleep(0.3)

grow("agy.log")
say("conversation c1")
grow({str(folder / "transcript.jsonl")!r})
say("tool")
time.sleep(1.6)
"""
    ending = run(body, idle_timeout_s=1.2)
    assert (ending.killed, ending.exit_code) == (None, 0)


def test_a_request_to_stop_ends_the_run(run: Run, tmp_path: Path) -> None:
    """SIGTERM to the harness ends the run as interrupted, at once, with its last words read."""
    body = """
def leave(number, frame):
    say("last words")
    sys.exit(1)
signal.signal(signal.SIGINT, leave)
child(rest, setsid=True)
say("ready")
rest()
"""

    def ask() -> None:
        if "ready" in run.reader.lines and ask_once:
            ask_once.pop()
            os.kill(os.getpid(), signal.SIGTERM)

    ask_once = [True]
    ending = run(body, tick=ask)
    assert (ending.killed, ending.exit_code, ending.signal) == (Killed.INTERRUPTED, 1, None)
    assert run.reader.lines[-1] == "last words"
    assert ending.survivors_killed == 1
    assert still_running(tmp_path) == []


def test_a_whole_harness_told_to_stop_leaves_nothing(tmp_path: Path) -> None:
    """A harness process that gets SIGTERM ends its run and says how."""
    launch = launch_of(tmp_path, "deaf(); child(scrubbed, True, True); rest()")
    code = f"""
import selectors
from harness.agy.collect import Tails
from harness.agy.limits import Limits
from harness.agy.process import Launch, spawn
from harness.agy.stop import StopSignals
from harness.agy.watch import watch
from tests.helpers.reader import PlainReader
import harness.agy.tree
harness.agy.tree.POLITE_S = 0.2
tails = Tails(stdout_path={launch.stdout_path!r}, stderr_path={launch.stderr_path!r}, log_path=None)
with StopSignals() as stop, selectors.DefaultSelector() as selector:
    child = spawn(Launch(argv={launch.argv!r}, env={dict(launch.env)!r}, cwd={launch.cwd!r},
        stdout_path={launch.stdout_path!r}, stderr_path={launch.stderr_path!r}))
    ending = watch(child, reader=PlainReader(), tails=tails, selector=selector, stop=stop,
        limits=Limits(timeout_s=100, idle_timeout_s=100, exit_grace_s=100))
print(ending.killed, ending.signal, ending.survivors_killed, stop.requested)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        wait_for(lambda: len(ledger(tmp_path)) == 2)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
    assert said.decode().split() == ["interrupted", "9", "1", "15"]
    assert still_running(tmp_path) == []


def test_other_descriptors_are_served_to_the_end(run: Run) -> None:
    """The caller's socket is answered while the run is on, and while it is being ended."""
    answered: list[bytes] = []

    def serve(connection: socket.socket, _mask: int) -> None:
        answered.append(connection.recv(100))
        if answered[-1]:
            connection.sendall(b"ok")
        else:
            run.selector.unregister(connection)
            connection.close()

    body = f"""
import socket
def leave(number, frame):
    door.sendall(b"last"); door.recv(2)
    say("answered")
    os._exit(1)
signal.signal(signal.SIGINT, leave)
door = socket.socket(socket.AF_UNIX)
door.connect({str(run.folder / "door")!r})
door.sendall(b"first"); door.recv(2)
rest()
"""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(run.folder / "door"))
        listener.listen()
        listener.setblocking(False)

        def accept(file: socket.socket, _mask: int) -> None:
            connection, _ = file.accept()
            run.selector.register(connection, selectors.EVENT_READ, serve)

        run.selector.register(listener, selectors.EVENT_READ, accept)
        ending = run(body, timeout_s=2)
    assert (ending.killed, ending.exit_code) == (Killed.TIMEOUT, 1)
    assert b"first" in answered
    assert b"last" in answered
    assert run.reader.lines == ["answered"]


def test_a_caller_that_fails_leaves_no_process(run: Run, tmp_path: Path) -> None:
    """Where the caller's own code raises, the run is ended before the error goes on."""

    def fail() -> None:
        if len(ledger(tmp_path)) >= 2:
            raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        run("child(scrubbed, setsid=True, double=True); rest()", tick=fail)
    assert still_running(tmp_path) == []
    assert run.child is not None
    assert run.child.handle is None


def test_progress_is_told(run: Run) -> None:
    """About once a second the caller hears how far the run is."""
    told: list[Progress] = []
    run("say('first'); time.sleep(2.5); say('second')", progress=told.append)
    assert 2 <= len(told) <= 4
    assert told[-1].last_event == "first"
    assert told[-1].total_tokens == 7
    assert told[-1].elapsed_s > told[0].elapsed_s


def test_a_result_behind_a_backlog_counts(run: Run) -> None:
    """A result that stands in the file when the time is over makes it an exit hang."""
    body = """
for _ in range(40):
    os.write(1, b"x" * (1 << 20) + b"\\n")
say("result")
rest()
"""
    ending = run(body, timeout_s=2)
    assert ending.killed is Killed.EXIT_HANG


def test_use_of_the_whole_tree_is_counted(run: Run) -> None:
    """Memory and processor time of orphans count for the run."""
    body = """
def work():
    x = b"x" * (100 << 20)
    while time.process_time() < 0.6:
        pass
    time.sleep(1.2)

child(work, setsid=True, double=True)
time.sleep(2.4)
"""
    ending = run(body)
    assert ending.peak_rss_bytes > 100 << 20
    assert ending.cpu_s > 0.5
    assert ending.survivors_killed == 0


def test_without_process_handles_the_watch_polls(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a kernel without process handles a run ends just so."""
    monkeypatch.setattr("harness.agy.process._handle_of", lambda _pid: None)
    ending = run("say('done'); child(rest, setsid=True, double=True)")
    assert (ending.exit_code, ending.killed, ending.survivors_killed) == (0, None, 1)
    assert still_running(run.folder) == []


@pytest.mark.parametrize(("says", "killed"), [("x", Killed.INTERRUPTED), ("result", None)])
def test_a_stop_that_reaches_the_cli_first_is_an_interruption(
    run: Run, says: str, killed: Killed | None
) -> None:
    """A whole control group is told at once: a CLI that goes first did not end by itself."""
    told: list[bool] = []

    def tell() -> None:
        if not told:
            wait_for(lambda: run.child is not None and run.child.exited())
            told.append(True)
            os.kill(os.getpid(), signal.SIGTERM)

    ending = run(f"say({says!r}); raise SystemExit(1)", tick=tell)
    assert (ending.exit_code, ending.killed) == (1, killed)


def test_a_short_peak_between_two_samples_counts(run: Run) -> None:
    """What the kernel says of the dead shows memory that no sample saw."""
    ending = run("block = bytearray(400 * 1024 * 1024)\n")
    assert ending.peak_rss_bytes > 400 * 1024 * 1024
