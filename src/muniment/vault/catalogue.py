"""Floor 3, `vault`: the catalogue: which extent lies where, and which snapshots there are.

It is an index over packs and snapshots and can be made again from them alone.  A file comes after
the row that announces it and goes before the row that names it, so a kill at any moment leaves
nothing in the vault that no row knows of (ADR 0501).

Methods that change something are called inside `writing`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from muniment.bundle.index import Index
from muniment.bundle.model import Row
from muniment.bundle.vault import Snapshot, Soundness
from muniment.digest import Digest
from muniment.message import say
from muniment.vault.database import BUSY_S, Database
from muniment.vault.errors import CatalogueLost
from muniment.vault.packs import Slot

VERSION = 2

_RECEIVED = (
    # What was taken of an upload by offset: extents of the file that is being sent.
    "CREATE TABLE received (upload TEXT NOT NULL, at INTEGER NOT NULL, extent BLOB NOT NULL,"
    " length INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (upload, at)) WITHOUT ROWID"
)
_STEPS = {
    1: (
        "ALTER TABLE snapshots ADD COLUMN whole INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE uploads ADD COLUMN kind TEXT NOT NULL DEFAULT 'pieces'",
        "ALTER TABLE uploads ADD COLUMN total INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE uploads ADD COLUMN taken INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE uploads ADD COLUMN told TEXT NOT NULL DEFAULT '{}'",
        _RECEIVED,
    ),
}
_SCHEMA = (
    # `size` is missing while nothing is found in the pack: it is being written, or is to be removed.
    # `dead_since` is set while nobody needs it.
    "CREATE TABLE packs (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER, dead_since REAL)",
    "CREATE TABLE extents (id BLOB PRIMARY KEY, pack INTEGER NOT NULL, at INTEGER NOT NULL,"
    " stored INTEGER NOT NULL, length INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX extents_by_pack ON extents (pack)",
    # `state`: coming (its files may be there), kept, going (its files may be gone).
    "CREATE TABLE snapshots (id TEXT PRIMARY KEY, state TEXT NOT NULL, upload TEXT NOT NULL,"
    " label TEXT NOT NULL, created INTEGER NOT NULL, size INTEGER NOT NULL, sections TEXT NOT NULL,"
    " root TEXT NOT NULL, sha256 TEXT, soundness TEXT NOT NULL, facts TEXT NOT NULL,"
    " whole INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID",
    "CREATE TABLE used (snapshot TEXT NOT NULL, pack INTEGER NOT NULL, PRIMARY KEY (snapshot, pack))"
    " WITHOUT ROWID",
    "CREATE INDEX used_by_pack ON used (pack)",
    "CREATE TABLE uploads (id TEXT PRIMARY KEY, touched REAL NOT NULL, replaces TEXT,"
    " kind TEXT NOT NULL DEFAULT 'pieces', total INTEGER NOT NULL DEFAULT 0,"
    " taken INTEGER NOT NULL DEFAULT 0, told TEXT NOT NULL DEFAULT '{}') WITHOUT ROWID",
    _RECEIVED,
    "CREATE TABLE pins (upload TEXT NOT NULL, pack INTEGER NOT NULL, PRIMARY KEY (upload, pack))"
    " WITHOUT ROWID",
    "CREATE INDEX pins_by_pack ON pins (pack)",
)
_ASKED = "CREATE TEMP TABLE IF NOT EXISTS asked (id BLOB, length INTEGER, crc INTEGER)"
_ODD = "CASE WHEN extents.length IS asked.length AND extents.crc IS asked.crc THEN NULL ELSE asked.id END"
_NEEDED = (
    "(EXISTS (SELECT 1 FROM used WHERE used.pack = packs.key)"
    " OR EXISTS (SELECT 1 FROM pins WHERE pins.pack = packs.key))"
)
_UPLOAD = "id, touched, replaces, kind, total, taken, told"
_SNAPSHOT = (
    "id, label, created, size, sections, root, sha256, soundness, whole,"
    " CASE WHEN json_valid(facts) THEN json_type(facts, '$.scheduled') IS 'true' ELSE 0 END"
)

Transaction = Callable[[], AbstractContextManager[None]]

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(StrEnum):
    """How an upload comes: as pieces, as a file by offsets, as a file at once, or from the vault itself.

    The first two are sessions: they last for several calls and hold a slot.
    """

    PIECES = "pieces"
    BYTES = "bytes"
    ONCE = "once"
    OWN = "own"


class Place(NamedTuple):
    """Where a piece lies: pack, offset and stored length."""

    pack: str
    at: int
    stored: int


class Upload(NamedTuple):
    """An upload under way: when it was last touched, which snapshot it replaces, and its kind.

    One by offset has a size in bytes, how many of them were taken, and what it is told to be.
    """

    id: str
    touched: float
    replaces: str | None
    kind: Kind
    total: int = 0
    taken: int = 0
    told: str = "{}"


@dataclass(frozen=True, slots=True)
class Weight:
    """What an index weighs: stored bytes of its rows in stream order (an extent that stands twice
    counts twice), how many extents are missing or of another length or checksum, and one of them."""

    size: int
    odd: int
    example: bytes


@dataclass(frozen=True, slots=True)
class Holdings:
    """How much there is: packs, those that nobody needs, their bytes, extents, uploads under way."""

    packs: int
    dead_packs: int
    bytes: int
    dead_bytes: int
    extents: int
    uploads: int


class Catalogue:
    """The catalogue of one tenant."""

    def __init__(
        self, path: str, *, may_begin: Callable[[], None] = lambda: None, busy_s: float = BUSY_S
    ) -> None:
        self._base = Database(path, VERSION, _SCHEMA, steps=_STEPS, may_begin=may_begin, busy_s=busy_s)
        self._asked: Index | None = None
        self.writing: Transaction = self._base.writing
        self.reading: Transaction = self._base.reading
        self.close = self._base.close
        self.damage = self._base.damage

    # Uploads and pins

    def begin_upload(self, upload: Upload) -> None:
        """A new upload."""
        self._base.run(f"INSERT INTO uploads ({_UPLOAD}) VALUES (?, ?, ?, ?, ?, ?, ?)", upload)

    def upload(self, upload: str) -> Upload | None:
        """An upload; None when there is none."""
        row = self._base.row(f"SELECT {_UPLOAD} FROM uploads WHERE id = ?", (upload,))
        return None if row is None else self._upload(row)

    def sessions(self, now: float, idle: float) -> list[Upload]:
        """The sessions that are alive, the latest first."""
        rows = self._base.rows(
            f"SELECT {_UPLOAD} FROM uploads WHERE kind IN ('pieces', 'bytes') AND abs(touched - ?) <= ?"
            " ORDER BY id DESC",
            (now, idle),
        )
        return [self._upload(row) for row in rows]

    def uploads(self, now: float, idle: float) -> int:
        """How many slots are held by uploads that are alive."""
        return sum(one.replaces is None for one in self.sessions(now, idle))

    def _upload(self, row: Sequence[object]) -> Upload:
        name, touched, replaces, kind, total, taken, told = row
        try:
            if not (isinstance(touched, float) and isinstance(total, int) and isinstance(taken, int)):
                raise ValueError
            replaced = None if replaces is None else str(replaces)
            return Upload(str(name), touched, replaced, Kind(str(kind)), total, taken, str(told))
        except ValueError as error:
            raise self._odd_row(str(name)) from error

    def touch(self, upload: str, now: float) -> None:
        """The upload is alive."""
        self._base.run("UPDATE uploads SET touched = ? WHERE id = ?", (now, upload))

    def end_upload(self, upload: str) -> None:
        """The upload and its pins are gone."""
        self._base.run("DELETE FROM pins WHERE upload = ?", (upload,))
        self._base.run("DELETE FROM received WHERE upload = ?", (upload,))
        self._base.run("DELETE FROM uploads WHERE id = ?", (upload,))

    def expire(self, now: float, idle: float) -> int:
        """End uploads that nobody has touched for so long; how many.

        One that was touched long after now was so under another clock, and ends as well.
        """
        rows = self._base.rows("SELECT id FROM uploads WHERE abs(touched - ?) > ?", (now, idle))
        for (upload,) in rows:
            self.end_upload(str(upload))
        return len(rows)

    def receive(self, upload: str, rows: Iterable[Row]) -> None:
        """The next extents of a file that is sent by offsets."""
        taken = 0

        def values() -> Iterator[tuple[object, ...]]:
            nonlocal taken
            for row in rows:
                taken = row.offset + row.length
                yield upload, row.offset, row.id, row.length, row.crc

        self._base.run_many("INSERT INTO received VALUES (?, ?, ?, ?, ?)", values())
        self._base.run("UPDATE uploads SET taken = ? WHERE id = ?", (taken, upload))

    def received(self, upload: str, path: bytes) -> list[Row]:
        """What was taken of it so far, in order."""
        rows = self._base.rows(
            "SELECT extent, length, crc, at FROM received WHERE upload = ? ORDER BY at", (upload,)
        )
        return [Row(one, length, crc, at, path) for one, length, crc, at in rows]  # type: ignore[arg-type]

    def pin(self, upload: str, ids: Iterable[bytes]) -> frozenset[bytes]:
        """Keep the packs in which these extents lie, and answer which are not there."""
        self._ask(ids)
        self._pin_asked(upload)
        return self._missing()

    def weigh(self, index: Index, upload: str | None = None) -> Weight:
        """What an index weighs; with an upload its packs are pinned as well."""
        self._ask_index(index)
        if upload is not None:
            self._pin_asked(upload)
        return self._weight()

    def _weight(self) -> Weight:
        row = self._base.row(
            f"SELECT sum(extents.stored), count(DISTINCT {_ODD}), min({_ODD})"
            " FROM asked LEFT JOIN extents ON extents.id = asked.id"
        )
        assert row is not None
        size, count, example = row
        assert isinstance(count, int)
        return Weight(
            size if isinstance(size, int) else 0, count, example if isinstance(example, bytes) else b""
        )

    def missing(self, ids: Iterable[bytes]) -> frozenset[bytes]:
        """Those of the extents that are not there; inside `writing` or `reading`."""
        self._ask(ids)
        return self._missing()

    def _ask(self, ids: Iterable[bytes]) -> None:
        self._ask_anew("INSERT INTO asked (id) VALUES (?)", ((one,) for one in ids))

    def _ask_index(self, index: Index) -> None:
        self._ask_anew("INSERT INTO asked VALUES (?, ?, ?)", index.notes)
        self._asked = index

    def _ask_anew(self, statement: str, values: Iterator[Sequence[object]]) -> None:
        self._asked = None
        self._base.run(_ASKED)
        self._base.run("DELETE FROM asked")
        self._base.run_many(statement, values)

    def _pin_asked(self, upload: str) -> None:
        self._base.run(
            "INSERT OR IGNORE INTO pins"
            " SELECT DISTINCT ?, extents.pack FROM asked JOIN extents ON extents.id = asked.id",
            (upload,),
        )
        self._revive()

    def _missing(self) -> frozenset[bytes]:
        rows = self._base.rows("SELECT DISTINCT id FROM asked WHERE id NOT IN (SELECT id FROM extents)")
        return frozenset(one for (one,) in rows if isinstance(one, bytes))

    # Packs and extents

    def announce_pack(self, name: str, upload: str) -> None:
        """A pack that will be written; it belongs to the upload until it is there."""
        self._base.run("INSERT INTO packs (name) VALUES (?)", (name,))
        self._base.run("INSERT INTO pins SELECT ?, key FROM packs WHERE name = ?", (upload, name))

    def add_pack(self, name: str, size: int, slots: Sequence[Slot], upload: str | None = None) -> None:
        """A pack is there, with these extents; one that lies elsewhere already is found there as
        before, and the upload keeps that pack too."""
        self._base.run(
            "INSERT INTO packs (name, size) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET size = excluded.size",
            (name, size),
        )
        key = self._key(name)
        self._base.run_many(
            "INSERT OR IGNORE INTO extents VALUES (?, ?, ?, ?, ?, ?)",
            ((slot.id, key, slot.offset, slot.stored, slot.length, slot.crc) for slot in slots),
        )
        if upload is not None:
            self._ask(slot.id for slot in slots)
            self._pin_asked(upload)

    def move_extents(self, old: str, new: str, slots: Sequence[Slot]) -> None:
        """What is found in one pack is found in another; what is not among the slots is forgotten."""
        old_key, new_key = self._key(old), self._key(new)
        self._empty(old_key)
        self._base.run_many(
            "INSERT OR IGNORE INTO extents VALUES (?, ?, ?, ?, ?, ?)",
            ((slot.id, new_key, slot.offset, slot.stored, slot.length, slot.crc) for slot in slots),
        )
        for table in ("used", "pins"):
            self._base.run(f"UPDATE OR IGNORE {table} SET pack = ? WHERE pack = ?", (new_key, old_key))
            self._base.run(f"DELETE FROM {table} WHERE pack = ?", (old_key,))

    def forget_extents(self, pack: str) -> None:
        """Nothing is found in a pack any more: its extents will be asked for as missing."""
        key = self._key(pack)
        for table in ("used", "pins"):
            self._base.run(f"DELETE FROM {table} WHERE pack = ?", (key,))
        self._empty(key)

    def _empty(self, key: int) -> None:
        self._base.run("DELETE FROM extents WHERE pack = ?", (key,))
        self._base.run("UPDATE packs SET size = NULL WHERE key = ?", (key,))

    def place(self, extent: bytes) -> Place | None:
        """Where an extent lies; None when it is not there."""
        row = self._base.row(
            "SELECT packs.name, at, stored FROM extents JOIN packs ON packs.key = extents.pack WHERE id = ?",
            (extent,),
        )
        return None if row is None else Place(*row)  # type: ignore[arg-type]

    def stored_lengths(self, index: Index) -> dict[bytes, int]:
        """The stored length of each extent of an index; inside `writing` or `reading`."""
        self._ask(index.ids)
        found = self._base.rows(
            "SELECT extents.id, extents.stored FROM asked JOIN extents ON extents.id = asked.id"
        )
        return dict(found)  # type: ignore[arg-type]

    def packs(self) -> list[tuple[str, int | None]]:
        """All packs with their sizes in bytes; None while nothing is to be found in one."""
        return self._base.rows("SELECT name, size FROM packs ORDER BY name")  # type: ignore[return-value]

    def slots(self, pack: str) -> list[Slot]:
        """The extents that are found in a pack."""
        rows = self._base.rows(
            "SELECT id, length, crc, at, stored FROM extents JOIN packs ON packs.key = extents.pack"
            " WHERE packs.name = ? ORDER BY at",
            (pack,),
        )
        return [Slot(*row) for row in rows]  # type: ignore[arg-type]

    def mark_dead(self, now: float) -> int:
        """Mark packs that no snapshot uses and no upload pins; how many were newly marked.

        One that was marked under a clock that ran ahead is marked anew.
        """
        self._revive()
        return self._base.run(
            f"UPDATE packs SET dead_since = ? WHERE (dead_since IS NULL OR dead_since > ?) AND NOT {_NEEDED}",
            (now, now),
        )

    def bury(self, before: float) -> list[str]:
        """Packs that have been dead since before then: nothing is found in them any more, so that
        nobody can come to need them.  Their rows stay until `forget_packs`."""
        rows = self._base.rows("SELECT key, name FROM packs WHERE dead_since <= ?", (before,))
        for key, _ in rows:
            assert isinstance(key, int)
            self._empty(key)
        return [str(name) for _, name in rows]

    def forget_packs(self, names: Sequence[str]) -> None:
        """Packs whose files are gone."""
        self._base.run_many("DELETE FROM packs WHERE name = ?", ((name,) for name in names))

    def holdings(self) -> Holdings:
        """How much there is."""
        ask = self._base.number
        return Holdings(
            packs=ask("SELECT count(*) FROM packs WHERE size IS NOT NULL"),
            dead_packs=ask("SELECT count(*) FROM packs WHERE dead_since IS NOT NULL"),
            bytes=ask("SELECT sum(size) FROM packs"),
            dead_bytes=ask("SELECT sum(size) FROM packs WHERE dead_since IS NOT NULL"),
            extents=ask("SELECT count(*) FROM extents"),
            uploads=ask("SELECT count(*) FROM uploads"),
        )

    def _revive(self) -> None:
        self._base.run(f"UPDATE packs SET dead_since = NULL WHERE dead_since IS NOT NULL AND {_NEEDED}")

    def _key(self, name: str) -> int:
        return self._base.number("SELECT key FROM packs WHERE name = ?", (name,))

    # Snapshots

    def announce_snapshot(self, snapshot: Snapshot, upload: str, facts: str) -> bool:
        """A snapshot whose files will be written; False when its id is taken."""
        return self._add_snapshot(snapshot, "coming", upload, facts)

    def list_snapshot(self, snapshot: Snapshot, facts: str) -> None:
        """A snapshot whose files are there already (`rebuild`)."""
        self._add_snapshot(snapshot, "kept", "", facts)

    def _add_snapshot(self, snapshot: Snapshot, state: str, upload: str, facts: str) -> bool:
        values = (
            snapshot.id,
            state,
            upload,
            snapshot.label,
            (snapshot.created_at - _EPOCH) // _MICROSECOND,
            snapshot.size,
            json.dumps(snapshot.sections),
            snapshot.root.hex,
            snapshot.sha256.hex if snapshot.sha256 else None,
            snapshot.soundness.value,
            facts,
            snapshot.whole,
        )
        return bool(self._base.run(f"INSERT OR IGNORE INTO snapshots VALUES ({'?, ' * 11}?)", values))

    def settle(self, snapshot: str, index: Index) -> Weight:
        """Write down anew which packs a snapshot needs, what it weighs and whether it is sound."""
        # When a snapshot ends, it was weighed just before; but what is asked can have been rolled back.
        if self._asked is not index or self._base.number("SELECT count(*) FROM asked") != len(index):
            self._ask_index(index)
        self._asked = None
        weight = self._weight()
        self._base.run("DELETE FROM used WHERE snapshot = ?", (snapshot,))
        self._base.run(
            "INSERT INTO used"
            " SELECT DISTINCT ?, extents.pack FROM asked JOIN extents ON extents.id = asked.id",
            (snapshot,),
        )
        self._revive()
        soundness = Soundness.DAMAGED if weight.odd else Soundness.SOUND
        self._base.run("UPDATE snapshots SET soundness = ? WHERE id = ?", (soundness.value, snapshot))
        return weight

    def keep(self, snapshot: str, size: int) -> None:
        """The snapshot's files are there: from now on it counts; its tar.gz has so many bytes."""
        self._base.run("UPDATE snapshots SET state = 'kept', size = ? WHERE id = ?", (size, snapshot))

    def resize(self, snapshot: str, size: int) -> None:
        """The tar.gz has other bytes than before, and so many of them."""
        self._base.run("UPDATE snapshots SET size = ?, sha256 = NULL WHERE id = ?", (size, snapshot))

    def remove(self, snapshot: str, state: str = "kept") -> bool:
        """The snapshot does not count any more, and its files may go; False when there was none in
        that state."""
        self._base.run(
            "DELETE FROM used WHERE snapshot IN (SELECT id FROM snapshots WHERE id = ? AND state = ?)",
            (snapshot, state),
        )
        return bool(
            self._base.run(
                "UPDATE snapshots SET state = 'going' WHERE id = ? AND state = ?", (snapshot, state)
            )
        )

    def abandon(self, before: float) -> None:
        """Let the files of snapshots go that were announced before then by uploads that ended."""
        rows = self._base.rows(
            "SELECT id FROM snapshots WHERE state = 'coming' AND created < ?"
            " AND upload NOT IN (SELECT id FROM uploads)",
            (int(before * 1_000_000),),
        )
        for (snapshot,) in rows:
            self.remove(str(snapshot), "coming")

    def going(self) -> list[str]:
        """Snapshots whose files may still be there and have to go."""
        return [str(row[0]) for row in self._base.rows("SELECT id FROM snapshots WHERE state = 'going'")]

    def forget_snapshot(self, snapshot: str) -> None:
        """The files of a snapshot are gone."""
        self._base.run("DELETE FROM snapshots WHERE id = ? AND state = 'going'", (snapshot,))

    def known_snapshots(self) -> set[str]:
        """The ids of all snapshots that have a row, in whatever state."""
        return {str(row[0]) for row in self._base.rows("SELECT id FROM snapshots")}

    def snapshots(self) -> list[Snapshot]:
        """All snapshots that are kept, newest first."""
        rows = self._base.rows(
            f"SELECT {_SNAPSHOT} FROM snapshots WHERE state = 'kept' ORDER BY created DESC, id DESC"
        )
        return [self._snapshot(row) for row in rows]

    def count(self) -> int:
        """How many snapshots are kept."""
        return self._base.number("SELECT count(*) FROM snapshots WHERE state = 'kept'")

    def snapshot(self, snapshot: str) -> tuple[Snapshot, dict[str, object]] | None:
        """One snapshot that is kept, and its facts; None when there is none."""
        row = self._base.row(
            f"SELECT {_SNAPSHOT}, facts FROM snapshots WHERE id = ? AND state = 'kept'", (snapshot,)
        )
        if row is None:
            return None
        try:
            facts: dict[str, object] = json.loads(str(row[10]))
        except ValueError as error:
            raise self._odd_row(snapshot) from error
        return self._snapshot(row[:10]), facts

    def tell_anew(self, snapshot: Snapshot, facts: str) -> None:
        """Take over what a description says, which has a digest, where the row says otherwise."""
        self._base.run(
            "UPDATE snapshots SET label = ?, created = ?, sections = ?, root = ?, facts = ?, sha256 = NULL"
            " WHERE id = ?",
            (
                snapshot.label,
                (snapshot.created_at - _EPOCH) // _MICROSECOND,
                json.dumps(snapshot.sections),
                snapshot.root.hex,
                facts,
                snapshot.id,
            ),
        )

    def set_soundness(self, snapshot: str, soundness: Soundness) -> None:
        """What is known of a snapshot's extents."""
        self._base.run("UPDATE snapshots SET soundness = ? WHERE id = ?", (soundness.value, snapshot))

    def set_sha256(self, snapshot: str, digest: Digest, size: int) -> None:
        """The digest of the assembled tar.gz of so many bytes, once it was computed."""
        self._base.run(
            "UPDATE snapshots SET sha256 = ? WHERE id = ? AND sha256 IS NULL AND size = ?",
            (digest.hex, snapshot, size),
        )

    def _snapshot(self, row: Sequence[object]) -> Snapshot:
        name, label, created, size, sections, root, sha256, soundness, whole, scheduled = row
        try:
            if not isinstance(created, int) or not isinstance(size, int):
                raise ValueError
            return Snapshot(
                id=str(name),
                label=str(label),
                created_at=_EPOCH + created * _MICROSECOND,
                size=size,
                sections=tuple(map(str, json.loads(str(sections)))),
                root=Digest(str(root)),
                sha256=Digest(str(sha256)) if sha256 else None,
                soundness=Soundness(str(soundness)),
                whole=bool(whole),
                scheduled=bool(scheduled),
            )
        except (ValueError, TypeError, OverflowError) as error:
            raise self._odd_row(str(name)) from error

    def _odd_row(self, name: str) -> CatalogueLost:
        return CatalogueLost(where=self._base.path, why=say("the row of {name} is damaged", name=name[:80]))
