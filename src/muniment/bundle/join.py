"""Floor 2, `bundle`: joining: an index and its pieces give the tar.gz again, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from muniment.bundle.deflate import HEAD, combine, tail
from muniment.bundle.index import Index
from muniment.bundle.model import Extent, Row

Fetch = Callable[[Row], bytes]
"""Gives the piece of a row; its errors pass through."""


def assemble(index: Index, fetch: Fetch) -> Iterator[bytes]:
    """The bytes of the tar.gz, from stored pieces; none of them is inflated.

    >>> from muniment.bundle.extent import make_extent
    >>> one = make_extent(bytes(1024), b"manifest.json")
    >>> import gzip
    >>> gzip.decompress(b"".join(assemble(Index.of([one]), lambda row: one.piece))) == bytes(1024)
    True
    """
    yield HEAD
    crc = 0
    for row in index:
        yield fetch(row)
        crc = combine(crc, row.crc, row.length)
    yield tail(crc, index.raw)


def join(extents: Iterable[Extent]) -> Iterator[bytes]:
    """The bytes of the tar.gz, from extents as the packer gives them, each with its piece."""
    yield HEAD
    crc = length = 0
    for extent in extents:
        if extent.piece is None:
            raise ValueError(f"an extent without its piece: {extent.id.hex()}")
        yield extent.piece
        crc = combine(crc, extent.crc, extent.length)
        length += extent.length
    yield tail(crc, length)
