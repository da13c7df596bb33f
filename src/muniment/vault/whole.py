"""Floor 3, `vault`: a tar.gz that somebody else made, taken as it comes: at once, or by offsets.

Its bytes are cut into extents of their own and stored as they are, so that packs, pins, quota,
garbage, checks and repair treat it as they treat everything else (ADR 0504).
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muniment.bundle.deflate import crc32, stored
from muniment.bundle.index import WHOLE, IndexWriter
from muniment.bundle.model import Extent, Row
from muniment.bundle.vault import Stored
from muniment.canonical import canonical
from muniment.digest import Digest
from muniment.message import say
from muniment.vault.catalogue import Kind, Upload
from muniment.vault.description import judge_label, shown_sections
from muniment.vault.errors import BadUpload, OffsetConflict, SnapshotTooLarge, UploadGone
from muniment.vault.store import VaultStore

CUT = 256 << 10
"""Raw bytes of an extent of such a file."""

_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Told:
    """What the sender says of a snapshot."""

    label: str = ""
    sections: tuple[str, ...] = ()


class Wholes:
    """Takes whole files into one store; safe from several threads.

    An upload by offsets may go on in another process: only the running digest is remembered here,
    and where it is missing what was taken is read again.
    """

    def __init__(self, store: VaultStore) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._digests: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def keep(self, chunks: Iterable[bytes], told: Told, *, replace: str | None = None) -> Stored:
        """Take a file at once.

        It holds no slot while it comes, and whether there is one is decided when it counts: a sender
        who goes away in the middle blocks nobody.
        """
        store = self.store
        judge_label(told.label, store.limits.label)
        with store.catalogue.writing():
            upload = store.begin(Kind.ONCE, replace=replace)
        try:
            state = hashlib.sha256()
            rows = self._put(upload, chunks, 0, store.limits.size, state)
            if not rows:
                raise BadUpload(why=say("it is empty"))
            return self._finish(upload, rows, told, state)
        except BaseException:
            store.abort(upload)
            raise

    def reserve(self, total: int, told: Told, *, replace: str | None = None) -> str:
        """Begin an upload by offsets, of so many bytes; its id."""
        store = self.store
        judge_label(told.label, store.limits.label)
        self._require_size(total)
        said = {"label": told.label, "sections": list(shown_sections(told.sections))}
        with store.catalogue.writing():
            return store.begin(Kind.BYTES, replace=replace, total=total, told=canonical(said).decode())

    def look(self, upload_id: str) -> Upload:
        """Where an upload by offsets stands; `UploadGone` when there is none."""
        with self.store.catalogue.reading():
            return self._alive(self.store.catalogue.upload(upload_id), upload_id)

    def take(self, upload_id: str, start: int, end: int, total: int, chunks: Iterable[bytes]) -> int | Stored:
        """Take the bytes from `start` up to `end` of a file of `total` bytes: the next offset, or what
        was stored once all are there.

        They count when all of them are durable, or not at all.  Of several who send the same bytes
        one is taken; `OffsetConflict` tells the others where the upload stands.
        """
        self._require_size(total)
        upload = self.look(upload_id)
        if total != upload.total or start != upload.taken or not start < end <= total:
            raise OffsetConflict(offset=upload.taken, where=upload_id)
        state = self._digest_at(upload)
        rows = self._put(upload_id, chunks, start, end - start, state, exactly=True)
        if end < total:
            with self.store.catalogue.writing():
                self.store.touch(upload_id)
                now = self.look(upload_id).taken
                if now != start:
                    raise OffsetConflict(offset=now, where=upload_id)
                self.store.catalogue.receive(upload_id, rows)
            with self._lock:
                self._digests[upload_id] = (end, state)
                self._digests.move_to_end(upload_id)
                while len(self._digests) > _REMEMBERED:
                    self._digests.popitem(last=False)
            return end
        before = self.store.catalogue.received(upload_id, WHOLE)
        told = _told(json.loads(upload.told))
        done = self._finish(upload_id, [*before, *rows], told, state)
        with self._lock:
            self._digests.pop(upload_id, None)
        return done

    def abort(self, upload_id: str) -> None:
        """Give an upload up; `UploadGone` when there is none."""
        with self.store.catalogue.writing():
            if self.store.catalogue.upload(upload_id) is None:
                raise UploadGone(where=upload_id[:64])
            self.store.catalogue.end_upload(upload_id)
        with self._lock:
            self._digests.pop(upload_id, None)

    def _require_size(self, total: int) -> None:
        if total <= 0:
            raise BadUpload(why=say("it is empty"))
        most = self.store.limits.size
        if most is not None and total > most:
            raise SnapshotTooLarge(size=total, limit=most)

    def _alive(self, upload: Upload | None, upload_id: str) -> Upload:
        if upload is None or upload.kind is not Kind.BYTES or not self.store.is_alive(upload):
            raise UploadGone(where=upload_id[:64])
        return upload

    def _digest_at(self, upload: Upload) -> Any:
        """The running digest of what was taken."""
        with self._lock:
            at, state = self._digests.get(upload.id, (-1, None))
        if at == upload.taken:
            return state.copy()
        state = hashlib.sha256()
        for row in self.store.catalogue.received(upload.id, WHOLE):
            state.update(self.store.raw(row))
        return state

    def _put(
        self,
        upload_id: str,
        chunks: Iterable[bytes],
        start: int,
        most: int | None,
        state: Any,
        *,
        exactly: bool = False,
    ) -> list[Row]:
        """Store bytes as extents, and tell the rows; what is not exactly as long as said is refused."""
        rows: list[Row] = []

        def made() -> Iterator[Extent]:
            at = start
            for raw in _cut(chunks):
                if most is not None and at + len(raw) - start > most:
                    if exactly:
                        raise BadUpload(why=say("more bytes came than its range has"))
                    raise SnapshotTooLarge(size=at + len(raw) - start, limit=most)
                state.update(raw)
                name, crc = hashlib.sha256(raw).digest(), crc32(raw)
                rows.append(Row(name, len(raw), crc, at, WHOLE))
                at += len(raw)
                yield Extent(name, len(raw), crc, WHOLE, stored(raw))
            if exactly and at - start != most:
                raise BadUpload(
                    why=say("{size} bytes came, its range has {most}", size=at - start, most=most)
                )

        self.store.put(upload_id, made(), proven=True)
        return rows

    def _finish(self, upload_id: str, rows: Sequence[Row], told: Told, state: Any) -> Stored:
        writer = IndexWriter()
        for row in rows:
            writer.add(row)
        digest = Digest(state.hexdigest())
        return self.store.finish_with(
            upload_id, writer.done(), digest, label=told.label, sections=told.sections, facts={}
        )


def _told(said: Mapping[str, Any]) -> Told:
    return Told(said["label"], tuple(said["sections"]))


def _cut(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in stretches of `CUT`, the last one shorter.

    >>> [len(part) for part in _cut([bytes(300_000), b"", bytes(300_000)])]
    [262144, 262144, 75712]
    """
    waiting: list[bytes] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= CUT:
            data = b"".join(waiting) if len(waiting) > 1 else chunk
            view = memoryview(data)
            at = 0
            while size - at >= CUT:
                yield bytes(view[at : at + CUT])
                at += CUT
            waiting, size = ([bytes(view[at:])], size - at) if at < size else ([], 0)
    if size:
        yield b"".join(waiting)
