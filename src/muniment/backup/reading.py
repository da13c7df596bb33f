"""Floor 3, `backup`: looking into a stored snapshot; only the extents that are needed are fetched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from muniment.backup.errors import NoSuchEntry
from muniment.bundle.errors import BadManifest
from muniment.bundle.extent import inflate
from muniment.bundle.index import Index
from muniment.bundle.manifest import plain, read_manifest
from muniment.bundle.model import MANIFEST, Packed, Row
from muniment.bundle.pick import pick
from muniment.bundle.tar import wire
from muniment.bundle.vault import Snapshot, Vault
from muniment.bundle.verify import Verified, verify_kept
from muniment.canonical import Json
from muniment.errors import NotVerified
from muniment.evidence import spell
from muniment.message import say
from muniment.path import printable


@dataclass(frozen=True)
class Contents:
    """A manifest: its facts, and every file with size and sha256, by path."""

    facts: dict[str, Any]
    files: dict[str, Packed]


@dataclass(frozen=True, slots=True)
class Change:
    """How a path differs between two snapshots: `added`, `removed` or `changed`."""

    path: str
    kind: str
    before: int | None
    after: int | None

    def to_json(self) -> dict[str, Json]:
        """The difference for programs."""
        return {"path": spell(self.path), "kind": self.kind, "before": self.before, "after": self.after}


@dataclass
class Reading:
    """A snapshot that is being looked into.  `fetched` counts stored bytes that were asked for."""

    vault: Vault
    snapshot: Snapshot
    index: Index
    fetched: int = field(default=0)

    def raw(self, row: Row) -> bytes:
        """The raw bytes of one row, checked."""
        return inflate(self.piece(row), row)

    def piece(self, row: Row) -> bytes:
        """The stored piece of one row."""
        piece = self.vault.fetch(row)
        self.fetched += len(piece)
        return piece

    @cached_property
    def contents(self) -> Contents:
        """The manifest, read from its own extents alone."""
        found = pick(self.index, self.piece, MANIFEST)
        if found is not None:
            files: dict[str, Packed] = {}
            text = b"".join(found[1])
            facts = read_manifest(text, lambda packed: files.__setitem__(packed.path, packed))
            return Contents(facts, files)
        raise BadManifest(why=say("there is none"))

    def packed(self, path: str) -> Packed | None:
        """The manifest's row of one file.

        Our manifests have their rows in the order of paths and cut their text between rows, so a few
        stretches of it are enough; whatever is written otherwise is read whole.
        """
        if "contents" not in self.__dict__ and not self.index.whole:
            found = self._sought(path)
            if found is not None:
                return found
        return self.contents.files.get(path)

    def _sought(self, path: str) -> Packed | None:
        stretches = [row for row in self.index if row.path == wire(MANIFEST)]
        low, high = 0, len(stretches)
        while low < high:
            middle = (low + high) // 2
            rows = rows_of(self.raw(stretches[middle]))
            if not rows:  # the opening, or the end
                low, high = (middle + 1, high) if middle == 0 else (low, middle)
            elif wire(path) < wire(rows[0].path):
                high = middle
            elif wire(path) > wire(rows[-1].path):
                low = middle + 1
            else:
                return next((row for row in rows if row.path == path), None)
        return None

    def files(self, below: str = "") -> list[Packed]:
        """The files at or below a path of the snapshot, in the order of their paths."""
        wanted = bundle_path(below)
        found = [
            packed
            for path, packed in self.contents.files.items()
            if not wanted or path == wanted or path.startswith(f"{wanted}/")
        ]
        if not found and wanted:
            raise NoSuchEntry(where=printable(below))
        return sorted(found, key=lambda packed: wire(packed.path))

    def find(self, text: str) -> list[Packed]:
        """Files whose path holds a text, or whose sha256 begins with it (8 digits and more)."""
        prefix = text.removeprefix("sha256:").lower()
        by_digest = len(prefix) >= 8 and all(sign in "0123456789abcdef" for sign in prefix)
        return [
            packed
            for packed in self.files()
            if text in packed.path or (by_digest and packed.sha256.startswith(prefix))
        ]

    def read(self, path: str) -> Iterator[bytes]:
        """The bytes of one file, each extent held to its id and the whole to the manifest.

        The last piece comes only when all of it was right.
        """
        wanted = bundle_path(path)
        packed = self.packed(wanted)
        if packed is None:
            raise NoSuchEntry(where=printable(path))
        found = pick(self.index, self.piece, wanted)
        if found is None:
            raise NotVerified(
                where=printable(path), why=say("the manifest lists it and the archive lacks it")
            )
        state, held = hashlib.sha256(), b""
        for part in found[1]:
            state.update(part)
            if held:
                yield held
            held = part
        if state.hexdigest() != packed.sha256:
            raise NotVerified(where=printable(path), why=say("its bytes are not those of the manifest"))
        if held:
            yield held

    def verify(self, workers: int = 2) -> Verified:
        """Read all of it and compare every file with the manifest."""
        return verify_kept(self.index, self.vault.fetch, workers)

    def download(self) -> Iterator[bytes]:
        """The bytes of the tar.gz."""
        return self.vault.download(self.snapshot.id)


def rows_of(text: bytes) -> list[Packed]:
    r"""The rows that stand whole in a stretch of a manifest as we write it, one a line; of any other
    text none.

    >>> rows_of(b',\n{"path":"files/data/a","size":1,"sha256":"00"},\n{"path":"files/data/b"')
    [Packed(path='files/data/a', size=1, sha256='00')]
    """
    found: list[Packed] = []
    for line in text.split(b"\n"):
        if not line.startswith(b'{"path":'):
            continue
        try:
            row = json.loads(line.rstrip(b","))
            found.append(Packed(plain(row["path"]), row["size"], row["sha256"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def bundle_path(text: str) -> str:
    """A path as people type it, as the bundle has it.

    >>> bundle_path("workspace/a/"), bundle_path("./files/data/x"), bundle_path("api/settings.json")
    ('files/workspace/a', 'files/data/x', 'api/settings.json')
    """
    path = plain(text).strip("/")
    if not path or path == MANIFEST or path.split("/")[0] in ("files", "api"):
        return path
    return f"files/{path}"


def compare(before: Reading, after: Reading) -> list[Change]:
    """How the files of two snapshots differ, by path."""
    old, new = before.contents.files, after.contents.files
    changes: list[Change] = []
    for path in sorted({*old, *new}, key=wire):
        one, two = old.get(path), new.get(path)
        if one is None and two is not None:
            changes.append(Change(path, "added", None, two.size))
        elif two is None and one is not None:
            changes.append(Change(path, "removed", one.size, None))
        elif one is not None and two is not None and one[1:] != two[1:]:
            changes.append(Change(path, "changed", one.size, two.size))
    return changes
