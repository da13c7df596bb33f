"""Floor 3, `backup`: what the last run read, so that unchanged files are not read again.

It lies in the user's cache folder and holds ids, never addresses.  What it says counts only for
extents that the vault has just said it keeps; a part of it is read anew in every run, and one
difference ends its credit (spec 4, what goes in).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import Any

from muniment.bundle.model import Known
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.disk.write import scratch_name
from muniment.errors import MunimentError
from muniment.record.state import FOLDER

FORMAT = 2
SETTLED_NS = 2_000_000_000
"""What changed less than so long ago may change again without looking so."""

UNDATED = frozenset({"tmpfs", "ramfs", "devtmpfs"})
"""File systems in memory: a file that is written through a mapping keeps its times there, for ever."""

SHARE = 30
"""One part in so many of what is known is read anew in each run."""

_ROW = Struct("<32sII")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS groups
  (key BLOB PRIMARY KEY, extents BLOB NOT NULL, files BLOB NOT NULL, size INTEGER NOT NULL,
   checked INTEGER NOT NULL, seal BLOB NOT NULL)
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS copies (stamp BLOB PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""


class Cache:
    """The memory of the packer for one root and one vault.

    `settled_ns` is the time before which a file must have changed last to be believed unchanged,
    by the clock of the file system it lies on, which is the one of `device`: the times of another one
    may be those of another clock.  `lied` says that it was wrong about something.
    """

    def __init__(self, base: sqlite3.Connection, probe: int, *, device: int = 0, dated: bool = True) -> None:
        self.settled_ns = probe - SETTLED_NS if dated else 0
        self.device = device
        self._base = base
        self._has: Callable[[bytes], bool] = lambda extent: False
        self._again: set[bytes] = set()
        self._seen: dict[bytes, tuple[bytes, bytes, int, int]] = {}
        self._used: set[bytes] = set()
        self._now = probe
        self.lied = False
        self._begin()

    @classmethod
    def open(cls, folder: Path, vault: str, root: Root, *, fresh: bool = False) -> Cache:
        """Open, or begin anew: when asked to, when it is damaged, and when the clock went back.

        A folder that can not be written gives a memory for this run only.
        """
        fact = os.fstat(root.fd)
        name = sha256(
            f"{FORMAT}\n{vault}\n{fact.st_dev}\n{fact.st_ino}\n{root.path}".encode("utf-8", "surrogateescape")
        )
        probe = _probe(root)
        dated = _dates_every_write(root.fd)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.chmod(folder, 0o700)
            place = folder / f"{name.hex[:32]}.sqlite"
            if fresh:
                place.unlink(missing_ok=True)
            base = _connect(place)
        except (OSError, sqlite3.Error):
            base = _open(":memory:")
        try:
            return cls(base, probe, device=fact.st_dev, dated=dated)
        except sqlite3.Error:
            base.close()
            return cls(_open(":memory:"), probe, device=fact.st_dev, dated=dated)

    def _begin(self) -> None:
        row = self._base.execute("SELECT value FROM facts WHERE name = 'probe'").fetchone()
        if row is not None and not (isinstance(row[0], int) and row[0] <= self._now):
            self._forget()
        self._choose()

    def _forget(self) -> None:
        self._base.execute("DELETE FROM groups")
        self._base.execute("DELETE FROM copies")

    def _choose(self) -> None:
        """Which groups are read anew: the oldest looks first, until they are a share of all bytes."""
        (total,) = self._base.execute("SELECT coalesce(sum(size), 0) FROM groups").fetchone()
        left = -(-int(total) // SHARE)
        for key, size in self._base.execute("SELECT key, size FROM groups ORDER BY checked, key"):
            if left <= 0:
                break
            self._again.add(key)
            left -= size if isinstance(size, int) else 0

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()

    def extents(self) -> Iterator[bytes]:
        """The ids of everything it knows, to be named to the vault."""
        with suppress(sqlite3.Error):  # what was not named is not missed: it is asked for when it is made
            for (packed,) in self._base.execute("SELECT extents FROM groups"):
                if isinstance(packed, bytes) and len(packed) % _ROW.size == 0:
                    for one, _, _ in _ROW.iter_unpack(packed):
                        yield one

    def trust(self, has: Callable[[bytes], bool]) -> None:
        """What the vault said that it has."""
        self._has = has

    def copy_size(self, stamp: bytes) -> int | None:
        """The size of a database's copy when it had that stamp."""
        row = self._row("SELECT size FROM copies WHERE stamp = ?", stamp)
        return None if row is None else int(row[0])

    def recall(self, key: bytes) -> Known | None:
        """What is known of a group, if the vault still has all of it (called by the packer)."""
        if self.lied or key in self._again:
            return None
        row = self._known(key)
        if row is None:
            return None
        extents = tuple(_ROW.iter_unpack(row[0]))
        if not all(self._has(one) for one, _, _ in extents):
            return None
        self._used.add(key)
        files = tuple(row[1][at : at + 32].hex() for at in range(0, len(row[1]), 32))
        return Known(extents, files)

    def remember(self, key: bytes, known: Known) -> None:
        """Take in what a group gave; one that gives something else than before ends all credit."""
        extents = b"".join(_ROW.pack(*extent) for extent in known.extents)
        files = b"".join(bytes.fromhex(one) for one in known.files)
        if key in self._used:
            return
        if key in self._again:
            row = self._known(key)
            if row is not None and row != (extents, files):
                self.lied = True
        self._seen[key] = (extents, files, sum(extent[1] for extent in known.extents), self._now)

    def _known(self, key: bytes) -> tuple[bytes, bytes] | None:
        """What was written down of a group, if it is byte for byte what was written."""
        row = self._row("SELECT extents, files, seal FROM groups WHERE key = ?", key)
        if row is None or not all(isinstance(one, bytes) for one in row):
            return None
        extents, files, seal = row
        return (extents, files) if seal == _seal(key, extents, files) else None

    def _row(self, query: str, key: bytes) -> Any:
        """One row of what is known; a memory that can not be read knows nothing, and is not needed."""
        try:
            return self._base.execute(query, (key,)).fetchone()
        except sqlite3.Error:
            return None

    def keep(self, copies: Mapping[bytes, int]) -> None:
        """After the vault has acknowledged: what this run saw replaces what was known."""
        with suppress(sqlite3.Error), self._base:
            if self.lied:
                self._forget()
            self._base.execute("CREATE TEMP TABLE used (key BLOB PRIMARY KEY) WITHOUT ROWID")
            self._base.executemany("INSERT OR IGNORE INTO used VALUES (?)", ((key,) for key in self._used))
            self._base.execute("DELETE FROM groups WHERE key NOT IN (SELECT key FROM used)")
            self._base.executemany(
                "INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?, ?, ?)",
                ((key, *row, _seal(key, *row[:2])) for key, row in self._seen.items()),
            )
            self._base.executemany("INSERT OR REPLACE INTO copies VALUES (?, ?)", copies.items())
            self._base.execute("INSERT OR REPLACE INTO facts VALUES ('probe', ?)", (self._now,))


def _seal(key: bytes, extents: bytes, files: bytes) -> bytes:
    """Tells a row that was damaged: the base itself would give it out as it is."""
    return bytes.fromhex(sha256(b"%d %b%b%b" % (len(extents), key, extents, files)).hex)[:16]


def _dates_every_write(fd: int) -> bool:
    """Make sure that whatever is written from now on gets a time of its own; whether that can be.

    What is written through a mapping is dated when its page is first written to after it was last
    handed to the device.  So all is handed over now, before anything is looked at: a page that is
    written later tells of it.
    """
    try:
        mount = platform.mount_of(fd)
        if mount is not None and mount.fs_type in UNDATED:
            return False
        platform.sync_file_system(fd)
    except OSError:
        return False
    return True


def _connect(place: Path) -> sqlite3.Connection:
    try:
        return _open(str(place))
    except sqlite3.DatabaseError:
        place.unlink(missing_ok=True)
        return _open(str(place))


def _open(place: str) -> sqlite3.Connection:
    base = sqlite3.connect(place, timeout=5, check_same_thread=False)
    try:
        base.execute("PRAGMA journal_mode = DELETE")
        base.execute("PRAGMA synchronous = NORMAL")
        base.executescript(_SCHEMA)
        # One that has other columns was made by something else.
        base.execute("SELECT key, extents, files, size, checked, seal FROM groups LIMIT 1").fetchone()
        base.execute("SELECT stamp, size FROM copies LIMIT 1").fetchone()
        base.execute("SELECT name, value FROM facts LIMIT 1").fetchone()
    except sqlite3.Error:
        base.close()
        raise
    return base


def _probe(root: Root) -> int:
    """Now, by the clock of the root's file system, in nanoseconds; 0 when nothing can be written."""
    name = scratch_name()
    try:
        folder = root.open_folder(FOLDER)
    except MunimentError:
        return 0
    try:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            os.write(fd, b".")
            return os.fstat(fd).st_mtime_ns
        finally:
            platform.close(fd)
            os.unlink(name, dir_fd=folder)
    except OSError:
        return 0
    finally:
        platform.close(folder)
