"""Two runs at once and everybody who may try their doors, as processes of an unprivileged user.

    python -m tests.helpers.peers FOLDER

Everything is imported before root gives up its rights, for afterwards the interpreter's own
files may be out of reach. Prints a JSON object: who asked at which door → what the door said.
"""

# The modules that are imported by functions when they are needed stand here too.
import ctypes  # noqa: F401
import json
import os
import signal
import struct  # noqa: F401
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from harness.agy.host import identity_of
from harness.agy.process import become_subreaper
from harness.cli.door import ask
from harness.core.frames import JournalAnswer, JournalList
from harness.errors import GateRefused, HarnessError
from tests.helpers.doors import Scene, short_folder
from tests.helpers.states import HandClock, open_sqlite

NOBODY = 65534
DEADLINE_S = 50.0


class Peers:
    """The scene: what is said is collected in a pipe, one line an answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source, self.sink = os.pipe()

    def play(self) -> dict[str, str]:
        """Let everybody ask; return the answers."""
        privileged = os.geteuid() == 0
        started: list[int] = []
        rehearse()
        if privileged:
            os.chown(self.folder, NOBODY, NOBODY)
            started.append(self.apart(lambda: self.ask("another user", "one")))
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        started += [
            self.apart(lambda: self.harness("one", "two")),
            self.apart(lambda: self.harness("two", "one")),
            self.apart(lambda: self.ask("stranger", "one")),
        ]
        signal.alarm(int(DEADLINE_S))  # somebody who never answers ends this process
        answers = self.collect(1 + 2 * 6 + privileged)
        (self.folder / "over").touch()
        for pid in started:
            os.waitpid(pid, 0)
        return answers

    def apart(self, action: Callable[[], None]) -> int:
        """Do something in a process of its own; returns its pid."""
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            action()
            status = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(status)

    def harness(self, own: str, other: str) -> None:
        """Serve one run's door until all have asked."""
        become_subreaper()
        runtime = self.folder / own
        runtime.mkdir(mode=0o700)
        scene = Scene(open_sqlite(runtime, HandClock()), runtime)
        cli = identity_of(self.apart(lambda: self.cli(own, other)))
        assert cli is not None
        scene.door.admit(cli)
        ready = self.folder / f"{own}.tmp"
        ready.write_text(scene.door.path)
        ready.rename(self.folder / f"{own}.door")
        scene.turn_until((self.folder / "over").exists, DEADLINE_S)

    def cli(self, own: str, other: str) -> None:
        """Play a run's CLI: children of every kind, each asking at its own and the other door."""
        os.setsid()
        self.ask(f"cli of {own}", own)
        self.ask(f"cli of {own}", other)
        self.apart(lambda: self.in_a_session(own, other))
        self.apart(lambda: self.forking_twice(own, other, os.getppid(), os.getpid()))
        wait_until((self.folder / "over").exists)

    def in_a_session(self, own: str, other: str) -> None:
        """Ask from a session of its own."""
        os.setsid()
        self.ask(f"session of {own}", own)
        self.ask(f"session of {own}", other)

    def forking_twice(self, own: str, other: str, cli: int, forker: int) -> None:
        """Ask when both parents are gone, but for whoever adopts orphans."""

        def orphan() -> None:
            os.setsid()
            wait_until(lambda: os.getppid() not in (cli, forker))
            self.ask(f"orphan of {own}", own)
            self.ask(f"orphan of {own}", other)

        self.apart(orphan)

    def ask(self, who: str, door: str) -> None:
        """Ask at a door and write down what was said."""
        place = self.folder / f"{door}.door"
        wait_until(place.exists)
        try:
            ask(place.read_text(), JournalList(), JournalAnswer)
            said = "admitted"
        except GateRefused as refused:
            said = str(refused)
        except HarnessError as problem:
            said = f"{type(problem).__name__}: {problem}"
        os.write(self.sink, json.dumps([f"{who} at {door}", said]).encode() + b"\n")

    def collect(self, count: int) -> dict[str, str]:
        """Return so many answers."""
        answers: dict[str, str] = {}
        with os.fdopen(self.source, "rb", closefd=False) as lines:
            while len(answers) < count:
                who, said = json.loads(lines.readline())
                answers[who] = said
        return answers


def rehearse() -> None:
    """Serve one request here, so that all that is imported when it is needed is imported."""
    with short_folder() as folder:
        scene = Scene(open_sqlite(folder, HandClock()), folder)
        scene.client().ask(op="journal.list")
        scene.close()
        scene.state.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Poll until a condition holds; fail after a long while."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.005)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(Peers(Path(sys.argv[1])).play()))
