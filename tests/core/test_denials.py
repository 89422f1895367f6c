import msgspec
import pytest

from harness.core.denials import (
    NoticeReader,
    action_of,
    denials_in_log,
    denials_in_result,
    merge_denials,
)
from harness.core.model import Denial

ONE = (
    'jetski: no output produced — a tool required the "command" permission that headless mode '
    "cannot prompt for, so it was auto-denied. Add an allow-rule under permissions.allow in "
    "settings.json (e.g. command(<target>)). Alternatively, re-run with "
    "--dangerously-skip-permissions to auto-approve all tools."
)
SEVERAL = (
    'jetski: no output produced — one or more tools required the "command", "write_file" '
    "permissions that headless mode cannot prompt for, so they were auto-denied. Add an allow-rule "
    "under permissions.allow in settings.json (e.g. command(<target>), write_file(<target>))."
)


def noticed(*lines: str) -> list[Denial]:
    """Return the denials of these lines of stderr."""
    reader = NoticeReader()
    return [denial for line in lines for denial in reader.feed(line)] + reader.finish()


def from_stderr(*actions: str) -> list[Denial]:
    """Return denials as the notice tells them."""
    return [Denial(action=action, source="stderr") for action in actions]


@pytest.mark.parametrize(
    ("lines", "actions"),
    [
        ((ONE,), ("command",)),
        ((SEVERAL,), ("command", "write_file")),
        ((ONE.partition(" Alternatively")[0],), ("command",)),
        ((*ONE.split(" ")[:20], ONE.split(" ", 20)[20]), ("command",)),
        ((SEVERAL[:30], SEVERAL[30:85], "", SEVERAL[85:]), ("command", "write_file")),
        ((ONE[:70],), ("unknown",)),
        ((ONE[:70], ONE), ("unknown", "command")),
        ((ONE[:70], *["other"] * 40), ("unknown",)),
        ((ONE[:70], "x" * 9000), ("unknown",)),
        (("jetski: starting", "more"), ()),
        (('it said "jetski: no output produced"',), ()),
        ((ONE, SEVERAL), ("command", "command", "write_file")),
    ],
    ids=range(12),
)
def test_the_notice_is_found(lines: tuple[str, ...], actions: tuple[str, ...]) -> None:
    """The notice gives its kinds, whole or broken; one that cannot be read is a denial too."""
    assert noticed(*lines) == from_stderr(*actions)


@pytest.mark.parametrize(
    ("line", "denials"),
    [
        (
            'Print mode: soft-denying tool confirmation "RunCommand" at step 4',
            [Denial(action="command", display_name="RunCommand", source="log")],
        ),
        (
            (
                'permission check failed for read_file "/srv/x": '
                "user denied permission for read_file(/srv/x)"
            ),
            [Denial(action="read_file", target="/srv/x", source="log")],
        ),
        (
            (
                'E1 x.go:1] permission check failed for command "echo "a"": user denied '
                'permission for command(echo "a")'
            ),
            [Denial(action="command", target='echo "a"', source="log")],
        ),
        ('permission check failed for command "rm": Matches user-configured deny rule', []),
        ("Matches user-configured deny rule", []),
        ("all is well", []),
    ],
)
def test_the_log_tells_targets(line: str, denials: list[Denial]) -> None:
    """The two lines of the log are denials; a deny rule of the user is none."""
    assert denials_in_log(line) == denials


@pytest.mark.parametrize(
    ("raw", "denials"),
    [
        (b"", []),
        (b"null", []),
        (b"[]", []),
        (
            b'[{"action":"command","display_name":"RunCommand","new":1}]',
            [Denial(action="command", display_name="RunCommand", source="result")],
        ),
        (
            b'[{"display_name":"WriteToFile"}]',
            [Denial(action="write_file", display_name="WriteToFile", source="result")],
        ),
        (b'[{"action":"mcp","display_name":5}]', [Denial(action="mcp", source="result")]),
        (b'[{}, 7, "x"]', [Denial(action="unknown", source="result")] * 3),
        (b'{"action":"command"}', [Denial(action="unknown", source="result")]),
        (b"[" + b"1," * 200_000 + b"1]", [Denial(action="unknown", source="result")]),
    ],
    ids=range(9),
)
def test_the_result_lists_denied_actions(raw: bytes, denials: list[Denial]) -> None:
    """Entries are read one by one; what cannot be read is a denial of unknown kind."""
    assert denials_in_result(msgspec.Raw(raw)) == denials


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("RunCommand", "command"),
        ("run_command", "command"),
        ("ViewFile", "read_file"),
        ("ReplaceFileContent", "write_file"),
        ("ReadUrlContent", "read_url"),
        ("CallMcpTool", "mcp"),
        ("OpenBrowser", "open_browser"),
        ("", ""),
    ],
)
def test_tools_need_permissions(name: str, action: str) -> None:
    """A tool's own name gives the permission; an unknown one gives itself in small letters."""
    assert action_of(name) == action


def test_merging_fills_in_and_keeps_what_differs() -> None:
    """Entries that may be one become one; other targets and names stay apart."""
    merged = merge_denials(
        [
            Denial(action="command", source="stderr"),
            Denial(action="command", display_name="RunCommand", source="result"),
            Denial(action="command", target="ls", source="log"),
            Denial(action="command", target="ls", source="log"),
            Denial(action="command", target="rm", source="log"),
            Denial(action="mcp", source="result"),
        ]
    )
    assert merged == (
        Denial(action="command", display_name="RunCommand", target="ls", source="stderr"),
        Denial(action="command", target="rm", source="log"),
        Denial(action="mcp", source="result"),
    )
