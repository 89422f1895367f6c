"""`state/audit.json`: the last audit of each thing that was audited, to tell what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from harness.core.audit.compare import KeptAudit
from harness.errors import HostProblem
from harness.stores.files import atomic_write, read_bounded
from harness.stores.homes import Home
from harness.stores.protocols import BeforeWrite, ignore_write

_LIMIT = 64 * 1024 * 1024
_FORM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    form: int = _FORM
    audits: Mapping[str, KeptAudit] = field(default_factory=dict)


def last_audit(home: Home, subject: str) -> KeptAudit | None:
    """Return the last audit of a subject; None where there is none that can be read."""
    return _read(_path(home)).audits.get(subject)


def keep_audit(
    home: Home, subject: str, audit: KeptAudit, *, before_write: BeforeWrite = ignore_write
) -> None:
    """Replace the last audit of a subject, the others' untouched.

    Raises:
        HostProblem: the file cannot be written; the old one stands.
    """
    path = _path(home)
    audits = {**_read(path).audits, subject: audit}
    atomic_write(path, msgspec.json.encode(_File(audits=audits)), before_write=before_write)


def _path(home: Home) -> Path:
    return home.state / "audit.json"


def _read(path: Path) -> _File:
    """Return what was kept; nothing where it is missing, damaged or of another form."""
    try:
        found = msgspec.json.decode(read_bounded(path, _LIMIT), type=_File)
    except (HostProblem, msgspec.DecodeError):
        return _File()
    return found if found.form == _FORM else _File()
