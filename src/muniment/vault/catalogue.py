"""Floor 3, `vault`: the catalogue: which extent lies where, and which snapshots there are.

It is an index over packs and snapshot files and can be made again from them alone.  SQLite with a
rollback journal and full syncing; a transaction takes the write lock when it begins, so that what
it read stays true until it commits.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from muniment.bundle.vault import Snapshot, Soundness
from muniment.digest import Digest
from muniment.message import say
from muniment.vault.errors import CatalogueLost
from muniment.vault.packs import Slot

VERSION = 1

_SCHEMA = """
CREATE TABLE packs (name TEXT PRIMARY KEY, size INTEGER NOT NULL, dead_since REAL) WITHOUT ROWID;
CREATE TABLE extents (
  id BLOB PRIMARY KEY, pack TEXT NOT NULL, at INTEGER NOT NULL, stored INTEGER NOT NULL,
  length INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX extents_by_pack ON extents (pack);
CREATE TABLE snapshots (
  id TEXT PRIMARY KEY, label TEXT NOT NULL, created INTEGER NOT NULL, size INTEGER NOT NULL,
  sections TEXT NOT NULL, root TEXT NOT NULL, sha256 TEXT, soundness TEXT NOT NULL,
  facts TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE used (snapshot TEXT NOT NULL, pack TEXT NOT NULL, PRIMARY KEY (snapshot, pack)) WITHOUT ROWID;
CREATE INDEX used_by_pack ON used (pack);
CREATE TABLE uploads (id TEXT PRIMARY KEY, touched REAL NOT NULL, replaces TEXT) WITHOUT ROWID;
CREATE TABLE pins (upload TEXT NOT NULL, extent BLOB NOT NULL, PRIMARY KEY (upload, extent)) WITHOUT ROWID;
CREATE INDEX pins_by_extent ON pins (extent);
"""

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BUSY_S = 60


class Catalogue:
    """The database of one tenant; safe from several threads and processes."""

    def __init__(self, path: str) -> None:
        self._lock = threading.RLock()
        try:
            self._base = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA journal_mode = DELETE")
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.execute("PRAGMA cell_size_check = ON")
            self._base.execute("PRAGMA temp_store = MEMORY")
            with self.writing():
                (version,) = self._base.execute("PRAGMA user_version").fetchone()
                if version == 0:
                    for statement in _SCHEMA.split(";"):
                        self._base.execute(statement)
                    self._base.execute(f"PRAGMA user_version = {VERSION}")
                    version = VERSION
        except sqlite3.DatabaseError as error:
            raise CatalogueLost(where=path, why=say("{finding}", finding=error)) from error
        if version != VERSION:
            raise CatalogueLost(
                where=path, why=say("its version {version} is not known here", version=version)
            )
        self._base.execute("CREATE TEMP TABLE asked (id BLOB PRIMARY KEY) WITHOUT ROWID")

    def close(self) -> None:
        """Let the database go."""
        with self._lock:
            self._base.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that holds the write lock from its begin."""
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    # Uploads and pins

    def begin_upload(self, upload: str, now: float, replaces: str | None) -> None:
        """A new upload."""
        self._base.execute("INSERT INTO uploads VALUES (?, ?, ?)", (upload, now, replaces))

    def upload(self, upload: str) -> tuple[float, str | None] | None:
        """When an upload was last touched and what it replaces; None when there is none."""
        with self._lock:
            row = self._base.execute(
                "SELECT touched, replaces FROM uploads WHERE id = ?", (upload,)
            ).fetchone()
        return (row[0], row[1]) if row else None

    def uploads(self) -> int:
        """How many uploads are under way that do not replace anything."""
        with self._lock:
            (count,) = self._base.execute("SELECT count(*) FROM uploads WHERE replaces IS NULL").fetchone()
        return int(count)

    def touch(self, upload: str, now: float) -> None:
        """The upload is alive."""
        self._base.execute("UPDATE uploads SET touched = ? WHERE id = ?", (now, upload))

    def end_upload(self, upload: str) -> None:
        """The upload and its pins are gone."""
        self._base.execute("DELETE FROM pins WHERE upload = ?", (upload,))
        self._base.execute("DELETE FROM uploads WHERE id = ?", (upload,))

    def idle_uploads(self, before: float) -> list[str]:
        """Uploads that nobody has touched since."""
        rows = self._base.execute("SELECT id FROM uploads WHERE touched < ?", (before,)).fetchall()
        return [row[0] for row in rows]

    def pin(self, upload: str, ids: Iterable[bytes]) -> frozenset[bytes]:
        """Pin what is there of these extents, and answer what is not.

        A pack that was marked dead lives on when an extent in it is pinned.
        """
        self._ask(ids)
        self._base.execute(
            "INSERT OR IGNORE INTO pins SELECT ?, asked.id FROM asked JOIN extents ON extents.id = asked.id",
            (upload,),
        )
        self._base.execute(
            "UPDATE packs SET dead_since = NULL WHERE dead_since IS NOT NULL AND name IN "
            "(SELECT extents.pack FROM asked JOIN extents ON extents.id = asked.id)"
        )
        return self._missing()

    def _ask(self, ids: Iterable[bytes]) -> None:
        self._base.execute("DELETE FROM asked")
        self._base.executemany("INSERT OR IGNORE INTO asked VALUES (?)", ((one,) for one in ids))

    def _missing(self) -> frozenset[bytes]:
        rows = self._base.execute("SELECT id FROM asked WHERE id NOT IN (SELECT id FROM extents)")
        return frozenset(row[0] for row in rows)

    # Packs and extents

    def add_pack(self, name: str, size: int, slots: Sequence[Slot], upload: str | None = None) -> None:
        """A pack and its extents; one that lies elsewhere already is found there as before."""
        self._base.execute(
            "INSERT INTO packs VALUES (?, ?, NULL) ON CONFLICT (name) DO UPDATE SET dead_since = NULL",
            (name, size),
        )
        self._base.executemany(
            "INSERT OR IGNORE INTO extents VALUES (?, ?, ?, ?, ?, ?)",
            ((slot.id, name, slot.offset, slot.stored, slot.length, slot.crc) for slot in slots),
        )
        if upload is not None:
            self._base.executemany(
                "INSERT OR IGNORE INTO pins VALUES (?, ?)", ((upload, slot.id) for slot in slots)
            )
            self._base.execute(
                "UPDATE packs SET dead_since = NULL WHERE name IN (SELECT extents.pack"
                " FROM pins JOIN extents ON extents.id = pins.extent WHERE pins.upload = ?)",
                (upload,),
            )

    def place(self, extent: bytes) -> tuple[str, int, int] | None:
        """Pack, offset and stored length of an extent."""
        with self._lock:
            row = self._base.execute(
                "SELECT pack, at, stored FROM extents WHERE id = ?", (extent,)
            ).fetchone()
        return (row[0], row[1], row[2]) if row else None

    def measure(self, rows: Iterable[tuple[bytes, int, int]]) -> tuple[int, frozenset[bytes]]:
        """Stored bytes of extents in stream order (one that stands twice counts twice), and those
        that are missing or of another length or checksum."""
        size = 0
        odd: set[bytes] = set()
        known: dict[bytes, tuple[int, int, int]] = {}
        listed = list(rows)
        self._ask(one for one, _, _ in listed)
        for extent, length, crc, stored in self._base.execute(
            "SELECT extents.id, length, crc, stored FROM asked JOIN extents ON extents.id = asked.id"
        ):
            known[extent] = (length, crc, stored)
        for extent, length, crc in listed:
            found = known.get(extent)
            if found is None or found[:2] != (length, crc):
                odd.add(extent)
            else:
                size += found[2]
        return size, frozenset(odd)

    def missing(self, ids: Iterable[bytes]) -> frozenset[bytes]:
        """Those of the extents that are not there."""
        with self._lock:
            self._ask(ids)
            return self._missing()

    def drop_extents(self, ids: Iterable[bytes]) -> None:
        """Forget damaged extents: they will be asked for as missing."""
        self._base.executemany("DELETE FROM extents WHERE id = ?", ((one,) for one in ids))

    def packs(self) -> list[tuple[str, int]]:
        """All packs with their sizes."""
        with self._lock:
            return self._base.execute("SELECT name, size FROM packs ORDER BY name").fetchall()

    def slots(self, pack: str) -> list[Slot]:
        """The extents that are found in a pack."""
        with self._lock:
            rows = self._base.execute(
                "SELECT id, length, crc, at, stored FROM extents WHERE pack = ? ORDER BY at", (pack,)
            ).fetchall()
        return [Slot(*row) for row in rows]

    def mark_dead(self, now: float) -> int:
        """Mark packs that no snapshot uses and no upload pins; how many were newly marked."""
        return self._base.execute(
            "UPDATE packs SET dead_since = ? WHERE dead_since IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM used WHERE used.pack = packs.name)"
            " AND NOT EXISTS (SELECT 1 FROM extents JOIN pins ON pins.extent = extents.id"
            " WHERE extents.pack = packs.name)",
            (now,),
        ).rowcount

    def bury(self, before: float) -> list[str]:
        """Forget the packs that have been dead since before then; their names."""
        rows = self._base.execute("SELECT name FROM packs WHERE dead_since <= ?", (before,)).fetchall()
        for (name,) in rows:
            self._base.execute("DELETE FROM extents WHERE pack = ?", (name,))
            self._base.execute("DELETE FROM packs WHERE name = ?", (name,))
        return [row[0] for row in rows]

    # Snapshots

    def add_snapshot(self, snapshot: Snapshot, facts: str, ids: Iterable[bytes]) -> bool:
        """A new snapshot and the packs it uses; False when the id is taken."""
        added = self._base.execute(
            "INSERT OR IGNORE INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                snapshot.id,
                snapshot.label,
                (snapshot.created_at - _EPOCH) // _MICROSECOND,
                snapshot.size,
                json.dumps(snapshot.sections),
                snapshot.root.hex,
                snapshot.sha256.hex if snapshot.sha256 else None,
                snapshot.soundness.value,
                facts,
            ),
        ).rowcount
        if added:
            self.use(snapshot.id, ids)
        return bool(added)

    def use(self, snapshot: str, ids: Iterable[bytes]) -> None:
        """Write down anew which packs a snapshot needs."""
        self._ask(ids)
        self._base.execute("DELETE FROM used WHERE snapshot = ?", (snapshot,))
        self._base.execute(
            "INSERT OR IGNORE INTO used"
            " SELECT DISTINCT ?, pack FROM asked JOIN extents ON extents.id = asked.id",
            (snapshot,),
        )

    def remove_snapshot(self, snapshot: str) -> bool:
        """A snapshot is gone; False when there was none."""
        self._base.execute("DELETE FROM used WHERE snapshot = ?", (snapshot,))
        return bool(self._base.execute("DELETE FROM snapshots WHERE id = ?", (snapshot,)).rowcount)

    def snapshots(self) -> list[Snapshot]:
        """All snapshots, newest first."""
        with self._lock:
            rows = self._base.execute(
                "SELECT id, label, created, size, sections, root, sha256, soundness FROM snapshots"
                " ORDER BY created DESC, id DESC"
            ).fetchall()
        return [_snapshot(row) for row in rows]

    def snapshot(self, snapshot: str) -> tuple[Snapshot, dict[str, object]] | None:
        """One snapshot and its facts; None when there is none."""
        with self._lock:
            row = self._base.execute(
                "SELECT id, label, created, size, sections, root, sha256, soundness, facts FROM snapshots"
                " WHERE id = ?",
                (snapshot,),
            ).fetchone()
        return (_snapshot(row[:8]), json.loads(row[8])) if row else None

    def set_soundness(self, snapshot: str, soundness: Soundness) -> None:
        """What is known of a snapshot's extents."""
        self._base.execute("UPDATE snapshots SET soundness = ? WHERE id = ?", (soundness.value, snapshot))

    def set_sha256(self, snapshot: str, digest: Digest) -> None:
        """The digest of the assembled tar.gz, once it was computed."""
        with self.writing():
            self._base.execute("UPDATE snapshots SET sha256 = ? WHERE id = ?", (digest.hex, snapshot))


def _snapshot(row: Sequence[object]) -> Snapshot:
    name, label, created, size, sections, root, sha256, soundness = row
    assert isinstance(created, int) and isinstance(size, int)
    return Snapshot(
        id=str(name),
        label=str(label),
        created_at=_EPOCH + created * _MICROSECOND,
        size=size,
        sections=tuple(json.loads(str(sections))),
        root=Digest(str(root)),
        sha256=Digest(str(sha256)) if sha256 else None,
        soundness=Soundness(str(soundness)),
    )
