"""Floor 2, `bundle`: groups of small members, many at once, as our own packer writes them.

Groups that follow each other are one deflate stream and one row of members: they are inflated with one
call, and a record is read by writing it again, which has to give the same bytes.  Whatever is not so
is left to the strict reader (`members`), so nothing is believed here that it would refuse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from muniment.bundle import tar
from muniment.bundle.crew import Odd
from muniment.bundle.deflate import DAMAGE, inflater
from muniment.bundle.errors import BadBundle
from muniment.bundle.members import Member, Members, judge
from muniment.bundle.model import BLOCK, EXTENT_MOST, Entry, Row
from muniment.evidence import Kind

_RECORD = Struct("100s8s16x12s12s8x1s100s88x155s12x")
_PAX = tar.header(Entry("a", Kind.FILE, 0, 1_700_000_000 * tar.SECOND + 1), 0)[:BLOCK]
_KINDS = {b"0": Kind.FILE, b"5": Kind.DIRECTORY, b"2": Kind.LINK}


class Piece(NamedTuple):
    """A stored piece with what its raw bytes have to be: their sha256 and their length."""

    piece: bytes
    id: bytes
    length: int


Met = tuple[tuple[str, Kind, int, int, int, str], bytes]
"""A member's first fields and, of a file, the sha256 of its bytes."""

Take = Callable[[Member, bytes], object]
"""Is given a file with all its bytes."""


def units(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Extents that belong together because they bear one path."""
    unit: list[Row] = []
    for row in rows:
        if unit and unit[-1].path != row.path:
            yield unit
            unit = []
        unit.append(row)
    if unit:
        yield unit


def read_run(pieces: Sequence[Piece], take: Take | None = None) -> list[Met]:
    """Every member of some groups that follow each other; `Odd` unless all of it is as it should be."""
    raw = inflate_run(pieces)
    met: list[Met] = []
    try:
        for member, data in _members(raw):
            judge(member)
            digest = b""
            if member.kind is Kind.FILE:
                digest = hashlib.sha256(data).digest()
                if take:
                    take(member, data)
            met.append((member[:6], digest))
    except (BadBundle, FileExistsError, NotADirectoryError) as error:
        raise Odd(str(error)) from error
    return met


def inflate_run(pieces: Sequence[Piece]) -> bytes:
    """The raw bytes of pieces that follow each other, each held to its id."""
    total = sum(piece.length for piece in pieces)
    if any(not 0 < piece.length <= EXTENT_MOST for piece in pieces):
        raise Odd("an impossible length")
    machine = inflater()
    try:
        raw = machine.decompress(b"".join([piece.piece for piece in pieces]), total + 1)
    except DAMAGE as error:
        raise Odd("it can not be inflated") from error
    if len(raw) != total or machine.eof:
        raise Odd("another length")
    view, at = memoryview(raw), 0
    for piece in pieces:
        if hashlib.sha256(view[at : at + piece.length]).digest() != piece.id:
            raise Odd("another id")
        at += piece.length
    return raw


def _members(raw: bytes) -> Iterator[tuple[Member, bytes]]:
    at, end = 0, len(raw)
    while at < end:
        member, begin = _member(raw, at)
        if member is None:
            yield from _strictly(raw[at:])
            return
        stop = begin + member.size
        at = stop + -member.size % BLOCK
        if at > end or raw[stop:at].strip(b"\0"):
            raise Odd("a last block that is cut short or not filled with zeros")
        yield member, raw[begin:stop]


def _member(raw: bytes, at: int) -> tuple[Member | None, int]:
    """The member whose records begin there, and where its content does; none unless they are ours."""
    record = at
    part = 0
    if raw.startswith(_PAX, at):
        record = at + 2 * BLOCK
        decimal = raw[at + BLOCK + 20 : at + BLOCK + 29]
        if not decimal.isdigit():
            return None, at
        part = int(decimal)
    if record + BLOCK > len(raw):
        return None, at
    name, mode, size, seconds, kind, target, prefix = _RECORD.unpack_from(raw, record)
    try:
        path = name.rstrip(b"\0").decode("ascii")
        if prefix[0]:
            path = f"{prefix.rstrip(bytes(1)).decode('ascii')}/{path}"
        is_folder = kind == b"5"
        entry = Entry(
            path[:-1] if is_folder else path,
            _KINDS[kind],
            int(mode[:-1], 8),
            int(seconds[:-1], 8) * tar.SECOND + part,
            int(size[:-1], 8),
            target.rstrip(b"\0").decode("ascii") if kind == b"2" else "",
        )
    except (ValueError, KeyError):
        return None, at
    if entry.kind is Kind.LINK and (not entry.target or "\0" in entry.target):
        return None, at
    again = tar.header(entry, entry.size)
    if not raw.startswith(again, at) or (entry.size and entry.kind is not Kind.FILE) or not entry.path:
        return None, at
    return Member(entry.path, entry.kind, entry.mode, entry.mtime_ns, entry.size, entry.target), (
        at + len(again)
    )


def _strictly(raw: bytes) -> Iterator[tuple[Member, bytes]]:
    """What is left, by the strict reader."""
    members = Members((raw, tar.END))
    for member in members:
        if member.same_as:
            raise Odd("a hard link")
        yield member, b"".join(members.content())
    if members.over:
        raise Odd("the stream ends in its middle")
