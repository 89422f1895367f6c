"""Files that an agent can put anything in place of, opened so that nothing of it is followed.

`stores.files` has the same for what the stores read: the two floors do not know each other.
"""

from __future__ import annotations

import errno
import os
import stat

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_regular(path: str, flags: int = 0) -> int:
    """Open a regular file for reading: no link is followed, no pipe or device waited for.

    Args:
        path: where it is.
        flags: beside those, such as `os.O_CREAT`, which makes it for this user alone.

    Raises:
        OSError: it cannot be opened, or something else stands there.
        ValueError: no file can have this name.
    """
    descriptor = os.open(path, _READ | flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file")
