"""Floor 2, `bundle`: stretches: entries that are planned, packed and remembered together.

A stretch begins where a group surely begins and ends where one surely ends: after an entry whose path
and size alone decide the cut, or at the end.  So what it gives depends on nothing but its own entries,
and a memory that has seen the same entries may answer for all of them at once.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any
from zlib import crc32

from muniment.bundle import tar
from muniment.bundle.cuts import CutRules, cut_after
from muniment.bundle.model import (
    NOBODY,
    NOTE,
    Entry,
    Extent,
    Memory,
    Note,
    Packed,
    Stretch,
    too_far,
)
from muniment.bundle.segments import Segment, one_by_one
from muniment.bundle.tar import wire

ENDS_IN = 4
"""Of the places where a stretch may end, one in so many ends one: many short ones cost as much time as
their entries, and in a long one more entries stand beside one that changed."""


FRESH_MOST = 2 << 20
"""Raw bytes of a stretch that is handed over as a whole."""


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
    """A stretch that is known, its entries as they were listed, and path and size of its files."""

    first: bytes
    last: bytes
    stretch: Stretch
    run: Sequence[Segment]
    listed: Sequence[tuple[str, int]]

    def paths(self) -> Iterator[bytes]:
        """The path that each group begins with."""
        paths = [*chain.from_iterable(one.paths for one in self.run)]
        members = [note[1] for note in self.stretch.notes]
        return map(paths.__getitem__, accumulate(members[:-1], initial=0))

    def files(self) -> Iterator[tuple[str, int, str]]:
        """Path, size and digest of each file."""
        digests = self.stretch.digests.hex()
        return zip(
            [path for path, _ in self.listed],
            [size for _, size in self.listed],
            [digests[at : at + 64] for at in range(0, len(digests), 64)],
            strict=True,
        )


@dataclass(frozen=True, slots=True)
class Fresh:
    """A stretch of which nothing can be known: it is planned where it is packed; `size` counts the raw
    bytes of its files."""

    first: bytes
    key: bytes
    run: Sequence[Segment]
    size: int

    @property
    def last(self) -> bytes:
        """The path of its last entry."""
        return self.run[-1].last


Planned = Entry | Told | End | Kept | Fresh


def in_stretches(items: Iterable[Entry | Segment], rules: CutRules, memory: Memory) -> Iterator[Planned]:
    """The entries with marks around each stretch, or what is known in the place of a whole one."""
    seed = b"muniment stretch 1\0%b\0" % repr(rules).encode()
    run: list[Segment] = []
    loose = False
    for item in items:
        if isinstance(item, Segment) and not loose:
            run.append(item)
            if _ends(item, rules):
                yield from _stretch(run, seed, rules, memory, False)
                run = []
            continue
        if isinstance(item, Segment):
            yield from item.entries()
            last = item.last_entry()
        else:
            if not loose:
                # Beside an entry that stands alone nothing is known as a whole; only groups are.
                yield Told(run[0].first if run else wire(item.path), b"")
                yield from one_by_one(run)
                run, loose = [], True
            yield item
            last = item
        if _closed(last, rules):
            yield End()
            loose = False
    if loose:
        yield End(True)
    if run:
        yield from _stretch(run, seed, rules, memory, True)


def _stretch(
    run: list[Segment], seed: bytes, rules: CutRules, memory: Memory, last: bool
) -> Iterator[Planned]:
    first = run[0].first
    state = hashlib.sha256(seed)
    for segment in run:
        state.update(segment.facts())
    key = state.digest()
    found = memory.stretch(first, key)
    kept = None if found is None else _fitting(run, found)
    if kept:
        yield kept
        return
    if memory.blank:
        sizes = [size for segment in run for _, size in segment.part.files()]
        if max(sizes, default=0) <= rules.large and sum(sizes) <= FRESH_MOST:
            yield Fresh(first, key, run, sum(sizes))
            return
    yield Told(first, key)
    yield from one_by_one(run)
    yield End(last)


def _fitting(run: list[Segment], found: Stretch) -> Kept | None:
    """What a memory gives back; none if it can not be that of these entries."""
    members = sum(segment.part.number for segment in run)
    listed = [(place + name, size) for place, _, part in run for name, size in part.files()]
    files = len(listed)
    notes = found.notes
    if (
        sum([note[1] for note in notes]) != members
        or sum([note[3] for note in notes]) != files
        or len(found.digests) != 32 * files
        or len(found.rows) != NOTE.size * sum([note[2] for note in notes])
    ):
        return None
    return Kept(run[0].first, run[-1].last, found, run, listed)


def _closed(entry: Entry, rules: CutRules) -> bool:
    """Whether a group ends after an entry, whatever stood before it."""
    path = wire(entry.path)
    if too_far(path):
        return False
    return entry.size > rules.large or cut_after(path, tar.room(entry, path), rules.mean)


def _ends(segment: Segment, rules: CutRules) -> bool:
    return crc32(segment.last) % ENDS_IN == 0 and _closed(segment.last_entry(), rules)


@dataclass(slots=True)
class Sheet:
    """What a stretch gives, taken down as it comes."""

    notes: list[Note] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    _done: tuple[int, int] = (0, 0)

    @property
    def files(self) -> int:
        """How many files there are."""
        return len(self.digests)

    def file(self, packed: Packed, cut: bool) -> None:
        """A file, and whether the manifest's text is cut after it."""
        self.digests.append(packed.sha256)
        if cut:
            self.cuts.append(len(self.digests))

    def extent(self, extent: Extent) -> None:
        """An extent."""
        self.rows.append(NOTE.pack(extent.id, extent.length, extent.crc))

    def group(self, key: bytes | None, members: int) -> None:
        """A group or a large file is complete; without a key it is not to be believed."""
        extents, files = self._done
        self._done = len(self.rows), len(self.digests)
        note = Note(key or NOBODY, members, len(self.rows) - extents, len(self.digests) - files)
        self.notes.append(note)

    def tell(self, memory: Memory, first: bytes, key: bytes) -> None:
        """Tell a memory of the stretch, which begins at that path and has that key."""
        if all(note.key == NOBODY for note in self.notes):
            return
        whole = all(note.key != NOBODY for note in self.notes)
        digests = bytes.fromhex("".join(self.digests))
        memory.learn(
            first, key if whole else b"", Stretch(self.notes, b"".join(self.rows), digests, self.cuts)
        )

    def plain(self) -> tuple[object, ...]:
        """As a plain value, to be sent."""
        return [tuple(note) for note in self.notes], self.rows, self.digests, self.cuts

    @classmethod
    def of(cls, plain: tuple[Any, ...]) -> Sheet:
        """What was sent."""
        notes, *rest = plain
        return cls([Note(*note) for note in notes], *rest)


@dataclass(slots=True)
class Recorder:
    """Takes down what the stretches give that are packed anew, and tells the memory.

    Steps are counted: the packer plans ahead of what is made, and makes one thing of each step.
    """

    memory: Memory
    planned: deque[Told] = field(default_factory=deque)
    sheet: Sheet | None = None

    def before(self, number: int) -> None:
        """Before the thing made of that step is looked at."""
        while self.planned and self.planned[0].end is not None and self.planned[0].end <= number:
            told = self.planned.popleft()
            if self.sheet:
                self.sheet.tell(self.memory, told.first, told.key)
                self.sheet = None
        if not self.sheet and self.planned and self.planned[0].begin <= number:
            self.sheet = Sheet()
