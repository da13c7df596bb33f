"""Floor 2, `bundle`: one extent: made from raw bytes, and checked when it comes from outside.

What is checked here may be named by later snapshots of the same tenant, so a piece that only looks
right is as bad as damage: it must inflate to its id *and* leave the stream at a byte where any
other piece can follow (docs/format.md, extents).
"""

from __future__ import annotations

import hashlib
from struct import pack
from typing import Protocol

from muniment.bundle.deflate import DAMAGE, FLUSHED, LAST, Inflater, crc32, deflate, inflater
from muniment.bundle.errors import BadExtent
from muniment.bundle.model import EXTENT_MOST, Extent, Have
from muniment.ids import Entropy
from muniment.message import Message, say

PIECE_MOST = EXTENT_MOST + (64 << 10)
"""No piece is longer, in stored bytes: a stored piece costs 5 bytes in 65,535."""


class Claim(Protocol):
    """What is said of an extent: an index row, or what a client declares."""

    @property
    def id(self) -> bytes: ...
    @property
    def length(self) -> int: ...
    @property
    def crc(self) -> int: ...
    @property
    def path(self) -> bytes: ...


def make_extent(raw: bytes, path: bytes, have: Have = lambda extent: False) -> Extent:
    """An extent of raw bytes; deflated unless `have` knows its id."""
    name = hashlib.sha256(raw).digest()
    return Extent(name, len(raw), crc32(raw), path, None if have(name) else deflate(raw))


def inflate(piece: bytes, claim: Claim) -> bytes:
    """The raw bytes of a piece, if they are what the claim says; else `BadExtent`.

    Inflates once, and never more than the declared length.  The CRC-32 is left to `check`: whose
    bytes have the id needs no weaker proof.

    >>> one = make_extent(b"abc", b"p")
    >>> inflate(one.piece, one)
    b'abc'
    """
    return _inflate(piece, claim)[0]


def check(piece: bytes, claim: Claim, entropy: Entropy) -> bytes:
    """All that a vault asks of a piece before anything may name it; gives its raw bytes.

    >>> one = make_extent(b"abc", b"p")
    >>> check(one.piece, one, lambda n: bytes(range(n)))
    b'abc'
    """
    if not piece.endswith(FLUSHED):
        inflate(piece, claim)  # should more be wrong with it, that says more
        raise _refused(claim, say("it does not end in a full flush"))
    # A piece may end with these four bytes by chance or by craft, in the middle of a block.  After
    # an honest one, less its last four bytes, everything is inflated, and an inflater waits for the
    # length of a stored block: then it takes a block of any bytes and gives them back.  The bytes
    # are drawn now, so that no piece can have been made to decode them to themselves.
    try:
        raw, machine = _inflate(piece[: -len(FLUSHED)], claim)
    except BadExtent as error:
        inflate(piece, claim)
        raise _refused(claim, say("nothing can follow it: it ends inside a block")) from error
    if crc32(raw) != claim.crc:
        raise _refused(claim, say("its CRC-32 is not the one declared"))
    guest = entropy(32)
    try:
        echo = machine.decompress(pack("<HH", len(guest), len(guest) ^ 0xFFFF) + guest + LAST)
    except DAMAGE as error:
        raise _refused(claim, say("nothing can follow it: it ends inside a block")) from error
    if echo != guest or not machine.eof or machine.unused_data:
        raise _refused(claim, say("nothing can follow it: it ends inside a block"))
    return raw


def _inflate(piece: bytes, claim: Claim) -> tuple[bytes, Inflater]:
    """The raw bytes, held to the claim, and the machine that waits for more."""
    if not 0 < claim.length <= EXTENT_MOST:
        raise _refused(claim, say("it declares {length} bytes", length=claim.length))
    if len(piece) > PIECE_MOST:
        raise _refused(claim, say("it is longer than any piece can be"))
    machine = inflater()
    try:
        raw = machine.decompress(piece, claim.length + 1)
    except DAMAGE as error:
        raise _refused(claim, say("it can not be inflated: {error}", error=error)) from error
    if len(raw) > claim.length:
        raise _refused(
            claim, say("it inflates to more than the {length} bytes declared", length=claim.length)
        )
    if machine.eof:
        raise _refused(claim, say("it carries the final-block bit"))
    if len(raw) < claim.length:
        raise _refused(
            claim, say("it inflates to {found} bytes, not {length}", found=len(raw), length=claim.length)
        )
    if hashlib.sha256(raw).digest() != claim.id:
        raise _refused(claim, say("its bytes do not have its id"))
    return raw, machine


def _refused(claim: Claim, why: Message) -> BadExtent:
    return BadExtent(where=claim.id.hex()[:12], why=why)
