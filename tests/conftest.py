"""What every test gets: an environment of its own, and hypothesis without a stopwatch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

_FOREIGN = ("HARNESS_", "ANTIGRAVITY_", "_HARNESS_")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the full size of slow tests."""
    parser.addoption("--storm", action="store_true", help="run the storms in full size")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave storms out unless they were asked for."""
    if config.getoption("--storm"):
        return
    for item in items:
        if item.get_closest_marker("storm"):
            item.add_marker(pytest.mark.skip(reason="a storm: run it with --storm"))


@pytest.fixture(autouse=True)
def own_environment(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give each test a user's home of its own, so that no test sees or changes the real one."""
    home = tmp_path_factory.mktemp("user")
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            monkeypatch.delenv(name)
    for name in ("INVOCATION_ID", "JOURNAL_STREAM", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    return home
