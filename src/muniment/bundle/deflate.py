"""Floor 2, `bundle`: pieces of deflate that stand alone, and one gzip member that joins them.

Every piece starts with an empty window and ends in a full flush, at a byte's end; so pieces from
anywhere, made by any encoder, follow each other in one member.  The member's CRC comes from the
pieces' own by combination: the raw bytes are never read again.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from functools import lru_cache
from struct import pack
from typing import Any, Protocol

codec: Any = zlib
with suppress(ImportError):  # a machine without a wheel of it: four times slower, the format is the same
    from isal import isal_zlib as codec

HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""A gzip header without name and time, of an unnamed system."""

FLUSHED = b"\x00\x00\xff\xff"
"""How a full flush ends: the lengths of an empty stored block."""

LAST = b"\x03\x00"
"""An empty final block: no piece carries the final bit, so the member ends with this."""

STORED_MOST = 65_535
START = 4
PROBE = 16 << 10
PROBE_FROM = 128 << 10

DAMAGE: tuple[type[Exception], ...] = (codec.error, zlib.error, ValueError)
"""What inflating damaged bytes raises."""


def crc32(data: bytes, crc: int = 0) -> int:
    """The CRC-32 of bytes, going on from that of the bytes before."""
    value: int = codec.crc32(data, crc)
    return value


class Inflater(Protocol):
    """Inflates one raw deflate stream; `unconsumed_tail` is input that had no room in the output."""

    eof: bool
    unused_data: bytes
    unconsumed_tail: bytes

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def inflater() -> Inflater:
    """A machine with an empty window."""
    machine: Inflater = codec.decompressobj(-15)
    return machine


def deflate(raw: bytes) -> bytes:
    """One piece of any raw bytes: deflated, or stored where deflating gains nothing.

    >>> deflate(b"a" * 99).endswith(FLUSHED), zlib.decompressobj(-15).decompress(deflate(b"abc"))
    (True, b'abc')
    """
    if len(raw) >= PROBE_FROM:
        # Media and archives are met in large pieces; a look at the middle saves the whole attempt.
        middle = len(raw) // 2
        if len(_squeeze(raw[middle : middle + PROBE])) >= PROBE - (PROBE >> 5):
            return stored(raw)
    piece = _squeeze(raw)
    return piece if len(piece) <= len(raw) else stored(raw)


def _squeeze(raw: bytes) -> bytes:
    # A compressor is made anew for each piece: one that goes on after a full flush need not give
    # the bytes that a new one gives, and making one costs 1 µs.
    squeezer = codec.compressobj(1, codec.DEFLATED, -15)
    if codec is zlib:
        piece: bytes = squeezer.compress(raw) + squeezer.flush(codec.Z_FULL_FLUSH)
        return piece
    # ISA-L's assembly for level 1 hashes the third byte of a fresh stream from a register that holds
    # an address, so that about one piece in 10,000 comes out otherwise on another run (ADR 0102).
    # A first block of four bytes goes through other code; after it nothing is left to chance.
    first: bytes = squeezer.compress(raw[:START]) + squeezer.flush(codec.Z_SYNC_FLUSH)
    rest: bytes = squeezer.compress(memoryview(raw)[START:]) + squeezer.flush(codec.Z_FULL_FLUSH)
    return first + rest


def stored(raw: bytes) -> bytes:
    """One piece that holds the raw bytes as they are.

    >>> stored(b"ab")
    b'\\x00\\x02\\x00\\xfd\\xffab\\x00\\x00\\x00\\xff\\xff'
    """
    parts = []
    for start in range(0, len(raw), STORED_MOST):
        block = raw[start : start + STORED_MOST]
        parts += [pack("<BHH", 0, len(block), len(block) ^ 0xFFFF), block]
    return b"".join((*parts, b"\x00", FLUSHED))


def tail(crc: int, length: int) -> bytes:
    """What ends the member: the final block, the CRC and the length of all raw bytes."""
    return LAST + pack("<II", crc, length & 0xFFFFFFFF)


def combine(first: int, second: int, length: int) -> int:
    """The CRC-32 of two stretches from theirs; `length` is the second's, in bytes.

    >>> combine(zlib.crc32(b"ab"), zlib.crc32(b"cde"), 3) == zlib.crc32(b"abcde")
    True
    """
    if codec is not zlib:
        value: int = codec.crc32_combine(first, second, length)
        return value
    return combine_slowly(first, second, length)


def combine_slowly(first: int, second: int, length: int) -> int:
    """`combine` by the definition: shifting a CRC by n bytes multiplies it by x^8n.

    >>> combine_slowly(zlib.crc32(b"ab"), zlib.crc32(b"cde"), 3) == zlib.crc32(b"abcde")
    True
    """
    return _times(first, _shift(length)) ^ second


ONE = 1 << 31
POLYNOMIAL = 0xEDB88320


def _times(left: int, right: int) -> int:
    """The product of two polynomials modulo CRC-32's; the highest power is the lowest bit."""
    product = 0
    while left:
        if left & ONE:
            product ^= right
        left = left << 1 & 0xFFFFFFFF
        right = right >> 1 ^ (POLYNOMIAL if right & 1 else 0)
    return product


@lru_cache(maxsize=4096)
def _shift(length: int) -> int:
    """x to the power of 8 · length."""
    power, square = ONE, 1 << 23  # 1 and x^8
    while length:
        if length & 1:
            power = _times(power, square)
        square = _times(square, square)
        length >>= 1
    return power
