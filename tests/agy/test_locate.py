"""Finding the CLI's binary and knowing its bytes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from harness.agy.locate import Configured, Located, NotFound, locate, sha256_of_binary
from harness.errors import HostProblem


def _binary(path: Path, content: bytes = b"#!/bin/sh\n") -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return str(path)


def test_the_order_is_flag_variable_configuration_path(tmp_path: Path) -> None:
    """What is named first decides; agy comes before antigravity on PATH."""
    flag, variable, file = (_binary(tmp_path / name) for name in ("flag", "variable", "file"))
    agy = _binary(tmp_path / "bin" / "agy")
    other = _binary(tmp_path / "bin0" / "antigravity")
    environment = {"PATH": f"{tmp_path}/bin0:{tmp_path}/bin"}
    configured = Configured(path=file, origin="harness.toml [agy] path")
    named = {**environment, "HARNESS_AGY": variable}
    for answer, path, origin in (
        (locate(flag, named, configured), flag, "--agy"),
        (locate(None, named, configured), variable, "$HARNESS_AGY"),
        (locate(None, environment, configured), file, "harness.toml [agy] path"),
        (locate(None, environment), agy, "PATH"),
        (locate(None, {"PATH": f"{tmp_path}/bin0"}), other, "PATH"),
    ):
        assert isinstance(answer, Located)
        assert (answer.path, answer.origin) == (path, origin)


def test_a_link_is_started_as_named_and_known_by_where_it_leads(tmp_path: Path) -> None:
    """The path is absolute as found, the real path follows links."""
    real = _binary(tmp_path / "install" / "agy-1.3")
    link = tmp_path / "agy"
    link.symlink_to(real)
    answer = locate(str(link), {})
    assert isinstance(answer, Located)
    assert (answer.path, answer.real_path) == (str(link), real)


def test_relative_names_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path relative to the folder, below the home, or a bare name on PATH is resolved."""
    _binary(tmp_path / "bin" / "agy-x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("bin/agy-x", "~/bin/agy-x", "agy-x"):
        answer = locate(name, {"PATH": f"{tmp_path}/bin"})
        assert isinstance(answer, Located)
        assert answer.path == f"{tmp_path}/bin/agy-x"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _path: None, "does not exist"),
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: path.touch(0o644), "is not executable"),
        (lambda path: path.symlink_to(path.name), "cannot be looked at"),
    ],
)
def test_a_named_path_that_is_no_good_stops_the_search(
    tmp_path: Path, make: object, words: str
) -> None:
    """A wrong path is named with its origin, and no other binary is taken instead."""
    assert callable(make)
    make(tmp_path / "wrong")
    _binary(tmp_path / "bin" / "agy")
    answer = locate(None, {"HARNESS_AGY": str(tmp_path / "wrong"), "PATH": f"{tmp_path}/bin"})
    assert isinstance(answer, NotFound)
    assert answer.problem.startswith(f"$HARNESS_AGY names {tmp_path}/wrong")
    assert words in answer.problem
    assert answer.hint


def test_nothing_on_path_says_what_to_do() -> None:
    """Without any binary the answer says what is missing and how to name it."""
    answer = locate(None, {"PATH": "/no/such/folder"})
    assert isinstance(answer, NotFound)
    assert "neither agy nor antigravity" in answer.problem
    assert "--agy" in answer.hint
    missing = locate("agy-of-nobody", {"PATH": "/no/such/folder"})
    assert isinstance(missing, NotFound)
    assert "is not on PATH" in missing.problem
    assert isinstance(locate("~nobody-at-all/agy", {}), NotFound)


def test_relative_folders_on_path_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is started from the folder the harness happens to stand in."""
    _binary(tmp_path / "agy")
    monkeypatch.chdir(tmp_path)
    assert isinstance(locate(None, {"PATH": ":.:"}), NotFound)


def test_a_digest_is_computed_once_per_file(tmp_path: Path) -> None:
    """The digest is right, and is not computed again while the file's stat is the same."""
    path = _binary(tmp_path / "agy", b"one")
    first = sha256_of_binary(path)
    assert first.sha256 == hashlib.sha256(b"one").hexdigest()
    assert sha256_of_binary(path, first) is first
    replaced = tmp_path / "new"
    replaced.write_bytes(b"two")
    os.utime(replaced, ns=(first.mtime_ns, first.mtime_ns))
    replaced.rename(path)
    second = sha256_of_binary(path, first)
    assert second.sha256 == hashlib.sha256(b"two").hexdigest()
    elsewhere = _binary(tmp_path / "copy", b"one")
    assert sha256_of_binary(elsewhere, first).path == elsewhere


def test_a_binary_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing binary raises with its path."""
    with pytest.raises(HostProblem, match=r"gone.*cannot be read"):
        sha256_of_binary(str(tmp_path / "gone"))
