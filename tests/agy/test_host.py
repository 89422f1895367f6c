"""Who a process is, across pid reuse, reboots and changes of the clock."""

from __future__ import annotations

import ctypes
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.agy import host
from harness.agy.host import boot_id, identity_of, is_alive, may_be_alive, own_identity, same_boot
from harness.core.process import ProcessIdentity
from harness.errors import HostProblem
from tests.helpers.processes import launch_of, started, wait_for


def test_start_times_are_those_of_psutil(tmp_path: Path) -> None:
    """The start of a process is what psutil says, to within 0.02 s."""
    child = started(launch_of(tmp_path, "rest()"))
    for pid in (os.getpid(), os.getppid(), child.identity.pid):
        identity = identity_of(pid)
        assert identity is not None
        assert identity.started == pytest.approx(psutil.Process(pid).create_time(), abs=0.02)
    child.tree.kill(pause=time.sleep)
    child.reap()


def test_this_process_is_alive() -> None:
    """The harness itself is alive, and no process has pid 0 or an impossible pid."""
    assert is_alive(own_identity())
    assert identity_of(2**22 + 5) is None


def test_a_process_that_ended_is_not_alive_even_before_it_is_reaped(tmp_path: Path) -> None:
    """A zombie counts as dead, and so does a pid that nobody has."""
    child = started(launch_of(tmp_path, "rest()"))
    assert is_alive(child.identity)
    child.tree.kill(pause=time.sleep)
    wait_for(child.exited)
    assert not is_alive(child.identity)
    child.reap()
    assert not is_alive(child.identity)


def test_another_start_or_another_boot_is_another_process() -> None:
    """A pid used again, or of an earlier boot, is not the process that was meant."""
    own = own_identity()
    assert not is_alive(replace(own, started=own.started - 0.05))
    assert not is_alive(replace(own, boot_id="another@" + own.boot_id.partition("@")[2]))


@pytest.mark.parametrize("step_s", [-3600.0, -1.0, 1.0, 86400.0])
def test_setting_the_clock_changes_nobodys_identity(
    monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    """A process noted before the clock was set is found alive after it, and the other way."""
    before = own_identity()
    real = host._boot_time()
    monkeypatch.setattr(host, "_boot_time", lambda: real + step_s)
    after = own_identity()
    assert after.started == pytest.approx(before.started + step_s)
    assert is_alive(before)
    assert is_alive(after)
    assert same_boot(before.boot_id, after.boot_id)
    monkeypatch.undo()
    assert is_alive(after)


@pytest.mark.parametrize("suffix", ["", "@", "@never"])
def test_a_boot_id_without_a_time_is_read_by_the_present_clock(suffix: str) -> None:
    """A plain boot id is understood as long as the clock was not set."""
    own = own_identity()
    plain = own.boot_id.partition("@")[0] + suffix
    assert is_alive(ProcessIdentity(pid=own.pid, started=own.started, boot_id=plain))


def test_boot_id_names_the_kernels_boot() -> None:
    """The boot id begins with the kernel's own name for this boot."""
    kernel = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert boot_id().startswith(kernel + "@")


def test_elsewhere_than_on_linux_psutil_and_the_system_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without /proc the identity comes from psutil, and a boot without a name from its time."""
    monkeypatch.setattr(host, "LINUX", False)
    monkeypatch.setattr("harness.agy.table.LINUX", False)
    own = own_identity()
    assert own.started == pytest.approx(psutil.Process().create_time())
    assert own.boot_id.startswith("boot-")
    assert is_alive(own)
    assert not is_alive(replace(own, started=own.started - 1))


@pytest.mark.parametrize(("status", "name"), [(0, "5C0-UUID"), (-1, "")])
def test_a_boot_of_macos_has_a_name_of_its_own(
    monkeypatch: pytest.MonkeyPatch, status: int, name: str
) -> None:
    """The system's name of the session is taken; where it gives none, there is none."""

    class Library:
        def sysctlbyname(self, wanted: bytes, buffer: Any, *_rest: object) -> int:
            assert wanted == b"kern.bootsessionuuid"
            buffer.value = b"5C0-UUID"
            return status

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Library())
    assert host._darwin_boot_name() == name


def test_a_machine_that_hides_itself_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine does not tell what is needed, the error says so."""
    monkeypatch.setattr(host, "read_row", lambda _pid: None)
    with pytest.raises(HostProblem, match="itself was started"):
        own_identity()
    monkeypatch.setattr(Path, "read_bytes", lambda _path: b"cpu 1 2\n")
    with pytest.raises(HostProblem, match="was started"):
        boot_id()


def test_a_process_that_the_table_hides_may_be_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that answers to its number counts as alive; a free number, or another boot, is dead."""
    own = own_identity()
    assert may_be_alive(own)
    assert not may_be_alive(replace(own, started=own.started - 1))
    monkeypatch.setattr("harness.agy.host.read_row", lambda _pid: None)
    assert may_be_alive(own)
    assert may_be_alive(replace(own, pid=1))
    assert not may_be_alive(replace(own, pid=2**22 + 1))
    assert not may_be_alive(replace(own, pid=2**70))
    assert not may_be_alive(replace(own, boot_id="another"))
