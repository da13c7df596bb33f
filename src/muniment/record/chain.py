"""Floor 1, `record`: writing onto a chain of records, as the ledger does and each journal in its format.

Drafts are sealed one after the other, appended by one write, and read again by their path.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable

from muniment.clock import Clock, instant
from muniment.disk import platform
from muniment.disk.errors import ReadbackFailed, named
from muniment.disk.root import Root
from muniment.ids import Entropy, new_ulid
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.errors import EventTooLarge
from muniment.record.event import LINE_LIMIT, Context, Draft, Event, seal
from muniment.record.segments import read_range


def seal_all(
    drafts: Iterable[Draft], prev: str, *, clock: Clock, entropy: Entropy, actor: str, context: Context
) -> tuple[list[Event], bytes]:
    """The events of drafts that follow `prev`, and their lines; `EventTooLarge` for what is no record."""
    events: list[Event] = []
    lines: list[bytes] = []
    for draft in drafts:
        now = clock()
        event, line = seal(
            draft,
            event_id=new_ulid(now, entropy),
            at=instant(now),
            actor=actor,
            context=context,
            prev=prev,
        )
        if len(line) > LINE_LIMIT:
            raise EventTooLarge(size=len(line), limit=LINE_LIMIT, where=printable(event.kind))
        events.append(event)
        lines.append(line)
        prev = event.sha256
    return events, b"".join(lines)


def append(root: Root, rel: RelPath, size: int, lines: bytes, *, mode: int) -> None:
    """Put lines at the end of a file of so many bytes, durably, by one `write(2)`; if it or the sync
    fails, the file is cut back.  One of no bytes is made when it is missing."""
    flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT if size == 0 else 0)
    fd = root.open_file(rel, flags, mode)
    try:
        if size == 0:
            root.sync_folder(rel.parent)
        try:
            with named(rel):
                if os.write(fd, lines) != len(lines):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                platform.sync_data(fd)
        except BaseException:
            with contextlib.suppress(OSError):
                _cut(fd, size)
            raise
    finally:
        platform.close(fd)


def read_again(root: Root, rel: RelPath, start: int, lines: bytes) -> None:
    """`ReadbackFailed` unless the lines stand there, in the file that the path leads to now."""
    if read_range(root, rel, start, len(lines)) != lines:
        raise ReadbackFailed(where=rel.posix, why=say("the event is not there as it was written"))


def cut_back(root: Root, rel: RelPath, size: int) -> None:
    """Leave so many bytes of a file, durably."""
    fd = root.open_file(rel, os.O_WRONLY)
    try:
        with named(rel):
            _cut(fd, size)
    finally:
        platform.close(fd)


def _cut(fd: int, size: int) -> None:
    os.ftruncate(fd, size)
    platform.sync_data(fd)
