"""Floor 2, `bundle`: making: small files are read, hashed and deflated, in any thread or helper.

What is made of a step depends on the step alone, and the files that it names.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from muniment.bundle import tar
from muniment.bundle.cuts import CutRules, cut_after
from muniment.bundle.extent import check, make_extent
from muniment.bundle.manifest import LEAD, Rows, row_of
from muniment.bundle.model import BLOCK, Entry, Extent, Fault, Have, Packed, Source
from muniment.bundle.segments import Segment, one_by_one
from muniment.bundle.stretches import Fresh, Kept, Sheet
from muniment.bundle.tar import wire
from muniment.disk import platform
from muniment.disk.errors import system_reason
from muniment.evidence import Kind
from muniment.ids import Entropy
from muniment.message import say

BATCH = 1 << 20
"""Bytes that are read at once of what is longer than it was."""

TRIES = 3
"""How often a file that changes under the reader is read."""

GROWN_MOST = 64 << 20
"""So many bytes are packed of a file that was small when it was listed and is now larger than that."""

CHANGED = say("it changed while it was read and was packed as it was read")
GROWN = say("it grew while it was read and was cut")


class Unsorted(ValueError):
    """The entries do not come in the order of their paths, or a path stands twice."""


class Group(NamedTuple):
    """Small entries that make one extent; `size` is what it will have, in raw bytes."""

    members: list[Entry]
    key: bytes | None
    size: int


class Piece(NamedTuple):
    """Raw bytes that make one extent of a large file."""

    raw: bytes
    path: bytes


class Made(NamedTuple):
    """What came of a step; `more` when the same file goes on in the next.  Of a stretch as a whole, which
    begins at the path `first`, the `sheet` and the `rows` stand for its files."""

    extents: list[Extent]
    files: list[Packed]
    faults: list[Fault]
    key: bytes | None = None
    more: bool = False
    members: int = 1
    kept: Kept | None = None
    first: bytes = b""
    sheet: Sheet | None = None
    rows: Rows | None = None


Step = Group | Piece | Fresh | Made


class Groups:
    """Small entries that follow each other, put together as the rules say."""

    def __init__(self, rules: CutRules) -> None:
        self._rules = rules
        self._members: list[Entry] = []
        self._size = 0

    def add(self, entry: Entry, path: bytes) -> Sequence[tuple[list[Entry], int]]:
        """The next entry; gives what is complete now: members and raw bytes."""
        room = tar.room(entry, path)
        done = self.close() if self._size + room > self._rules.cap else ()
        self._members.append(entry)
        self._size += room
        if cut_after(path, room, self._rules.mean):
            done = (*done, *self.close())
        return done

    def close(self) -> Sequence[tuple[list[Entry], int]]:
        """What is still open, complete as it is."""
        if not self._members:
            return ()
        done = self._members, self._size
        self._members, self._size = [], 0
        return (done,)


class Maker:
    """Makes what a step asks for; with `prove` each piece is checked as a vault checks it."""

    def __init__(self, source: Source, rules: CutRules, have: Have, prove: Entropy | None) -> None:
        self._source = source
        self._rules = rules
        self._have = have
        self._prove = prove

    def extent(self, raw: bytes, path: bytes) -> Extent:
        """An extent of raw bytes."""
        made = make_extent(raw, path, self._have)
        if self._prove and made.piece is not None:
            check(made.piece, made, self._prove)
        return made

    def make(self, step: Step) -> Made:
        """What comes of a step."""
        if isinstance(step, Group):
            return self._group(step)
        if isinstance(step, Fresh):
            return self._fresh(step)
        if isinstance(step, Piece):
            return Made([self.extent(step.raw, step.path)], [], [], more=True)
        return step

    def _group(self, step: Group) -> Made:
        parts: list[bytes] = []
        files: list[Packed] = []
        faults: list[Fault] = []
        key = step.key
        for entry in step.members:
            if entry.kind is not Kind.FILE:
                parts.append(tar.header(entry, 0))
                continue
            try:
                data, fault = _read(self._source, entry)
            except OSError as error:
                faults.append(unreadable(entry, error))
                continue
            if fault is not None:
                faults.append(fault)
            size = len(data)
            if size != entry.size:
                key = None
            parts += (tar.header(entry, size), data, bytes(-size % BLOCK))
            files.append(Packed(entry.path, size, hashlib.sha256(data).hexdigest()))
        if not parts:
            return Made([], [], faults)
        blob, path = b"".join(parts), wire(step.members[0].path)
        # A file that grew since it was listed may make more than one extent can hold.
        most = max(self._rules.cap, self._rules.piece_most)
        cut = [blob[start : start + most] for start in range(0, len(blob), most)]
        extents = [self.extent(part, path) for part in cut]
        return Made(extents, files, faults, None if faults else key)

    def _fresh(self, step: Fresh) -> Made:
        """A stretch as a whole: its groups are found here."""
        extents: list[Extent] = []
        faults: list[Fault] = []
        sheet = Sheet()
        first: tuple[str, int, str] | None = None
        text: list[str] = []
        lines: list[str] = []
        size = 0
        for members, room in self._groups(step.run):
            made = self._group(Group(members, key_of(members), room))
            for packed in made.files:
                row = LEAD + row_of(*packed)
                cut = cut_after(wire(packed.path), len(row), self._rules.text_mean)
                first = first or (packed.path, packed.size, packed.sha256)
                size += packed.size
                lines.append(row)
                if cut:
                    text.append("".join(lines))
                    lines = []
                sheet.file(packed, cut)
            for extent in made.extents:
                sheet.extent(extent)
            sheet.group(made.key, len(members))
            extents += made.extents
            faults += made.faults
        text.append("".join(lines))
        rows = Rows(first, text, sheet.files, size) if first else None
        return Made(extents, [], faults, step.key, first=step.first, sheet=sheet, rows=rows)

    def _groups(self, run: Sequence[Segment]) -> Iterator[tuple[list[Entry], int]]:
        groups, before = Groups(self._rules), b""
        for entry in one_by_one(run):
            path = wire(entry.path)
            require_later(before, path)
            before = path
            yield from groups.add(entry, path)
        yield from groups.close()


def require_later(before: bytes, path: bytes) -> None:
    """`Unsorted` unless one path comes after the other."""
    if path <= before:
        raise Unsorted(f"{os.fsdecode(path)!r} does not come after {os.fsdecode(before)!r}")


def key_of(members: Sequence[Entry]) -> bytes | None:
    """A name for entries as they are now; none if one of them is always read."""
    facts = [b"muniment group 2"]
    for path, kind, mode, mtime_ns, size, target, stamp, *_ in members:
        if kind is not Kind.FILE:
            facts.append(b"%b\0%b %d %d\0%b\0" % (wire(path), kind.encode(), mode, mtime_ns, wire(target)))
        elif stamp:
            # No path holds a zero byte, and every other field says where it ends.
            facts.append(b"%b\0%d %d %d %d\0%b" % (wire(path), mode, mtime_ns, size, len(stamp), stamp))
        else:
            return None
    return hashlib.sha256(b"\n".join(facts)).digest()


def _read(source: Source, entry: Entry) -> tuple[bytes, Fault | None]:
    """A small file's bytes, and what they are not: those of one moment, or all of it."""
    if entry.content is not None:
        return entry.content, None
    fd = source.open(entry)
    try:
        data, after = os.read(fd, entry.size + 1), regular(fd)
        if len(data) == entry.size == after.st_size and after.st_mtime_ns == entry.mtime_ns:
            return data, None  # as the plan saw it, so also while it was read
        for _ in range(TRIES):
            before = os.fstat(fd)
            os.lseek(fd, 0, os.SEEK_SET)
            if before.st_size > GROWN_MOST:
                return os.read(fd, GROWN_MOST), Fault(entry.path, "cut_short", GROWN)
            data = _to_end(fd, before.st_size)
            if face(os.fstat(fd)) == face(before) and len(data) == before.st_size:
                return data, None
        return data, Fault(entry.path, "changed", CHANGED)
    finally:
        platform.close(fd)


def _to_end(fd: int, size: int) -> bytes:
    """All bytes from here on; `size` is a guess.  A file that grows without end is cut at a cap."""
    data = os.read(fd, size + 1)
    if len(data) == size:
        return data
    parts, have = [data], len(data)
    while data and have <= size + BATCH:
        data = os.read(fd, BATCH)
        parts.append(data)
        have += len(data)
    return b"".join(parts)


def regular(fd: int) -> os.stat_result:
    """What `fstat` says, if it is still a file: a pipe may have been put in its place."""
    fact = os.fstat(fd)
    if not stat.S_ISREG(fact.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return fact


def face(fact: os.stat_result) -> tuple[int, int, int]:
    """What changes when a file does."""
    return fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns


def unreadable(entry: Entry, error: OSError) -> Fault:
    """It is not in the bundle."""
    return Fault(entry.path, "left_out", say("it could not be read: {error}", error=system_reason(error)))
