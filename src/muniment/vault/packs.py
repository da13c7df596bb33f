"""Floor 3, `vault`: a pack: pieces one after the other, and a footer that says what they are.

    head     b"MUNPACK1"
    pieces   deflate pieces, without gaps
    rows     one a piece: id (32 bytes), raw length, crc32, stored length (4 bytes each), little-endian
    tail     number of rows (4 bytes), sha256 of the rows and of the number, b"MUNPACKE"

A pack's name is the sha256 of all of it, so that it can be checked alone; footers are enough to
make the catalogue again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from muniment.bundle.extent import PIECE_MOST
from muniment.bundle.model import EXTENT_MOST, Extent
from muniment.digest import Digest
from muniment.message import Message, say
from muniment.vault.blobs import Blobs, NewBlob
from muniment.vault.errors import BadPack

PACK_MOST = 32 << 20
"""Bytes of a pack at most (spec 5, extents)."""

HEAD = b"MUNPACK1"
END = b"MUNPACKE"
_ROW = Struct("<32sIII")
_COUNT = Struct("<I")
_TAIL = _COUNT.size + 32 + len(END)


class Slot(NamedTuple):
    """Where a piece lies in its pack: id, raw length, crc32, offset and length of the piece."""

    id: bytes
    length: int
    crc: int
    offset: int
    stored: int


class PackWriter:
    """A pack that grows; it exists for others once `finish` has given its name."""

    def __init__(self, blobs: Blobs) -> None:
        self._blob: NewBlob = blobs.create()
        self._state = hashlib.sha256()
        self._at = 0
        self.slots: list[Slot] = []
        self._write(HEAD)

    def room_for(self, extent: Extent) -> bool:
        """Whether the pack stays within its bound with one more piece."""
        assert extent.piece is not None
        rows = (len(self.slots) + 1) * _ROW.size + _TAIL
        return self._at + len(extent.piece) + rows <= PACK_MOST

    def add(self, extent: Extent) -> None:
        """One more piece, which was checked before."""
        assert extent.piece is not None
        self.slots.append(Slot(extent.id, extent.length, extent.crc, self._at, len(extent.piece)))
        self._write(extent.piece)

    def finish(self) -> tuple[str, int]:
        """Write the footer, make the pack durable, read it back; its name and size in bytes."""
        rows = b"".join(_ROW.pack(slot.id, slot.length, slot.crc, slot.stored) for slot in self.slots)
        body = rows + _COUNT.pack(len(self.slots))
        self._write(body + hashlib.sha256(body).digest() + END)
        digest = Digest(self._state.hexdigest())
        name = pack_name(digest)
        self._blob.finish(name, digest)
        return name, self._at

    def drop(self) -> None:
        """Give the pack up."""
        self._blob.drop()

    def _write(self, data: bytes) -> None:
        self._blob.write(data)
        self._state.update(data)
        self._at += len(data)


def pack_name(digest: Digest) -> str:
    """The name of a pack's blob.

    >>> pack_name(Digest("ab" * 32))[:14]
    'packs/ab/ababa'
    """
    return f"packs/{digest.hex[:2]}/{digest.hex}"


def digest_in(name: str) -> Digest:
    """The digest that a pack's name promises; `BadPack` when it is no such name."""
    try:
        return Digest(name.rpartition("/")[2])
    except ValueError as error:
        raise _refused(name, say("its name is no digest")) from error


def read_footer(blobs: Blobs, name: str) -> list[Slot]:
    """The slots of a pack, by its footer alone; `BadPack` unless all of it fits together."""
    size = blobs.size(name)
    least = len(HEAD) + _TAIL
    if not least <= size <= PACK_MOST:
        raise _refused(name, say("it has {size} bytes", size=size))
    tail = blobs.read(name, size - _TAIL, _TAIL)
    (count,) = _COUNT.unpack_from(tail)
    if tail[-len(END) :] != END or least + count * _ROW.size > size:
        raise _refused(name, say("it does not end as a pack does"))
    begin = size - _TAIL - count * _ROW.size
    body = blobs.read(name, begin, count * _ROW.size + _COUNT.size)
    if hashlib.sha256(body).digest() != tail[_COUNT.size : _COUNT.size + 32]:
        raise _refused(name, say("its footer is damaged"))
    if blobs.read(name, 0, len(HEAD)) != HEAD:
        raise _refused(name, say("it does not begin as a pack does"))
    slots = list(_slots(body[: -_COUNT.size]))
    if (slots[-1].offset + slots[-1].stored if slots else len(HEAD)) != begin:
        raise _refused(name, say("its pieces do not fill it"))
    if any(not 0 < one.length <= EXTENT_MOST or not 0 < one.stored <= PIECE_MOST for one in slots):
        raise _refused(name, say("a piece has an impossible length"))
    return slots


def _slots(rows: bytes) -> Iterator[Slot]:
    at = len(HEAD)
    for extent, length, crc, stored in _ROW.iter_unpack(rows):
        yield Slot(extent, length, crc, at, stored)
        at += stored


def _refused(name: str, why: Message) -> BadPack:
    return BadPack(where=os.path.basename(name)[:12], why=why)
