"""Floor 3, `backup`: writing the restore log: begun before the first change, gone after the last."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from muniment.backup.restore_log import HalfRestore
from muniment.canonical import Json, canonical
from muniment.disk import platform
from muniment.disk.errors import named
from muniment.disk.root import Root
from muniment.disk.write import write_all, write_verified
from muniment.path import RelPath


def _line(now: datetime, backup_id: str, section: str, status: str, **more: Json) -> bytes:
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        canonical({"ts": stamp, "backup_id": backup_id, "section": section, "status": status, **more}) + b"\n"
    )


def begin(place: Path, backup_id: str, restore: str, sections: tuple[str, ...], now: datetime) -> None:
    """Write the first line, durably; a log that stands there already is `AlreadyThere`."""
    line = _line(now, backup_id, "restore", "begun", restore=restore, sections=list(sections))
    with Root.open(place.parent) as root:
        write_verified(root, RelPath((place.name,)), line, mode=0o600)


def note_done(half: HalfRestore, section: str, now: datetime) -> None:
    """Add that a section is done, durably; what a write that was cut short left is taken off first."""
    if section in half.done:
        return
    line = _line(now, half.backup_id, section, "ok")
    with Root.open(half.path.parent) as root:
        fd = root.open_file(RelPath((half.path.name,)), os.O_RDWR)
        try:
            with named(str(half.path)):
                size = os.fstat(fd).st_size
                data = os.pread(fd, size, 0)
                whole = data.rfind(b"\n") + 1
                if whole != size:
                    os.ftruncate(fd, whole)
                os.lseek(fd, whole, os.SEEK_SET)
                write_all(fd, line)
                platform.sync_data(fd)
        finally:
            platform.close(fd)


def end(half: HalfRestore) -> None:
    """Remove the log: nothing is half done any more."""
    with Root.open(half.path.parent) as root:
        root.unlink(RelPath((half.path.name,)), missing_ok=True)
