"""What restoring takes away is kept: nothing that a run left is ever deleted outright."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from harness.agy.guards import digest_entry
from harness.core.evidence import FileDigest, PathKind
from harness.services.put_back import NEW_FILE, OWNER_BITS, Spot, sync
from harness.stores.files import full_sync, open_regular, sync_folder
from harness.stores.protocols import BeforeWrite

_CHUNK = 1024 * 1024


class Aside:
    """The run's folder for what restoring takes away: nothing is ever deleted outright."""

    def __init__(self, root: Path, before_write: BeforeWrite) -> None:
        self._root = root
        self._before_write = before_write

    def has(self, path: str) -> bool:
        """Return whether something of this path was set aside."""
        return os.path.lexists(self._place(path))

    def move(self, spot: Spot, path: str, present: FileDigest) -> Path:
        """Move an entry out of the way, with all below it; return where it is now."""
        place, stands = self._free_place(path, present)
        self._before_write("restore:aside")
        if stands:
            os.unlink(spot.name, dir_fd=spot.folder)
        else:
            try:
                os.rename(spot.name, place, src_dir_fd=spot.folder)
            except OSError as problem:
                if problem.errno != errno.EXDEV:
                    raise
                self._copy(spot, place, present)
                sync_folder(place.parent)  # the copy is durable before the original goes
                os.unlink(spot.name, dir_fd=spot.folder)
            sync_folder(place.parent)
        sync(spot)
        return place

    def copy(self, spot: Spot, path: str, present: FileDigest) -> Path:
        """Keep what is about to be replaced; the entry itself stays where it is."""
        place, stands = self._free_place(path, present)
        if not stands:
            self._before_write("restore:aside")
            self._copy(spot, place, present)
            sync_folder(place.parent)
        return place

    def empty_folder(self, spot: Spot, path: str, mode: int) -> Path:
        """Take an empty folder away; its name and mode are kept. Raises where it is not empty."""
        place = self._place(path)
        place.mkdir(parents=True, exist_ok=True)
        self._before_write("restore:aside")
        os.rmdir(spot.name, dir_fd=spot.folder)
        place.chmod(mode | OWNER_BITS)
        sync(spot)
        return place

    def _place(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    def _free_place(self, path: str, present: FileDigest) -> tuple[Path, bool]:
        """Return where to keep an entry, and whether its very copy stands there already."""
        first = self._place(path)
        first.parent.mkdir(parents=True, exist_ok=True)
        place, number = first, 0
        while os.path.lexists(place):
            same = digest_entry(os.fspath(place)).meaning == present.meaning
            if same and present.kind in (PathKind.FILE, PathKind.LINK):
                return place, True
            number += 1
            place = first.with_name(f"{first.name}.{number}")
        return place, False

    def _copy(self, spot: Spot, place: Path, present: FileDigest) -> None:
        """Copy a file or link; a file that can be linked is not copied byte by byte."""
        temporary = place.with_name(f".{hashlib.sha256(os.fsencode(place)).hexdigest()[:16]}.tmp")
        temporary.unlink(missing_ok=True)
        if present.kind is PathKind.LINK:
            temporary.symlink_to(os.readlink(spot.name, dir_fd=spot.folder))
        elif present.kind in (PathKind.FILE, PathKind.UNREADABLE):
            try:
                os.link(spot.name, temporary, src_dir_fd=spot.folder, follow_symlinks=False)
            except OSError:
                _copy_bytes(spot, temporary, present.mode)
        else:
            raise OSError(errno.EXDEV, "cannot be moved to another file system")
        temporary.replace(place)


def _copy_bytes(spot: Spot, target: Path, mode: int) -> None:
    source = open_regular(spot.name, spot.folder)
    with (
        os.fdopen(source, "rb") as reader,
        os.fdopen(os.open(target, NEW_FILE, 0o600), "wb") as writer,
    ):
        while chunk := reader.read(_CHUNK):
            writer.write(chunk)
        writer.flush()
        os.fchmod(writer.fileno(), mode)
        full_sync(writer.fileno())
