"""What stands at guarded paths."""

import hashlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agy.guards import (
    RACY_MARGIN_NS,
    Limit,
    TooLarge,
    digest_entry,
    snapshot,
)
from harness.core.evidence import PathKind, changed_paths
from harness.core.pathtext import decode_path
from tests.helpers.trees import below, digests, open_folder, without_rights

LATER_NS = 10 * RACY_MARGIN_NS


def later() -> int:
    """Return a time at which every file of this test is old enough to be known."""
    return time.time_ns() + LATER_NS


def test_every_kind_of_entry_is_told(tmp_path: Path) -> None:
    """Files, folders, links and special files are entries; what is not there is ABSENT."""
    (tmp_path / "sub" / "empty").mkdir(parents=True)
    (tmp_path / "sub" / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("sub/file")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe")
    found = digests(tmp_path, tmp_path / "absent")
    assert below(tmp_path, found) == {
        ".": "folder",
        "absent": "absent",
        "broken": "link",
        "link": "link",
        "loop": "link",
        "pipe": "special",
        "sub": "folder",
        "sub/empty": "folder",
        "sub/file": "file",
    }
    assert found[f"{tmp_path}/sub/file"].sha256 == hashlib.sha256(b"text").hexdigest()
    assert found[f"{tmp_path}/link"].sha256 == hashlib.sha256(b"sub/file").hexdigest()


def test_sockets_and_devices_are_special() -> None:
    """Nothing but a regular file is opened."""
    with open_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        assert digests(folder)[f"{folder}/s"].kind is PathKind.SPECIAL
    assert digest_entry("/dev/zero").kind is PathKind.SPECIAL


def test_roots_may_be_files_links_or_inside_each_other(tmp_path: Path) -> None:
    """A root is digested as what it is; one below another costs nothing and counts once."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("x")
    (tmp_path / "l").symlink_to("d")
    roots = [tmp_path / "d" / "f", tmp_path / "d", tmp_path / "l"]
    assert below(tmp_path, digests(*roots)) == {"d": "folder", "d/f": "file", "l": "link"}
    assert isinstance(snapshot([str(root) for root in roots], {}, limit_files=3), dict)


def test_a_root_reached_through_a_link_is_absent(tmp_path: Path) -> None:
    """A folder above a guard that was swapped for a link shows as a deletion."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("x")
    before = digests(tmp_path / "real" / "f")
    (tmp_path / "real").rename(tmp_path / "moved")
    (tmp_path / "real").symlink_to("moved")
    after = digests(tmp_path / "real" / "f")
    assert after[f"{tmp_path}/real/f"].kind is PathKind.ABSENT
    assert [change.path for change in changed_paths(before, after)] == [f"{tmp_path}/real/f"]


def test_a_file_below_a_file_is_absent(tmp_path: Path) -> None:
    """A path that cannot exist is no error."""
    (tmp_path / "f").write_text("x")
    assert digests(tmp_path / "f" / "g")[f"{tmp_path}/f/g"].kind is PathKind.ABSENT


def test_modes_and_empty_folders_are_changes(tmp_path: Path) -> None:
    """A new empty folder and a changed permission bit are seen."""
    (tmp_path / "f").write_text("x")
    before = digests(tmp_path)
    (tmp_path / "new").mkdir()
    (tmp_path / "f").chmod(0o755)
    changed = [change.path for change in changed_paths(before, digests(tmp_path, known=before))]
    assert changed == [f"{tmp_path}/f", f"{tmp_path}/new"]


def test_an_unchanged_file_is_taken_over_unread(tmp_path: Path) -> None:
    """A known digest stands for a file whose size, times and place are the same."""
    (tmp_path / "f").write_text("x")
    first = snapshot([str(tmp_path)], {}, now_ns=later)
    assert isinstance(first, dict)
    path = f"{tmp_path}/f"
    known = {path: replace(first[path], sha256="known")}
    assert digests(tmp_path, known=known)[path] is known[path]
    assert digests(tmp_path / "f", known=known)[path] is known[path]


def test_a_tree_that_nobody_changed_gives_the_same_snapshot(tmp_path: Path) -> None:
    """Whatever the kind, a second look differs in nothing: there is nothing to store anew."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("sub/file")
    os.mkfifo(tmp_path / "pipe")
    first = snapshot([str(tmp_path)], {}, now_ns=later)
    assert isinstance(first, dict)
    assert snapshot([str(tmp_path)], first, now_ns=later) == first


def test_a_young_file_is_read_again(tmp_path: Path) -> None:
    """Times within a tick of the reading prove nothing, nor do those of a clock that went back."""
    (tmp_path / "f").write_text("x")
    path = f"{tmp_path}/f"
    first = digests(tmp_path)[path]
    for digested_ns in (0, first.ctime_ns - LATER_NS, first.ctime_ns + RACY_MARGIN_NS):
        known = {path: replace(first, sha256="known", digested_ns=digested_ns)}
        assert digests(tmp_path, known=known)[path].sha256 == first.sha256


@pytest.mark.parametrize("field", ["device", "inode", "size", "mtime_ns", "ctime_ns", "mode"])
def test_any_difference_of_identity_means_reading(tmp_path: Path, field: str) -> None:
    """A known digest of another inode, size, time or mode is not believed."""
    (tmp_path / "f").write_text("x")
    first = snapshot([str(tmp_path)], {}, now_ns=later)
    assert isinstance(first, dict)
    path = f"{tmp_path}/f"
    known = replace(first[path], sha256="known", **{field: getattr(first[path], field) - 1})
    assert digests(tmp_path, known={path: known})[path].sha256 == first[path].sha256


def test_a_forged_time_of_change_hides_nothing(tmp_path: Path) -> None:
    """Same size and an mtime set back do not pass for unchanged."""
    file = tmp_path / "f"
    file.write_text("old")
    status = file.stat()
    before = snapshot([str(file)], {}, now_ns=later)
    assert isinstance(before, dict)
    file.write_text("new")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert len(changed_paths(before, digests(file, known=before))) == 1


def test_hard_links_are_files_of_their_own(tmp_path: Path) -> None:
    """A write through another name of the file is seen at the guarded one."""
    (tmp_path / "guarded").write_text("x")
    os.link(tmp_path / "guarded", tmp_path / "other")
    before = digests(tmp_path / "guarded")
    with (tmp_path / "other").open("a") as file:
        file.write("y")
    assert len(changed_paths(before, digests(tmp_path / "guarded", known=before))) == 1


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    """Each name comes back as text for JSON that leads to the very file again."""
    names = [b"caf\xe9", b"\\xe9", b"\\x5c", "café".encode(), b"new\nline", b"back\\slash"]
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    (tmp_path / os.fsdecode(b"d\xff")).mkdir()
    (tmp_path / os.fsdecode(b"d\xff") / "f").write_text("x")
    found = digests(tmp_path)
    assert "\n".join(found).encode()
    assert len(found) == len(names) + 3
    files = {path: digest for path, digest in found.items() if digest.kind is PathKind.FILE}
    for path, digest in files.items():
        content = Path(decode_path(path)).read_bytes()
        assert digest.sha256 == hashlib.sha256(content).hexdigest()
        again = snapshot([path], {})
        assert isinstance(again, dict)
        assert again[path].meaning == digest.meaning


def test_an_impossible_name_is_unreadable_without_facts() -> None:
    """What cannot even be looked at has no inode."""
    digest = digest_entry("x" * 5000)
    assert (digest.kind, digest.inode) == (PathKind.UNREADABLE, 0)


def test_what_nobody_may_read_is_unreadable_with_its_facts() -> None:
    """A file or folder without rights is told apart, and touching it is still seen."""
    code = """
import os, sys
from harness.agy.guards import snapshot
from harness.core.evidence import changed_paths
root = sys.argv[1]
def names(changes): return [change.path.removeprefix(root) for change in changes]
os.mkdir(root + "/closed"); open(root + "/closed/in", "w").close()
open(root + "/f", "w").write("x"); open(root + "/g", "w").write("x")
os.mkdir(root + "/blind"); open(root + "/blind/in", "w").close()
first = snapshot([root], {})
os.chmod(root + "/f", 0); os.chmod(root + "/closed", 0)
before = snapshot([root, root + "/closed/in"], first)
for path in sorted(before): print(path.removeprefix(root), before[path].kind, before[path].mode)
print(names(changed_paths(first, before)))
os.chmod(root + "/f", 0o600); open(root + "/f", "w").write("y"); os.chmod(root + "/f", 0)
print(names(changed_paths(before, snapshot([root], before))))
"""
    with open_folder() as folder:
        lines = without_rights(code, folder).splitlines()
    assert "/closed unreadable 0" in lines
    assert "/closed/in unreadable 0" in lines
    assert "/f unreadable 0" in lines
    assert lines[-2:] == ["['/closed', '/closed/in', '/f']", "['/f']"]


def test_too_many_files_give_up_at_the_bound(tmp_path: Path) -> None:
    """The walk stops at the limit, folders counted, and says what it ran out of."""
    for number in range(20):
        (tmp_path / str(number)).mkdir()
    assert snapshot([str(tmp_path)], {}, limit_files=21) != TooLarge(what=Limit.FILES, count=22)
    assert snapshot([str(tmp_path)], {}, limit_files=20) == TooLarge(what=Limit.FILES, count=21)


def test_too_many_seconds_give_up_inside_a_file_and_between_files(tmp_path: Path) -> None:
    """The walk watches the clock between the chunks of a file and every few entries."""
    (tmp_path / "f").write_bytes(b"x")
    ticks = iter(range(100))
    found = snapshot([str(tmp_path / "f")], {}, limit_s=0.5, clock=lambda: float(next(ticks)))
    assert found == TooLarge(what=Limit.SECONDS, count=1)
    many = tmp_path / "many"
    many.mkdir()
    for number in range(300):
        (many / str(number)).symlink_to("x")
    found = snapshot([str(many)], {}, limit_s=0.5, clock=lambda: float(next(ticks)))
    assert found == TooLarge(what=Limit.SECONDS, count=256)


def test_deep_nesting_costs_no_call_depth(tmp_path: Path) -> None:
    """A thousand folders inside each other are walked; beyond the system's limit is named."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1400):
        os.mkdir("dd", dir_fd=descriptor)
        inner = os.open("dd", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    found = digests(tmp_path)
    assert len(found) > 1100
    assert found[max(found, key=len)].kind is PathKind.UNREADABLE
    subprocess.run(["rm", "-rf", str(tmp_path / "dd")], check=True)


def test_a_file_that_never_holds_still_gets_its_last_digest(tmp_path: Path) -> None:
    """What is written while it is read is digested, and never taken over unread."""
    file = tmp_path / "f"
    file.write_bytes(b"0")
    content = [0]

    def write_meanwhile() -> float:
        content[0] += 1
        file.write_bytes(b"x" * content[0])
        return 0.0

    found = snapshot([str(file)], {}, clock=write_meanwhile)
    assert isinstance(found, dict)
    assert found[str(file)].kind is PathKind.FILE
    assert found[str(file)].digested_ns == 0
    assert len(found[str(file)].sha256) == 64


def test_a_file_that_settles_gets_a_sound_digest(tmp_path: Path) -> None:
    """One write during the reading costs another reading."""
    file = tmp_path / "f"
    file.write_bytes(b"0")
    calls = [0]

    def write_once() -> float:
        calls[0] += 1
        if calls[0] == 2:
            file.write_bytes(b"longer")
        return 0.0

    found = snapshot([str(file)], {}, clock=write_once)
    assert isinstance(found, dict)
    assert found[str(file)].sha256 == hashlib.sha256(b"longer").hexdigest()
    assert found[str(file)].digested_ns > 0


SWAPPER = """
import os, sys
root = sys.argv[1]
fifo, link, file, folder, at = (root + "/" + name for name in ("p", "l", "f", "d", "tree/x"))
os.mkfifo(fifo); os.symlink("/etc", link); open(file, "w").close(); os.mkdir(folder)
print("ready", flush=True)
while os.path.exists(root + "/go"):
    for kind in (fifo, link, file, folder):
        os.rename(kind, at)
        os.rename(at, kind)
"""


def test_entries_that_turn_into_pipes_and_links_neither_hang_nor_lead_away(
    tmp_path: Path,
) -> None:
    """A name that is swapped for a pipe, link, file and folder all the time is only looked at."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "go").touch()
    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == "ready\n"
        seen = set()
        try:
            for _ in range(1500):
                found = digests(tmp_path / "tree", tmp_path / "tree" / "x")
                assert set(below(tmp_path / "tree", found)) <= {".", "x"}
                seen.add(found[f"{tmp_path}/tree/x"].kind)
        finally:
            (tmp_path / "go").unlink()
    assert swapper.returncode == 0
    assert seen - {PathKind.ABSENT}


def test_a_walk_that_is_told_to_stop_is_given_up(tmp_path: Path) -> None:
    """A request to stop is answered in the middle of a walk, and of one large file."""
    (tmp_path / "large").write_bytes(b"x")
    found = snapshot([str(tmp_path)], {}, stopped=lambda: True)
    assert isinstance(found, TooLarge)
    assert found.what is Limit.STOPPED
