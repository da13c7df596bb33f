"""Floor 1, `record`: the ledger: appending to it, and reading it in order.

An append is acknowledged only after its bytes are durable and were read again.  What a crash
left at the end is set aside, never trusted and never thrown away; what is bad before the end is
never touched: a new segment begins and names it (spec 0, ledger).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from muniment.canonical import Json
from muniment.clock import Clock
from muniment.digest import sha256_stream
from muniment.disk import platform
from muniment.disk.errors import NotThere, named
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.ids import Entropy, is_ulid, new_ulid
from muniment.path import RelPath, printable
from muniment.record.chain import append, cut_back, read_again, seal_all
from muniment.record.damage import REPAIRED, Finding, Place, begins_after_damage, named_by, naming
from muniment.record.errors import NotInLedger
from muniment.record.event import FIRST, BadRecord, Context, Draft, Event, read_line
from muniment.record.segments import (
    SEGMENT_BYTES,
    Line,
    Tail,
    blocks_of,
    chunks_from,
    lines_holding,
    lines_of,
    read_tail,
    segment_name,
    segment_numbers,
)

LOCK = "lock"
TORN = "torn"
_PENDING = ".pending"


@dataclass(frozen=True, slots=True)
class Placed:
    """An event and where its line begins."""

    event: Event
    segment: int
    offset: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How far the ledger reaches: its segments, the bytes of the last one that no later append
    takes away, and why what follows them, if anything, is no record."""

    segments: tuple[int, ...] = ()
    end: int = 0
    torn: str = ""

    def end_of(self, number: int) -> int | None:
        """Where to stop reading a segment; None: at its end."""
        return self.end if self.segments and number == self.segments[-1] else None


@dataclass(slots=True)
class _End:
    """Where the next line goes: segment, its size, the hash it continues, the ends set aside that
    no record names yet, and the damage because of which a new chain begins."""

    segment: int
    size: int
    prev: str
    waiting: list[Draft]
    damage: list[Finding] = field(default_factory=list)

    @property
    def first(self) -> list[Draft]:
        """The events that must come before anything else."""
        return [naming(self.damage), *self.waiting] if self.damage else self.waiting

    def after(self, findings: Iterable[Finding]) -> _End:
        """The same end with more damage to name: in a new segment, in a new chain."""
        known = {finding.place for finding in self.damage}
        damage = [*self.damage, *(finding for finding in findings if finding.place not in known)]
        return _End(self.segment + (self.size > 0), 0, FIRST, self.waiting, damage)


class Ledger:
    """The record of one workspace, in a folder of segments below its root."""

    def __init__(
        self,
        root: Root,
        folder: RelPath,
        *,
        clock: Clock,
        entropy: Entropy = os.urandom,
        actor: str = "library",
        context: Context | None = None,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.root = root
        self.folder = folder
        self._clock = clock
        self._entropy = entropy
        self._actor = actor
        self._context = context or Context()
        self._segment_bytes = segment_bytes

    def append(self, draft: Draft) -> Event:
        """Write one event; it is durable and was read again when this returns."""
        return self.append_many([draft])[-1]

    def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write several events by one write and one sync; all are acknowledged, or none.

        Raises `NoSpace`, `EventTooLarge` and the other errors of `disk`; then none of them was
        acknowledged, and what may stand of them is a whole prefix or is set aside later.
        """
        if not drafts:
            return []
        self.root.make_folders(self.folder, 0o700)
        with locked(self.root, self.folder / LOCK):
            end = self._end()
            events, lines = self._place(end, drafts)
        read_again(self.root, self.folder / segment_name(end.segment), end.size, lines)
        return events[-len(drafts) :]

    def name_damage(self, findings: Sequence[Finding]) -> Event | None:
        """Begin a new segment that names damage found by a whole reading; None when all of it is
        named already."""
        if not findings:
            return None
        self.root.make_folders(self.folder, 0o700)
        with locked(self.root, self.folder / LOCK):
            known = self._named_already()
            unnamed = [finding for finding in findings if finding.place not in known]
            if not unnamed:
                return None
            end = self._end().after(unnamed)
            events, lines = self._place(end, [])
        read_again(self.root, self.folder / segment_name(end.segment), end.size, lines)
        return events[0]

    def _named_already(self) -> set[Place]:
        """The places named by the first record of some segment."""
        known: set[Place] = set()
        for number in segment_numbers(self.root, self.folder):
            for line in lines_of(self.root, self.folder / segment_name(number)):
                with contextlib.suppress(BadRecord):
                    event = read_line(line.data)
                    if begins_after_damage(event):
                        known.update(named_by(event))
                break
        return known

    def _place(self, end: _End, drafts: Sequence[Draft]) -> tuple[list[Event], bytes]:
        """Write drafts, and what must come before them, at the end."""
        events, lines = seal_all(
            [*end.first, *drafts],
            end.prev,
            clock=self._clock,
            entropy=self._entropy,
            actor=self._actor,
            context=self._context,
        )
        if end.size and end.size + len(lines) > self._segment_bytes:
            end.segment, end.size = end.segment + 1, 0
        if end.size == 0:
            self._sync(end.segment - 1)
        append(self.root, self.folder / segment_name(end.segment), end.size, lines, mode=0o600)
        if end.waiting:
            self._torn_files_are_named()
        return events, lines

    def _end(self) -> _End:
        """Read the tail and, under the lock, set aside what a crash left there."""
        numbers = segment_numbers(self.root, self.folder)
        waiting = self._waiting()
        if not numbers:
            return _End(1, 0, FIRST, waiting)
        number = numbers[-1]
        tail = self._tail(number)
        kept, _ = _whole_end(tail)
        if kept < tail.size:
            waiting.append(self._set_aside(number, kept))
            tail = self._tail(number)
        if not tail.lines:
            # An empty segment: a crash came between making it and writing to it.
            return self._end_of_older(number, numbers[:-1], waiting)
        prev, fault = _judge(segment_name(number), tail)
        if fault is not None:
            return _End(number + 1, 0, FIRST, waiting, [fault])
        return _End(number, tail.size, prev, waiting)

    def _end_of_older(self, empty: int, older: list[int], waiting: list[Draft]) -> _End:
        """The chain goes on from the segment before an empty one."""
        if not older:
            return _End(empty, 0, FIRST, waiting)
        name = segment_name(older[-1])
        tail = self._tail(older[-1])
        # It was whole when its successor was made, so a fault there is damage, not a torn write.
        if tail.torn:
            fault: Finding | None = Finding(name, 0, tail.rest_offset, "the line has no end")
        elif not tail.lines:
            fault = Finding(name, 0, 0, "it is empty, though a segment follows")
        else:
            prev, fault = _judge(name, tail)
        if fault is not None:
            return _End(empty, 0, FIRST, waiting, [fault])
        return _End(empty, 0, prev, waiting)

    def _tail(self, number: int) -> Tail:
        return read_tail(self.root, self.folder / segment_name(number))

    def _set_aside(self, number: int, keep: int) -> Draft:
        """Move the torn end into `torn/` and cut the segment back to its last whole line."""
        rel = self.folder / segment_name(number)
        name = new_ulid(self._clock(), self._entropy)
        folder = self.folder / TORN
        self.root.make_folders(folder, 0o700)
        torn = chunks_from(self.root, rel, keep)
        write_verified(self.root, folder / (name + _PENDING), torn, mode=0o600)
        cut_back(self.root, rel, keep)
        return self._repaired(name)

    def _waiting(self) -> list[Draft]:
        """Ends set aside by a process that was killed before it could say so."""
        return [self._repaired(name) for name in self.waiting()]

    def waiting(self) -> list[str]:
        """The ends set aside that no record names yet."""
        folder = self.folder / TORN
        if not self.root.exists(folder):
            return []
        names = (name.removesuffix(_PENDING) for name in self.root.names(folder) if name.endswith(_PENDING))
        return [name for name in names if is_ulid(name)]

    def _repaired(self, name: str) -> Draft:
        digest, size = sha256_stream(chunks_from(self.root, self.folder / TORN / (name + _PENDING)))
        evidence: dict[str, Json] = {"torn": f"{TORN}/{name}", "bytes": size, "sha256": digest.hex}
        return Draft(REPAIRED, "ledger", evidence)

    def _torn_files_are_named(self) -> None:
        folder = self.folder / TORN
        waiting = self.waiting()
        with self.root.folder(folder) as fd, named(folder):
            for name in waiting:
                os.rename(name + _PENDING, name, src_dir_fd=fd, dst_dir_fd=fd)
            platform.sync_folder(fd)

    def _sync(self, number: int) -> None:
        """Make a segment durable: a writer killed before its own sync leaves the end of it to us,
        and no later segment may outlive it."""
        rel = self.folder / segment_name(number)
        try:
            fd = self.root.open_file(rel)
        except NotThere:
            return
        try:
            with named(rel):
                platform.sync_data(fd)
        finally:
            platform.close(fd)

    def extent(self) -> Extent:
        """How far the ledger reaches at this moment; it is durable so far.

        Writers are kept out only while the end is looked at.  What lies within an extent is
        never changed or taken away by later appends.
        """
        if not segment_numbers(self.root, self.folder):
            return Extent()
        with locked(self.root, self.folder / LOCK, shared=True):
            numbers = segment_numbers(self.root, self.folder)
            end, torn = _whole_end(self._tail(numbers[-1]))
            self._sync(numbers[-1])
        return Extent(tuple(numbers), end, torn)

    def read(self, start: tuple[int, int] = (1, 0), *, containing: bytes = b"") -> Iterator[Placed]:
        """Every event that can be read, in order, from a segment and offset on.

        With `containing`, only lines that hold these bytes.  Lines that are no records are passed
        over here; `verify` is what names them.
        """
        for number in segment_numbers(self.root, self.folder):
            if number < start[0]:
                continue
            begin = start[1] if number == start[0] else 0
            for line in self._lines(number, begin, containing):
                if line.ended:
                    with contextlib.suppress(BadRecord):
                        yield Placed(read_line(line.data), number, line.offset)

    def _lines(self, number: int, begin: int, containing: bytes) -> Iterator[Line]:
        rel = self.folder / segment_name(number)
        if not containing:
            yield from lines_of(self.root, rel, start=begin)
            return
        for offset, block in blocks_of(self.root, rel, start=begin):
            yield from lines_holding(containing, offset, block)

    def events(self, *, containing: bytes = b"") -> Iterator[Event]:
        """Every event that can be read, in order."""
        return (placed.event for placed in self.read(containing=containing))

    def newest(self, containing: bytes) -> Event | None:
        """The last event that can be read and holds these bytes; no other is judged."""
        for number in reversed(segment_numbers(self.root, self.folder)):
            rel = self.folder / segment_name(number)
            found = [offset for offset, block in blocks_of(self.root, rel) if containing in block]
            for start in reversed(found):
                for offset, block in islice(blocks_of(self.root, rel, start=start), 1):
                    for line in reversed(list(lines_holding(containing, offset, block))):
                        with contextlib.suppress(BadRecord):
                            return read_line(line.data)
        return None

    def subjects(self, prefix: str) -> set[str]:
        """All subjects that begin so, of however many events; no line is judged for it."""
        # The subject is the last member but `v`, so nothing inside an event looks like it.
        form = re.compile(rb',"subject":"(%b[^"\\]*)","v":1}\n' % re.escape(prefix.encode()))
        found: set[bytes] = set()
        for number in segment_numbers(self.root, self.folder):
            for _, block in blocks_of(self.root, self.folder / segment_name(number)):
                found.update(form.findall(block))
        return {subject.decode("utf-8", "replace") for subject in found}

    def last(self, count: int) -> list[Event]:
        """The newest events, oldest of them first; no more is read than they need."""
        found: list[Event] = []
        for number in reversed(segment_numbers(self.root, self.folder)):
            if len(found) >= count:
                break
            found = self._last_of(number, count - len(found)) + found
        return found

    def _last_of(self, number: int, count: int) -> list[Event]:
        """The newest events of a segment; bad lines among them do not count."""
        lines = count
        while True:
            tail = read_tail(self.root, self.folder / segment_name(number), lines)
            found: list[Event] = []
            for line in tail.lines:
                with contextlib.suppress(BadRecord):
                    found.append(read_line(line.data))
            if len(found) >= count or len(tail.lines) < lines:
                return found[-count:]
            lines *= 2

    def find(self, event_id: str) -> Event:
        """The event of an id."""
        if is_ulid(event_id):
            for event in self.events(containing=event_id.encode()):
                if event.event_id == event_id:
                    return event
        raise NotInLedger(where=printable(event_id))


def _whole_end(tail: Tail) -> tuple[int, str]:
    """Where the torn end of a segment begins, and why it is torn; its size when it is not."""
    if tail.torn:
        return tail.rest_offset, "the line has no end"
    if tail.lines:
        last = tail.lines[-1]
        try:
            read_line(last.data)
        except BadRecord as error:
            return last.offset, str(error)
    return tail.size, ""


def _judge(name: str, tail: Tail) -> tuple[str, Finding | None]:
    """The hash that the next record continues, or why a segment can not be continued: its last
    record, or the one before it, is bad."""
    before: Event | None = None
    prev = FIRST
    for line in tail.lines:
        try:
            event = read_line(line.data)
        except BadRecord as error:
            return prev, Finding.at(name, 0, line.offset, error)
        if before is not None and event.prev != before.sha256:
            return prev, Finding(name, 0, line.offset, "it does not continue the record before")
        before, prev = event, event.sha256
    return prev, None
