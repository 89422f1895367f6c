"""Logs: events on stderr, and no secret in them."""

from __future__ import annotations

import json

import pytest

from harness.cli.logs import MASK, configure_logs, format_for, mask, secrets_of

KEY = "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"


def test_json_lines_carry_the_event(capsys: pytest.CaptureFixture[str]) -> None:
    """Under systemd each event is one JSON object on stderr, and stdout stays empty."""
    log = configure_logs(None, {"INVOCATION_ID": "x"})
    log.info("run.finished", outcome="held", note="日本\x1b[1m", parts=[KEY, 3, None], raw=b"\xff")
    log.debug("run.detail")
    printed = capsys.readouterr()
    event = json.loads(printed.err)
    assert printed.out == ""
    assert event.pop("timestamp").endswith("Z")
    assert event == {
        "event": "run.finished",
        "level": "info",
        "outcome": "held",
        "note": "日本\\x1b[1m",
        "parts": [MASK, 3, None],
        "raw": "\\xff",
    }


def test_a_person_reads_keys_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere an event is one line of keys and values, debug ones included when asked for."""
    log = configure_logs("text", {"HARNESS_DEBUG": "1"})
    log.debug("run.detail", facts={"a": ("b", True)}, kind=ValueError)
    line = capsys.readouterr().err
    assert "level=debug event=run.detail" in line
    assert "'a': ['b', True]" in line


def test_an_exception_is_logged_without_its_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """A traceback is part of the event, masked like everything else."""
    log = configure_logs("json", {"MY_TOKEN": "hunter2hunter2"})
    try:
        int("bad hunter2hunter2")
    except ValueError:
        log.exception("run.failed")
    printed = capsys.readouterr().err
    assert "ValueError" in printed
    assert "hunter2" not in printed


@pytest.mark.parametrize(
    ("environment", "form"), [({}, "text"), ({"JOURNAL_STREAM": "8:1"}, "json")]
)
def test_the_form_suits_the_reader(environment: dict[str, str], form: str) -> None:
    """The journal of systemd gets JSON, a person gets text."""
    assert format_for(environment) == form


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "ya29." + "a0AfH6SMBx" * 3,
        "gh" + "p_" + "a" * 36,
        "github" + "_pat_" + "a1" * 20,
        "xox" + "b-1234567890-abcdefghij",
        "xapp" + "-1-A012345-abcdefghij",
        "sk" + "-proj-abcdefghijklmnopqrst",
        "AK" + "IA" + "ABCDEFGHIJKLMNOP",
        "eyJhbGciOiJI" + ".eyJzdWIiOiIx" + ".sflKxwRJSM",
        "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE\nabc\n-----END RSA PRIVATE " + "KEY-----",
        "-----BEGIN PRIVATE " + "KEY-----\nMIIEcut off",
    ],
)
def test_known_shapes_are_masked(secret: str) -> None:
    """Tokens of the usual services and private keys never reach a log."""
    assert mask(f"before {secret}") == f"before {MASK}"


def test_a_bearer_keeps_its_word() -> None:
    """The header stays readable, its token does not."""
    assert mask("Authorization: Bearer abcdefgh123") == f"Authorization: Bearer {MASK}"


def test_secrets_come_from_the_environment_by_name() -> None:
    """Values under telling names are masked, the longest first; short ones hide nothing."""
    secrets = secrets_of(
        {
            "A_TOKEN": "longer-secret",
            "DB_PASSWORD": "longer-secret-still",
            "X_KEY": "1",
            "P": "plain-text",
        }
    )
    assert secrets == ("longer-secret-still", "longer-secret")
    assert mask("x longer-secret-still longer-secret plain-text", secrets) == "x *** *** plain-text"


def test_ordinary_text_is_left_alone() -> None:
    """A sentence, a digest and a path are no secrets."""
    text = "run 20261130T0230-x wrote /srv/sk/y " + "0f" * 32
    assert mask(text) == text
