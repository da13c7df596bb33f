"""Floor 3, `vault`: the store of one tenant: blobs and a catalogue, behind the `Vault` protocol.

Order of every creation: packs durable and read back, their extents in the catalogue, the index
durable and read back, then the row of the snapshot, in one transaction with the quota and with the
removal of what it replaces.  Only then is it acknowledged (spec 5, promises).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from muniment.bundle.deflate import HEAD
from muniment.bundle.extent import check
from muniment.bundle.index import Index
from muniment.bundle.join import assemble
from muniment.bundle.model import Extent, Row
from muniment.bundle.vault import Limits, Listing, Reservation, Snapshot, Soundness, Stored
from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import Clock, instant, read_instant
from muniment.digest import Digest, sha256
from muniment.disk.errors import AlreadyThere, NotThere
from muniment.errors import MunimentError
from muniment.ids import Entropy, new_ulid
from muniment.message import say
from muniment.vault.blobs import Blobs
from muniment.vault.catalogue import Catalogue
from muniment.vault.errors import (
    BadLabel,
    ExtentsMissing,
    QuotaExceeded,
    SnapshotDamaged,
    SnapshotTooLarge,
    UnknownSnapshot,
    UploadGone,
)
from muniment.vault.packs import PackWriter

TAIL_BYTES = 10
"""What ends the gzip member of an assembled snapshot: `03 00`, CRC-32, length."""

IDLE_S = 3600
"""An upload that nobody touched for so long is gone."""

NO_LIMITS = Limits()

_SUFFIX = "abcdefghijklmnopqrstuvwxyz0123456789"
_ID = re.compile(r"bk_\d{8}_\d{6}_[a-z0-9]{4}")


def is_snapshot_id(text: str) -> bool:
    """Whether a text has the form of a snapshot's id.

    >>> is_snapshot_id("bk_20261130_142800_a1b2"), is_snapshot_id("bk_1")
    (True, False)
    """
    return _ID.fullmatch(text) is not None


class VaultStore:
    """Keeps the snapshots of one tenant; implements `muniment.bundle.vault.Vault`."""

    def __init__(
        self,
        blobs: Blobs,
        catalogue: Catalogue,
        *,
        clock: Clock,
        entropy: Entropy,
        limits: Limits = NO_LIMITS,
    ) -> None:
        self.blobs = blobs
        self.catalogue = catalogue
        self.limits = limits
        self._clock = clock
        self._entropy = entropy
        self._writing: dict[str, PackWriter] = {}

    # What there is

    def list(self) -> Listing:
        """Everything there is, newest first."""
        return Listing(tuple(self.catalogue.snapshots()), self.limits, self.catalogue.uploads())

    def show(self, snapshot_id: str) -> Snapshot:
        """One snapshot."""
        return self._known(snapshot_id)[0]

    def facts(self, snapshot_id: str) -> Mapping[str, object]:
        """What the creator said of a snapshot beside its label and sections."""
        return self._known(snapshot_id)[1]

    def _known(self, snapshot_id: str) -> tuple[Snapshot, dict[str, object]]:
        found = self.catalogue.snapshot(snapshot_id) if is_snapshot_id(snapshot_id) else None
        if found is None:
            raise UnknownSnapshot(where=snapshot_id[:64])
        return found

    # Uploads

    def reserve(self, ids: Iterable[bytes] = (), *, replace: str | None = None) -> Reservation:
        """Begin an upload; the extents named so far are pinned until it ends.

        Without `replace` it takes a slot at once: `QuotaExceeded` when there is none.
        """
        now = self._clock()
        upload = new_ulid(now, self._entropy)
        with self.catalogue.writing():
            self._expire(now)
            if replace is not None:
                self._known(replace)
            else:
                self._require_slot(self.catalogue.uploads() + 1)
            self.catalogue.begin_upload(upload, now.timestamp(), replace)
            missing = self.catalogue.pin(upload, ids)
        return Reservation(upload, missing)

    def ask(self, upload_id: str, ids: Sequence[bytes]) -> frozenset[bytes]:
        """Which of further ids are missing; the others are pinned.

        What this upload has handed in already is not missing, even while its pack still grows.
        """
        with self.catalogue.writing():
            self._touch(upload_id)
            missing = self.catalogue.pin(upload_id, ids)
        growing = self._writing.get(upload_id)
        return missing - {slot.id for slot in growing.slots} if growing else missing

    def put(self, upload_id: str, extents: Sequence[Extent]) -> None:
        """Hand in extents with their pieces; each is checked before anything may name it."""
        with self.catalogue.writing():
            self._touch(upload_id)
        for extent in extents:
            if extent.piece is None:
                raise ValueError("an extent is handed in without its piece")
            check(extent.piece, extent, self._entropy)
            pack = self._writing.get(upload_id)
            if pack is not None and not pack.room_for(extent):
                self._close_pack(upload_id)
                pack = None
            if pack is None:
                pack = self._writing[upload_id] = PackWriter(self.blobs)
            pack.add(extent)

    def _close_pack(self, upload_id: str) -> None:
        pack = self._writing.pop(upload_id, None)
        if pack is None:
            return
        name, size = pack.finish()
        with self.catalogue.writing():
            self._touch(upload_id)
            self.catalogue.add_pack(name, size, pack.slots, upload_id)

    def finish(
        self, upload_id: str, index: Index, *, label: str, sections: Sequence[str], facts: Mapping[str, Json]
    ) -> Stored:
        """End an upload: durable and read back, then acknowledged; a replaced snapshot goes after."""
        self._judge_label(label)
        self._close_pack(upload_id)
        now = self._clock()
        with self.catalogue.writing():
            replaces = self._touch(upload_id)
            # Pinned, so that nothing of it can be collected before the row stands.
            self.catalogue.pin(upload_id, index.ids)
            size, odd = self.catalogue.measure((row.id, row.length, row.crc) for row in index)
        if odd:
            raise ExtentsMissing(count=len(odd), where=next(iter(odd)).hex()[:12])
        size += len(HEAD) + TAIL_BYTES
        if self.limits.size is not None and size > self.limits.size:
            raise SnapshotTooLarge(size=size, limit=self.limits.size)
        snapshot = Snapshot(self._new_id(now), label, now, size, tuple(sorted(sections)), index.root)
        while not self._insert(upload_id, snapshot, index, facts, replaces):
            snapshot = Snapshot(self._new_id(now), label, now, size, snapshot.sections, index.root)
        if replaces is not None:
            self._drop_files(replaces)
        self._heal()
        return Stored(self.show(snapshot.id), self.list().remaining)

    def _insert(
        self,
        upload_id: str,
        snapshot: Snapshot,
        index: Index,
        facts: Mapping[str, Json],
        replaces: str | None,
    ) -> bool:
        """Files first, then the row; False when somebody else has the id."""
        if self.catalogue.snapshot(snapshot.id) is not None:
            return False
        text = canonical(facts).decode()
        try:
            self.blobs.put(index_name(snapshot.id), index.to_bytes())
        except AlreadyThere:
            return False
        try:
            self.blobs.put(facts_name(snapshot.id), describe(snapshot, facts))
            with self.catalogue.writing():
                self._touch(upload_id)
                if replaces is None:
                    self._require_slot(self.catalogue.uploads())
                elif not self.catalogue.remove_snapshot(replaces):
                    raise UnknownSnapshot(where=replaces)
                added = self.catalogue.add_snapshot(snapshot, text, index.ids)
                if added:
                    self.catalogue.end_upload(upload_id)
        except MunimentError:
            self._drop_files(snapshot.id)
            raise
        if not added:
            self._drop_files(snapshot.id)
        return added

    def abort(self, upload_id: str) -> None:
        """Give an upload up; what it pinned is let go."""
        pack = self._writing.pop(upload_id, None)
        if pack is not None:
            pack.drop()
        with self.catalogue.writing():
            self.catalogue.end_upload(upload_id)

    def _touch(self, upload_id: str) -> str | None:
        """Within a transaction: the upload is alive; what it replaces.  `UploadGone` when it is not."""
        found = self.catalogue.upload(upload_id)
        now = self._clock().timestamp()
        if found is None or now - found[0] > IDLE_S:
            raise UploadGone(where=upload_id[:64])
        self.catalogue.touch(upload_id, now)
        return found[1]

    def _expire(self, now: datetime) -> None:
        for upload in self.catalogue.idle_uploads(now.timestamp() - IDLE_S):
            self.catalogue.end_upload(upload)

    def _require_slot(self, uploads: int) -> None:
        limit = self.limits.snapshots
        if limit is not None and len(self.catalogue.snapshots()) + uploads > limit:
            raise QuotaExceeded(limit=limit)

    def _judge_label(self, label: str) -> None:
        if len(label) > self.limits.label or not (label.isprintable() or label == ""):
            raise BadLabel(limit=self.limits.label, where=label[:80])

    def _new_id(self, now: datetime) -> str:
        suffix = "".join(_SUFFIX[byte % len(_SUFFIX)] for byte in self._entropy(4))
        return f"bk_{now:%Y%m%d_%H%M%S}_{suffix}"

    def _heal(self) -> None:
        """Damaged snapshots whose extents all came back are sound again."""
        for snapshot in self.catalogue.snapshots():
            if snapshot.soundness is Soundness.DAMAGED:
                ids = list(self.index(snapshot.id).ids)
                with self.catalogue.writing():
                    if not self.catalogue.missing(ids):
                        self.catalogue.use(snapshot.id, ids)
                        self.catalogue.set_soundness(snapshot.id, Soundness.SOUND)

    # Reading

    def index(self, snapshot_id: str) -> Index:
        """A snapshot's index, judged anew; its root must be the one recorded."""
        snapshot = self.show(snapshot_id)
        try:
            index = Index.read(self.blobs.read(index_name(snapshot_id)))
        except NotThere as error:
            raise SnapshotDamaged(where=snapshot_id, why=say("its index is gone")) from error
        if index.root != snapshot.root:
            raise SnapshotDamaged(where=snapshot_id, why=say("its index is another one"))
        return index

    def fetch(self, row: Row) -> bytes:
        """The stored piece of an extent; safe from several threads."""
        place = self.catalogue.place(row.id)
        if place is None:
            raise SnapshotDamaged(where=row.id.hex()[:12], why=say("a piece is not in the vault"))
        pack, at, stored = place
        try:
            piece = self.blobs.read(pack, at, stored)
        except NotThere as error:
            raise SnapshotDamaged(where=row.id.hex()[:12], why=say("the pack of a piece is gone")) from error
        if len(piece) != stored:
            raise SnapshotDamaged(where=row.id.hex()[:12], why=say("the pack of a piece is cut short"))
        return piece

    def download(self, snapshot_id: str, start: int = 0) -> Iterator[bytes]:
        """The bytes of the tar.gz from an offset on; a whole download is hashed on the way."""
        index = self.index(snapshot_id)
        state = hashlib.sha256()
        at = 0
        for piece in assemble(index, self.fetch):
            state.update(piece)
            if at + len(piece) > start:
                yield piece[max(0, start - at) :]
            at += len(piece)
        if self.show(snapshot_id).sha256 is None:
            self.catalogue.set_sha256(snapshot_id, Digest(state.hexdigest()))

    def delete(self, snapshot_id: str) -> Snapshot:
        """Remove one snapshot and tell what it was; its packs live until nobody needs them."""
        snapshot = self.show(snapshot_id)
        with self.catalogue.writing():
            if not self.catalogue.remove_snapshot(snapshot_id):
                raise UnknownSnapshot(where=snapshot_id)
        self._drop_files(snapshot_id)
        return snapshot

    def _drop_files(self, snapshot_id: str) -> None:
        self.blobs.delete(facts_name(snapshot_id))
        self.blobs.delete(index_name(snapshot_id))


def index_name(snapshot_id: str) -> str:
    """The blob of a snapshot's index."""
    return f"snapshots/{snapshot_id}.index"


def facts_name(snapshot_id: str) -> str:
    """The blob of what is told of a snapshot; with the index, enough to list it again."""
    return f"snapshots/{snapshot_id}.json"


def describe(snapshot: Snapshot, facts: Mapping[str, Json]) -> bytes:
    """What is told of a snapshot, with a digest over all of it."""
    record: dict[str, Json] = {
        "v": 1,
        "id": snapshot.id,
        "label": snapshot.label,
        "created_at": instant(snapshot.created_at),
        "size": snapshot.size,
        "sections": list(snapshot.sections),
        "root": snapshot.root.hex,
        "facts": facts,
    }
    return canonical({**record, "sha256": sha256(canonical(record)).hex}) + b"\n"


def read_description(data: bytes) -> tuple[Snapshot, dict[str, Json]]:
    """The reverse of `describe`; a `ValueError` says what is wrong."""
    try:
        record = read_json(data)
        stated = record.pop("sha256")
        if record["v"] != 1 or sha256(canonical(record)).hex != stated or not is_snapshot_id(record["id"]):
            raise ValueError("its digest, version or id does not fit")
        snapshot = Snapshot(
            record["id"],
            record["label"],
            read_instant(record["created_at"]),
            record["size"],
            tuple(record["sections"]),
            Digest(record["root"]),
        )
    except (NotJson, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"it is no description of a snapshot: {error}") from error
    return snapshot, record["facts"]
