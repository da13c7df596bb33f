"""Floor 3, `backup`: what the last run read, so that unchanged files are not read again.

It lies in the user's cache folder and holds ids, never addresses.  What it says counts only for
extents that the vault has just said it keeps; a part of it is read anew in every run, and one
difference ends its credit (spec 4, what goes in).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from heapq import heappop, heappush
from itertools import starmap
from pathlib import Path
from struct import Struct, pack, unpack_from
from types import TracebackType
from typing import Any, cast

from muniment.bundle.model import NOBODY, NOTE, Known, Note, Stretch
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.disk.write import file_system_now
from muniment.errors import MunimentError
from muniment.path import RelPath

FORMAT = 5
_STATE = RelPath.parse(".muniment")
SETTLED_NS = 2_000_000_000
"""What changed less than so long ago may change again without looking so."""

UNDATED = frozenset({"tmpfs", "ramfs", "devtmpfs"})
"""File systems in memory: a file that is written through a mapping keeps its times there, for ever."""

SHARE = 30
"""One part in so many of what is known is read anew in each run."""

_HEAD = Struct("<IIII")
"""Of a record: groups, extents, files, cuts; all that counts follows in this order."""

_GROUP = Struct("<32sIIIq")
"""A group: its key, members, extents, files, and when it was read last."""

_SPOILT = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""What SQLite says of a file that has other tables, or is no base."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS stretches
  (id INTEGER PRIMARY KEY, place BLOB NOT NULL UNIQUE, key BLOB NOT NULL, size INTEGER NOT NULL,
   checked INTEGER NOT NULL, seal BLOB NOT NULL, record BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS groups (key INTEGER NOT NULL, place BLOB NOT NULL, PRIMARY KEY (key, place))
  WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS copies (stamp BLOB PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TEMP TABLE fresh
  (place BLOB PRIMARY KEY, key BLOB, size INTEGER, checked INTEGER, seal BLOB, record BLOB);
"""


def _to_bytes(one: Stretch) -> bytes:
    """A stretch as it is kept, with the time of its groups."""
    head = _HEAD.pack(len(one.notes), len(one.rows) // NOTE.size, len(one.digests) // 32, len(one.cuts))
    groups = b"".join(starmap(_GROUP.pack, one.notes))
    return b"".join((head, groups, one.rows, one.digests, pack(f"<{len(one.cuts)}I", *one.cuts)))


def _read(record: bytes) -> Stretch:
    """The stretch of bytes that were written by `_to_bytes`."""
    groups, extents, files, count = _HEAD.unpack_from(record)
    rows = _HEAD.size + groups * _GROUP.size
    digests = rows + extents * NOTE.size
    cuts = digests + files * 32
    # Plain tuples are enough where there are very many.
    notes = cast("list[Note]", list(_GROUP.iter_unpack(record[_HEAD.size : rows])))
    return Stretch(notes, record[rows:digests], record[digests:cuts], unpack_from(f"<{count}I", record, cuts))


def _groups(stretch: Stretch) -> Iterator[tuple[bytes, Known, int]]:
    """The groups that may be believed: key, what each gave, and when it was read last."""
    rows = list(NOTE.iter_unpack(stretch.rows))
    digests = stretch.digests.hex()
    row = at = 0
    for key, _, extents, files, when in stretch.notes:
        to, end = row + extents, at + 64 * files
        if key != NOBODY:
            hashes = tuple(digests[start : start + 64] for start in range(at, end, 64))
            yield key, Known(tuple(rows[row:to]), hashes), when
        row, at = to, end


def _fits(record: bytes) -> bool:
    """Whether a record's counts are those of its bytes: nothing is allocated by their word alone."""
    if len(record) < _HEAD.size:
        return False
    groups, extents, files, cuts = _HEAD.unpack_from(record)
    begin = _HEAD.size + groups * _GROUP.size
    if begin + extents * NOTE.size + files * 32 + cuts * 4 != len(record):
        return False
    notes = list(_GROUP.iter_unpack(record[_HEAD.size : begin]))
    return bool(sum([note[2] for note in notes]) == extents and sum([note[3] for note in notes]) == files)


def _ids(record: bytes) -> Iterator[bytes]:
    """The ids of all extents of a record."""
    groups, extents, *_ = _HEAD.unpack_from(record)
    at = _HEAD.size + groups * _GROUP.size
    return iter([row[0] for row in NOTE.iter_unpack(record[at : at + extents * NOTE.size])])


class Cache:
    """The memory of the packer for one root and one vault.

    `settled_ns` is the time before which a file must have changed last to be believed unchanged,
    by the clock of the file system it lies on, which is the one of `device`: the times of another one
    may be those of another clock.  `lied` says that it was wrong about something.
    """

    def __init__(
        self,
        base: sqlite3.Connection,
        probe: int,
        *,
        device: int = 0,
        dated: bool = True,
        share: int | None = SHARE,
    ) -> None:
        self.settled_ns = probe - SETTLED_NS if dated else 0
        self.device = device
        self._base = base
        self._share = share
        self._has: Callable[[bytes], bool] = lambda extent: False
        self._again: dict[bytes, set[bytes]] = {}
        self._doubted: dict[bytes, Known] = {}
        self._checked: dict[bytes, int] = {}
        self._near: tuple[bytes, dict[bytes, tuple[Known, int]]] = (b"", {})  # the record used last
        self._used: set[int] = set()
        self._now = probe
        self._forgets = False
        self.lied = False
        self._begin()
        self.blank = self._row("SELECT 1 FROM groups LIMIT 1") is None

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
            base = connect(place)
        except (OSError, sqlite3.Error):
            base = open_base(":memory:")
        try:
            return cls(base, probe, device=fact.st_dev, dated=dated)
        except sqlite3.Error:
            base.close()
            return cls(open_base(":memory:"), probe, device=fact.st_dev, dated=dated)

    def _begin(self) -> None:
        row = self._base.execute("SELECT value FROM facts WHERE name = 'probe'").fetchone()
        if row is not None and not (isinstance(row[0], int) and row[0] <= self._now):
            self._forget()
        self._choose()

    def _forget(self) -> None:
        self._base.execute("DELETE FROM stretches")
        self._base.execute("DELETE FROM groups")
        self._base.execute("DELETE FROM copies")

    def _choose(self) -> None:
        """Which groups are read anew: the oldest looks first, until they are a share of all bytes."""
        if self._share is None:
            return
        # Of a row that was damaged nothing is believed, so its size may be anything; but it is a number.
        whole = "SELECT CAST(total(size) AS INTEGER) FROM stretches WHERE typeof(size) = 'integer'"
        (total,) = self._base.execute(whole).fetchone()
        left = -(-total // self._share)
        # What is open of the stretches looked into so far: when a group was read last, its key, …
        open_: list[tuple[int, bytes, bytes, int]] = []
        rows = self._base.execute("SELECT checked, place FROM stretches ORDER BY checked, place")
        row = rows.fetchone()
        while left > 0 and (row or open_):
            # Nothing in it was read before what is open: of those read at one time the places decide.
            if row and not (open_ and isinstance(row[0], int) and open_[0][0] <= row[0]):
                place = row[1]
                for key, size, when in self._sizes(place):
                    heappush(open_, (when, place, key, size))
                row = rows.fetchone()
                continue
            _, place, key, size = heappop(open_)
            self._again.setdefault(place, set()).add(key)
            left -= size

    def _sizes(self, place: object) -> list[tuple[bytes, int, int]]:
        """The groups of a stretch: key, raw bytes, and when each was read last."""
        record = self._record(place)[2] if isinstance(place, bytes) else b""
        if not record:
            return []
        return [
            (key, sum(length for _, length, _ in known.extents), when)
            for key, known, when in _groups(_read(record))
        ]

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()

    def extents(self) -> Iterator[bytes]:
        """The ids of everything it knows, to be named to the vault."""
        with suppress(sqlite3.Error):  # what was not named is asked for when it is made
            for (record,) in self._base.execute("SELECT record FROM stretches ORDER BY id"):
                if isinstance(record, bytes) and _fits(record):
                    yield from _ids(record)

    def trust(self, has: Callable[[bytes], bool]) -> None:
        """What the vault said that it has."""
        self._has = has

    def copy_size(self, stamp: bytes) -> int | None:
        """The size of a database's copy when it had that stamp."""
        row = self._row("SELECT size FROM copies WHERE stamp = ?", stamp)
        return row[0] if row is not None and isinstance(row[0], int) and row[0] >= 0 else None

    def stretch(self, first: bytes, key: bytes) -> Stretch | None:
        """What is known of a whole stretch, if the vault still has all of it (called by the packer)."""
        place = _place(first)
        if self.lied or place in self._again:
            return None
        number, known, record = self._record(place)
        if known != key or not key or not all(map(self._has, _ids(record))):
            return None
        self._used.add(number)
        return _read(record)

    def recall(self, key: bytes) -> Known | None:
        """What is known of a group, if the vault still has all of it (called by the packer)."""
        if self.lied or self.blank:
            return None
        place, (known, when) = self._find(key)
        if known is None:
            return None
        if key in self._again.get(place, ()):
            self._doubted[key] = known
            return None
        if not all(self._has(one) for one, _, _ in known.extents):
            return None
        self._checked[key] = when
        return known

    def _find(self, key: bytes) -> tuple[bytes, tuple[Known | None, int]]:
        """Where a group stood and what it gave; most groups that are asked for stood together."""
        place, near = self._near
        if key not in near:
            row = self._row("SELECT place FROM groups WHERE key = ?", _short(key))
            if row is None or not isinstance(row[0], bytes):
                return b"", (None, 0)
            place, record = row[0], self._record(row[0])[2]
            near = {one: (known, when) for one, known, when in _groups(_read(record))} if record else {}
            self._near = place, near
        return place, near.get(key, (None, 0))

    def learn(self, first: bytes, key: bytes, stretch: Stretch) -> None:
        """Take in what a stretch gave; one that gives something else than before ends all credit."""
        place = _place(first)
        notes = [note._replace(when=self._checked.pop(note.key, self._now)) for note in stretch.notes]
        stretch = stretch._replace(notes=notes)
        if self._doubted:
            for name, known, _ in _groups(stretch):
                doubted = self._doubted.pop(name, None)
                if doubted is not None and doubted != known:
                    self.lied = True
        record = _to_bytes(stretch)
        size = sum(length for _, length, _ in NOTE.iter_unpack(stretch.rows))
        checked = min(note.when for note in notes)
        row = place, key, size, checked, _seal(place, key, size, checked, record), record
        try:
            self._base.execute("INSERT OR REPLACE INTO fresh VALUES (?, ?, ?, ?, ?, ?)", row)
        except sqlite3.Error:
            self._forgets = True  # there is no room for it: this run is not remembered

    def _record(self, place: bytes) -> tuple[int, bytes, bytes]:
        """What was written down of the stretch that begins there, if it is byte for byte what was
        written: its number, its key and its record; nothing otherwise."""
        row = self._row("SELECT id, size, checked, key, seal, record FROM stretches WHERE place = ?", place)
        if row is None or [*map(type, row)] != [int, int, int, bytes, bytes, bytes]:
            return 0, b"", b""
        number, size, checked, key, seal, record = row
        sound = seal == _seal(place, key, size, checked, record) and _fits(record)
        return (number, key, record) if sound else (0, b"", b"")

    def _row(self, query: str, *values: bytes | int) -> Any:
        """One row of what is known; a memory that can not be read knows nothing, and is not needed."""
        try:
            return self._base.execute(query, values).fetchone()
        except sqlite3.Error:
            return None

    def keep(self, copies: Mapping[bytes, int]) -> None:
        """After the vault has acknowledged: what this run saw replaces what was known."""
        if self._forgets:
            return
        with suppress(sqlite3.Error), self._base:
            if self.lied:
                self._forget()
            self._base.execute("CREATE TEMP TABLE used (id INTEGER PRIMARY KEY)")
            self._base.executemany("INSERT INTO used VALUES (?)", ((number,) for number in self._used))
            self._base.execute("DELETE FROM stretches WHERE id NOT IN (SELECT id FROM used)")
            self._base.execute("DELETE FROM groups WHERE place NOT IN (SELECT place FROM stretches)")
            for place, record in self._base.execute("SELECT place, record FROM fresh"):
                keys = {note[0] for note in _read(record).notes} - {NOBODY}
                self._base.executemany(
                    "INSERT OR IGNORE INTO groups VALUES (?, ?)", ((_short(key), place) for key in keys)
                )
            self._base.execute(
                "INSERT OR REPLACE INTO stretches (place, key, size, checked, seal, record)"
                " SELECT place, key, size, checked, seal, record FROM fresh ORDER BY rowid"
            )
            self._base.execute("DELETE FROM copies")
            self._base.executemany("INSERT INTO copies VALUES (?, ?)", copies.items())
            self._base.execute("INSERT OR REPLACE INTO facts VALUES ('probe', ?)", (self._now,))


def _place(first: bytes) -> bytes:
    """The name of a stretch that begins at that path: the cache holds no path."""
    return hashlib.sha256(first).digest()[:16]


def _short(key: bytes) -> int:
    return int.from_bytes(key[:8], "little", signed=True)


def _seal(place: bytes, key: bytes, size: int, checked: int, record: bytes) -> bytes:
    """Tells a row that was damaged: the base itself would give it out as it is."""
    state = hashlib.sha256(b"%d %d %d %d %b%b" % (len(place), len(key), size, checked, place, key))
    state.update(record)
    return state.digest()[:16]


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


def connect(place: Path, *, patience_s: float = 5) -> sqlite3.Connection:
    """The base at that place, made anew where it is none of ours; one that another run holds, or that
    can not be read at present, is left alone."""
    try:
        return open_base(str(place), patience_s=patience_s)
    except sqlite3.DatabaseError as error:
        # What Python itself finds wrong in a row has no such code.
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _SPOILT:
            raise
        place.unlink(missing_ok=True)
        return open_base(str(place), patience_s=patience_s)


def open_base(place: str, *, patience_s: float = 5) -> sqlite3.Connection:
    """A base with our tables."""
    base = sqlite3.connect(place, timeout=patience_s, check_same_thread=False)
    try:
        base.execute("PRAGMA journal_mode = DELETE")
        base.execute("PRAGMA synchronous = NORMAL")
        base.executescript(_SCHEMA)
        # One that has other columns was made by something else.
        base.execute("SELECT id, place, key, size, checked, seal, record FROM stretches LIMIT 1").fetchone()
        base.execute("SELECT key, place FROM groups LIMIT 1").fetchone()
        base.execute("SELECT stamp, size FROM copies LIMIT 1").fetchone()
        base.execute("SELECT name, value FROM facts LIMIT 1").fetchone()
    except sqlite3.Error:
        base.close()
        raise
    return base


def _probe(root: Root) -> int:
    """Now, by the clock of the root's file system, in nanoseconds; 0 when nothing can be written."""
    try:
        return file_system_now(root, _STATE)
    except MunimentError:
        return 0
