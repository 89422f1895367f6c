"""The database file: made private, refused where it is not ours, read where nothing is writable."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.errors import NewerSchema, StoreDamaged, StoreProblem
from harness.stores.sqlite import open_state, opening
from harness.stores.sqlite.opening import open_database
from tests.helpers.states import HandClock, claimed, ran

ROOT = Path(__file__).parents[3]


def made(folder: Path) -> Path:
    """Return the path of a database with one closed run."""
    path = folder / "state" / "harness.db"
    with closing(open_state(path, clock=HandClock())) as state:
        ran(state, "r1")
    return path


def test_the_file_is_private(tmp_path: Path) -> None:
    """File 0600 and folder 0700, side files too, whatever the umask is."""
    before = os.umask(0)
    try:
        path = tmp_path / "state" / "harness.db"
        with closing(open_state(path, clock=HandClock())) as state:
            claimed(state, "r1")
            modes = {
                entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()
            }
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["harness.db", "harness.db-shm", "harness.db-wal"], 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_commits_are_durable(tmp_path: Path) -> None:
    """The connection runs with WAL, full synchronisation, a busy timeout and foreign keys."""
    with closing(open_database(tmp_path / "harness.db")) as database:
        pragmas = ("journal_mode", "synchronous", "busy_timeout", "foreign_keys", "fullfsync")
        values = [database.rows(f"PRAGMA {name}")[0][0] for name in pragmas]
        assert values == ["wal", 2, 5000, 1, 1]
        assert database.rows("PRAGMA trusted_schema")[0][0] == 0


def test_opening_again_writes_nothing(tmp_path: Path) -> None:
    """A database of the present schema is opened without a write and without sqlite-utils."""
    path = made(tmp_path)
    script = (
        "import sys; from pathlib import Path; from harness.stores.sqlite import open_state;"
        "from tests.helpers.states import HandClock;"
        "state = open_state(Path(sys.argv[1]), clock=HandClock(), before_write=sys.exit);"
        "assert state.runs.get('r1'); assert 'sqlite_utils' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, path], cwd=ROOT, check=True)


def test_an_empty_file_is_a_start_that_was_cut_off(tmp_path: Path) -> None:
    """A file without a byte becomes a fresh database; reading it only is an error."""
    path = tmp_path / "harness.db"
    path.touch()
    with pytest.raises(StoreProblem, match="schema 0 is older"):
        open_state(path, clock=HandClock(), read_only=True)
    with closing(open_state(path, clock=HandClock())) as state:
        assert state.check() == []


@pytest.mark.parametrize("read_only", [False, True])
def test_garbage_is_no_database(tmp_path: Path, *, read_only: bool) -> None:
    """A file of something else is refused by name, and left as it is."""
    path = tmp_path / "harness.db"
    path.write_bytes(b"not a database " * 1000)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match=r"harness\.db: the file is not a database") as caught:
        open_state(path, clock=HandClock(), read_only=read_only)
    assert "backup" in caught.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("pragma", ["PRAGMA user_version = 1", "PRAGMA application_id = 7"])
def test_the_database_of_another_program_is_left_alone(tmp_path: Path, pragma: str) -> None:
    """Tables that are not ours are neither migrated nor switched to WAL."""
    path = tmp_path / "harness.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE things (name TEXT)")
        other.execute(pragma)
        other.commit()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another program"):
        open_state(path, clock=HandClock())
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_is_refused(tmp_path: Path, *, read_only: bool) -> None:
    """What a newer harness wrote is not touched by an older one."""
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(NewerSchema, match="schema 99"):
        open_state(path, clock=HandClock(), read_only=read_only)


@pytest.mark.parametrize(("fresh", "read_only"), [(True, False), (False, False), (False, True)])
def test_a_locked_file_says_so(tmp_path: Path, *, fresh: bool, read_only: bool) -> None:
    """A database that another process keeps to itself is a clear error after the wait."""
    path = tmp_path / "harness.db" if fresh else made(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreProblem, match="another process holds the database"):
            open_database(path, busy_timeout_ms=50, read_only=read_only)


def test_a_reader_does_not_stop_the_switch_to_wal_for_ever(tmp_path: Path) -> None:
    """Where somebody reads the fresh file for long, the switch gives up with a clear error."""
    path = tmp_path / "harness.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA user_version = 0")
        other.execute("BEGIN")
        other.execute("SELECT COUNT(*) FROM sqlite_master").fetchall()
        with pytest.raises(StoreProblem, match="another process holds the database"):
            open_database(path, busy_timeout_ms=50)


def test_the_switch_to_wal_waits_its_turn() -> None:
    """SQLite answers at once here when another process switches; asking again is our part."""

    class Busy:
        answers = 3

        def execute(self, _sql: str) -> None:
            self.answers -= 1
            if self.answers:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error

    busy = Busy()
    opening._use_wal(busy, 60.0)  # type: ignore[arg-type]
    assert busy.answers == 0


def test_another_process_may_create_the_file_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears between the look and the creation is simply used."""

    def too_late(path: Path) -> None:
        path.touch(mode=0o600)
        raise FileExistsError

    monkeypatch.setattr(opening, "create_private", too_late)
    with closing(open_state(tmp_path / "harness.db", clock=HandClock())) as state:
        assert state.check() == []


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    """A path that is no file cannot be opened, with the path in the message."""
    (tmp_path / "harness.db").mkdir()
    with pytest.raises(StoreProblem, match=r"harness\.db: the database cannot be created"):
        open_state(tmp_path / "harness.db", clock=HandClock())
    with pytest.raises(StoreProblem, match=r"harness\.db: the d"):
        open_state(tmp_path / "harness.db", clock=HandClock(), read_only=True)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    """A folder that cannot be made is an error of the store."""
    (tmp_path / "state").touch()
    with pytest.raises(StoreProblem, match="cannot be created"):
        open_state(tmp_path / "state" / "harness.db", clock=HandClock())


def test_reading_creates_nothing(tmp_path: Path) -> None:
    """Opening for reading what is not there is an error and leaves nothing behind."""
    with pytest.raises(StoreProblem, match="cannot be opened"):
        open_state(tmp_path / "state" / "harness.db", clock=HandClock(), read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_reading_only_never_writes(tmp_path: Path) -> None:
    """A read-only state answers questions and refuses every write."""
    path = made(tmp_path)
    with closing(open_state(path, clock=HandClock(), read_only=True)) as state:
        assert state.runs.get("r1") is not None
        assert state.proposals.sweep() == []
        assert state.check() == []
        with pytest.raises(StoreProblem, match="reading only"):
            claimed(state, "r2")


def test_a_state_closes_twice(tmp_path: Path) -> None:
    """Closing again is no harm; using it afterwards is an error of the store."""
    state = open_state(tmp_path / "harness.db", clock=HandClock())
    state.close()
    state.close()
    with pytest.raises(StoreProblem, match="closed"):
        state.now()


def test_failed_openings_leave_no_descriptor(tmp_path: Path) -> None:
    """Whatever goes wrong while opening, the connection is given back."""
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"x" * 5000)
    newer = made(tmp_path)
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = descriptors()
    for path in (garbage, newer, tmp_path):
        for read_only in (False, True):
            with pytest.raises(StoreProblem):
                open_state(path, clock=HandClock(), read_only=read_only)
    assert descriptors() == before


def descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/dev/fd").iterdir()))


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A folder that other users may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="harness-shelf-"))
    folder.chmod(0o755)
    yield folder
    for entry in (folder, *folder.iterdir()):
        entry.chmod(0o755)
    shutil.rmtree(folder)


READER = """
import json, os, sys
from contextlib import closing
from pathlib import Path
from harness.errors import StoreProblem
from harness.stores.sqlite import open_state, opening
from tests.helpers.states import HandClock, claimed

def attempt(action):
    try:
        return action()
    except StoreProblem as problem:
        return f"{type(problem).__name__}: {problem} [{problem.hint}]"

def read():
    with closing(open_state(path, clock=HandClock(), read_only=True)) as state:
        return [run.run_id for run in state.runs.recent()]

def write():
    with closing(open_state(path, clock=HandClock())) as state:
        return claimed(state, "new").run_id

def create():
    with closing(open_state(path.with_name("other.db"), clock=HandClock())):
        return "created"

path = Path(sys.argv[1]) / "warm" / "harness.db"
write(), read()  # everything is imported before this process gives up its rights
path = Path(sys.argv[2])
if os.geteuid() == 0:
    os.setuid(65534)
print(json.dumps({action.__name__: attempt(action) for action in (read, write, create)}))
"""


def as_reader(path: Path, spare: Path) -> dict[str, object]:
    """Use a database in a folder that this process may only read; return what each try gave."""
    for entry in path.parent.iterdir():
        entry.chmod(0o444)
    path.parent.chmod(0o555)
    before = sorted(path.parent.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", READER, spare, path],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"COVERAGE_PROCESS_START": ""},
    )
    assert sorted(path.parent.iterdir()) == before
    answers = json.loads(done.stdout)
    assert isinstance(answers, dict)
    return answers


def test_read_only_media_can_be_read(tmp_path: Path, shelf: Path) -> None:
    """A closed database on a disk that cannot be written is read; writes are clear errors."""
    path = shelf / "harness.db"
    shutil.copy(made(tmp_path), path)
    answers = as_reader(path, tmp_path)
    assert answers["read"] == ["r1"]
    assert "StoreProblem" in str(answers["write"])
    assert "harness.db: the database cannot be" in str(answers["write"])
    assert "cannot be created" in str(answers["create"])


def test_where_no_wal_can_be_opened_the_file_itself_is_read(tmp_path: Path) -> None:
    """Without a WAL the main file is the whole truth; with one that is closed to us it is not."""
    path = made(tmp_path)
    path.with_name("harness.db-shm").symlink_to("harness.db-shm")  # opened by nobody
    with closing(open_state(path, clock=HandClock(), read_only=True)) as state:
        assert state.runs.get("r1") is not None
    path.with_name("harness.db-wal").write_bytes(b"a commit")
    with pytest.raises(StoreProblem, match=r"newest changes stand in harness\.db-wal"):
        open_state(path, clock=HandClock(), read_only=True)


def test_a_wal_on_read_only_media_is_read_too(tmp_path: Path, shelf: Path) -> None:
    """After a crash the newest runs stand in the WAL: with its index they are read."""
    crash_copy(tmp_path, shelf, "harness.db", "harness.db-wal", "harness.db-shm")
    assert as_reader(shelf / "harness.db", tmp_path)["read"] == ["r2", "r1"]


def test_a_wal_that_cannot_be_read_is_named(tmp_path: Path, shelf: Path) -> None:
    """Rather an error than a report that leaves the newest runs out."""
    crash_copy(tmp_path, shelf, "harness.db", "harness.db-wal")
    answer = str(as_reader(shelf / "harness.db", tmp_path)["read"])
    assert "newest changes stand in harness.db-wal" in answer
    assert "copy the state folder" in answer


def crash_copy(tmp_path: Path, shelf: Path, *names: str) -> None:
    """Copy files of a database that is in use, as a crash would leave them."""
    path = made(tmp_path)
    with closing(open_state(path, clock=HandClock())) as state:
        ran(state, "r2")
        for name in names:
            shutil.copy(path.with_name(name), shelf / name)
