"""Floor 2, `bundle`: the manifest as a file of the stream: its text is cut and deflated as it grows.

Its record names its size, so it can only be given out when the last row is known; until then its
pieces wait, deflated, in a spool: a few bytes a file, and on disk when there are very many.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import IO

from muniment.bundle import tar
from muniment.bundle.cuts import cut_after
from muniment.bundle.extent import make_extent
from muniment.bundle.manifest import Text
from muniment.bundle.model import MANIFEST, Entry, Extent, Have, Packed, Stretch
from muniment.bundle.tar import wire
from muniment.evidence import Kind

OPENING_MOST = 512 << 10
"""A longer opening (very many exclusions) is cut."""

PATH = wire(MANIFEST)


class Listing:
    """Takes a row a file and gives the manifest's extents at the end."""

    def __init__(self, text: Text, created: int, mean: int, spool: IO[bytes], have: Have) -> None:
        self._text = text
        self._created = created
        self._mean = mean
        self._spool = spool
        self._have = have
        self._size = 0
        self._rows: list[bytes] = []
        self._waiting: list[tuple[bytes, int, int, int]] = []  # id, length, crc, stored length or -1

    def add(self, packed: Packed) -> str:
        """The next file; gives its row, without what parts it from the one before."""
        lead, body = self._text.parted(packed)
        self._rows.append((lead + body).encode("ascii"))
        if self.cuts(packed.path, len(lead) + len(body)):
            self._cut()
        return body

    def add_stretch(self, stretch: Stretch) -> None:
        """The files of a stretch."""
        text, at = stretch.text, 0
        if not text:
            return
        if not self._text.goes_on:
            # Before the first row stands something else, and it may not be cut where others are.
            for row in text.split(b",\n")[1:]:
                self.add(Packed(**json.loads(row)))
            return
        for cut in stretch.cuts:
            self._rows.append(text[at:cut])
            self._cut()
            at = cut
        if at < len(text):
            self._rows.append(text[at:])
        self._text.add(stretch.files, stretch.size)

    def cuts(self, path: str, length: int) -> bool:
        """Whether the text is cut after a row of so many bytes."""
        return cut_after(wire(path), length, self._mean)

    def finish(self, warnings: Sequence[str]) -> Iterator[Extent]:
        """The manifest's record, its opening, its rows and its end."""
        self._cut()
        opening, closing = self._text.opening().encode("ascii"), self._text.closing(warnings).encode("ascii")
        size = len(opening) + self._size + len(closing)
        entry = Entry(MANIFEST, Kind.FILE, 0o644, self._created * tar.SECOND, size)
        head = tar.header(entry, size) + opening
        for start in range(0, len(head), OPENING_MOST):
            yield make_extent(head[start : start + OPENING_MOST], PATH, self._have)
        self._spool.seek(0)
        for name, length, crc, kept in self._waiting:
            yield Extent(name, length, crc, PATH, None if kept < 0 else self._spool.read(kept))
        end = closing + tar.padding(size)
        for start in range(0, len(end), OPENING_MOST):
            yield make_extent(end[start : start + OPENING_MOST], PATH, self._have)

    def _cut(self) -> None:
        if not self._rows:
            return
        raw = b"".join(self._rows)
        self._rows = []
        self._size += len(raw)
        name, length, crc, _, piece = make_extent(raw, PATH, self._have)
        if piece is not None:
            self._spool.write(piece)
        self._waiting.append((name, length, crc, -1 if piece is None else len(piece)))
