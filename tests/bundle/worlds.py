"""What the tests of `bundle` share: packing a folder, entries from memory, bytes of a bundle."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from muniment.bundle.cuts import MEASURED, CutRules
from muniment.bundle.index import Index
from muniment.bundle.join import join
from muniment.bundle.manifest import Heading
from muniment.bundle.model import Entry, Extent, Fault, Memory
from muniment.bundle.pack import Packing
from muniment.bundle.tree import Tree
from muniment.evidence import Kind

HEADING = Heading("generic", "default", datetime(2026, 11, 30, 12, tzinfo=UTC), "daily", ["workspace/a"])


@dataclass(frozen=True, slots=True)
class Made:
    """A bundle in memory."""

    extents: list[Extent]
    index: Index
    gz: bytes
    faults: list[Fault]
    files: int
    size: int

    def fetch(self, extent: object) -> bytes:
        """A vault that has everything."""
        pieces = {one.id: one.piece for one in self.extents}
        piece = pieces[extent.id]  # type: ignore[attr-defined]
        assert piece is not None
        return piece


def finish(packing: Packing) -> Made:
    extents = list(packing)
    whole = b"".join(join(extents)) if all(extent.piece is not None for extent in extents) else b""
    return Made(extents, packing.index, whole, packing.faults, packing.files, packing.size)


def pack_folder(
    folder: Path, *, workers: int = 2, rules: CutRules = MEASURED, memory: Memory | None = None
) -> Made:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with Tree(fd) as tree:
            entries = tree.entries("files/workspace")
            return finish(Packing(entries, tree, HEADING, workers=workers, rules=rules, memory=memory))
    finally:
        os.close(fd)


class Nowhere:
    """A source for entries that carry their bytes."""

    def open(self, entry: Entry) -> int:
        raise FileNotFoundError(entry.path)


def entry(path: str, content: bytes, mode: int = 0o644, mtime_ns: int = 1_700_000_000_123_456_789) -> Entry:
    return Entry(path, Kind.FILE, mode, mtime_ns, len(content), content=content)


def pack_entries(entries: Iterable[Entry], *, workers: int = 0, rules: CutRules = MEASURED) -> Made:
    return finish(Packing(entries, Nowhere(), HEADING, workers=workers, rules=rules))


def chunks(data: bytes, size: int = 65_536) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
