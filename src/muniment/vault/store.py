"""Floor 3, `vault`: the store of one tenant: blobs and a catalogue, behind the `Vault` protocol.

Order of every creation: packs durable and read back, their extents in the catalogue; then index and
description durable and read back; then, in one transaction with the quota and the removal of what
is replaced, the snapshot counts.  Only then is it acknowledged (spec 5, promises).  Nothing of an
upload is kept in memory between two calls, so any process can go on with it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace as changed

from muniment.bundle.deflate import HEAD, LAST
from muniment.bundle.errors import BadExtent, BadIndex
from muniment.bundle.extent import check, inflate
from muniment.bundle.index import BYTES_MOST, Index
from muniment.bundle.join import assemble
from muniment.bundle.model import Extent, Row
from muniment.bundle.vault import Limits, Listing, Reservation, Snapshot, Soundness, Stored, is_scheduled
from muniment.canonical import canonical
from muniment.clock import Clock
from muniment.digest import Digest
from muniment.disk.errors import DiskFault, NoPermission, NoSpace, NotThere
from muniment.errors import MunimentError, NotVerified, Unexpected
from muniment.ids import Entropy, new_ulid
from muniment.message import Message, say
from muniment.vault.blobs import Blobs
from muniment.vault.catalogue import Catalogue, Kind, Upload, Weight
from muniment.vault.description import (
    describe,
    description_blob,
    index_blob,
    is_snapshot_id,
    judge_label,
    new_snapshot_id,
    shown_sections,
)
from muniment.vault.errors import (
    CatalogueBusy,
    ExtentsMissing,
    QuotaExceeded,
    SessionsExceeded,
    SnapshotDamaged,
    SnapshotTooLarge,
    UnknownSnapshot,
    UploadGone,
)
from muniment.vault.packs import Pack, pack_blob

AROUND = len(HEAD) + len(LAST) + 8
"""Bytes of an assembled tar.gz beside its pieces: head, final block, CRC-32 and length."""

IDLE_S = 3600.0
"""An upload that nobody touched for so long is gone."""

NO_LIMITS = Limits()


def size_of(index: Index, weight: Weight) -> int:
    """Bytes of the tar.gz: as it was sent, or as it is assembled from stored pieces."""
    return index.raw if index.whole else weight.size + AROUND


_ID_TRIES = 100
_CAN_NOT_WRITE = (NoSpace, NoPermission, DiskFault, CatalogueBusy)


After = Callable[["VaultStore"], object]


def nothing_after(store: VaultStore) -> None:
    """Somebody else looks after the vault."""


class VaultStore:
    """Keeps the snapshots of one tenant; implements `muniment.bundle.vault.Vault`.

    `identity` names the vault, whatever its address.  `held` is let go when the store is closed.
    `after` looks after the vault once a snapshot was kept or deleted; it raises nothing.  Safe from
    several threads, beside other processes.
    """

    def __init__(
        self,
        blobs: Blobs,
        catalogue: Catalogue,
        *,
        identity: str,
        clock: Clock,
        entropy: Entropy,
        limits: Limits = NO_LIMITS,
        held: ExitStack | None = None,
        after: After = nothing_after,
    ) -> None:
        self.blobs = blobs
        self.catalogue = catalogue
        self.identity = identity
        self.in_process = True
        self.limits = limits
        self.clock = clock
        self.entropy = entropy
        self._held = held or ExitStack()
        self._after = after

    def close(self) -> None:
        """Let everything go."""
        self.catalogue.close()
        self.blobs.close()
        self._held.close()

    # What there is

    def list(self) -> Listing:
        """Everything there is, newest first."""
        uploading = self.catalogue.uploads(self._now(), IDLE_S)
        return Listing(tuple(self.catalogue.snapshots()), self.limits, uploading)

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
        with self.catalogue.writing():
            upload = self.begin(Kind.PIECES, replace=replace)
            missing = self.catalogue.pin(upload, ids)
        return Reservation(upload, missing)

    def begin(self, kind: Kind, *, replace: str | None, total: int = 0, told: str = "{}") -> str:
        """Within a transaction: a new upload; a session that replaces nothing takes a slot at once."""
        moment = self.clock()
        now = moment.timestamp()
        upload = new_ulid(moment, self.entropy)
        self.catalogue.expire(now, IDLE_S)
        sessions = self.catalogue.sessions(now, IDLE_S)
        most = self.limits.sessions
        if most is not None and kind is not Kind.ONCE and len(sessions) >= most:
            raise SessionsExceeded(limit=most)
        if replace is not None:
            self._known(replace)
        else:
            self._require_slots(self.catalogue.uploads(now, IDLE_S) + 1)
        self.catalogue.begin_upload(Upload(upload, now, replace, kind, total, 0, told))
        return upload

    def sessions(self) -> Sequence[Upload]:
        """The uploads under way that last for several calls, the latest first."""
        return self.catalogue.sessions(self._now(), IDLE_S)

    def ask(self, upload_id: str, ids: Sequence[bytes]) -> frozenset[bytes]:
        """Which of further ids are missing; the others are pinned."""
        with self.catalogue.writing():
            self.touch(upload_id)
            return self.catalogue.pin(upload_id, ids)

    def put(self, upload_id: str, extents: Iterable[Extent], *, proven: bool = False) -> None:
        """Hand in extents with their pieces; each is checked before anything may name it, unless it was
        made, or checked, in this process.

        They are taken one at a time.  Whole packs are kept even when a later extent is refused.
        """
        waiting = iter(extents) if proven else map(self._checked, extents)
        extent = next(waiting, None)
        if extent is None:
            with self.catalogue.writing():
                self.touch(upload_id)
        while extent is not None:
            extent = self._put_pack(upload_id, extent, waiting)

    def _put_pack(self, upload_id: str, first: Extent, more: Iterator[Extent]) -> Extent | None:
        """Write one pack; the extent that found no room in it."""
        with self.catalogue.writing():
            self.touch(upload_id)
            pack = Pack(new_ulid(self.clock(), self.entropy))
            self.catalogue.announce_pack(pack.name, upload_id)
        self.blobs.put(pack_blob(pack.name), pack.fill(first, more))
        with self.catalogue.writing():
            self.touch(upload_id)
            self.catalogue.add_pack(pack.name, pack.size, pack.slots, upload_id)
        return pack.left

    def _checked(self, extent: Extent) -> Extent:
        if extent.piece is None:
            raise BadExtent(where=extent.id.hex()[:12], why=say("it was handed in without its piece"))
        check(extent.piece, extent, self.entropy)
        return extent

    def finish(
        self,
        upload_id: str,
        index: Index,
        *,
        label: str,
        sections: Sequence[str],
        facts: Mapping[str, object],
    ) -> Stored:
        """End an upload: durable and read back, then acknowledged; a replaced snapshot goes after."""
        return self.finish_with(upload_id, index, None, label=label, sections=sections, facts=facts)

    def finish_with(
        self,
        upload_id: str,
        index: Index,
        sha256: Digest | None,
        *,
        label: str,
        sections: Sequence[str],
        facts: Mapping[str, object],
    ) -> Stored:
        """`finish`, where the digest of the tar.gz is known already: it was sent whole."""
        judge_label(label, self.limits.label)
        with self.catalogue.writing():
            self.touch(upload_id)
            # Pinned, so that nothing of it can be collected before the snapshot counts.
            weight = self.catalogue.weigh(index, upload_id)
        if weight.odd:
            raise ExtentsMissing(count=weight.odd, where=weight.example.hex()[:12])
        size = size_of(index, weight)
        if self.limits.size is not None and size > self.limits.size:
            raise SnapshotTooLarge(size=size, limit=self.limits.size)
        snapshot = Snapshot(
            "",
            label,
            self.clock(),
            size,
            shown_sections(sections),
            index.root,
            sha256,
            whole=index.whole,
            scheduled=is_scheduled(facts),
        )
        snapshot = self._announce(upload_id, snapshot, facts)
        try:
            self.blobs.put(index_blob(snapshot.id), [index.to_bytes()])
            self.blobs.put(description_blob(snapshot.id), [describe(snapshot, facts)])
            stored, replaced = self._commit(upload_id, snapshot.id, index)
        except MunimentError:
            # Should the commit have succeeded although it reported an error, this changes nothing.
            self._remove_quietly(snapshot.id, "coming")
            raise
        if replaced is not None:
            self._remove_quietly(replaced, "going")
        self._heal()
        self._after(self)
        return stored

    def _announce(self, upload_id: str, snapshot: Snapshot, facts: Mapping[str, object]) -> Snapshot:
        """Give the snapshot an id that nobody else has."""
        describe(snapshot, facts)  # what can not be told is refused before anything is written
        text = canonical(facts).decode()  # type: ignore[arg-type]
        with self.catalogue.writing():
            self.touch(upload_id)
            for _ in range(_ID_TRIES):
                named = changed(snapshot, id=new_snapshot_id(snapshot.created_at, self.entropy))
                if self.catalogue.announce_snapshot(named, upload_id, text):
                    return named
        raise Unexpected(where=named.id)

    def _commit(self, upload_id: str, snapshot_id: str, index: Index) -> tuple[Stored, str | None]:
        """From here on the snapshot counts; also which one it replaced."""
        with self.catalogue.writing():
            now = self._now()
            upload = self.touch(upload_id)
            replaces = upload.replaces
            if replaces is None:
                # A session has its slot already and is among those that are counted; others need one now.
                needed = 1 if upload.kind is Kind.ONCE else 0
                self._require_slots(self.catalogue.uploads(now, IDLE_S) + needed)
            elif not self.catalogue.remove(replaces):
                raise UnknownSnapshot(where=replaces)
            weight = self.catalogue.settle(snapshot_id, index)
            if weight.odd:  # `fsck` found damage just now
                raise ExtentsMissing(count=weight.odd, where=weight.example.hex()[:12])
            self.catalogue.keep(snapshot_id, size_of(index, weight))
            self.catalogue.end_upload(upload_id)
            return Stored(self.show(snapshot_id), self.list().remaining), replaces

    def abort(self, upload_id: str) -> None:
        """Give an upload up; what it pinned is let go."""
        with self.catalogue.writing():
            self.catalogue.end_upload(upload_id)

    def touch(self, upload_id: str) -> Upload:
        """Within a transaction: the upload is alive; `UploadGone` when it is not."""
        found = self.catalogue.upload(upload_id)
        if found is None or not self.is_alive(found):
            raise UploadGone(where=upload_id[:64])
        self.catalogue.touch(upload_id, self._now())
        return found

    def is_alive(self, upload: Upload) -> bool:
        """Whether somebody touched an upload lately."""
        # Touched long after now: the clock went back, and nobody knows how long ago that was.
        return abs(self._now() - upload.touched) <= IDLE_S

    def _require_slots(self, uploads: int) -> None:
        limit = self.limits.snapshots
        if limit is not None and self.catalogue.count() + uploads > limit:
            raise QuotaExceeded(limit=limit)

    def _now(self) -> float:
        return self.clock().timestamp()

    # Removing

    def delete(self, snapshot_id: str) -> Snapshot:
        """Remove one snapshot and tell what it was; its packs live until nobody needs them."""
        with self.catalogue.writing():
            snapshot = self.show(snapshot_id)
            self.catalogue.remove(snapshot_id)
        self.drop_files(snapshot_id)
        self._after(self)
        return snapshot

    def drop_files(self, snapshot_id: str) -> None:
        """Remove the files of a snapshot that is going, then its row."""
        self.blobs.delete(description_blob(snapshot_id))
        self.blobs.delete(index_blob(snapshot_id))
        with self.catalogue.writing():
            self.catalogue.forget_snapshot(snapshot_id)

    def _remove_quietly(self, snapshot_id: str, state: str) -> None:
        """Remove what a row says has to go.  An error does not matter: the row stays, and the next
        collection of garbage goes on where this ended."""
        with contextlib.suppress(MunimentError):
            if state == "coming":
                with self.catalogue.writing():
                    if not self.catalogue.remove(snapshot_id, state):
                        return
            self.drop_files(snapshot_id)

    def _heal(self) -> None:
        """Damaged snapshots whose extents all came back are sound again."""
        for snapshot in self.catalogue.snapshots():
            if snapshot.soundness is Soundness.DAMAGED:
                # One whose index is lost stays as it is; and a failure here would make a snapshot
                # that is kept look as if it were not.
                with contextlib.suppress(MunimentError):
                    self.settle(snapshot.id, self.index(snapshot.id))

    def settle(self, snapshot_id: str, index: Index) -> bool:
        """Look anew whether all extents of a snapshot are there; its tar.gz may have other bytes
        now, since pieces that came back may have been made by another encoder."""
        with self.catalogue.writing():
            weight = self.catalogue.settle(snapshot_id, index)
            if not weight.odd and not index.whole:
                self.catalogue.resize(snapshot_id, weight.size + AROUND)
        return not weight.odd

    # Reading

    def index(self, snapshot_id: str) -> Index:
        """A snapshot's index, judged anew; its root must be the one recorded."""
        snapshot = self.show(snapshot_id)
        try:
            index = Index.read(self.blobs.read(index_blob(snapshot_id), BYTES_MOST))
        except (NotThere, BadIndex) as error:
            self.show(snapshot_id)  # it may have been deleted just now
            raise _damaged(snapshot_id, say("its index: {finding}", finding=error.message)) from error
        if index.root != snapshot.root:
            raise _damaged(snapshot_id, say("its index is another one"))
        return index

    def fetch(self, row: Row) -> bytes:
        """The stored piece of an extent; safe from several threads."""
        return self.piece(row.id)

    def piece(self, extent: bytes) -> bytes:
        """The stored piece of the extent of that id; safe from several threads."""
        place = self.catalogue.place(extent)
        if place is None:
            raise _damaged(extent.hex()[:12], say("a piece is not in the vault"))
        try:
            piece = self.blobs.piece(pack_blob(place.pack), place.at, place.stored)
        except NotThere as error:
            raise _damaged(extent.hex()[:12], say("the file of a piece is gone")) from error
        if len(piece) != place.stored:
            raise _damaged(extent.hex()[:12], say("the file of a piece is cut short"))
        return piece

    def digest(self, snapshot_id: str) -> Digest:
        """The sha256 of the tar.gz; where nobody asked for it before, all of it is read."""
        for _ in range(2):
            found = self.show(snapshot_id).sha256
            if found is not None:
                return found
            state = hashlib.sha256()
            for part in self.download(snapshot_id):
                state.update(part)
        return Digest(state.hexdigest())  # it can not be written down now

    def download(self, snapshot_id: str, start: int = 0) -> Iterator[bytes]:
        """The bytes of the tar.gz from an offset on.

        The first whole download checks every piece and writes down the digest; later ones are held
        to it, and end in `SnapshotDamaged` where they differ.  What lies before `start` is not read.
        """
        snapshot, index = self.show(snapshot_id), self.index(snapshot_id)
        if index.whole:
            yield from self._download_whole(snapshot, index, start)
            return
        if start > 0:
            yield from self._download_from(index, start)
            return
        state, size = hashlib.sha256(), 0
        for part in assemble(index, self.fetch if snapshot.sha256 else self._fetch_checked):
            state.update(part)
            size += len(part)
            yield part
        digest = Digest(state.hexdigest())
        if snapshot.sha256 is None:
            # A vault that is full, read-only or busy still gives back what it has.
            with contextlib.suppress(*_CAN_NOT_WRITE), self.catalogue.writing():
                self.catalogue.set_sha256(snapshot_id, digest, size)
        elif digest != snapshot.sha256 and self.show(snapshot_id).sha256 == snapshot.sha256:
            raise _damaged(snapshot_id, say("its bytes are not those of the first download"))

    def _download_whole(self, snapshot: Snapshot, index: Index, start: int) -> Iterator[bytes]:
        """A tar.gz as it was sent: each piece is held to its id, so the whole is what its root says."""
        state = hashlib.sha256() if snapshot.sha256 is None and start == 0 else None
        for row in index:
            if row.offset + row.length <= start:
                continue
            part = self.raw(row)
            if state is not None:
                state.update(part)
            yield part[max(0, start - row.offset) :]
        if state is not None:
            with contextlib.suppress(*_CAN_NOT_WRITE), self.catalogue.writing():
                self.catalogue.set_sha256(snapshot.id, Digest(state.hexdigest()), index.raw)

    def _download_from(self, index: Index, start: int) -> Iterator[bytes]:
        with self.catalogue.reading():
            lengths = self.catalogue.stored_lengths(index)
        at = 0

        def fetch(row: Row) -> bytes:
            size = lengths.get(row.id)
            return bytes(size) if size is not None and at + size <= start else self.fetch(row)

        for part in assemble(index, fetch):
            if at + len(part) > start:
                yield part[max(0, start - at) :]
            at += len(part)

    def _fetch_checked(self, row: Row) -> bytes:
        piece = self.fetch(row)
        self._inflate(piece, row)
        return piece

    def raw(self, row: Row) -> bytes:
        """The raw bytes of an extent, held to its id."""
        return self._inflate(self.fetch(row), row)

    def _inflate(self, piece: bytes, row: Row) -> bytes:
        try:
            return inflate(piece, row)
        except BadExtent as error:
            raise _damaged(row.id.hex()[:12], error.why) from error


def _damaged(where: str, why: Message | None) -> NotVerified:
    return SnapshotDamaged(where=where, why=why)
