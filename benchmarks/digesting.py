"""How long the preflight looks at guarded files that nobody has changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

from measuring import Figure, Size, interleaved

from harness.agy.guards import RACY_MARGIN_NS, TooLarge, snapshot
from harness.core.evidence import FileDigest

FILES_A_FOLDER = 1000


def measure_digests(size: Size, folder: Path) -> list[Figure]:
    """Measure a snapshot of unchanged files beside a bare walk that looks at each of them."""
    root = folder / "guarded"
    count = size.pick(smoke=200, quick=20_000, full=99_000)
    _make_files(root, count)
    if size is not Size.SMOKE:
        time.sleep(RACY_MARGIN_NS / 1e9 + 0.1)  # what is younger than this is read again, always
    began = time.perf_counter()
    known = _taken(snapshot([str(root)], {}))
    first_s = time.perf_counter() - began
    assert len(known) >= count
    samples = interleaved(
        {
            "bare": lambda: _look(str(root)),
            "snapshot": lambda: _taken(snapshot([str(root)], known)),
        },
        size.pick(smoke=1, quick=5, full=7),
        size.patience_s,
    )
    ratio = min(samples["snapshot"].cpu) / min(samples["bare"].cpu)
    return [
        Figure(name=f"first snapshot of {count:,} files", value=first_s * 1000, unit="ms"),
        samples["bare"].figure(f"bare walk with a stat of {count:,} files"),
        samples["snapshot"].figure(f"snapshot of {count:,} unchanged files"),
        Figure(
            name="snapshot of unchanged files / bare walk",
            value=ratio,
            unit="×",
            note="processor",
        ),
    ]


def _make_files(root: Path, count: int) -> None:
    for number in range(count):
        place = root / f"folder-{number // FILES_A_FOLDER}"
        if number % FILES_A_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"file-{number}.json").write_bytes(b'{"value": %d}\n' % number)


def _taken(taken: dict[str, FileDigest] | TooLarge) -> dict[str, FileDigest]:
    if isinstance(taken, TooLarge):
        raise SystemExit(f"the snapshot gave up: {taken.what} after {taken.count} entries")
    return taken


def _look(root: str) -> int:
    """Look at every file below a folder, and do nothing with it."""
    total = 0
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total
