"""The digest of the CLI's binary, kept by stat identity: 150 MB are read once, not every night."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from harness.agy.locate import BinaryDigest, sha256_of_binary
from harness.errors import HostProblem
from harness.services.house import House
from harness.stores.files import atomic_write, read_bounded

_CACHE_LIMIT = 64 * 1024


def digest_of(house: House, binary: Path) -> str | None:
    """Return the hex SHA-256 of a binary; None where it cannot be read (execute-only)."""
    cache = house.home.state / "binary.json"
    known = _cached(cache)
    try:
        found = sha256_of_binary(str(binary), known)
    except HostProblem:
        return None
    if found != known:
        with contextlib.suppress(HostProblem):  # only a cache: it decides no run
            atomic_write(cache, msgspec.json.encode(found), before_write=house.before_write)
    return found.sha256


def _cached(cache: Path) -> BinaryDigest | None:
    try:
        return msgspec.json.decode(read_bounded(cache, _CACHE_LIMIT), type=BinaryDigest)
    except (HostProblem, msgspec.DecodeError):  # missing or torn: it is only a cache
        return None
