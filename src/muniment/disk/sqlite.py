"""Floor 1, `disk`: SQLite databases: consistent copies, who holds one, whether a restored one is sound.

The source is opened read-only.  When that can not be (a hot rollback journal, a folder in which
no shared-memory file may be made), its files are copied as they are and SQLite recovers the
copy; the source stays untouched (spec 4, what goes in).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from muniment.disk import platform
from muniment.disk.errors import NotThere, SourceChanged, named
from muniment.disk.root import Root
from muniment.errors import NotVerified
from muniment.message import say
from muniment.path import RelPath, printable

MAGIC = b"SQLite format 3\0"
COMPANIONS = ("-wal", "-shm", "-journal")
"""What may lie beside a database and belongs to it."""

_TRIES = 3
_BUSY_S = 20.0
"""So long a writer that has locked everybody out is waited for; then its files are copied as they lie."""


class DatabaseUnreadable(NotVerified):
    """A file says that it is a SQLite database, and SQLite can not read it."""

    code = "DATABASE_UNREADABLE"
    what = "The database can not be copied consistently."
    guidance = "Close the program that writes it and try again, or leave the file out by the rules file."


@dataclass(frozen=True, slots=True)
class DatabaseCopy:
    """A consistent copy: where it lies, and whether SQLite had to recover it from raw files."""

    path: Path
    recovered: bool


def is_database(root: Root, rel: RelPath) -> bool:
    """Whether a file is a SQLite database, by its first bytes, whatever its name."""
    fd = root.open_file(rel)
    try:
        with named(rel):
            return os.pread(fd, len(MAGIC), 0) == MAGIC
    finally:
        platform.close(fd)


def copy_database(root: Root, rel: RelPath, target: Path) -> DatabaseCopy:
    """Write a consistent copy of a database to `target`, which must not exist.

    All rows committed before the call are in it.  One step, since a copy in many steps begins
    anew whenever somebody writes and may never end.  `DatabaseUnreadable` when neither way works.
    """
    try:
        _copy_online(_address(root, rel, "mode=ro"), target)
        return DatabaseCopy(target, recovered=False)
    except sqlite3.Error as error:
        first = error
        target.unlink(missing_ok=True)
    for _ in range(_TRIES):
        try:
            _copy_raw(root, rel, target)
            return DatabaseCopy(target, recovered=True)
        except (sqlite3.Error, SourceChanged) as error:
            first = error if isinstance(error, sqlite3.Error) else first
            target.unlink(missing_ok=True)
    raise DatabaseUnreadable(where=printable(rel.posix), why=say("{finding}", finding=first)) from first


def _copy_online(address: str, target: Path) -> None:
    with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as source:
        source.execute("PRAGMA query_only = ON")
        with closing(sqlite3.connect(target)) as copy:
            source.backup(copy, pages=-1)


def _copy_raw(root: Root, rel: RelPath, target: Path) -> None:
    """Copy the database and what belongs to it, and let SQLite recover the copies.

    The files are looked at before and after: had one changed meanwhile, they would not fit
    together.
    """
    scratch = target.with_name(target.name + ".raw")
    names = [rel, *(rel.parent / (rel.name + suffix) for suffix in ("-wal", "-journal"))]
    copies = [scratch, *(scratch.with_name(scratch.name + suffix) for suffix in ("-wal", "-journal"))]
    try:
        before = [_face(root, name) for name in names]
        for name, copy, face in zip(names, copies, before, strict=True):
            if face is not None:
                _copy_file(root, name, copy)
        if [_face(root, name) for name in names] != before:
            raise SourceChanged(where=printable(rel.posix))
        with closing(sqlite3.connect(scratch)) as recovered:
            (verdict,) = recovered.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
            with closing(sqlite3.connect(target)) as copy_base:
                recovered.backup(copy_base, pages=-1)
    finally:
        for copy in (*copies, scratch.with_name(scratch.name + "-shm")):
            copy.unlink(missing_ok=True)


def _face(root: Root, rel: RelPath) -> tuple[int, int, int, int] | None:
    try:
        found = root.stat(rel)
    except NotThere:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _copy_file(root: Root, rel: RelPath, target: Path) -> None:
    fd = root.open_file(rel)
    with named(rel), os.fdopen(fd, "rb") as source, target.open("xb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)


def _address(root: Root, rel: RelPath, how: str) -> str:
    """The database as a URI; any byte may stand in its name."""
    path = os.path.join(root.path, *rel.parts)
    return f"file:{quote(os.fsencode(path))}?{how}"


def holders(paths: Iterable[tuple[int, int]]) -> list[int]:
    """The processes, other than this one, that have one of some files open, by device and inode.

    Seen are those whose descriptors this user may list; where there is no `/proc`, none.
    """
    wanted = set(paths)
    found: list[int] = []
    if not wanted or not os.path.isdir("/proc/self/fd"):
        return found
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            descriptors = os.listdir(f"/proc/{name}/fd")
        except OSError:
            continue  # it has ended, or is another user's
        for each in descriptors:
            try:
                fact = os.stat(f"/proc/{name}/fd/{each}")
            except OSError:
                continue
            if (fact.st_dev, fact.st_ino) in wanted:
                found.append(int(name))
                break
    return sorted(found)


_LOCK_BYTES = (1 << 30, 512)
"""Where SQLite locks a database: the pending byte, and the reserved and shared ones behind it."""

_SHM_LOCKS = (120, 9)
"""Where it locks the shared memory of a write-ahead log: eight locks, and the one of the living."""


def is_locked(fd: int, name: str) -> bool:
    """Whether some process holds a lock of SQLite's on a database in an open folder.

    Connections with a write-ahead log hold one as long as they live; others only while they read
    or write, so that `holders` is to be asked as well.
    """
    return any(
        _range_is_locked(fd, name + suffix, start, length)
        for suffix, (start, length) in (("", _LOCK_BYTES), ("-shm", _SHM_LOCKS))
    )


def _range_is_locked(fd: int, name: str, start: int, length: int) -> bool:
    try:
        opened = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return False
    try:
        # A lock of the open file, not of the process: letting it go frees no other lock of ours.
        return platform.is_range_locked(opened, start, length)
    finally:
        os.close(opened)


def check_database(path: str, packed: str) -> str:
    """Open a database read-only and compare it with another copy of it; an empty text when all is well.

    Both are opened as they are, without looking for logs beside them: whoever calls has made sure
    that there are none.
    """
    try:
        with (
            closing(sqlite3.connect(_immutable(path), uri=True)) as one,
            closing(sqlite3.connect(_immutable(packed), uri=True)) as other,
        ):
            (verdict,) = one.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                return str(verdict)
            for question in ("PRAGMA page_count", "PRAGMA user_version", _SCHEMA):
                if one.execute(question).fetchall() != other.execute(question).fetchall():
                    return f"another answer to: {question}"
    except sqlite3.Error as error:
        return str(error)
    return ""


_SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"


def _immutable(path: str) -> str:
    return f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
