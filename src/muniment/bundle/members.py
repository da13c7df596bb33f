"""Floor 2, `bundle`: the members of a tar stream from outside, strictly (docs/format.md, reading).

Only what a snapshot may hold comes out: files, folders and links below known places, each path
once, none through a link or a file.  `tarfile` reads a hundred dialects leniently; this reads two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import adler32

from muniment.bundle.errors import BadBundle
from muniment.bundle.manifest import plain
from muniment.bundle.model import BLOCK, MANIFEST, is_sound, too_far
from muniment.bundle.tar import SECOND, wire
from muniment.evidence import Kind
from muniment.message import Message, say
from muniment.path import printable

PAX_MOST = 64 << 10
PADDING_MOST = 1 << 20
"""Zeros that may follow the end: other writers fill up a tape's block."""

PLACES = ("files/workspace", "files/data", "files/extra", "api")
_EMPTY = bytes(BLOCK)
_OCTAL = re.compile(rb"[0-7]+")
_DECIMAL = re.compile(rb"(-?)([0-9]{1,12})(?:\.([0-9]{1,18}))?")
_KINDS = {b"0": Kind.FILE, b"\0": Kind.FILE, b"5": Kind.DIRECTORY, b"2": Kind.LINK}
_MAGICS = (b"ustar\x0000", b"ustar  \0")


class Member(NamedTuple):
    """One member: its path without foreign prefixes, its size in bytes, a link's target.

    `same_as` names the earlier file that a hard link repeats.
    """

    path: str
    kind: Kind
    mode: int
    mtime_ns: int
    size: int
    target: str
    same_as: str = ""


class Admission:
    """Which members may stand beside each other, in whatever order they are met."""

    def __init__(self) -> None:
        self._seen: dict[str, Kind] = {}
        self._folders: set[str] = {""}

    def admit(self, member: Member) -> None:
        """Take one in, or refuse it with `BadBundle`."""
        path, kind = member.path, member.kind
        if path in self._seen or (kind is not Kind.DIRECTORY and path in self._folders):
            raise _refused(say("a path stands twice in it"), path)
        above = path.rpartition("/")[0]
        while above not in self._folders:
            other = self._seen.get(above)
            if other is Kind.LINK:
                raise _refused(say("a path leads through a link"), path)
            if other is Kind.FILE:
                raise _refused(say("a path leads through a file"), path)
            self._folders.add(above)
            above = above.rpartition("/")[0]
        same = member.same_as
        if same and (self._seen.get(same) is not Kind.FILE or same == MANIFEST):  # which is no file of ours
            raise _refused(say("a hard link names no earlier file"), path)
        self._seen[path] = kind
        if kind is Kind.DIRECTORY:
            self._folders.add(path)

    def kind(self, path: str) -> Kind | None:
        """What was admitted under a path."""
        return self._seen.get(path)


class Members:
    """Iterates over the members; the content of a file is taken with `content` before the next.

    `over` counts bytes that stood after the end of the stream.
    """

    def __init__(self, chunks: Iterable[bytes], admission: Admission | None = None) -> None:
        self._source = iter(chunks)
        self._data = b""
        self._at = 0
        self._left = 0
        self._padding = 0
        self._admission = admission or Admission()
        self.over = 0

    def __iter__(self) -> Iterator[Member]:
        pax: dict[bytes, bytes] | None = None
        while True:
            for _ in self.content():
                pass
            record = self._take(BLOCK)
            if record == _EMPTY:
                if pax is not None:
                    raise _refused(say("an extended header stands before no record"))
                self._end()
                return
            _check_sum(record)
            kind = record[156:157]
            if record[257:265] not in _MAGICS:
                raise _refused(say("a record is not in the ustar format"))
            if kind == b"x":
                if pax is not None:
                    raise _refused(say("two extended headers stand before one record"))
                pax = self._pax(_number(record[124:136]))
                continue
            member = self._member(record, kind, pax or {})
            pax = None
            if member is None:
                continue
            judge(member)
            self._admission.admit(member)
            if member.kind is Kind.FILE and not member.same_as:
                self._left, self._padding = member.size, -member.size % BLOCK
            yield member

    def content(self) -> Iterator[bytes]:
        """What is left of the present file's bytes."""
        while self._left:
            if self._at == len(self._data):
                self._fill()
            part = self._data[self._at : self._at + self._left]
            self._at += len(part)
            self._left -= len(part)
            yield part
        if self._padding:
            if any(self._take(self._padding)):
                raise _refused(say("a file's last block is filled with something"))
            self._padding = 0

    def _take(self, size: int) -> bytes:
        while len(self._data) - self._at < size:
            self._fill()
        self._at += size
        return self._data[self._at - size : self._at]

    def _fill(self) -> None:
        for chunk in self._source:
            if chunk:
                self._data = self._data[self._at :] + chunk if self._at < len(self._data) else chunk
                self._at = 0
                return
        raise _refused(say("the tar stream is cut short"))

    def _end(self) -> None:
        """The second empty record, and nothing but zeros after it."""
        if self._take(BLOCK) != _EMPTY:
            raise _refused(say("a lone empty record stands between others"))
        padding = len(self._data) - self._at
        if any(self._data[self._at :]):
            raise _refused(say("something follows the end of the tar stream"))
        for chunk in self._source:
            padding += len(chunk)
            if padding > PADDING_MOST or chunk.strip(b"\0"):
                raise _refused(say("something follows the end of the tar stream"))
        self.over = padding

    def _pax(self, size: int) -> dict[bytes, bytes]:
        if not 0 < size <= PAX_MOST:
            raise _refused(say("an extended header has an impossible length"))
        body = self._take(size)
        if any(self._take(-size % BLOCK)):
            raise _refused(say("a file's last block is filled with something"))
        found: dict[bytes, bytes] = {}
        at = 0
        while at < size:
            blank = body.find(b" ", at, at + 8)
            digits = body[at:blank]
            if blank < 0 or not digits.isdigit():
                raise _refused(say("an extended header is malformed"))
            end = at + int(digits)
            key, equal, value = body[blank + 1 : end - 1].partition(b"=")
            if end <= blank + 2 or end > size or body[end - 1 : end] != b"\n" or not equal:
                raise _refused(say("an extended header is malformed"))
            if key in found:
                raise _refused(say("an extended header says one thing twice"))
            if key.startswith(b"GNU.sparse"):
                raise _refused(say("a sparse member stands in it; a snapshot has none"))
            found[key] = value
            at = end
        return found

    def _member(self, record: bytes, kind: bytes, pax: dict[bytes, bytes]) -> Member | None:
        name = pax.get(b"path") or _field(record[:100])
        if b"path" not in pax and record[257:265] == _MAGICS[0] and record[345]:
            name = _field(record[345:500]) + b"/" + name
        path = name.decode("utf-8", "surrogateescape")
        if kind not in _KINDS and kind != b"1":
            raise _refused(
                say("a member of type {kind} stands in it; a snapshot has none", kind=repr(kind)), path
            )
        size = _decimal_size(pax[b"size"]) if b"size" in pax else _number(record[124:136])
        target = (pax.get(b"linkpath") or _field(record[157:257])).decode("utf-8", "surrogateescape")
        entry = Kind.FILE if kind == b"1" else _KINDS[kind]
        if entry is Kind.DIRECTORY or (kind == b"\0" and path.endswith("/")):
            entry, path = Kind.DIRECTORY, path.removesuffix("/")
        path = plain(path)
        if entry is Kind.DIRECTORY and path in (".", "", "backup"):
            return None
        if size and (entry is not Kind.FILE or kind == b"1"):
            raise _refused(say("a folder or link with contents stands in it"), path)
        if entry is Kind.LINK and (not target or "\0" in target or len(target) > 4095):
            raise _refused(say("a link has an impossible target"), path)
        mtime = _time(pax[b"mtime"]) if b"mtime" in pax else _number(record[136:148]) * SECOND
        same = plain(target) if kind == b"1" else ""
        mode = _number(record[100:108]) & 0o7777
        return Member(path, entry, mode, mtime, size, target if entry is Kind.LINK else "", same)


def judge(member: Member) -> None:
    """Refuse with `BadBundle` a member that no bundle can have, whatever else it holds."""
    path = member.path
    name = wire(path)
    if not is_sound(name):
        raise _refused(say("a path that leads nowhere or outside stands in it"), path)
    if too_far(name):
        raise _refused(say("its path is longer or deeper than a snapshot can hold"), path[:200])
    if not _belongs(path, member.kind):
        raise _refused(say("a path stands in it where a snapshot has nothing"), path)


def _belongs(path: str, kind: Kind) -> bool:
    if path == MANIFEST:
        return kind is Kind.FILE
    if path in ("files", *PLACES):
        return kind is Kind.DIRECTORY
    if path.startswith("api/"):
        return kind is Kind.FILE
    return path.startswith(PLACES[:3]) and path.split("/")[1] in ("workspace", "data", "extra")


def _check_sum(record: bytes) -> None:
    # Adler-32's low half is the plain sum plus one, exact for 256 bytes (below its modulus of 65,521).
    total = (adler32(record[:256]) & 0xFFFF) + (adler32(record[256:]) & 0xFFFF) - 2
    if _number(record[148:156]) != total - sum(record[148:156]) + 8 * 32:
        raise _refused(say("a record's checksum does not fit"))


def _field(data: bytes) -> bytes:
    return data.partition(b"\0")[0]


def _number(data: bytes) -> int:
    digits = data.strip(b" \0")
    if not digits:
        return 0
    if not _OCTAL.fullmatch(digits):
        raise _refused(say("a number in a record is malformed"))
    return int(digits, 8)


def _decimal_size(data: bytes) -> int:
    if not data.isdigit() or len(data) > 18:
        raise _refused(say("a number in a record is malformed"))
    return int(data)


def _time(data: bytes) -> int:
    """Decimal seconds as nanoseconds, exact; further digits are dropped."""
    match = _DECIMAL.fullmatch(data)
    if not match:
        raise _refused(say("a number in a record is malformed"))
    sign, seconds, part = match.groups()
    value = int(seconds) * SECOND + int((part or b"")[:9].ljust(9, b"0"))
    return -value if sign else value


def _refused(why: Message, path: str = "") -> BadBundle:
    return BadBundle(why=why, where=printable(path))
