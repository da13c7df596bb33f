"""Floor 3, `vault`: a pack: pieces one after the other, and a footer that says what they are.

    head     b"MUNPACK1", the pack's own name (26 characters)
    pieces   deflate pieces, without gaps
    rows     one a piece: id (32 bytes), raw length, crc32, stored length (4 bytes each), little-endian
    tail     number of rows (4 bytes); sha256 of head, rows and number; b"MUNPACKE"

A name is never used twice, so a pack that is being removed can not be one that is being written
(ADR 0501).  Footers alone are enough to make the catalogue again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from muniment.bundle.extent import PIECE_MOST
from muniment.bundle.model import EXTENT_MOST, Extent
from muniment.ids import is_ulid
from muniment.message import Message, say
from muniment.vault.errors import BadPack

PACK_MOST = 32 << 20
"""Bytes of a pack at most (spec 5, extents)."""

PACKS = "packs"
"""Where packs lie."""

MAGIC = b"MUNPACK1"
HEAD = len(MAGIC) + 26
END = b"MUNPACKE"
_ROW = Struct("<32sIII")
_COUNT = Struct("<I")
_TAIL = _COUNT.size + 32 + len(END)
_WRITE = 256 << 10

ReadAt = Callable[[int, int], bytes]
"""Gives so many bytes from an offset on; fewer where the pack ends."""


class Slot(NamedTuple):
    """Where a piece lies in its pack: id, raw length, crc32, offset and length of the piece."""

    id: bytes
    length: int
    crc: int
    offset: int
    stored: int


class Pack:
    """A pack while it is written; its slots and size are true once all bytes were taken.

    `left` is the first extent that found no room.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.slots: list[Slot] = []
        self.size = 0
        self.left: Extent | None = None

    def fill(self, first: Extent, more: Iterator[Extent]) -> Iterator[bytes]:
        """The pack's bytes in chunks, with as many extents as it has room for; one that stands
        twice is kept once.  Each has its piece, and was checked.  What is not taken from `more`
        stays in it for the next pack."""
        head = _head(self.name)
        parts, waiting, at = [head], len(head), len(head)
        inside: set[bytes] = set()
        extent: Extent | None = first
        while extent is not None:
            assert extent.piece is not None
            size = len(extent.piece)
            if self.slots and at + size + (len(self.slots) + 1) * _ROW.size + _TAIL > PACK_MOST:
                self.left = extent
                break
            if extent.id not in inside:
                inside.add(extent.id)
                self.slots.append(Slot(extent.id, extent.length, extent.crc, at, size))
                parts.append(extent.piece)
                at += size
                waiting += size
            if waiting >= _WRITE:
                yield b"".join(parts)
                parts, waiting = [], 0
            extent = next(more, None)
        footer = _footer(head, self.slots)
        self.size = at + len(footer)
        yield b"".join((*parts, footer))


def pack_blob(name: str) -> str:
    """The blob of a pack.

    >>> pack_blob("01KDVDNA000000000000000001")
    'packs/1/01KDVDNA000000000000000001'
    """
    return f"{PACKS}/{name[-1]}/{name}"


def pack_in(blob: str) -> str:
    """The pack that a blob's name promises; `BadPack` when it promises none."""
    name = blob.rpartition("/")[2]
    if not is_ulid(name) or pack_blob(name) != blob:
        raise BadPack(where=blob[:80], why=say("its name is none that it could have"))
    return name


def read_footer(name: str, size: int, read: ReadAt) -> list[Slot]:
    """The slots of a pack of so many bytes, by its footer; `BadPack` unless all of it fits together."""
    least = HEAD + _TAIL
    if not least <= size <= PACK_MOST:
        raise _refused(name, say("it has {size} bytes", size=size))
    head, tail = read(0, HEAD), read(size - _TAIL, _TAIL)
    if len(tail) != _TAIL or tail[-len(END) :] != END:
        raise _refused(name, say("it does not end as it should"))
    (count,) = _COUNT.unpack_from(tail)
    begin = size - _TAIL - count * _ROW.size
    if begin < HEAD:
        raise _refused(name, say("its footer has no room for its rows"))
    rows = read(begin, count * _ROW.size)
    if hashlib.sha256(head + rows + tail[: _COUNT.size]).digest() != tail[_COUNT.size : -len(END)]:
        raise _refused(name, say("its head or its footer is damaged"))
    if head != _head(name):
        raise _refused(name, say("it is another file"))
    slots = list(_slots(rows))
    if (slots[-1].offset + slots[-1].stored if slots else HEAD) != begin:
        raise _refused(name, say("its pieces do not fill it"))
    if any(not 0 < one.length <= EXTENT_MOST or not 0 < one.stored <= PIECE_MOST for one in slots):
        raise _refused(name, say("a piece has an impossible length"))
    return slots


def _head(name: str) -> bytes:
    return MAGIC + name.encode("ascii")


def _footer(head: bytes, slots: Iterable[Slot]) -> bytes:
    rows = [_ROW.pack(slot.id, slot.length, slot.crc, slot.stored) for slot in slots]
    body = b"".join(rows) + _COUNT.pack(len(rows))
    return body + hashlib.sha256(head + body).digest() + END


def _slots(rows: bytes) -> Iterator[Slot]:
    at = HEAD
    for extent, length, crc, stored in _ROW.iter_unpack(rows):
        yield Slot(extent, length, crc, at, stored)
        at += stored


def _refused(name: str, why: Message) -> BadPack:
    return BadPack(where=name, why=why)
