"""A home: where things stand in it, how it is made, how it is found."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from harness.errors import ConfigurationProblem, HomeNotFound, HostProblem
from harness.stores.homes import Home, find_home, make_home, runtime_folder, trust_home
from harness.stores.registry import (
    default_home_folder,
    register,
    registered_homes,
    registry_file,
)
from tests.helpers.homes import new_home, write_job


def test_a_home_knows_its_places(tmp_path: Path) -> None:
    """Every path of a home lies where the documentation says."""
    home = Home(root=tmp_path)
    places = {
        home.settings_file: "harness.toml",
        home.nightly: "nightly",
        home.rules: "rules",
        home.database: "state/harness.db",
        home.run_folder("r1"): "state/runs/r1",
        home.archive: "state/archive",
        home.accepted: "state/accepted",
        home.lock: "state/lock",
    }
    assert {str(path.relative_to(tmp_path)) for path in places} == set(places.values())


def test_making_a_home_makes_all_of_it(tmp_path: Path) -> None:
    """A new home has settings, rules, a folder for jobs, a private state, and is registered."""
    made = make_home(tmp_path / "deep" / "home")
    home = made.home
    assert home.settings_file.is_file()
    assert (home.rules / "gate.toml").is_file()
    assert list(home.nightly.iterdir()) == []
    assert stat.S_IMODE(home.state.stat().st_mode) == 0o700
    assert "harness.toml" in made.created
    assert made.kept == ()
    assert registered_homes() == [home.root]


def test_making_a_home_again_changes_nothing(tmp_path: Path) -> None:
    """What a person changed stays, and the home is registered once."""
    home = new_home(tmp_path / "home")
    home.settings_file.write_text("# mine\n")
    (home.rules / "gate.toml").write_text("# mine too\n")
    made = make_home(tmp_path / "home")
    assert made.created == ()
    assert home.settings_file.read_text() == "# mine\n"
    assert (home.rules / "gate.toml").read_text() == "# mine too\n"
    assert registered_homes() == [home.root]


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file in the way gives a clear error."""
    (tmp_path / "file").write_text("")
    with pytest.raises(HostProblem, match="cannot be made"):
        make_home(tmp_path / "file" / "home")


def test_the_option_comes_before_the_variable(tmp_path: Path) -> None:
    """`--home` wins over HARNESS_HOME, which wins over every other place."""
    one, two = new_home(tmp_path / "one"), new_home(tmp_path / "two")
    environment = {"HARNESS_HOME": str(two.root)}
    assert find_home(str(one.root), environment=environment, start=tmp_path) == one
    assert find_home(None, environment=environment, start=one.root) == two


@pytest.mark.parametrize("name", ["missing", "~nobody-of-this-name/x", "a\0b"])
def test_a_named_folder_without_settings_is_no_home(tmp_path: Path, name: str) -> None:
    """A folder that was named but is no home is an error, never skipped."""
    with pytest.raises(HomeNotFound, match="--home"):
        find_home(name, environment={}, start=tmp_path)
    with pytest.raises(HomeNotFound, match="HARNESS_HOME"):
        find_home(None, environment={"HARNESS_HOME": name}, start=tmp_path)


def test_a_registered_home_is_found_from_below(tmp_path: Path) -> None:
    """The nearest registered home above the current folder is used, links resolved."""
    outer = new_home(tmp_path / "outer")
    inner = new_home(tmp_path / "outer" / "inner")
    below = inner.root / "a" / "b"
    below.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(below)
    assert find_home(None, environment={}, start=link) == inner
    assert find_home(None, environment={"HARNESS_HOME": ""}, start=outer.root) == outer


def test_settings_that_nobody_registered_do_not_make_a_home(tmp_path: Path) -> None:
    """A planted harness.toml is passed over for a registered home further up, or named."""
    planted = tmp_path / "clone"
    planted.mkdir()
    (planted / "harness.toml").write_text("")
    with pytest.raises(HomeNotFound, match="never registered") as caught:
        find_home(None, environment={}, start=planted)
    assert f"harness home trust {planted}" in caught.value.hint
    home = new_home(tmp_path)
    assert find_home(None, environment={}, start=planted) == home


def test_a_home_inside_a_workspace_never_counts(tmp_path: Path) -> None:
    """A home where a job of any registered home may write is not found by its place."""
    outside = new_home(tmp_path / "outside")
    inside = new_home(tmp_path / "workspace" / "home")
    assert find_home(None, environment={}, start=inside.root) == inside
    write_job(outside, "other", workspace=str(tmp_path / "workspace"))
    with pytest.raises(HomeNotFound, match="inside the workspace"):
        find_home(None, environment={}, start=inside.root)
    assert find_home(str(inside.root), environment={}, start=tmp_path) == inside


def test_a_home_inside_the_workspace_of_its_own_job_never_counts(tmp_path: Path) -> None:
    """A home whose own job may write to it is not found by its place either."""
    home = new_home(tmp_path / "home")
    write_job(home, "self", workspace=str(tmp_path))
    with pytest.raises(HomeNotFound):
        find_home(None, environment={}, start=home.root)


def test_the_platform_folder_is_the_last_resort(tmp_path: Path) -> None:
    """Without any other, the home in the platform's configuration directory is used."""
    with pytest.raises(HomeNotFound, match="no home") as caught:
        find_home(None, environment={}, start=tmp_path)
    assert "harness init" in caught.value.hint
    made = make_home(default_home_folder())
    assert find_home(None, environment={}, start=tmp_path) == made.home


def test_trust_registers_a_home_once(tmp_path: Path) -> None:
    """A copied home can be trusted; a folder without settings cannot."""
    (tmp_path / "harness.toml").write_text("")
    assert trust_home(tmp_path) == (Home(root=tmp_path), True)
    assert trust_home(tmp_path) == (Home(root=tmp_path), False)
    with pytest.raises(HomeNotFound):
        trust_home(tmp_path / "elsewhere")


@pytest.mark.parametrize("text", ["", "[]", '{"homes": 3}', '{"homes": [1]}', "{", '{"x": []}'])
def test_a_broken_registry_is_named(tmp_path: Path, text: str) -> None:
    """A registry that cannot be read is an error with the way out, not an empty list."""
    make_home(tmp_path)
    registry_file().write_text(text)
    with pytest.raises(ConfigurationProblem, match=r"homes\.json: expected"):
        registered_homes()


def test_a_registry_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """Trust is worth nothing where somebody else can give it."""
    register(tmp_path)
    registry_file().chmod(0o666)
    with pytest.raises(ConfigurationProblem, match="only you may write"):
        registered_homes()


def test_an_unusable_registry_is_named(tmp_path: Path) -> None:
    """A folder in its place, or a place below a file, is a clear error."""
    registry_file().mkdir(parents=True, mode=0o700)
    with pytest.raises(ConfigurationProblem, match="expected a regular file"):
        registered_homes()
    registry_file().rmdir()
    registry_file().parent.rmdir()
    registry_file().parent.write_text("")
    with pytest.raises(ConfigurationProblem, match="cannot be read"):
        register(tmp_path)


def test_the_registry_keeps_what_it_held(tmp_path: Path) -> None:
    """A second home is added after the first, in a file of this user alone."""
    register(tmp_path / "日本")
    register(tmp_path / "b")
    assert registered_homes() == [tmp_path / "日本", tmp_path / "b"]
    assert stat.S_IMODE(registry_file().stat().st_mode) == 0o600
    assert len(json.loads(registry_file().read_text())["homes"]) == 2


def test_the_runtime_folder_is_private_and_short(tmp_path: Path) -> None:
    """The user's runtime directory is used where it is short enough for a socket."""
    base = Path("/tmp") / f"r{os.getpid()}"  # noqa: S108 - short on purpose
    base.mkdir(mode=0o700)
    try:
        folder = runtime_folder({"XDG_RUNTIME_DIR": str(base)})
        assert folder == base / "harness"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        folder.chmod(0o755)
        assert stat.S_IMODE(runtime_folder({"XDG_RUNTIME_DIR": str(base)}).stat().st_mode) == 0o700
        folder.rmdir()
        folder.symlink_to(tmp_path)
        with pytest.raises(HostProblem, match="expected a folder of this user"):
            runtime_folder({"XDG_RUNTIME_DIR": str(base)})
        folder.unlink()
    finally:
        base.rmdir()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that takes no others")
def test_a_runtime_folder_that_cannot_be_made_is_named() -> None:
    """A runtime directory that takes no folders gives a clear error."""
    with pytest.raises(HostProblem, match="cannot be made"):
        runtime_folder({"XDG_RUNTIME_DIR": "/proc/self"})


@pytest.mark.parametrize("given", ["", "relative", "/nowhere/at/all", "/tmp/" + "long" * 30])  # noqa: S108
def test_without_a_usable_runtime_directory_there_is_one_in_tmp(given: str) -> None:
    """A missing, relative or long runtime directory gives way to a private folder in /tmp."""
    folder = runtime_folder({"XDG_RUNTIME_DIR": given})
    assert folder == Path(f"/tmp/harness-{os.geteuid()}")  # noqa: S108
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
