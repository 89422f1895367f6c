"""An agent that means harm, through the real command line: what it wrote, wherever it is shown."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.helpers.hostile import CANONICAL, ids, play
from tests.helpers.night import Night, Said

CLEARS = "\x1b[2J\x1b]0;owned\x07\x1b[8m"
TURNS = "\u202edetouq\u202c \u2066x\u2069 \u200b\u200e\ufeff\u2028\u2029\x85\x9b31m\U000e0041"
INJECTS = "fine\nHELD      0 runs\r\nerror: all is well\r\x0b\x0c\x08\x08"
MARKS = "<script>alert(1)</script><b>&amp; [red]bold[/red] {{7*7}} %s %(x)s ${HOME} `id` '; --"
NASTY = f"start {CLEARS} {TURNS} {INJECTS} {MARKS} \x00\x7f end"
LETTERS = "下限を上げた 🎌 Żółć"
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200c\u200e-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e00ff]"
)
LONG = "x" * 1_000_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A night in which everything that an agent can write is hostile."""

    night: Night
    held: dict[str, object]
    errored: dict[str, object]
    told: tuple[Said, Said]


def toml(text: str) -> str:
    """Return a text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@pytest.fixture
def shown(night: Night) -> Shown:
    """Play one run that is held and one that fails, with hostile words in every place."""
    night.enable()
    (night.workspace / "data").mkdir()
    reason, value = night.folder / "reason", night.folder / "value"
    reason.write_text(f"{LETTERS} {NASTY}".replace("\x00", ""), newline="")
    value.write_text(f"{LETTERS}\n{NASTY}\n{LONG[:500_000]}", newline="")
    write = (
        f'harness gate write ads/floor --tier canonical --reason "$(cat {reason})" '
        f"--value-file {value}"
    )
    note = f'harness journal append --scope ads --decision "$(cat {reason})" "$(cat {reason})"'
    play(
        night,
        "held",
        f"model = {toml('gpt' + CLEARS)}\n"
        f"[[steps]]\ntext = {toml(LETTERS + NASTY + LONG)}\n"
        f"[[steps]]\nlog = {toml(NASTY + LONG)}\n"
        f"[[steps]]\nerr = {toml(NASTY + LONG)}\n"
        f"[[steps]]\ntool = {{ name = {toml('tool' + NASTY)}, parameters = "
        f"{{ CommandLine = {toml(NASTY)} }}, output = {toml(NASTY)} }}\n"
        f"[[steps]]\ncommand = {json.dumps(write)}\n"
        f"[[steps]]\ncommand = {json.dumps(note)}\n"
        f"[[steps]]\nclaim_file = {toml('/outside/' + CLEARS + 'x')}\n",
        tiers=CANONICAL,
    )
    held = night.harness("run", "held", "--json")
    assert held.out, held.err
    names = f"data/{CLEARS}\n\u202ex".replace("\x1b]0;owned\x07", "")
    play(
        night,
        "errored",
        f"[[steps]]\nwrite_file = {{ path = {toml(names)}, content = {toml(NASTY)} }}\n"
        f"[[steps]]\nerror = {{ short_error = {toml(NASTY + LONG)}, error_code = 503 }}\n",
        guard=["data"],
    )
    errored = night.harness("run", "errored")
    listed = night.harness("runs", "list", "--json").json
    return Shown(night, held.json, listed[0], (held, errored))


def commands(shown: Shown) -> Iterator[tuple[str, ...]]:
    """Return every command that shows something of an agent's."""
    held, errored = str(shown.held["run_id"]), str(shown.errored["run_id"])
    (proposal,) = shown.held["pending"]  # type: ignore[misc]
    yield ("runs", "list")
    yield ("runs", "show", held)
    yield ("runs", "show", errored)
    yield ("pending", "list")
    yield ("pending", "list", "--all")
    yield ("pending", "show", proposal)
    yield ("journal", "list")
    yield ("report",)


def hidden_in(text: str) -> list[str]:
    """Return what a terminal would obey, or not show, in a text."""
    return [unicodedata.name(each, hex(ord(each))) for each in HIDDEN.findall(text)]


def test_nothing_an_agent_wrote_reaches_a_terminal_unseen(shown: Shown) -> None:
    """No escape, no direction mark, no injected line; letters of every script stay."""
    assert shown.held["outcome"] == "held"
    assert shown.errored["outcome"] == "bypassed"
    assert (shown.told[0].status, shown.told[1].status) == (0, 4)
    for said in shown.told:
        assert hidden_in(said.out) == []
        assert hidden_in(said.err) == []
        assert len(said.out) < 1_000_000
    for words in commands(shown):
        said = shown.night.harness(*words)
        assert said.status == 0, said.err
        assert hidden_in(said.out + said.err) == [], words
        assert not [
            line for line in said.out.splitlines() if line.startswith(("HELD      0", "error:"))
        ]
        assert len(said.out) < 2_000_000
    pending = shown.night.harness("pending", "list").out
    assert len(pending.splitlines()) == 2
    assert LETTERS in pending
    assert "\\x1b[2J" in pending
    assert "\\u202e" in pending
    report = shown.night.harness("report").out
    assert LETTERS in report
    assert max(map(len, report.splitlines()[:24])) <= 400


def test_json_stays_json_and_is_the_very_text(shown: Shown) -> None:
    """Programs get what was written, byte for byte, and a terminal that shows it is safe."""
    for words in commands(shown):
        said = shown.night.harness(*words, "--json")
        assert said.status == 0
        assert hidden_in(said.out) == [], words
        assert said.json is not None
    (proposal,) = shown.night.harness("pending", "list", "--json").json
    assert proposal["reason"] == f"{LETTERS} {NASTY}".replace("\x00", "")
    assert proposal["value"].startswith(f"{LETTERS}\n{NASTY}\n")
    (entry,) = shown.night.harness("journal", "list", "--json").json
    assert entry["entry"] == entry["decision"] == proposal["reason"]
    assert len(str(shown.held["response"]).encode()) <= 64 * 1024
    assert ids(shown.held)  # type: ignore[arg-type]
    folder = shown.night.home.run_folder(str(shown.held["run_id"]))
    assert json.loads((folder / "record.json").read_text())["run_id"] == shown.held["run_id"]


def test_what_was_approved_is_shown_harmlessly(shown: Shown) -> None:
    """Approved, the value is read back whole; printed it is harmless, its history too."""
    (proposal,) = shown.held["pending"]  # type: ignore[misc]
    night = shown.night
    assert night.harness("approve", proposal).status == 0
    for words in (("canonical", "get", "ads/floor"), ("canonical", "history", "ads/floor")):
        said = night.harness(*words)
        assert said.status == 0
        assert hidden_in(said.out) == []
    found = night.harness("canonical", "get", "ads/floor", "--json").json
    assert NASTY in found["value"]


@pytest.mark.parametrize("stream", ["stdout", "stderr", "log"])
def test_a_runs_output_on_a_terminal_is_harmless(shown: Shown, stream: str) -> None:
    """Into a pipe it goes byte for byte; a terminal gets every control character as an escape."""
    night, run_id = shown.night, str(shown.held["run_id"])
    main, terminal = pty.openpty()
    words = ("runs", "log", run_id, "--stream", stream)
    with subprocess.Popen(
        [sys.executable, "-m", "harness", *words],
        env=night.environment,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.PIPE,
        cwd=night.folder,
    ) as process:
        os.close(terminal)
        seen = bytearray()
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        os.close(main)
        process.communicate(timeout=60)
    assert process.returncode == 0
    text = seen.decode(errors="replace").replace("\r\n", "\n")
    assert len(text) > 1_000_000
    assert hidden_in(text) == []
    piped = night.harness(*words, "--json")
    assert hidden_in(piped.out) == []
    assert piped.json["bytes"] > 1_000_000
