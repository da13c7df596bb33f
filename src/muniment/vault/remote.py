"""Floor 3, `vault`: a vault that is reached over HTTP; implements `muniment.bundle.vault.Vault`.

What is answered is believed as far as it can be held to something: an index to its root and its own
digest, a piece to its row by whoever inflates it.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any
from urllib.parse import quote

from muniment.bundle.errors import BadExtent, BadIndex
from muniment.bundle.extent import PIECE_MOST
from muniment.bundle.index import BYTES_MOST, Index
from muniment.bundle.model import Extent, Row
from muniment.bundle.vault import (
    PUT_BYTES,
    Limits,
    Listing,
    Reservation,
    Snapshot,
    Soundness,
    Stored,
)
from muniment.canonical import NotJson, read_json
from muniment.clock import read_instant
from muniment.digest import Digest
from muniment.disk import errors as disk
from muniment.errors import MunimentError, NotFound
from muniment.ids import is_ulid
from muniment.message import Message, say
from muniment.path import printable
from muniment.vault import errors as own
from muniment.vault.description import is_snapshot_id, judge_label
from muniment.vault.errors import (
    SnapshotDamaged,
    UnknownSnapshot,
    UploadGone,
    VaultAnswer,
    VaultUnreachable,
)
from muniment.vault.line import CHUNK, Line
from muniment.vault.place import Address
from muniment.vault.shapes import number, number_or_none, require_id, text
from muniment.vault.wire import FORMAT, HEAD, IDS_MOST, ROW

IDLE_MOST = 4
"""Connections that are kept for later calls."""

ANSWER_MOST = 64 << 20

_IDS_AT_ONCE = min(100_000, IDS_MOST)
_REFUSALS: dict[str, type[MunimentError]] = {
    kind.code.lower(): kind
    for module in (own, disk)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, MunimentError) and "code" in vars(kind)
} | {kind.code.lower(): kind for kind in (BadExtent, BadIndex)}


class RemoteVault:
    """A tenant's vault at an address; safe from several threads.

    `token` is asked for the bearer token at each call, `note` is told what a person should know, and
    `pause` waits so many seconds before the one second try of a call that may be made twice.
    """

    def __init__(
        self,
        address: Address,
        token: Callable[[], str],
        *,
        note: Callable[[Message], None] = lambda message: None,
        pause: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._line = Line(address, token, note=note, pause=pause, monotonic=monotonic, kept=IDLE_MOST)
        self._identity = ""

    @property
    def url(self) -> str:
        """Its address, as a person may read it."""
        return self._line.url

    @property
    def in_process(self) -> bool:
        """It is elsewhere."""
        return False

    @property
    def identity(self) -> str:
        """The vault's own id, whatever its address."""
        if not self._identity:
            self._listing()
        return self._identity

    def close(self) -> None:
        """Let all connections go."""
        self._line.close()

    # What there is

    def list(self) -> Listing:
        """Everything there is, newest first."""
        return self._listing()

    def show(self, snapshot_id: str) -> Snapshot:
        """One snapshot."""
        require_id(snapshot_id)
        for snapshot in self._listing().snapshots:
            if snapshot.id == snapshot_id:
                return snapshot
        raise UnknownSnapshot(where=snapshot_id)

    def facts(self, snapshot_id: str) -> Mapping[str, object]:
        """What the creator said of a snapshot beside its label and sections."""
        require_id(snapshot_id)
        said = self._json("GET", f"/backups/{snapshot_id}/facts", again=True)
        with self._line.shaped():
            facts = said["facts"]
            if not isinstance(facts, dict):
                raise TypeError("an object was expected")
        return facts

    def _listing(self) -> Listing:
        said = self._json("GET", "/backups", again=True)
        with self._line.shaped():
            quota, limits = said["quota"], said["limits"]
            self._identity = text(said["vault"])
            return Listing(
                tuple(_snapshot(one) for one in said["backups"]),
                Limits(
                    number_or_none(quota["snapshots"]),
                    number_or_none(limits["bundle_bytes"]),
                    number(limits["label"]),
                    number_or_none(limits["sessions"]),
                ),
                number(quota["uploading"]),
            )

    # Uploads

    def reserve(self, ids: Iterable[bytes] = (), *, replace: str | None = None) -> Reservation:
        """Begin an upload, naming extents that are meant to be used again."""
        if replace is not None:
            require_id(replace)
        named = list(ids)
        first, rest = named[:_IDS_AT_ONCE], named[_IDS_AT_ONCE:]
        said = self._json(
            "POST",
            "/uploads/reserve",
            _dump({"format": FORMAT, "extent_ids": [one.hex() for one in first], "replace": replace}),
        )
        with self._line.shaped():
            upload, missing = text(said["upload_id"]), _ids(said["missing"])
            if not is_ulid(upload):
                raise ValueError(upload)
        return Reservation(upload, missing | self.ask(upload, rest) if rest else missing)

    def ask(self, upload_id: str, ids: Sequence[bytes]) -> frozenset[bytes]:
        """Which of further ids are missing; the others are pinned."""
        path = _upload_path(upload_id)
        missing: frozenset[bytes] = frozenset()
        for start in range(0, max(1, len(ids)), _IDS_AT_ONCE):
            body = _dump({"extent_ids": [one.hex() for one in ids[start : start + _IDS_AT_ONCE]]})
            said = self._json("POST", f"{path}/missing", body, again=True)
            with self._line.shaped():
                missing |= _ids(said["missing"])
        return missing

    def put(self, upload_id: str, extents: Iterable[Extent], *, proven: bool = False) -> None:
        """Hand in extents with their pieces, `PUT_BYTES` a call; what was taken is durable."""
        path = f"{_upload_path(upload_id)}/pieces"
        parts: list[bytes] = []
        size, calls = 0, 0
        for extent in extents:
            if extent.piece is None or len(extent.piece) > PIECE_MOST or not extent.piece:
                raise BadExtent(where=extent.id.hex()[:12], why=say("it was handed in without its piece"))
            parts += [ROW.pack(extent.id, extent.length, extent.crc, len(extent.piece)), extent.piece]
            size += len(extent.piece)
            if size >= PUT_BYTES:
                self._json("POST", path, parts, again=True)
                parts, size, calls = [], 0, calls + 1
        if parts or not calls:
            # The same pieces sent twice are one: a second try does no harm.
            self._json("POST", path, parts, again=True)

    def finish(
        self,
        upload_id: str,
        index: Index,
        *,
        label: str,
        sections: Sequence[str],
        facts: Mapping[str, object],
    ) -> Stored:
        """End an upload.  Whether an answer that was lost meant that it counts, the list says."""
        path = f"{_upload_path(upload_id)}/finalise"
        try:
            said = json.dumps({"label": label, "sections": list(sections), "facts": facts}).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise own.BadDescription(why=say("{finding}", finding=printable(str(error)))) from error
        judge_label(label, max(len(label), 1))
        answer = self._json("POST", path, [HEAD.pack(len(said)), said, index.to_bytes()])
        with self._line.shaped():
            stored = Stored(_snapshot(answer), number_or_none(answer["remaining_slots"]))
        if stored.snapshot.root != index.root:
            raise VaultAnswer(where=stored.snapshot.id, why=say("it kept another snapshot than was sent"))
        return stored

    def abort(self, upload_id: str) -> None:
        """Give an upload up."""
        with suppress(UploadGone):
            self._empty("DELETE", _upload_path(upload_id))

    # Reading

    def index(self, snapshot_id: str) -> Index:
        """A snapshot's index, judged anew; its root must be the one that the list tells."""
        snapshot = self.show(snapshot_id)
        data = self._bytes("GET", f"/backups/{snapshot_id}/index", BYTES_MOST)
        try:
            index = Index.read(data)
        except BadIndex as error:
            raise SnapshotDamaged(where=snapshot_id, why=error.why) from error
        if index.root != snapshot.root:
            raise SnapshotDamaged(where=snapshot_id, why=say("its index is another one"))
        return index

    def fetch(self, row: Row) -> bytes:
        """The stored piece of an extent; safe from several threads."""
        try:
            return self._bytes("GET", f"/pieces/{row.id.hex()}", PIECE_MOST)
        except own.NoSuchFile as error:
            why = say("a piece is not in the vault")
            raise SnapshotDamaged(where=row.id.hex()[:12], why=why) from error

    def download(self, snapshot_id: str, start: int = 0) -> Iterator[bytes]:
        """The bytes of the tar.gz from an offset on; a whole one is held to the digest that was told."""
        require_id(snapshot_id)
        headers = {"range": f"bytes={start}-"} if start else {}
        with self._call("GET", f"/backups/{snapshot_id}", headers=headers, again=True) as answer:
            if answer.status == 416:
                self._line.whole(answer, ANSWER_MOST)
                return
            self._require(answer, 206 if start else 200)
            length = answer.length
            if length is None and not answer.chunked:
                raise VaultAnswer(where=self._line.shown, why=say("it does not tell its length"))
            state, size = hashlib.sha256(), 0
            while block := self._line.read(answer, CHUNK):
                state.update(block)
                size += len(block)
                yield block
            if length is not None and size != length:
                raise VaultUnreachable(where=self._line.shown, why=say("the answer was cut short"))
            told = answer.headers.get("x-sha256", "")
            if not start and state.hexdigest() != told:
                raise SnapshotDamaged(where=snapshot_id, why=say("its bytes are not those of its digest"))

    def delete(self, snapshot_id: str) -> Snapshot:
        """Remove one snapshot and tell what it was."""
        snapshot = self.show(snapshot_id)
        self._empty("DELETE", f"/backups/{snapshot_id}")
        return snapshot

    # Calls

    def _json(
        self, method: str, path: str, body: Sequence[bytes] | None = None, *, again: bool = False
    ) -> Any:
        with self._call(method, path, body, again=again) as answer:
            self._require(answer, 200, 201, 202)
            data = self._line.whole(answer, ANSWER_MOST)
        try:
            return read_json(data)
        except NotJson as error:
            raise VaultAnswer(where=self._line.shown, why=say("{finding}", finding=error)) from error

    def _bytes(self, method: str, path: str, most: int) -> bytes:
        with self._call(method, path, again=True) as answer:
            self._require(answer, 200)
            return self._line.whole(answer, most)

    def _empty(self, method: str, path: str) -> None:
        with self._call(method, path) as answer:
            self._require(answer, 204)
            self._line.whole(answer, 0)

    def _call(
        self,
        method: str,
        path: str,
        body: Sequence[bytes] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> AbstractContextManager[http.client.HTTPResponse]:
        sent = dict(headers or {})
        if body is not None:
            sent["content-type"] = "application/json" if len(body) == 1 else "application/octet-stream"
        return self._line.call(method, path, body, sent, again=again)

    def _require(self, answer: http.client.HTTPResponse, *statuses: int) -> None:
        """Raise what an answer says where it is not one of these."""
        if answer.status in statuses:
            return
        try:
            said = read_json(self._line.whole(answer, ANSWER_MOST))
            kind = _REFUSALS.get(said["error"])
            detail = said["detail"]
            where, why = str(detail["where"])[:500], str(detail["why"])[:2000]
            facts = {
                str(name): fact for name, fact in detail["facts"].items() if name not in ("where", "why")
            }
        except (NotJson, KeyError, TypeError, AttributeError):
            kind, where, why, facts = None, "", "", {}
        if kind is None:
            finding = say("it answered with status {status}", status=answer.status)
            unreachable = answer.status >= 500
            raise (VaultUnreachable if unreachable else VaultAnswer)(where=self._line.shown, why=finding)
        if issubclass(kind, NotFound):
            raise kind(where=printable(where), why=None, **facts)
        raise kind(
            where=printable(where), why=say("{finding}", finding=printable(why)) if why else None, **facts
        )


def _dump(value: object) -> list[bytes]:
    return [json.dumps(value, separators=(",", ":")).encode("ascii")]


def _upload_path(upload_id: str) -> str:
    if not is_ulid(upload_id):
        raise UploadGone(where=printable(upload_id[:64]))
    return f"/uploads/{quote(upload_id, safe='')}"


def _snapshot(said: Mapping[str, Any]) -> Snapshot:
    snapshot_id = text(said["backup_id"])
    if not is_snapshot_id(snapshot_id):
        raise ValueError(snapshot_id)
    return Snapshot(
        id=snapshot_id,
        label=text(said["user_label"]),
        created_at=read_instant(text(said["created"])),
        size=number(said["size_bytes"]),
        sections=tuple(text(one) for one in said["sections"]),
        root=Digest(text(said["root"])),
        sha256=None if said["sha256"] is None else Digest(text(said["sha256"])),
        soundness=Soundness(said["soundness"]),
        whole=bool(said["whole"]),
        scheduled=said.get("scheduled") is True,  # a server of before does not say it
    )


def _ids(value: Any) -> frozenset[bytes]:
    found = frozenset(bytes.fromhex(text(one)) for one in value)
    if any(len(one) != 32 for one in found):
        raise ValueError("an id was expected")
    return found
