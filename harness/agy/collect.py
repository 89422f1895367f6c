"""The CLI's output files, read as they grow and handed to the reader.

What stands at these paths is the agent's doing in the end: nothing is followed, nothing
waited for, nothing read beyond a bound, and only regular files are read at all.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from harness.agy.durable import full_sync, sync_folders
from harness.agy.files import open_regular
from harness.core.model import Usage
from harness.core.output import Stream
from harness.errors import HostProblem

CHUNK = 256 * 1024
"""The largest piece handed to the reader at once."""
ROUND = 8 * 1024 * 1024
"""The most that one round of the loop reads, so that a flood does not stop the loop."""
DEFAULT_LIMIT = 1 << 30

_CONVERSATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_MOST_CONVERSATIONS = 16


class Reader(Protocol):
    """What understands the output of a turn, piece by piece."""

    def feed(self, stream: Stream, data: bytes) -> None:
        """Take the next piece of a stream; never raises for what is in it."""
        ...

    @property
    def result_complete(self) -> bool:
        """A complete result of this turn has been read."""
        ...

    @property
    def tool_running(self) -> bool:
        """A tool was started and has not ended."""
        ...

    @property
    def background_tasks(self) -> bool:
        """The CLI waits for background tasks of its own."""
        ...

    @property
    def last_event(self) -> str:
        """A few words on the newest event; empty before the first."""
        ...

    @property
    def usage(self) -> Usage:
        """The tokens used so far."""
        ...

    @property
    def conversation_ids(self) -> Sequence[str]:
        """Every conversation that the events name, in order."""
        ...


class Tail:
    """One growing file.

    Attributes:
        seen_bytes: the largest extent over all files that stood at the path; it never falls.
        backlog: the last read stopped at its budget, with more to read.
    """

    def __init__(
        self, path: str, stream: Stream, *, make: bool = False, limit: int = DEFAULT_LIMIT
    ) -> None:
        """Name a file; it is opened when it appears.

        Args:
            path: where it is, or will be.
            stream: as what its bytes are handed to the reader.
            make: make it now, empty and for this user alone, and never look at the path
                again: what an agent puts there later is not read.
            limit: bytes of it that are read at most, whatever is done to the file.
        """
        self.path = path
        self.seen_bytes = 0
        self.backlog = False
        self._stream = stream
        self._follow = not make
        self._left = limit
        self._file: int | None = None
        self._inode = (0, 0)
        self._offset = 0
        self._past = 0
        if make:
            self._make()

    def _make(self) -> None:
        try:
            self._file = open_regular(self.path, os.O_CREAT)
        except OSError as error:
            raise HostProblem(f"{self.path} could not be made: {error.strerror}") from error

    def read(self, reader: Reader, budget: int) -> int:
        """Hand the reader what is new, up to a budget of bytes; returns how many that were."""
        fed = 0
        if self._file is None:
            self._open()
        if self._file is not None:
            fed = self._read_open(self._file, reader, budget)
            if not self.backlog and self._follow and self._was_replaced():
                self.close()
                self._open()
        return fed

    def _read_open(self, file: int, reader: Reader, budget: int) -> int:
        size = os.fstat(file).st_size
        if size < self._offset:
            self._past += self._offset  # cut short, as a rotation does: it begins anew
            self._offset = 0
        self.seen_bytes = max(self.seen_bytes, self._past + size)
        fed = 0
        allowed = min(budget, self._left)
        while fed < allowed:
            data = os.pread(file, min(CHUNK, allowed - fed), self._offset)
            if not data:
                break
            reader.feed(self._stream, data)
            self._offset += len(data)
            fed += len(data)
        self._left -= fed
        self.seen_bytes = max(self.seen_bytes, self._past + self._offset)
        self.backlog = fed > 0 and fed == allowed and self._left > 0
        return fed

    def _open(self) -> None:
        """Open the path where a regular file stands there; anything else is left alone."""
        if not self._follow:
            return
        try:
            if not stat.S_ISREG(os.lstat(self.path).st_mode):
                return
            file = open_regular(self.path)
        except OSError:
            return
        found = os.fstat(file)
        self._file, self._inode = file, (found.st_dev, found.st_ino)
        self._past += self._offset
        self._offset = 0

    def _was_replaced(self) -> bool:
        try:
            found = os.lstat(self.path)
        except OSError:
            return False
        return stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) != self._inode

    def sync(self) -> None:
        """Make what was written durable; raises OSError where the disk fails."""
        if self._file is not None:
            full_sync(self._file)

    def close(self) -> None:
        """Give the descriptor back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Tails:
    """All that a run writes: stdout, stderr, its log, and the growth of its transcripts."""

    def __init__(
        self,
        *,
        stdout_path: str,
        stderr_path: str,
        log_path: str | None,
        gemini_root: str | None = None,
        make: bool = True,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        """Name the files.

        Args:
            stdout_path: made here where it is not there yet, so that it is held open before
                the CLI, and with it an agent, is started.
            stderr_path: the same.
            log_path: the CLI's log, which may appear late, be rotated, or never come.
            gemini_root: the folder that holds `antigravity-cli/`; None to watch no transcript.
            make: False for a run that is over: what is not there is not made.
            limit: bytes of each file that are read at most.
        """
        self._stdout = Tail(stdout_path, Stream.STDOUT, make=make, limit=limit)
        self._stderr = Tail(stderr_path, Stream.STDERR, make=make, limit=limit)
        self._log = None if log_path is None else Tail(log_path, Stream.LOG, limit=limit)
        self._gemini_root = gemini_root
        self._transcripts: dict[str, int] = {}

    @property
    def _all(self) -> list[Tail]:
        return [self._stdout, self._stderr, *([self._log] if self._log else [])]

    @property
    def backlog(self) -> bool:
        """There is more to read than the last round took."""
        return any(tail.backlog for tail in self._all)

    @property
    def output_bytes(self) -> int:
        """How large stdout, stderr and the log have become together."""
        return sum(tail.seen_bytes for tail in self._all)

    def read(self, reader: Reader, budget: int = ROUND) -> bool:
        """Read one round; returns whether stdout, the log or a transcript has grown."""
        before = self._stdout.seen_bytes + (self._log.seen_bytes if self._log else 0)
        for tail in self._all:
            budget -= tail.read(reader, max(budget, CHUNK))
        after = self._stdout.seen_bytes + (self._log.seen_bytes if self._log else 0)
        return self._transcripts_grew(reader.conversation_ids) or after > before

    def drain(self, reader: Reader, within_s: float | None = None) -> None:
        """Read all that is left; within a time where the files may still grow."""
        deadline = None if within_s is None else time.monotonic() + within_s
        self.read(reader)
        while self.backlog and (deadline is None or time.monotonic() < deadline):
            self.read(reader)

    def _transcripts_grew(self, conversation_ids: Sequence[str]) -> bool:
        if self._gemini_root is None:
            return False
        grew = False
        for name in list(conversation_ids)[-_MOST_CONVERSATIONS:]:
            # The name comes from the output: it must not lead anywhere else.
            if not _CONVERSATION.fullmatch(name):
                continue
            size = _size_of(transcript_path(self._gemini_root, name))
            grew |= size > self._transcripts.get(name, 0)
            self._transcripts[name] = size
        return grew

    def sync(self) -> str:
        """Make the files and their folder's entries durable; returns what failed, or ''."""
        problems = []
        for tail in self._all:
            try:
                tail.sync()
            except OSError as error:
                problems.append(f"{tail.path}: {error.strerror}")
        return "; ".join([*problems, *sync_folders(tail.path for tail in self._all)])

    def close(self) -> None:
        """Give the descriptors back."""
        for tail in self._all:
            tail.close()


def transcript_path(gemini_root: str, conversation_id: str) -> str:
    """Return where the CLI keeps the transcript of a conversation."""
    folder = Path(gemini_root) / "antigravity-cli" / "brain" / conversation_id
    return str(folder / ".system_generated" / "logs" / "transcript.jsonl")


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
