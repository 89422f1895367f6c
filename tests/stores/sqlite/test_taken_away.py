"""Files of the database that somebody takes away while it is in use."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import StoreDamaged
from harness.stores.protocols import State
from tests.helpers.states import HandClock, open_sqlite


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    """A store with one switch thrown."""
    made = open_sqlite(tmp_path, HandClock())
    made.switches.set("one", on=True, actor="ada@cli")
    yield made
    made.close()


def swapped(path: Path) -> None:
    """Put an equal copy in the place of a file."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.replace(path)


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("take", [Path.unlink, swapped], ids=["deleted", "replaced"])
def test_a_write_into_nameless_files_is_refused(
    tmp_path: Path, state: State, take: Callable[[Path], None], suffix: str
) -> None:
    """Neither before nor while it is written is a change acknowledged that no file holds."""
    path = tmp_path / "state" / f"harness.db{suffix}"

    def write() -> None:
        with state.transaction():
            state.switches.set("two", on=True, actor="ada@cli")
            take(path)

    with pytest.raises(StoreDamaged, match="not stored"):
        write()
    with pytest.raises(StoreDamaged, match="deleted or replaced"):
        state.switches.set("three", on=True, actor="ada@cli")
    assert state.switches.get("one") is not None


def test_another_process_beside_is_no_alarm(tmp_path: Path, state: State) -> None:
    """Connections that come and go beside this one take nothing away."""
    for number in range(3):
        other = open_sqlite(tmp_path, HandClock())
        other.switches.set(f"other/{number}", on=True, actor="ada@cli")
        other.close()
        state.switches.set(f"mine/{number}", on=True, actor="ada@cli")
    assert state.check() == []
