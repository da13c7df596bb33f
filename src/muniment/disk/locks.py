"""Floor 1, `disk`: locks of the kernel, on files that are never renamed or removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from muniment.disk import platform
from muniment.disk.errors import Locked, named
from muniment.disk.root import Root
from muniment.message import say
from muniment.path import RelPath, printable


@contextmanager
def locked(root: Root, rel: RelPath, *, shared: bool = False, wait: bool = True) -> Iterator[None]:
    """Hold a lock for the length of a block; it ends with the block or with the process.

    Without `wait`, a lock that somebody else holds is `Locked`.  Trusted between processes of
    one kernel on a local file system (spec 0, disk).
    """
    # A shared lock needs no right to write, so that a read-only workspace can be looked at.
    fd = root.open_file(rel, (os.O_RDONLY if shared else os.O_RDWR) | os.O_CREAT, 0o600)
    try:
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(fd, mode if wait else mode | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Locked(where=printable(rel.posix), why=say("its lock is held")) from error
        except OSError:
            with named(rel):
                raise
        try:
            yield
        finally:
            # Not left to the close: a process forked meanwhile holds the same open file.
            with contextlib.suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        platform.close(fd)
