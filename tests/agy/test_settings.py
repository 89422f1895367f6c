"""The settings of a root and a workspace: all found, none trusted, nothing ever raised."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from harness.agy import settings
from harness.agy.settings import read_settings
from harness.core.settings import FaultKind, Layer, LayerKind, SettingsView
from tests.helpers.gemini import Gemini


@pytest.fixture(name="gemini")
def gemini_of(tmp_path: Path) -> Gemini:
    """Return a root that holds nothing yet."""
    return Gemini(tmp_path / "gemini")


def found(view: SettingsView) -> list[tuple[LayerKind, str]]:
    """Return kind and place of each layer, the place below the root."""
    return [(layer.kind, os.path.relpath(layer.file, view.root)) for layer in view.layers]


def layer_at(view: SettingsView, path: Path) -> Layer:
    """Return the layer of one path."""
    (layer,) = [each for each in view.layers if each.file == str(path)]
    return layer


def faults(layer: Layer) -> list[FaultKind]:
    """Return the kinds of a layer's faults."""
    return [fault.kind for fault in layer.faults]


def test_a_root_that_is_not_there_has_no_layers(tmp_path: Path) -> None:
    """Nothing is found where nothing is, and nothing is made."""
    view = read_settings(str(tmp_path / "none"), str(tmp_path / "workspace"))
    assert view.layers == ()
    assert list(tmp_path.iterdir()) == []


def test_every_layer_is_found(gemini: Gemini, tmp_path: Path) -> None:
    """All files that the CLI reads, the plugins' too, and the decoys, in a fixed order."""
    gemini.settings(allow=["command(git)"])
    gemini.shared(allow=["command(ls)"])
    gemini.project("b", allow=["command(b)"])
    gemini.project("a", allow=["command(a)"])
    gemini.write("config/projects/notes.txt", "no project")
    gemini.write(
        "config/sidecars/s1/sidecar.json", {"agent_permissions": {"access_grants": ["mcp(x/y)"]}}
    )
    gemini.write("config/hooks.json", {})
    gemini.write("config/mcp_config.json", {"mcpServers": {"m": {"command": "m"}}})
    gemini.write("config/plugins/p/mcp_config.json", {"mcpServers": {"m": {"command": "m"}}})
    gemini.write("antigravity-cli/plugins/q/hooks/hooks.json", {})
    gemini.write("settings.json", {})
    gemini.write("policies/old.toml", "")
    gemini.write("policies/README.md", "")
    workspace = Gemini(tmp_path / "workspace")
    workspace.write(".agents/hooks.json", {})
    workspace.write(".agents/mcp_config.json", {"mcpServers": {}})
    workspace.write(".antigravity/settings.json", {})
    view = read_settings(str(gemini.root), str(workspace.root))
    assert found(view) == [
        (LayerKind.GLOBAL, "antigravity-cli/settings.json"),
        (LayerKind.SHARED, "config/config.json"),
        (LayerKind.PROJECT, "config/projects/a.json"),
        (LayerKind.PROJECT, "config/projects/b.json"),
        (LayerKind.SIDECAR, "config/sidecars/s1/sidecar.json"),
        (LayerKind.HOOKS, "config/hooks.json"),
        (LayerKind.MCP, "config/mcp_config.json"),
        (LayerKind.MCP, "config/plugins/p/mcp_config.json"),
        (LayerKind.HOOKS, "antigravity-cli/plugins/q/hooks/hooks.json"),
        (LayerKind.DECOY, "settings.json"),
        (LayerKind.DECOY, "policies/old.toml"),
        (LayerKind.HOOKS, "../workspace/.agents/hooks.json"),
        (LayerKind.MCP, "../workspace/.agents/mcp_config.json"),
        (LayerKind.DECOY, "../workspace/.antigravity/settings.json"),
    ]
    assert [rule.text for layer in view.layers for rule in layer.rules] == [
        *("command(git)", "command(ls)", "command(a)", "command(b)", "mcp(x/y)")
    ]
    names = [server.name for layer in view.layers for server in layer.servers]
    assert names == ["m", "p_m"]
    assert layer_at(view, gemini.root / "config/projects/a.json").identity == ("a", "a")
    assert all(layer.faults == () for layer in view.layers)


def test_what_cannot_be_read_is_a_fault(gemini: Gemini) -> None:
    """Pipes, folders, dead links, loops and files of any size are findings, and nothing hangs."""
    own = gemini.root / "antigravity-cli"
    own.mkdir()
    os.mkfifo(own / "settings.json")
    shared = gemini.root / "config"
    (shared / "config.json").mkdir(parents=True)
    projects = shared / "projects"
    projects.mkdir()
    (projects / "dead.json").symlink_to("nowhere.json")
    (projects / "loop.json").symlink_to("loop.json")
    with (projects / "large.json").open("wb") as file:
        file.truncate(settings.FILE_LIMIT + 1)
    view = read_settings(str(gemini.root), None)
    assert faults(layer_at(view, own / "settings.json")) == [FaultKind.NOT_REGULAR]
    assert faults(layer_at(view, shared / "config.json")) == [FaultKind.NOT_REGULAR]
    assert faults(layer_at(view, projects / "dead.json")) == [
        FaultKind.SYMLINK,
        FaultKind.UNREADABLE,
    ]
    assert faults(layer_at(view, projects / "loop.json")) == [
        FaultKind.SYMLINK,
        FaultKind.UNREADABLE,
    ]
    assert faults(layer_at(view, projects / "large.json")) == [FaultKind.TOO_LARGE]
    assert all(layer.rules == () for layer in view.layers)


def test_a_link_is_followed_and_told(gemini: Gemini, tmp_path: Path) -> None:
    """Settings behind a link count, with the place where they really are."""
    target = Gemini(tmp_path / "dotfiles").settings(allow=["command(git)"])
    (gemini.root / "antigravity-cli").symlink_to(target.parent)
    view = read_settings(str(gemini.root), None)
    layer = layer_at(view, gemini.root / "antigravity-cli/settings.json")
    assert [rule.text for rule in layer.rules] == ["command(git)"]
    assert layer.real_file == str(target)
    folder = layer_at(view, gemini.root / "antigravity-cli")
    assert (folder.kind, faults(folder)) == (LayerKind.FOLDER, [FaultKind.SYMLINK])


def test_names_that_are_no_text_are_written_as_text(gemini: Gemini) -> None:
    """A file name of any bytes can be stored and shown."""
    gemini.project("a")
    folder = gemini.root / "config/projects"
    (folder / "a.json").rename(folder / os.fsdecode(b"\xff.json"))
    (layer,) = read_settings(str(gemini.root), None).layers
    assert layer.file.endswith("projects/\\xff.json")


def test_files_and_folders_that_everybody_may_write_are_faults(gemini: Gemini) -> None:
    """Whoever may write the settings decides what agents may do."""
    path = gemini.settings(allow=["command(git)"])
    path.chmod(0o666)
    gemini.root.chmod(0o777)
    view = read_settings(str(gemini.root), None)
    assert faults(layer_at(view, path)) == [FaultKind.WORLD_WRITABLE]
    assert faults(layer_at(view, gemini.root)) == [FaultKind.WORLD_WRITABLE]
    assert "0666" in layer_at(view, path).faults[0].detail


def test_settings_of_another_user_are_faults(
    gemini: Gemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that belongs to somebody else is told; root's and one's own are not."""
    path = gemini.settings()
    real = os.fstat(0)
    fields = list(real)
    fields[stat.ST_UID] = 4321
    fields[stat.ST_MODE] = stat.S_IFREG | 0o644
    monkeypatch.setattr("harness.agy.settings.os.fstat", lambda _: os.stat_result(fields))
    view = read_settings(str(gemini.root), None)
    assert faults(layer_at(view, path)) == [FaultKind.OTHER_OWNER]
    assert "4321" in layer_at(view, path).faults[0].detail


def test_folders_of_too_many_files_are_read_to_a_bound(
    gemini: Gemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not read any more is told; what was read counts."""
    monkeypatch.setattr(settings, "ENTRIES_LIMIT", 2)
    for name in "abc":
        gemini.project(name, allow=[f"command({name})"])
        gemini.write(f"config/sidecars/{name}/sidecar.json", {})
        gemini.write(f"config/plugins/{name}/hooks.json", {})
        gemini.write(f"policies/{name}.toml", "")
    view = read_settings(str(gemini.root), None)
    for folder in ("projects", "sidecars", "plugins"):
        layer = layer_at(view, gemini.root / "config" / folder)
        assert faults(layer) == [FaultKind.TOO_MANY]
    assert sum(layer.kind is LayerKind.PROJECT for layer in view.layers) == 4


def test_a_folder_that_cannot_be_listed_is_a_fault(
    gemini: Gemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is there and cannot be read hides nothing in silence."""

    def refuse(path: str) -> object:
        if path.endswith("projects"):
            raise PermissionError(13, "Permission denied", path)
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr("harness.agy.settings.os.scandir", refuse)
    view = read_settings(str(gemini.root), None)
    layer = layer_at(view, gemini.root / "config/projects")
    assert faults(layer) == [FaultKind.UNREADABLE]
    assert "permission denied" in layer.faults[0].detail


def test_a_path_that_cannot_even_be_looked_at_is_a_fault(
    gemini: Gemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not being allowed to look is not the same as nothing being there."""
    real = os.lstat
    path = str(gemini.root / "antigravity-cli/settings.json")

    def refuse(name: str) -> os.stat_result:
        if name == path:
            raise PermissionError(13, "Permission denied", name)
        return real(name)

    monkeypatch.setattr("harness.agy.settings.os.lstat", refuse)
    view = read_settings(str(gemini.root), None)
    assert faults(layer_at(view, Path(path))) == [FaultKind.UNREADABLE]
