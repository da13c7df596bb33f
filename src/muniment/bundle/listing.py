"""Floor 2, `bundle`: the manifest as a file of the stream: its text is cut and deflated as it grows.

Its record names its size, so it can only be given out when the last row is known; until then its
pieces wait, deflated, in a spool: a few bytes a file, and on disk when there are very many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import IO

from muniment.bundle import tar
from muniment.bundle.cuts import cut_after
from muniment.bundle.manifest import LEAD, Rows, Text, row_of
from muniment.bundle.model import MANIFEST, Entry, Extent, Packed
from muniment.bundle.tar import wire
from muniment.evidence import Kind

OPENING_MOST = 512 << 10
"""A longer opening (very many exclusions) is cut."""

PATH = wire(MANIFEST)


class Listing:
    """Takes a row a file and gives the manifest's extents at the end; `make` makes them of raw bytes and
    a path."""

    def __init__(
        self, text: Text, created: int, mean: int, spool: IO[bytes], make: Callable[[bytes, bytes], Extent]
    ) -> None:
        self._text = text
        self._created = created
        self._mean = mean
        self._spool = spool
        self._make = make
        self._size = 0
        self._rows: list[str] = []
        self._waiting: list[tuple[bytes, int, int, int]] = []  # id, length, crc, stored length or -1

    def add(self, packed: Packed) -> bool:
        """The next file; tells whether the text would be cut after it wherever it stood."""
        lead, body = self._text.parted(packed)
        self._rows.append(lead + body)
        cut = cut_after(wire(packed.path), len(lead) + len(body), self._mean)
        if cut:
            self._cut()
        if len(lead) == len(LEAD):
            return cut
        return cut_after(wire(packed.path), len(LEAD) + len(body), self._mean)

    def add_many(self, files: Iterable[tuple[str, int, str]], cuts: Sequence[int]) -> None:
        """Files that follow each other, where it is known after which of them the text is cut."""
        files = iter(files)
        if not self._text.goes_on:
            # Before the first row stands something else: it may be cut where others are not.
            for one in islice(files, 1):
                self.add(Packed(*one))
            cuts = [cut - 1 for cut in cuts if cut > 1]
        done = 0
        for cut in cuts:
            self._rows += self._text.more(islice(files, cut - done))
            self._cut()
            done = cut
        self._rows += self._text.more(files)

    def add_rows(self, rows: Rows) -> None:
        """The rows of files that follow each other."""
        first, (text, *others), files, size = rows
        if not self._text.goes_on:
            # Before the first row stands something else: it may be cut where others are not.
            self.add(Packed(*first))
            text, files, size = text[len(LEAD + row_of(*first)) :], files - 1, size - first[1]
            if others and not text:
                text, *others = others
        self._text.count(files, size)
        self._rows.append(text)
        for text in others:
            self._cut()
            self._rows.append(text)

    def finish(self, warnings: Sequence[str]) -> Iterator[Extent]:
        """The manifest's record, its opening, its rows and its end."""
        self._cut()
        opening, closing = self._text.opening().encode("ascii"), self._text.closing(warnings).encode("ascii")
        size = len(opening) + self._size + len(closing)
        entry = Entry(MANIFEST, Kind.FILE, 0o644, self._created * tar.SECOND, size)
        head = tar.header(entry, size) + opening
        for start in range(0, len(head), OPENING_MOST):
            yield self._make(head[start : start + OPENING_MOST], PATH)
        self._spool.seek(0)
        for name, length, crc, kept in self._waiting:
            yield Extent(name, length, crc, PATH, None if kept < 0 else self._spool.read(kept))
        end = closing + tar.padding(size)
        for start in range(0, len(end), OPENING_MOST):
            yield self._make(end[start : start + OPENING_MOST], PATH)

    def _cut(self) -> None:
        raw = "".join(self._rows).encode("ascii")
        self._rows = []
        if not raw:
            return
        self._size += len(raw)
        name, length, crc, _, piece = self._make(raw, PATH)
        if piece is not None:
            self._spool.write(piece)
        self._waiting.append((name, length, crc, -1 if piece is None else len(piece)))
