"""Requests to stop: noted, never thrown."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from harness.agy.stop import StopSignals
from tests.helpers.processes import launch_of, started, wait_for


def test_the_first_signal_is_noted_and_wakes_a_waiter() -> None:
    """A signal makes the descriptor readable and is remembered; later ones change nothing."""
    before = [signal.getsignal(number) for number in StopSignals.SIGNALS]
    with StopSignals() as stop:
        assert stop.requested is None
        assert select.select([stop], [], [], 0)[0] == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert select.select([stop], [], [], 20)[0] == [stop]
        stop.acknowledge()
        assert select.select([stop], [], [], 0)[0] == []
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGHUP)
        select.select([stop], [], [], 20)
        assert stop.requested == signal.SIGTERM
    assert [signal.getsignal(number) for number in StopSignals.SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_an_inherited_ignore_stays_for_the_harness_and_ends_for_the_cli(tmp_path: Path) -> None:
    """Behind nohup the harness ignores SIGHUP, while the CLI can be told to stop."""
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            body = "print(signal.getsignal(signal.SIGHUP) == signal.SIG_DFL, flush=True)"
            child = started(launch_of(tmp_path, body))
            wait_for(child.exited)
            child.reap()
            assert stop.requested is None
        assert (tmp_path / "stdout").read_text() == "True\n"
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, previous)


def test_a_flood_of_signals_blocks_nobody() -> None:
    """Thousands of signals fill the descriptor and do no harm."""
    code = """
import os, signal
from harness.agy.stop import StopSignals
with StopSignals() as stop:
    for _ in range(20000):
        os.kill(os.getpid(), signal.SIGTERM)
    print(stop.requested)
    stop.acknowledge()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("15\n", "")
