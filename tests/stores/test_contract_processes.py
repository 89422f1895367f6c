"""Every backend: many processes at once, and processes that end without a word."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.tiers import ProposalState
from harness.stores.protocols import State
from tests.helpers.states import BACKENDS, HandClock, kinds, pending, present
from tests.helpers.store_worker import wait_until

ROOT = Path(__file__).parents[2]


def start(backend: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a worker process."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.store_worker", backend, str(folder), *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def race(count: int, backend: str, folder: Path, *arguments: str) -> list[object]:
    """Let processes do the same at once; return what each answered."""
    workers = [start(backend, folder, *arguments) for _ in range(count)]
    try:
        wait_until(
            lambda: (
                len(list(folder.glob("ready-*"))) == count
                or any(worker.poll() is not None for worker in workers)
            )
        )
        (folder / "go").touch()
        answers = [worker.communicate(timeout=60)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert [worker.returncode for worker in workers] == [0] * count
    return [json.loads(answer) for answer in answers]


def test_one_of_twenty_approvers_wins(state: State, backend: str, tmp_path: Path) -> None:
    """Twenty people approve at once: one write, one version, nineteen refusals."""
    made = pending(state, "r1")
    answers = Counter(race(20, backend, tmp_path, "approve", made.id))
    assert answers.pop("applied") == 1
    assert set(answers) <= {"applying", "approved"}
    assert len(state.canonical.history(made.key)) == 1
    assert present(state, made.id).state is ProposalState.APPROVED
    assert kinds(state).count("proposal.approving") == 1
    assert state.check() == []


def test_writers_lose_nothing(state: State, backend: str, tmp_path: Path) -> None:
    """Eight processes that write at once: no error, no lost update, one unbroken chain."""
    race(8, backend, tmp_path, "append", "15")
    assert len(state.journal.listed(limit=1000)) == 120
    newest = state.canonical.read("counter")
    assert newest is not None
    assert (newest.version, newest.value) == (120, "120")
    assert state.events.head()[0] == 240
    assert state.check() == []


def test_one_of_many_claims_stands(state: State, backend: str, tmp_path: Path) -> None:
    """Of six processes that claim one job, one gets it and the others are told that it is busy."""
    answers = race(6, backend, tmp_path, "claim")
    [winner] = [answer for answer in answers if answer is not None]
    assert [run.run_id for run in state.runs.unfinished()] == [winner]


def test_openers_of_a_fresh_state_all_succeed(
    backend: str, tmp_path: Path, reopen: Callable[..., State]
) -> None:
    """Eight processes that find no state yet make one together."""
    race(8, backend, tmp_path, "open_fresh")
    state = reopen()
    assert kinds(state) == ["x.done"] * 8
    assert state.check() == []


@pytest.fixture(scope="module", params=sorted(BACKENDS))
def crashed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, int]:
    """Nights that were killed before every write in turn: backend, folder, how many writes."""
    folder = tmp_path_factory.mktemp("nights")
    worker = start(request.param, folder, "crash_everywhere")
    answer, _ = worker.communicate(timeout=120)
    assert worker.returncode == 0
    return request.param, folder, json.loads(answer)


STEPS = (
    ("run.claimed",),
    ("proposal.proposed",),
    ("proposal.released", "run.closed"),
    ("proposal.approving",),
    ("canonical.applied",),
    ("proposal.approved",),
)
"""The events of each commit of one night."""


def expected(commits: int) -> tuple[list[str], list[str], list[ProposalState], int]:
    """Return events, open runs, states of proposals and canonical version after some commits."""
    events = [kind for step in STEPS[:commits] for kind in step]
    runs = ["r1"] if 1 <= commits <= 2 else []
    states = {
        2: [ProposalState.PROPOSED],
        3: [ProposalState.PENDING],
        4: [ProposalState.APPLYING],
        5: [ProposalState.APPLYING],
        6: [ProposalState.APPROVED],
    }
    return events, runs, states.get(commits, []), int(commits >= 5)


def observed(state: State) -> tuple[list[str], list[str], list[ProposalState], int]:
    """Return the same of a state."""
    newest = state.canonical.read("site/title")
    return (
        kinds(state),
        [run.run_id for run in state.runs.unfinished()],
        [proposal.state for proposal in state.proposals.listed()],
        0 if newest is None else newest.version,
    )


def test_a_kill_before_any_write_leaves_whole_steps(crashed: tuple[str, Path, int]) -> None:
    """Whatever write a SIGKILL prevents, the state holds the commits before it, whole and sound."""
    backend, folder, writes = crashed
    assert writes >= 20
    reached = []
    for number in range(1, writes + 2):
        state = BACKENDS[backend](folder / str(number), HandClock())
        try:
            assert state.check() == []
            commits = next(count for count in range(7) if expected(count) == observed(state))
        finally:
            state.close()
        reached.append(commits)
    assert reached == sorted(reached)
    assert set(reached) == set(range(7))


def test_a_killed_night_can_be_finished(crashed: tuple[str, Path, int], tmp_path: Path) -> None:
    """After any kill the apply can be settled by the operation key: done once, or given back."""
    backend, nights, writes = crashed
    folder = shutil.copytree(nights, tmp_path / "nights")
    settled = Counter[ProposalState]()
    for number in range(1, writes + 1):
        state = BACKENDS[backend](folder / str(number), HandClock())
        try:
            for stuck in state.proposals.listed([ProposalState.APPLYING]):
                done = state.canonical.operation(f"approve:{stuck.id}")
                end = ProposalState.PENDING if done is None else ProposalState.APPROVED
                after = state.proposals.finish_apply(
                    stuck.id,
                    state=end,
                    version=None if done is None else done.version,
                    actor="harness",
                )
                settled[after.state] += 1
            assert state.check() == []
        finally:
            state.close()
    assert settled[ProposalState.PENDING] == settled[ProposalState.APPROVED] == 3
