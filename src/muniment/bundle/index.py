"""Floor 2, `bundle`: a snapshot's index: one row an extent, in the order of the stream.

The bytes are laid down in docs/format.md, index.  Rows stay packed in memory; a path is written
as what differs from the one before.  Whatever is read here is hostile until every row was looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from struct import Struct

from muniment.bundle.deflate import combine
from muniment.bundle.errors import BadIndex
from muniment.bundle.model import BLOCK, EXTENT_MOST, NOTE, PATH_MOST, Extent, Row
from muniment.digest import Digest
from muniment.message import Message, say

MAGIC = b"MUNINDEX"
VERSION = 1
SHA256_IDS = 0
HEAD = Struct("<8sHHIQI")
ROW = Struct("<32sIIQ")
CHECK = 32
_TWO = Struct("BB")

WHOLE = b"bundle.tar.gz"
"""The path of each row when the stream is not a tar stream but a tar.gz as somebody else made it."""

_AT_ONCE = 4096
"""Rows."""

BYTES_MOST = 256 << 20
"""No index is longer; the default of the cap that a caller may lower."""


@dataclass(frozen=True, slots=True)
class Index:
    """The rows of one snapshot, sound as a whole: extents without gap or overlap.

    `raw` is the length of the tar stream in bytes.
    """

    count: int
    raw: int
    _rows: bytes
    _paths: bytes

    @classmethod
    def of(cls, extents: Iterable[Extent | Row]) -> Index:
        """The index of extents in stream order."""
        writer = IndexWriter()
        for extent in extents:
            writer.add(extent)
        return writer.done()

    @classmethod
    def read(cls, data: bytes, most: int = BYTES_MOST) -> Index:
        """Read an index that came from outside; refuses it with `BadIndex` unless all of it fits.

        >>> Index.read(b"")
        Traceback (most recent call last):
        muniment.bundle.errors.BadIndex: The snapshot's index was refused: it is cut short (INDEX_REFUSED)
        """
        if len(data) > most:
            raise _refused(say("it has {size} bytes; {most} is the most", size=len(data), most=most))
        if len(data) < HEAD.size + CHECK:
            raise _refused(say("it is cut short"))
        magic, version, id_kind, count, raw, paths = HEAD.unpack_from(data)
        if magic != MAGIC:
            raise _refused(say("it does not begin as an index does"))
        if version != VERSION:
            raise _refused(say("its version {version} is not known here", version=version))
        if id_kind != SHA256_IDS:
            raise _refused(say("its kind of ids, {kind}, is not known here", kind=id_kind))
        # Before anything is allocated: what is declared has to be what is there.
        if HEAD.size + count * ROW.size + paths + CHECK != len(data):
            raise _refused(say("it declares {count} rows and has no room for them", count=count))
        if hashlib.sha256(data[:-CHECK]).digest() != data[-CHECK:]:
            raise _refused(say("its own checksum does not fit"))
        middle = HEAD.size + count * ROW.size
        index = cls(count, raw, data[HEAD.size : middle], data[middle : middle + paths])
        index._check()
        return index

    def to_bytes(self) -> bytes:
        """The index as it is kept and sent."""
        head = HEAD.pack(MAGIC, VERSION, SHA256_IDS, self.count, self.raw, len(self._paths))
        body = head + self._rows + self._paths
        return body + hashlib.sha256(body).digest()

    def __iter__(self) -> Iterator[Row]:
        for (extent, length, crc, offset), path in zip(
            ROW.iter_unpack(self._rows), _read_paths(self._paths, self.count), strict=True
        ):
            yield Row(extent, length, crc, offset, path)

    def __len__(self) -> int:
        return self.count

    @property
    def whole(self) -> bool:
        """Whether the stream is a tar.gz as it was sent, and not a tar stream (ADR 0504)."""
        return self._paths.startswith(_OPENING_OF_WHOLE)

    @property
    def notes(self) -> Iterator[tuple[bytes, int, int]]:
        """Id, raw length and CRC-32 of each row in stream order."""
        return ((extent, length, crc) for extent, length, crc, _ in ROW.iter_unpack(self._rows))

    @property
    def ids(self) -> Iterator[bytes]:
        """The ids in stream order, 32 bytes each; an id may stand more than once."""
        return (row[0] for row in ROW.iter_unpack(self._rows))

    @property
    def root(self) -> Digest:
        """The snapshot's root: the sha256 of the canonical JSON list of its ids."""
        state = hashlib.sha256(b"[")
        ids = self.ids
        lead = '"'
        while some := b"".join(islice(ids, _AT_ONCE)):
            state.update((lead + some.hex(",", 32).replace(",", '","')).encode())
            lead = '","'
        state.update(b'"]' if self.count else b"]")
        return Digest(state.hexdigest())

    @property
    def crc(self) -> int:
        """The CRC-32 of the whole tar stream."""
        whole = 0
        for _, length, crc, _ in ROW.iter_unpack(self._rows):
            whole = combine(whole, crc, length)
        return whole

    def _check(self) -> None:
        at = 0
        before = b""
        whole = self.whole
        for number, row in enumerate(self):
            if whole and row.path != WHOLE:
                raise _refused(say("row {number} belongs to no file sent whole", number=number))
            if row.offset != at:
                finding = (
                    say("row {number} overlaps the one before", number=number)
                    if row.offset < at
                    else say("a gap lies before row {number}", number=number)
                )
                raise _refused(finding)
            if not 0 < row.length <= EXTENT_MOST:
                raise _refused(say("row {number} has an impossible length", number=number))
            if row.path < before:
                raise _refused(say("the paths are out of order at row {number}", number=number))
            before = row.path
            at += row.length
        if at != self.raw:
            raise _refused(say("its rows hold {found} bytes, not the {raw} declared", found=at, raw=self.raw))
        if not whole and (at % BLOCK or at < 2 * BLOCK):
            raise _refused(say("{found} bytes are no tar stream", found=at))


class IndexWriter:
    """Collects rows as they come; memory grows by about 70 bytes an extent."""

    def __init__(self) -> None:
        self._rows = bytearray()  # as notes: where each begins is added up in the end
        self._paths = bytearray()
        self._before = b""
        self.raw = 0
        self.count = 0

    def add(self, extent: Extent | Row) -> None:
        """The next extent of the stream."""
        self._rows += NOTE.pack(extent.id, extent.length, extent.crc)
        self._path(extent.path)
        self.raw += extent.length
        self.count += 1

    def add_groups(self, paths: Iterable[bytes], counts: Iterable[int], notes: bytes) -> None:
        """Groups that follow each other: the path that each begins with, how many extents it has, and the
        `NOTE`s of all."""
        out, before = self._paths, self._before
        for path, count in zip(paths, counts, strict=True):
            shared = _shared(before, path)
            rest = len(path) - shared
            if shared <= 0x7F and rest <= 0x7F:
                out += _TWO.pack(shared, rest)
            else:
                out += _number(shared) + _number(rest)
            out += path[shared:]
            if count > 1:
                out += (_number(len(path)) + b"\0") * (count - 1)
            before = path
        self._before = before
        self._rows += notes
        self.count += len(notes) // NOTE.size
        self.raw += sum([length for _, length, _ in NOTE.iter_unpack(notes)])

    def _path(self, path: bytes) -> None:
        shared = _shared(self._before, path)
        self._paths += _number(shared) + _number(len(path) - shared) + path[shared:]
        self._before = path

    def done(self) -> Index:
        """The finished index."""
        rows = []
        at = 0
        step = _AT_ONCE * NOTE.size
        for start in range(0, len(self._rows), step):
            ids, lengths, crcs = zip(*NOTE.iter_unpack(self._rows[start : start + step]), strict=True)
            *begins, at = accumulate(lengths, initial=at)
            rows.append(b"".join(map(ROW.pack, ids, lengths, crcs, begins)))
        return Index(self.count, self.raw, b"".join(rows), bytes(self._paths))


def _shared(before: bytes, path: bytes) -> int:
    """How many bytes two paths begin with alike.

    >>> _shared(b"files/a", b"files/bc"), _shared(b"a", b"a"), _shared(b"", b"a")
    (6, 1, 0)
    """
    if before == path:
        return len(path)
    most = min(len(before), len(path))
    # As numbers, the highest bit in which they differ lies in the first byte that differs.
    difference = int.from_bytes(before[:most], "big") ^ int.from_bytes(path[:most], "big")
    return most - (difference.bit_length() + 7) // 8


def _number(value: int) -> bytes:
    """Seven bits a byte, lowest first; the top bit says that more follow."""
    if value <= 0x7F:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_OPENING_OF_WHOLE = _number(0) + _number(len(WHOLE)) + WHOLE


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 14:
            raise _refused(say("its paths are cut short or malformed"))
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _read_paths(data: bytes, count: int) -> Iterator[bytes]:
    at, before = 0, b""
    end = len(data) - 1
    for _ in range(count):
        if at < end and data[at] < 0x80 and data[at + 1] < 0x80:  # nearly all: two numbers of a byte each
            shared, size = data[at], data[at + 1]
            at += 2
        else:
            shared, at = _read_number(data, at)
            size, at = _read_number(data, at)
        if shared > len(before) or size > len(data) - at or shared + size > PATH_MOST:
            raise _refused(say("its paths are cut short or malformed"))
        before = before[:shared] + data[at : at + size]
        at += size
        yield before
    if at != len(data):
        raise _refused(say("its paths are cut short or malformed"))


def _refused(why: Message) -> BadIndex:
    return BadIndex(why=why)
