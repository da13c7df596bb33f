"""Floor 2, `bundle`: entries of one folder, as its listing tells of them: many at once, cheaply.

Most entries of most snapshots are as they were.  So they stay what the system said of them, packed, and
become entries only when one of them has to be looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat, starmap
from operator import attrgetter
from stat import S_IFDIR, S_IFLNK, S_IFREG
from struct import Struct
from typing import NamedTuple, TypeVar, cast
from zlib import crc32

from muniment.bundle.model import Entry, too_far
from muniment.bundle.tar import wire
from muniment.evidence import Kind

Look = tuple[str, os.stat_result, str]
"""A name, what `lstat` says of it, and where it leads to if it is a link."""

Alone = TypeVar("Alone")
"""Something of which more has to be said; it is no plain tuple."""

MANY = 256
"""A listing of more entries than that is parted, …"""

PARTED_BELOW = 1 << 26
"""… where the CRC-32 of a path is below this: of 64 entries after one."""

_FACTS = Struct("<HQQqqq")
_told = attrgetter("st_mode", "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
_MARK = Struct("<QQqqq")
_MODE = _FACTS.size - _MARK.size
_NAME_MOST = 255
_FORMAT, _PERMISSIONS = 0o170000, 0o7777


class Looked(NamedTuple):
    """One entry of a part: its name, its facts, where it leads to if it is a link, and its `mark`."""

    name: str
    mode: int
    dev: int
    size: int
    mtime_ns: int
    ctime_ns: int
    target: str
    mark: bytes

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode & _FORMAT == S_IFREG

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.mode & _FORMAT == S_IFDIR

    @property
    def permissions(self) -> int:
        """The mode without what kind it is; every link has all."""
        return 0o777 if self.mode & _FORMAT == S_IFLNK else self.mode & _PERMISSIONS


class Part(NamedTuple):
    """Entries of one folder that follow each other, packed: their names in byte order with a zero byte
    between, the facts of each, and, if one of them is a link, the targets of all, parted alike."""

    names: bytes
    facts: bytes
    targets: bytes

    @classmethod
    def of(cls, keys: Sequence[bytes], looks: Sequence[Look]) -> Part:
        """Pack what was seen; `keys` are the names as bytes."""
        _, facts, targets = zip(*looks, strict=True)
        where = b"\0".join(map(wire, targets)) if any(targets) else b""
        return cls(b"\0".join(keys), b"".join(starmap(_FACTS.pack, map(_told, facts))), where)

    @property
    def number(self) -> int:
        """How many they are."""
        return len(self.facts) // _FACTS.size

    @property
    def keys(self) -> list[bytes]:
        """Their names as bytes."""
        return self.names.split(b"\0")

    @property
    def last(self) -> bytes:
        """The last name, as bytes."""
        return self.names[self.names.rfind(b"\0") + 1 :]

    def between(self, begin: int, end: int) -> Part:
        """Some of them; at least one."""
        targets = b"\0".join(self.targets.split(b"\0")[begin:end])
        facts = self.facts[begin * _FACTS.size : end * _FACTS.size]
        return Part(b"\0".join(self.keys[begin:end]), facts, targets.strip(b"\0") and targets)

    def looked(self) -> Iterator[Looked]:
        """All, one by one."""
        names, facts = os.fsdecode(self.names).split("\0"), self.facts
        targets = os.fsdecode(self.targets).split("\0") if self.targets else repeat("", len(names))
        begins = range(_MODE, len(facts), _FACTS.size)
        for name, target, told, at in zip(names, targets, _FACTS.iter_unpack(facts), begins, strict=True):
            mode, dev, _, size, mtime_ns, ctime_ns = told
            yield Looked(name, mode, dev, size, mtime_ns, ctime_ns, target, facts[at : at + _MARK.size])

    def files(self) -> list[tuple[str, int]]:
        """Name and size of the regular ones."""
        return [
            (name, size)
            for name, (mode, _, _, size, _, _) in zip(
                os.fsdecode(self.names).split("\0"), _FACTS.iter_unpack(self.facts), strict=True
            )
            if mode & _FORMAT == S_IFREG
        ]


class Segment(NamedTuple):
    """Entries of one folder that follow each other: its `place` in the bundle and what the `Source` opens
    of it, both with a `/` at the end or empty, and the listing."""

    place: str
    origin: str
    part: Part

    @property
    def paths(self) -> list[bytes]:
        """The path of each."""
        at = wire(self.place)
        return [at + key for key in self.part.keys]

    @property
    def first(self) -> bytes:
        """The path of the first one."""
        return wire(self.place) + self.part.names.partition(b"\0")[0]

    @property
    def last(self) -> bytes:
        """The path of the last one."""
        return wire(self.place) + self.part.last

    def last_entry(self) -> Entry:
        """The last one."""
        _, facts, targets = self.part
        alone = Part(self.part.last, facts[-_FACTS.size :], targets[targets.rfind(b"\0") + 1 :])
        return next(self._replace(part=alone).entries())

    def entries(self) -> Iterator[Entry]:
        """All, one by one."""
        place, origin = self.place, self.origin
        for one in self.part.looked():
            mode, when = one.permissions, one.mtime_ns
            if one.is_file:
                yield Entry(
                    place + one.name, Kind.FILE, mode, when, one.size, "", one.mark, origin + one.name
                )
            elif one.is_folder:
                yield Entry(place + one.name, Kind.DIRECTORY, mode, when)
            else:
                yield Entry(place + one.name, Kind.LINK, mode, when, 0, one.target)

    def facts(self) -> bytes:
        """A name for them as they are now: no other entries have the same."""
        names, facts, targets = self.part
        count = self.part.number
        # Facts are of one length each; and no name and no target holds a zero byte.
        head = b"%b\0%d %d\0%b%b" % (wire(self.place), count, count if targets else 0, facts, names)
        return head + (b"\0" + targets + b"\0" if targets else b"\0")


def mark(fact: os.stat_result) -> bytes:
    """What tells that a file is unchanged: device, inode, size and times."""
    return _MARK.pack(fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns)


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
    keys: list[bytes] = []
    looks: list[Look] = []
    many = len(found) > MANY
    for key, one in found:
        if type(one) is tuple:
            keys.append(key)
            looks.append(one)
            if many and crc32(place + key) < PARTED_BELOW:
                yield Part.of(keys, looks)
                keys, looks = [], []
            continue
        if keys:
            yield Part.of(keys, looks)
            keys, looks = [], []
        yield cast("Alone | str", one)
    if keys:
        yield Part.of(keys, looks)


def may_go_too_far(place: bytes) -> bool:
    """Whether a path below a folder may be longer or deeper than a bundle takes; then entries stand alone."""
    return too_far(place + bytes(_NAME_MOST))
