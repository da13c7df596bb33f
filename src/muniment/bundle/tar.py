"""Floor 2, `bundle`: tar records as they are written: ustar, and pax for what ustar can not hold.

Owners are zero and unnamed, so that a tree gives the same bytes on every machine.  `tarfile` is
not used: it needs 60 µs a record, this 3.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import adler32

from muniment.bundle.model import BLOCK, Entry
from muniment.evidence import Kind

END = bytes(2 * BLOCK)
"""Two empty records end a tar stream."""

USTAR_SIZE = 1 << 33
USTAR_TIME = 1 << 33
SECOND = 1_000_000_000
_TYPES = {Kind.FILE: b"0", Kind.DIRECTORY: b"5", Kind.LINK: b"2"}
_OWNERS = b"0000000\x000000000\x00"
_MAGIC = b"ustar\x0000"
_REST = b"\n" + bytes(BLOCK - 30)


def wire(text: str) -> bytes:
    """A path as it stands in the stream: the bytes that the file system has."""
    return text.encode("utf-8", "surrogateescape")


def header(entry: Entry, size: int) -> bytes:
    """The record (or three, with pax) that stands before a file of `size` bytes.

    >>> one = header(Entry("a", Kind.FILE, 0o644, 0), 5)
    >>> len(one), one[257:262], int(one[124:135], 8)
    (512, b'ustar', 5)
    """
    path, kind, mode, mtime_ns, _, target_text, *_ = entry
    if not target_text and kind is not _LINK and path.isascii():
        usual = _usual(path, kind, mode, mtime_ns, size)
        if usual:
            return usual
    name, target = wire(path), wire(target_text)
    if entry.kind is Kind.DIRECTORY:
        name += b"/"
    seconds, nanoseconds = divmod(entry.mtime_ns, SECOND)
    keep: list[tuple[bytes, bytes]] = []
    prefix = b""
    if not name.isascii() or not target.isascii() or len(name) > 100 or len(target) > 100:
        split = _split(name)
        if split is None:
            keep.append((b"path", name))
            name = name[:100]
        else:
            prefix, name = split
        if len(target) > 100 or not target.isascii():
            keep.append((b"linkpath", target))
            target = target[:100]
        if not _utf8(entry.path) or not _utf8(entry.target):
            keep.insert(0, (b"hdrcharset", b"BINARY"))
    if size >= USTAR_SIZE:
        keep.append((b"size", b"%d" % size))
        size = 0
    if nanoseconds or not 0 <= seconds < USTAR_TIME:
        keep.append((b"mtime", _decimal(entry.mtime_ns)))
        seconds = seconds if 0 <= seconds < USTAR_TIME else 0
    record = _record(name, entry.mode & 0o7777, size, seconds, _TYPES[entry.kind], target, prefix)
    return _pax(keep) + record if keep else record


def _usual(path: str, kind: Kind, mode: int, mtime_ns: int, size: int) -> bytes | None:
    """What nearly every header is, in as few steps as can be: of a path that fits into the two fields
    of ustar, with a time of our days."""
    name = path.encode("ascii")
    if kind is _FOLDER:
        name += b"/"
    prefix = b""
    if len(name) > 100:
        split = _split(name)
        if split is None:
            return None
        prefix, name = split
    seconds, part = divmod(mtime_ns, SECOND)
    if not (_BILLION if part else 0) <= seconds < USTAR_TIME or size >= USTAR_SIZE:
        return None
    front = b"%s%s%s%011o\0%011o\0" % (name.ljust(100, b"\0"), _mode(mode), _OWNERS, size, seconds)
    back, total = _back(b"5" if kind is _FOLDER else b"0", b"", prefix)
    record = front, b"%06o\0 " % (total + (adler32(front) & 0xFFFF)), back
    if not part:
        return b"".join(record)
    digits = b"%d" % mtime_ns
    return b"".join((_pax_record(30), b"30 mtime=", digits[:10], b".", digits[10:], _REST, *record))


_FOLDER, _LINK = Kind.DIRECTORY, Kind.LINK
_BILLION = 1_000_000_000  # from then on the seconds of a time have ten digits


@lru_cache(maxsize=256)
def _mode(mode: int) -> bytes:
    return b"%07o\0" % (mode & 0o7777)


def room(entry: Entry, path: bytes) -> int:
    """How many bytes a member takes in the stream: records, content and the last block's filling.

    >>> one = Entry("a", Kind.FILE, 0o644, 5, 700)
    >>> room(one, b"a") == len(header(one, 700)) + 1024
    True
    """
    if entry.kind is Kind.LINK or entry.size >= USTAR_SIZE or not _fits(path):
        records = len(header(entry, entry.size))
    elif 0 <= entry.mtime_ns < USTAR_TIME * SECOND and not entry.mtime_ns % SECOND:
        records = BLOCK
    else:
        records = 3 * BLOCK
    return records + entry.size + -entry.size % BLOCK


def _fits(path: bytes) -> bool:
    """Whether a path needs no extended header, also with a folder's `/` after it."""
    if len(path) < 100:
        return path.isascii()
    return len(path) < 255 and _split(path) is not None and _split(path + b"/") is not None


def padding(size: int) -> bytes:
    """The zeros that fill up the last block of a file of `size` bytes."""
    return bytes(-size % BLOCK)


def _record(
    name: bytes, mode: int, size: int, seconds: int, kind: bytes, target: bytes, prefix: bytes
) -> bytes:
    front = b"%s%07o\0%s%011o\0%011o\0" % (name.ljust(100, b"\0"), mode, _OWNERS, size, seconds)
    back, total = _back(kind, target, prefix)
    return b"%s%06o\0 %s" % (front, total + (adler32(front) & 0xFFFF), back)


@lru_cache(maxsize=256)
def _back(kind: bytes, target: bytes, prefix: bytes) -> tuple[bytes, int]:
    """A record from its kind on, and what it adds to the checksum."""
    back = kind + target.ljust(100, b"\0") + _MAGIC + bytes(80) + prefix.ljust(167, b"\0")
    # The checksum is the sum of the record's bytes with blanks in its own place.  The low half of
    # Adler-32 is that sum plus one, as long as the sum stays below its modulus of 65,521: a half at a time.
    half = len(back) // 2
    total = (adler32(back[:half]) & 0xFFFF) + (adler32(back[half:]) & 0xFFFF) - 2
    return back, total - 1 + 8 * 32  # less one for the Adler-32 of what stands before


def _split(name: bytes) -> tuple[bytes, bytes] | None:
    """The two ustar fields that hold a name: none if it fits no way."""
    if not name.isascii():
        return None
    if len(name) <= 100:
        return b"", name
    at = name.find(b"/", len(name) - 101)
    if at <= 0 or at > 155 or at == len(name) - 1:
        return None
    return name[:at], name[at + 1 :]


def _utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _decimal(nanoseconds: int) -> bytes:
    """Seconds with nine decimals, exact, also before 1970.

    >>> _decimal(-1_250_000_000)
    b'-1.250000000'
    """
    seconds, rest = divmod(abs(nanoseconds), SECOND)
    return b"%s%d.%09d" % (b"-" if nanoseconds < 0 else b"", seconds, rest)


def _pax(records: list[tuple[bytes, bytes]]) -> bytes:
    body = b"".join(_line(key, value) for key, value in records)
    return _pax_record(len(body)) + body + padding(len(body))


def _line(key: bytes, value: bytes) -> bytes:
    """`<length> <key>=<value>\\n`, where the length counts its own digits."""
    bare = len(key) + len(value) + 3
    length = bare + len(str(bare))
    if len(str(length)) > len(str(bare)):
        length += 1
    return b"%d %s=%s\n" % (length, key, value)


@lru_cache(maxsize=256)
def _pax_record(size: int) -> bytes:
    return _record(b"././@PaxHeader", 0o644, size, 0, b"x", b"", b"")
