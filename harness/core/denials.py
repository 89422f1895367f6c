"""Soft denials: what three sources say about tools that nobody could be asked for, merged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from harness.core.bounded import LIST_LIMIT, clip
from harness.core.events import DeniedAction
from harness.core.loose_json import UNREADABLE, decode_fields
from harness.core.model import Denial

#: The action where a denial is certain and its kind is not.
UNKNOWN_ACTION = "unknown"

_SPEAKER = "jetski:"
#: The notice is looked at without white space: line breaks have come between and in words.
_NOTICE = "jetski:nooutputproduced"
_NOTICE_LIMIT = 4096
_NOTICE_LINES = 30
_WORD_LIMIT = 100
_TARGET_LIMIT = 1024
_LIST_BYTES = 256 * 1024

_KINDS = re.compile(r"requiredthe(.{1,2000}?)permissions?thatheadlessmode")
_KIND = re.compile(r'"([^"]{1,100})"')
_SOFT_DENIED = re.compile(r'soft-denying tool confirmation "([^"]{1,100})"')
_CHECK_FAILED = re.compile(
    r'permission check failed for (\S{1,100}) "(.{0,1024}?)": user denied permission for '
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

#: The CLI's own names of tools → the permission that they need.
_ACTIONS = {
    "runcommand": "command",
    "sendcommandinput": "command",
    "viewfile": "read_file",
    "readfile": "read_file",
    "listdir": "read_file",
    "listdirectory": "read_file",
    "writefile": "write_file",
    "writetofile": "write_file",
    "editfile": "write_file",
    "replacefilecontent": "write_file",
    "multireplacefilecontent": "write_file",
    "readurl": "read_url",
    "readurlcontent": "read_url",
    "mcptool": "mcp",
    "callmcptool": "mcp",
}


def action_of(name: str) -> str:
    """Return the permission that a tool of this name needs: `RunCommand` → `command`."""
    known = _ACTIONS.get(name.replace("_", "").casefold())
    return known or _CAMEL.sub("_", name).casefold()


class NoticeReader:
    """Finds the notice of a soft denial on stderr, even broken over several lines."""

    def __init__(self) -> None:
        self._begun: str | None = None
        self._lines = 0

    @property
    def begun(self) -> bool:
        """True while the end of a notice is awaited."""
        return self._begun is not None

    def feed(self, line: str) -> list[Denial]:
        """Take one line; return the denials of the notice that it completes."""
        denials = []
        if line.lstrip().startswith(_SPEAKER):
            denials += self.finish()
            self._begun, self._lines = "", 0
        if self._begun is None:
            return denials
        self._begun += clip("".join(line.split()), _NOTICE_LIMIT)
        self._lines += 1
        full = len(self._begun) >= _NOTICE_LIMIT or self._lines >= _NOTICE_LINES
        if full or _KINDS.search(self._begun):
            denials += self.finish()
        return denials

    def finish(self) -> list[Denial]:
        """Return the denials of a notice that may have no end; one of unknown kind at least."""
        if self._begun is None:
            return []
        notice, self._begun = self._begun, None
        if not notice.startswith(_NOTICE):
            return []
        match = _KINDS.search(notice)
        kinds = _KIND.findall(match[1]) if match else []
        return [
            Denial(action=kind, source="stderr") for kind in kinds[:LIST_LIMIT] or [UNKNOWN_ACTION]
        ]


def denials_in_log(line: str) -> list[Denial]:
    """Return the denials that one line of the log tells of.

    A deny rule of the user is an ordinary tool error and no soft denial.
    """
    soft = _SOFT_DENIED.search(line)
    if soft:
        return [Denial(action=action_of(soft[1]), display_name=soft[1], source="log")]
    failed = _CHECK_FAILED.search(line)
    if failed:
        return [Denial(action=failed[1], target=clip(failed[2], _TARGET_LIMIT), source="log")]
    return []


def denials_in_result(raw: msgspec.Raw) -> list[Denial]:
    """Return the entries of a result's `denied_actions`.

    A list that cannot be read, or an entry without a kind, is a denial of unknown kind.
    """
    size = len(memoryview(raw))
    if not size or bytes(memoryview(raw)[:4]) == b"null":
        return []
    unknown = Denial(action=UNKNOWN_ACTION, source="result")
    if size > _LIST_BYTES:
        return [unknown]
    try:
        entries = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except UNREADABLE:
        return [unknown]
    return [_entry(entry) or unknown for entry in entries[:LIST_LIMIT]]


def _entry(raw: msgspec.Raw) -> Denial | None:
    found = decode_fields(raw, DeniedAction)
    if found is None:
        return None
    name = clip(found.display_name, _WORD_LIMIT) if found.display_name else None
    action = clip(found.action, _WORD_LIMIT) if found.action else action_of(name or "")
    return Denial(action=action, display_name=name, source="result") if action else None


def merge_denials(denials: Iterable[Denial]) -> tuple[Denial, ...]:
    """Return each denial once; what a later source knows is filled into the earlier entry."""
    merged: list[Denial] = []
    for denial in denials:
        for position, earlier in enumerate(merged):
            if _may_be_one(earlier, denial):
                merged[position] = replace(
                    earlier,
                    display_name=earlier.display_name or denial.display_name,
                    target=earlier.target or denial.target,
                )
                break
        else:
            merged.append(denial)
    return tuple(merged)


def _may_be_one(one: Denial, other: Denial) -> bool:
    return (
        one.action == other.action
        and (
            None in (one.display_name, other.display_name) or one.display_name == other.display_name
        )
        and (None in (one.target, other.target) or one.target == other.target)
    )
