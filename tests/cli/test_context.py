"""Who acts, and when."""

from __future__ import annotations

import os
import pwd
from datetime import timedelta
from pathlib import Path

import pytest

from harness.cli.context import Options, actor, open_home, utc_now
from tests.helpers.homes import new_home


def test_the_actor_is_the_user_and_the_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit trail names the operating-system user, or its number where it has no name."""
    assert actor() == f"{pwd.getpwuid(os.geteuid()).pw_name}@cli"
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    assert actor("slack") == "uid4000000@slack"


def test_the_clock_is_aware() -> None:
    """Times are UTC and know it."""
    assert utc_now().utcoffset() == timedelta(0)


def test_the_home_is_found_from_the_options(tmp_path: Path) -> None:
    """`--home` decides, whatever stands elsewhere."""
    home = new_home(tmp_path / "home")
    assert open_home(Options(home=str(home.root))) == home
