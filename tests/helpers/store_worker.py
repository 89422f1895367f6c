"""A process of its own that uses a store, for tests of many at once and of sudden ends.

    python -m tests.helpers.store_worker BACKEND FOLDER ACTION [ARGUMENT …]

Prints one JSON value. Actions that race wait for the file `go` in the folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from harness.core.tiers import Proposal, ProposalState
from harness.stores.protocols import Applied, State
from tests.helpers.states import BACKENDS, HandClock, claimed, proposed, record

PATIENCE_S = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    """Poll until a condition holds; fail after a long while."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.002)


def line_up(folder: Path) -> None:
    """Say that this process is ready, and start when all are."""
    (folder / f"ready-{os.getpid()}").touch()
    wait_until((folder / "go").exists)


def approve(backend: str, folder: Path, proposal_id: str) -> object:
    """Apply one proposal if nobody else does; say what came of it."""
    state = BACKENDS[backend](folder, HandClock())
    line_up(folder)
    begun = state.proposals.begin_apply(
        proposal_id, value_sha256=None, quarantined=False, actor=f"{os.getpid()}@cli"
    )
    if isinstance(begun, Proposal):
        finish(state, begun)
        state.close()
        return "applied"
    state.close()
    return begun.state


def finish(state: State, begun: Proposal) -> None:
    """Write what was approved, and record it."""
    done = state.canonical.apply(
        begun.key,
        begun.value,
        operation_key=f"approve:{begun.id}",
        expected_version=begun.base_version,
        actor="ada@cli",
        run_id=begun.run_id,
    )
    assert isinstance(done, Applied)
    state.proposals.finish_apply(
        begun.id, state=ProposalState.APPROVED, version=done.version, actor="ada@cli"
    )


def append(backend: str, folder: Path, count: str) -> object:
    """Write journal entries and canonical versions against others that do the same."""
    state = BACKENDS[backend](folder, lambda: datetime.now(UTC))
    line_up(folder)
    conflicts = 0
    for number in range(int(count)):
        state.journal.append(
            agent_id=str(os.getpid()), scope="s", entry="e", decision=None, run_id=None
        )
        while True:
            newest = state.canonical.read("counter")
            version = 0 if newest is None else newest.version
            answer = state.canonical.apply(
                "counter",
                str(version + 1),
                operation_key=f"{os.getpid()}-{number}",
                expected_version=version,
                actor="ada@cli",
                run_id=None,
            )
            if isinstance(answer, Applied):
                break
            conflicts += 1
    state.close()
    return conflicts


def claim(backend: str, folder: Path) -> object:
    """Claim the same job as everybody else."""
    state = BACKENDS[backend](folder, HandClock())
    line_up(folder)
    try:
        return claimed(state, f"r{os.getpid()}").run_id
    except AssertionError:
        return None
    finally:
        state.close()


def open_fresh(backend: str, folder: Path) -> object:
    """Open a state that does not exist yet, together with others, and write one event."""
    line_up(folder)
    state = BACKENDS[backend](folder, lambda: datetime.now(UTC))
    state.events.append("x.done", actor="harness", subject=str(os.getpid()))
    state.close()
    return True


def night(state: State) -> None:
    """Claim, propose, close, approve: one life of a canonical write."""
    claimed(state, "r1")
    made = proposed(state, "r1")
    state.runs.close(record(state, "r1"))
    begun = state.proposals.begin_apply(
        made.id, value_sha256=made.value_sha256, quarantined=False, actor="ada@cli"
    )
    assert isinstance(begun, Proposal)
    finish(state, begun)


def killed_night(backend: str, home: Path, left: int) -> None:
    """Live one night in a fresh folder, killed before its last allowed write."""

    def kill(_name: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    home.mkdir()
    night(BACKENDS[backend](home, HandClock(), kill))


def crash_everywhere(backend: str, folder: Path) -> object:
    """Live one night again and again, killed before its first, second, … write.

    Each night has a folder of its own, named by the write that was not made; the last one is
    the night that nobody killed. Returns how many writes there are.
    """
    count = 0
    while True:
        count += 1
        child = os.fork()
        if child == 0:
            killed_night(backend, folder / str(count), count)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            return count - 1


ACTIONS: dict[str, Callable[..., object]] = {
    "approve": approve,
    "append": append,
    "claim": claim,
    "open_fresh": open_fresh,
    "crash_everywhere": crash_everywhere,
}


def main() -> None:
    """Do one action and print its answer."""
    backend, folder, action, *arguments = sys.argv[1:]
    print(json.dumps(ACTIONS[action](backend, Path(folder), *arguments)))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
