"""Floor 2, `bundle`: groups of small members, many at once, as our own packer writes them.

Groups that follow each other are one row of members, and a record as our packer writes nearly all is taken
apart with one pattern.  Any other record is read by the strict reader (`members`); what that refuses is
refused here, as `Odd`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import adler32

from muniment.bundle import tar
from muniment.bundle.crew import Odd
from muniment.bundle.errors import BadBundle, BadExtent
from muniment.bundle.extent import check
from muniment.bundle.manifest import row_of
from muniment.bundle.members import PAX_MOST, PLACES, Member, Members, judge
from muniment.bundle.model import BLOCK, MANIFEST, Entry, Row
from muniment.bundle.tar import wire
from muniment.evidence import Kind

NAME_MOST = 255

_PAX = tar.header(Entry("a", Kind.FILE, 0, 1_700_000_000 * tar.SECOND + 1), 0)[:BLOCK]
_RECORD = (
    rb"([^\0]{1,100})\0*000([0-7]{4})\0(?:0000000\0){2}([0-7]{11})\0([0-7]{11})\0([0-7]{6})\0 ([05])"
    rb"\0{100}ustar\x0000\0{80}(?:\0{167}|([^\0]{1,155}))"
)
_PLAIN = re.compile(_RECORD)
_DATED = re.compile(rb"30 mtime=([1-9][0-9]{9})\.([0-9]{9})\n\0{482}" + _RECORD)
_ZEROS = bytes(BLOCK)
_WIDE = PLACES[:3]
_DOTS = frozenset(("", ".", ".."))

Piece = tuple[bytes, bytes, int, int]
"""A stored piece with what its raw bytes have to be: their sha256, their length and their CRC-32."""

Fields = tuple[str, str, int, int, int, str]
"""A member's first fields, its kind as text."""

Take = Callable[[str, int, int, bytes], object]
"""Is given a file's path, mode, time in nanoseconds and all its bytes."""


class Told(NamedTuple):
    """What there is to say of members that follow each other.

    `first` and `last` are their paths as bytes, which rise from one to the next.  `api` and `files` are
    length and sha256 of the rows that a manifest of ours has for them, joined by `,` and a new line.
    `counts` are files and bytes by section, `above` the folders in which members lie, `met` the
    members that somebody wants to know of.
    """

    first: bytes
    last: bytes
    api: tuple[int, bytes]
    files: tuple[int, bytes]
    counts: list[tuple[str, int, int]]
    above: list[str]
    met: list[Fields]


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


def read_run(pieces: Sequence[Piece], take: Take | None = None, tell: bool = False) -> tuple[Any, ...]:
    """Every member of some groups that follow each other, as `Told`; `Odd` unless all is as it should be.

    Folders and links are told of, files only with `tell`.
    """
    raw = inflate_run(pieces)
    try:
        return tuple(_read(raw, take, tell))
    except (BadBundle, FileExistsError, NotADirectoryError) as error:
        raise Odd(str(error)) from error


def inflate_run(pieces: Sequence[Piece]) -> bytes:
    """The raw bytes of pieces that follow each other, each proven by itself.

    In one stream a piece could repeat bytes of the one before, and whoever reads it alone, as a single
    file is read, would not have them.
    """
    try:
        return b"".join(
            [check(piece, Row(name, length, crc, 0, b""), os.urandom) for piece, name, length, crc in pieces]
        )
    except BadExtent as error:
        raise Odd(str(error)) from error


def digest_of(rows: list[str]) -> tuple[int, bytes]:
    """Length and sha256 of rows of a manifest."""
    text = ",\n".join(rows).encode("ascii")
    return len(text), hashlib.sha256(text).digest()


def section_of(path: str) -> str:
    """The section to which a file belongs.

    >>> section_of("files/extra/a/b"), section_of("api/a.json")
    ('files/extra', 'api')
    """
    return "/".join(path.split("/", 2)[: 1 if path.startswith("api/") else 2])


def _read(raw: bytes, take: Take | None, tell: bool) -> Told:
    sha256, view, end = hashlib.sha256, memoryview(raw), len(raw)
    first = last = b""
    folder, section, usual = "\0", "", False
    api: list[str] = []
    files: list[str] = []
    counts: list[tuple[str, int, int]] = []
    above: list[str] = []
    met: list[Fields] = []
    number = total = at = 0
    while at < end:
        found = _record(raw, at)
        if found:
            name, kind, mode, mtime_ns, size, begin = found
            path = name.decode("ascii")
            target = ""
        else:
            member, begin = _strictly(raw, at)
            path, kind, mode, mtime_ns, size, target, _ = member
            name = wire(path)
        stop = begin + size
        at = stop + -size % BLOCK
        if at > end or raw[stop:at] != _ZEROS[: at - stop]:
            raise Odd("a last block that is cut short or not filled with zeros")
        if name <= last:
            raise Odd("members that are not in order")
        last = name
        first = first or name
        here, _, own = path.rpartition("/")
        if here != folder:
            if number:
                counts.append((section, number, total))
            folder, section, number, total = here, section_of(path), 0, 0
            usual = here.startswith(_WIDE)
            above.append(here)
            judge(Member(path, kind, mode, mtime_ns, size, target))
        elif not usual or own in _DOTS or len(own) > NAME_MOST:
            judge(Member(path, kind, mode, mtime_ns, size, target))
        # Whatever else `judge` asks, the one before in this folder has answered: it asks of a path that
        # lies in one of our places and comes from a record of ours only for its last name.
        if kind is Kind.FILE:
            if path == MANIFEST:
                raise Odd("the manifest in a group")
            data = view[begin:stop]
            row = row_of(path, size, sha256(data).hexdigest())
            (api if section == "api" else files).append(row)
            number += 1
            total += size
            if take:
                take(path, mode, mtime_ns, raw[begin:stop])
            if tell:
                met.append((path, "file", mode, mtime_ns, size, ""))
        else:
            met.append((path, kind.value, mode, mtime_ns, 0, target))
    if number:
        counts.append((section, number, total))
    return Told(first, last, digest_of(api), digest_of(files), counts, above, met)


def _record(raw: bytes, at: int) -> tuple[bytes, Kind, int, int, int, int] | None:
    """Path, kind, mode, time, size and where the content begins of a file or folder whose records are,
    byte for byte, what `tar.header` writes for it; none when they are not, or need more than that."""
    if raw.startswith(_PAX, at):
        match = _DATED.match(raw, at + BLOCK)
        if match is None:
            return None
        at += 2 * BLOCK
        when, part, name, mode, size, seconds, total, kind, prefix = match.groups()
        stamp = int(seconds, 8)
        if stamp != int(when) or part == b"000000000":
            return None
        mtime_ns = stamp * tar.SECOND + int(part)
    else:
        match = _PLAIN.match(raw, at)
        if match is None:
            return None
        name, mode, size, seconds, total, kind, prefix = match.groups()
        mtime_ns = int(seconds, 8) * tar.SECOND
    end = at + BLOCK
    if prefix is None:
        if match.end() != end:
            return None
    else:
        # The name is cut as early as its last part fits.
        begin, length = match.span(match.re.groups)
        if begin != at + 345 or raw[length:end] != _ZEROS[length - end :]:
            return None
        cut = len(prefix)
        name = prefix + b"/" + name
        if len(name) <= 100 or name.find(b"/", len(name) - 101) != cut:
            return None
    if not name.isascii():
        return None
    sums = (adler32(raw[at : at + 148]) & 0xFFFF) + (adler32(raw[at + 156 : end]) & 0xFFFF)
    if sums - 2 + 8 * 32 != int(total, 8):
        return None
    length = int(size, 8)
    if kind == b"0":
        return name, Kind.FILE, int(mode, 8), mtime_ns, length, end
    if length or name[-1] != 0x2F or len(name) == 1:
        return None
    return name[:-1], Kind.DIRECTORY, int(mode, 8), mtime_ns, 0, end


def _strictly(raw: bytes, at: int) -> tuple[Member, int]:
    """One member by the strict reader, and where its content begins."""
    end = at + BLOCK
    if raw[at + 156 : at + 157] == b"x":
        digits = raw[at + 124 : at + 135]
        if not digits.isdigit():
            raise Odd("an extended header of no length")
        try:
            size = int(digits, 8)
        except ValueError as error:
            raise Odd("an extended header of no length") from error
        if size > PAX_MOST:
            raise Odd("an extended header of great length")
        end += size + -size % BLOCK + BLOCK
    members = Members((raw[at:end], tar.END))
    for member in members:
        if member.same_as:
            raise Odd("a hard link")
        return member, end
    raise Odd("a record that is no member")
