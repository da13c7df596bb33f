"""Floor 2, `bundle`: stretches: entries that are planned, packed and remembered together.

A stretch begins where a group surely begins and ends where one surely ends: after an entry whose path
and size alone decide the cut, or at the end.  So what it gives depends on nothing but its own entries,
and a memory that has seen the same entries may answer for all of them at once.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from zlib import crc32

from muniment.bundle import tar
from muniment.bundle.cuts import CutRules, cut_after
from muniment.bundle.index import IndexWriter, Mark
from muniment.bundle.listing import Listing
from muniment.bundle.model import (
    NOBODY,
    Entry,
    Memory,
    Note,
    Packed,
    Segment,
    Stretch,
    too_far,
)
from muniment.bundle.tar import wire

ENDS_IN = 4
"""Of the places where a stretch may end, one in so many ends one: many short ones cost as much time as
their entries, and in a long one more entries stand beside one that changed."""


@dataclass(slots=True, eq=False)
class Told:
    """A stretch that is packed anew begins: from which of the packer's steps to which, if that is known."""

    first: bytes
    key: bytes
    begin: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """It ends here; `last` says that nothing follows it."""

    last: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A stretch that is known."""

    first: bytes
    last: bytes
    stretch: Stretch


Planned = Entry | Told | End | Kept


def one_by_one(items: Iterable[Entry | Segment]) -> Iterator[Entry]:
    """Every entry."""
    for item in items:
        if isinstance(item, Segment):
            yield from item.entries()
        else:
            yield item


def in_stretches(items: Iterable[Entry | Segment], rules: CutRules, memory: Memory) -> Iterator[Planned]:
    """The entries with marks around each stretch, or what is known in the place of a whole one."""
    seed = b"muniment stretch 1\0%b\0" % repr(rules).encode()
    run: list[Segment] = []
    loose = False
    for item in items:
        if isinstance(item, Segment) and not loose:
            run.append(item)
            if _ends(item.last, rules):
                yield from _stretch(run, seed, memory, False)
                run = []
            continue
        if isinstance(item, Segment):
            yield from item.entries()
            last = item.last
        else:
            if not loose:
                # Beside an entry that stands alone nothing is known as a whole; only groups are.
                yield Told(run[0].first if run else wire(item.path), b"")
                yield from one_by_one(run)
                run, loose = [], True
            yield item
            last = item
        if _closed(last, rules) is not None:
            yield End()
            loose = False
    if loose:
        yield End(True)
    if run:
        yield from _stretch(run, seed, memory, True)


def _stretch(run: list[Segment], seed: bytes, memory: Memory, last: bool) -> Iterator[Planned]:
    first, key = run[0].first, b""
    if all(segment.facts for segment in run):
        state = hashlib.sha256(seed)
        for segment in run:
            state.update(segment.facts)
        key = state.digest()
        found = memory.stretch(first, key)
        if found is not None:
            yield Kept(first, wire(run[-1].last.path), found)
            return
    yield Told(first, key)
    yield from one_by_one(run)
    yield End(last)


def _closed(entry: Entry, rules: CutRules) -> bytes | None:
    """The path of an entry after which a group ends, whatever stood before it."""
    path = wire(entry.path)
    if too_far(path):
        return None
    if entry.size > rules.large or cut_after(path, tar.room(entry, path), rules.mean):
        return path
    return None


def _ends(entry: Entry, rules: CutRules) -> bool:
    path = _closed(entry, rules)
    return path is not None and crc32(path) % ENDS_IN == 0


_START = Mark(0, 0, 0)


@dataclass(slots=True)
class Recorder:
    """Takes down what the stretches give that are packed anew, and tells the memory.

    Steps are counted: the packer plans ahead of what is made, and makes one thing of each step.
    """

    memory: Memory
    rows: IndexWriter
    listing: Listing
    planned: deque[Told] = field(default_factory=deque)
    _begun: bool = False
    _begin: Mark = _START
    _second: Mark | None = None
    _text: list[bytes] = field(default_factory=list)
    _cuts: list[int] = field(default_factory=list)
    _length: int = 0
    _size: int = 0
    _notes: list[Note] = field(default_factory=list)
    _extents: int = 0
    _files: int = 0

    def before(self, number: int) -> None:
        """Before the thing made of that step is looked at."""
        if self._begun and self.planned[0].end is not None and self.planned[0].end <= number:
            self._end()
        while self.planned and self.planned[0].end is not None and self.planned[0].end <= number:
            self.planned.popleft()  # nothing came of it
        if not self._begun and self.planned and self.planned[0].begin <= number:
            self._begun = True
            self._begin, self._second = self.rows.mark(), None
            self._text, self._cuts, self._length, self._size = [], [], 0, 0
            self._notes, self._extents, self._files = [], 0, 0

    def file(self, packed: Packed, body: str) -> None:
        """A file's row of the manifest, without what parts it from the one before."""
        if self._begun:
            text = b",\n%b" % body.encode("ascii")
            self._text.append(text)
            self._length += len(text)
            self._size += packed.size
            self._files += 1
            if self.listing.cuts(packed.path, len(text)):
                self._cuts.append(self._length)

    def extent(self) -> None:
        """An extent was added to the index."""
        if self._begun:
            self._extents += 1
            if self._second is None:
                self._second = self.rows.mark()

    def group(self, key: bytes | None) -> None:
        """A group or a large file is complete; without a key it is not to be believed."""
        if self._begun:
            self._notes.append(Note(key or NOBODY, self._extents, self._files))
            self._extents = self._files = 0

    def _end(self) -> None:
        told = self.planned.popleft()
        self._begun = False
        if self._second is None or all(note.key == NOBODY for note in self._notes):
            return
        rows, paths, last, raw = self.rows.since(self._begin, self._second)
        files = sum(note.files for note in self._notes)
        key = b"" if any(note.key == NOBODY for note in self._notes) else told.key
        stretch = Stretch(rows, paths, last, b"".join(self._text), tuple(self._cuts), files, self._size, raw)
        self.memory.learn(told.first, key, stretch, self._notes)
