"""Handoff room: the folder of one handoff under `.muniment/handoff/`, and its kept documents.

A document is written once, read back, and its digest goes into the ledger; nothing is replaced.
Numbered documents (intents, outcomes, returns, traces) lie in a folder each, the newest last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from muniment.canonical import Json
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.errors import NotThere, named
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import is_scratch, write_all, write_verified
from muniment.handoff.documents import fit, kept, parse
from muniment.handoff.errors import HandoffUnknown
from muniment.handoff.shape import Anything, Flag, Shape, Text, Whole, Word, closed
from muniment.handoff.shapes import (
    BASELINE,
    CLOSURE,
    DISPATCH_ID,
    DOCUMENT_MAX,
    HANDOFF_ID,
    SHA256,
    TARGETS,
    WHO,
    WRITTEN_BY,
)
from muniment.path import RelPath
from muniment.record.state import FOLDER

HANDOFFS = FOLDER / "handoff"
_TEXT = Text(4_096)
META = closed(
    "parent recipient",
    v=Whole(1, 1),
    handoff_id=HANDOFF_ID,
    parent=HANDOFF_ID,
    depth=Whole(1, 2),
    initiator=_TEXT,
    created=_TEXT,
    area=_TEXT,
    recipient=_TEXT,
    contract=Flag(),
)
INTENT = closed(
    "key address",
    v=Whole(1, 1),
    at=_TEXT,
    recipient_id=WHO,
    via=_TEXT,
    boot_id=_TEXT,
    pid=Whole(),
    key=_TEXT,
    address=_TEXT,
)
"""What is known before a launch; `key` and `address` are by what it can be looked up afterwards."""
RECORDED = closed(
    "by",
    target=Word(TARGETS),
    offset=Whole(),
    length=Whole(1),
    sha256=SHA256,
    at=_TEXT,
    by=Word(WRITTEN_BY),
)
APPLIED = closed(writer=_TEXT, path=_TEXT, proposal_sha256=SHA256, version=Whole(1))
BROUGHT = closed(
    "artifact_id name sha256 path",
    at=_TEXT,
    state=_TEXT,
    artifact_id=_TEXT,
    name=_TEXT,
    sha256=SHA256,
    path=_TEXT,
)
"""How work elsewhere stood, or one piece that was taken in from there."""
CALL = closed(
    "text_sha256",
    v=Whole(1, 1),
    at=_TEXT,
    kind=Word(("message", "resume")),
    dispatch_id=_TEXT,
    provider=Anything(named=True),
    text_sha256=SHA256,
)
"""The record of one call to a worker that runs: without it nobody was asked again."""
VIEW = closed(
    dispatch_id=DISPATCH_ID,
    anchors=closed(" ".join(TARGETS), **{target: Text(30) for target in TARGETS}),
)
BASELINES: Shape = closed(" ".join(TARGETS), **dict.fromkeys(TARGETS, BASELINE))
SERIES: Mapping[str, Shape] = {
    "intents": INTENT,
    "recorded": RECORDED,
    "applied": APPLIED,
    "closures": CLOSURE,
    "brought": BROUGHT,
    "calls": CALL,
}


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """A document as it lies there: its name among those of its handoff, its bytes, and where they lie
    below the root."""

    name: str
    data: bytes
    where: str

    @property
    def sha256(self) -> str:
        """The digest under which the ledger knows it."""
        return sha256(self.data).hex


class Folder:
    """The documents of one handoff."""

    def __init__(self, root: Root, handoff_id: str) -> None:
        self._root = root
        self.handoff_id = handoff_id
        self._rel = HANDOFFS / handoff_id

    def exists(self) -> bool:
        """Whether the handoff was issued here."""
        return self._root.exists(self._rel / "packet.json")

    def require(self) -> Folder:
        """This folder, or `HandoffUnknown`."""
        if not self.exists():
            raise HandoffUnknown(handoff=self.handoff_id)
        return self

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other acts on this handoff away."""
        self._root.make_folders(self._rel, 0o700)
        with locked(self._root, self._rel / "lock"):
            yield

    @contextmanager
    def launching(self) -> Iterator[None]:
        """Hold this from before an intent until its outcome: whoever holds it is the only launcher.

        Should it be free while an intent has no outcome, then the launcher is gone.  `Locked` when
        another one is at it.
        """
        self._root.make_folders(self._rel, 0o700)
        with locked(self._root, self._rel / "launch", wait=False):
            yield

    def below(self, name: str) -> Root:
        """A folder of this handoff as a root of its own, made when it is missing."""
        self._root.make_folders(self._rel / name, 0o700)
        return self._root.below(self._rel / name)

    def write(self, name: str, document: Mapping[str, Json]) -> KeptDocument:
        """Write a document that must not be there yet, and read it back."""
        data = kept(document)
        self._root.make_folders((self._rel / RelPath.parse(name)).parent, 0o700)
        write_verified(self._root, self._rel / RelPath.parse(name), data, mode=0o600)
        return KeptDocument(name, data, self._where(name))

    def add(self, series: str, document: Mapping[str, Json]) -> KeptDocument:
        """Write the next document of a series; the caller holds the lock.

        One that could not be read again is refused: nothing would be read behind it.
        """
        if series in SERIES:
            fit(series, SERIES[series], document)
        number = len(self.names(series)) + 1
        return self.write(f"{series}/{number:06d}.json", document)

    def read(self, name: str) -> KeptDocument | None:
        """A document, or none when it is not there."""
        try:
            data = self._root.read(self._rel / RelPath.parse(name), DOCUMENT_MAX)
            return KeptDocument(name, data, self._where(name))
        except NotThere:
            return None

    def names(self, series: str) -> list[str]:
        """The names of a series, oldest first."""
        folder = self._rel / series
        if not self._root.exists(folder):
            return []
        return [f"{series}/{name}" for name in self._root.names(folder) if not is_scratch(name)]

    def last(self, series: str) -> KeptDocument | None:
        """The newest document of a series."""
        names = self.names(series)
        return self.read(names[-1]) if names else None

    def all(self, series: str) -> list[dict[str, Any]]:
        """Every document of a series, oldest first, each of its shape."""
        found = [self.read(name) for name in self.names(series)]
        return [parse(each.name, SERIES[series], each.data, each.where) for each in found if each is not None]

    def meta(self) -> dict[str, Any]:
        """Parent, depth, initiator and area, as they were when it was issued."""
        return self.document("meta.json", META)

    def document(self, name: str, shape: Shape) -> dict[str, Any]:
        """A document that must be there, of its shape."""
        found = self.read(name)
        if found is None:
            raise HandoffUnknown(handoff=self.handoff_id, where=self._where(name))
        return parse(name, shape, found.data, found.where)

    def _where(self, name: str) -> str:
        return f"{self._rel.posix}/{name}"


def handoffs(root: Root) -> list[str]:
    """The ids of all handoffs of a workspace, oldest first."""
    if not root.exists(HANDOFFS):
        return []
    names = [name for name in root.names(HANDOFFS) if re.fullmatch(HANDOFF_ID.pattern, name)]
    return [name for name in names if Folder(root, name).exists()]


def append_durably(root: Root, rel: RelPath, entry: bytes) -> tuple[int, bytes]:
    """Append to a file, made when it is missing; gives the offset and the bytes read back there.

    The caller holds a lock against other appenders.  A write that fails is cut off again.
    """
    root.make_folders(rel.parent)
    fd = root.open_file(rel, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        with named(rel):
            start = os.fstat(fd).st_size
            lead = b"" if start == 0 or os.pread(fd, 1, start - 1) == b"\n" else b"\n"
            try:
                write_all(fd, lead + entry)
                platform.sync_data(fd)
            except BaseException:
                os.ftruncate(fd, start)
                raise
    finally:
        platform.close(fd)
    root.sync_folder(rel.parent)
    offset = start + len(lead)
    fd = root.open_file(rel)
    try:
        with named(rel):
            return offset, os.pread(fd, len(entry), offset)
    finally:
        platform.close(fd)
