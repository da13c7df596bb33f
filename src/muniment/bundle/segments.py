"""Floor 2, `bundle`: entries of one folder, as its listing tells of them: many at once, cheaply.

Most entries of most snapshots are as they were.  So they stay what the system said of them, and become
entries only when one of them has to be looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from operator import attrgetter
from struct import Struct, pack
from typing import NamedTuple, TypeVar, cast
from zlib import crc32

from muniment.bundle.model import Entry, too_far
from muniment.bundle.tar import wire
from muniment.evidence import Kind

Look = tuple[str, os.stat_result, str]
"""A name, what `lstat` says of it, and where it leads to if it is a link."""

Alone = TypeVar("Alone")
"""Something of which more has to be said; it is no plain tuple."""

Part = list[tuple[bytes, Look]]
"""Entries of one folder that follow each other, with their names as bytes."""

MANY = 256
"""A listing of more entries than that is parted, …"""

PARTED_BELOW = 1 << 26
"""… where the CRC-32 of a path is below this: of 64 entries after one."""

_FACTS = Struct("<HQQqqq")
_told = attrgetter("st_mode", "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
_NAME_MOST = 255


class Segment(NamedTuple):
    """Entries of one folder that follow each other: its `place` in the bundle and what the `Source` opens
    of it, both with a `/` at the end or empty, and the listing."""

    place: str
    origin: str
    part: Part

    @property
    def first(self) -> bytes:
        """The path of the first one."""
        return wire(self.place) + self.part[0][0]

    @property
    def last(self) -> Entry:
        """The last one."""
        return _entry(self.place, self.origin, self.part[-1][1])

    def entries(self) -> Iterator[Entry]:
        """All, one by one."""
        for _, look in self.part:
            yield _entry(self.place, self.origin, look)

    def facts(self) -> bytes:
        """A name for them as they are now: no other entries have the same."""
        keys, looks = zip(*self.part, strict=True)
        _, facts, targets = zip(*looks, strict=True)
        # Of one length each; and no name and no target holds a zero byte.
        numbers = b"".join(starmap(_FACTS.pack, map(_told, facts)))
        where = [wire(target) if target else b"" for target in targets] if any(targets) else []
        return b"%b\0%d %d\0%b%b\0" % (
            wire(self.place),
            len(keys),
            len(where),
            numbers,
            b"\0".join([*keys, *where]),
        )


def _entry(place: str, origin: str, look: Look) -> Entry:
    name, fact, target = look
    mode, when = fact.st_mode, fact.st_mtime_ns
    if stat.S_ISREG(mode):
        return Entry(
            place + name, Kind.FILE, mode & 0o7777, when, fact.st_size, "", mark(fact), origin + name
        )
    if stat.S_ISDIR(mode):
        return Entry(place + name, Kind.DIRECTORY, mode & 0o7777, when)
    return Entry(place + name, Kind.LINK, 0o777, when, 0, target)


def mark(fact: os.stat_result) -> bytes:
    """What tells that a file is unchanged: device, inode, size and times."""
    return pack("<QQqqq", fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns)


def one_by_one(items: Iterable[Entry | Segment]) -> Iterator[Entry]:
    """Every entry."""
    for item in items:
        if isinstance(item, Segment):
            yield from item.entries()
        else:
            yield item


def in_parts(found: Sequence[tuple[bytes, Look | Alone | str]], place: bytes) -> Iterator[Part | Alone | str]:
    """A listing as entries that follow each other and, between them, what stands alone and the names of
    the folders to go into."""
    part: Part = []
    many = len(found) > MANY
    for key, one in found:
        if type(one) is tuple:
            part.append((key, one))
            if many and crc32(place + key) < PARTED_BELOW:
                yield part
                part = []
            continue
        if part:
            yield part
            part = []
        yield cast("Alone | str", one)
    if part:
        yield part


def may_go_too_far(place: bytes) -> bool:
    """Whether a path below a folder may be longer or deeper than a bundle takes; then entries stand alone."""
    return too_far(place + bytes(_NAME_MOST))
