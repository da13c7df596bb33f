"""Floor 1, `record`: the ledger: appending to it, and reading it in order.

An append is acknowledged only after its bytes are durable and were read again.  What a crash
left at the end is set aside, never trusted and never thrown away; what is bad before the end is
never touched: a new segment begins and names it (spec 0, ledger).
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from muniment.canonical import Json
from muniment.clock import Clock, instant
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.errors import ReadbackFailed, named
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.ids import Entropy, new_ulid
from muniment.message import say
from muniment.path import RelPath
from muniment.record.errors import EventTooLarge, NotInLedger
from muniment.record.event import FIRST, LINE_LIMIT, BadRecord, Context, Draft, Event, read_line, seal
from muniment.record.segments import (
    SEGMENT_BYTES,
    Tail,
    lines_of,
    read_range,
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


@dataclass(slots=True)
class _End:
    """Where the next line goes: segment, its size, the hash it continues, and the events that
    must come before anything else."""

    segment: int
    size: int
    prev: str
    first: list[Draft]


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
            events = self._seal(end, [*end.first, *drafts])
            blob = b"".join(event.line() for event in events)
            if end.size and end.size + len(blob) > self._segment_bytes:
                end.segment, end.size = end.segment + 1, 0
            self._write(end, blob)
            if end.first:
                self._torn_files_are_named()
        self._read_again(end, blob)
        return events[len(end.first) :]

    def _seal(self, end: _End, drafts: Iterable[Draft]) -> list[Event]:
        events: list[Event] = []
        prev = end.prev
        for draft in drafts:
            now = self._clock()
            event = seal(
                draft,
                event_id=new_ulid(now, self._entropy),
                at=instant(now),
                actor=self._actor,
                context=self._context,
                prev=prev,
            )
            size = len(event.line())
            if size > LINE_LIMIT:
                raise EventTooLarge(size=size, limit=LINE_LIMIT, where=draft.kind)
            events.append(event)
            prev = event.sha256
        return events

    def _end(self) -> _End:
        """Read the tail and, under the lock, set aside what a crash left there."""
        numbers = segment_numbers(self.root, self.folder)
        pending = self._pending_torn()
        if not numbers:
            return _End(1, 0, FIRST, pending)
        number = numbers[-1]
        tail = self._tail(number)
        if tail.rest or (tail.last is not None and _fault(tail.last)):
            pending.append(self._set_aside(number, tail))
            tail = self._tail(number)
        if tail.last is None:
            # An empty segment: a crash came between making it and writing to it.
            return self._end_of_older(number, numbers[:-1], pending)
        fault = _broken_end(tail)
        if fault:
            return _End(number + 1, 0, FIRST, [_damage(number, fault), *pending])
        return _End(number, tail.size, read_line(tail.last).sha256, pending)

    def _end_of_older(self, empty: int, older: list[int], pending: list[Draft]) -> _End:
        """The chain goes on from the segment before an empty one."""
        if not older:
            return _End(empty, 0, FIRST, pending)
        tail = self._tail(older[-1])
        # It was whole when its successor was made, so a fault there is damage, not a torn write.
        fault = "its end is torn, though a segment follows" if tail.rest else _broken_end(tail)
        if tail.last is None or fault:
            return _End(empty, 0, FIRST, [_damage(older[-1], fault or "it is empty"), *pending])
        return _End(empty, 0, read_line(tail.last).sha256, pending)

    def _tail(self, number: int) -> Tail:
        return read_tail(self.root, self.folder / segment_name(number))

    def _set_aside(self, number: int, tail: Tail) -> Draft:
        """Move the torn end into `torn/` and cut the segment back to its last whole line."""
        keep = tail.size - len(tail.rest) if tail.rest else tail.last_offset
        torn = tail.rest or (tail.last or b"") + b"\n"
        name = new_ulid(self._clock(), self._entropy)
        folder = self.folder / TORN
        self.root.make_folders(folder, 0o700)
        write_verified(self.root, folder / (name + _PENDING), torn, mode=0o600)
        rel = self.folder / segment_name(number)
        fd = self.root.open_file(rel, os.O_WRONLY)
        try:
            with named(rel):
                os.ftruncate(fd, keep)
                platform.sync_data(fd)
        finally:
            os.close(fd)
        return _repaired(name, torn)

    def _pending_torn(self) -> list[Draft]:
        """Ends set aside by a process that was killed before it could say so."""
        folder = self.folder / TORN
        if not self.root.exists(folder):
            return []
        waiting = [name for name in self.root.names(folder) if name.endswith(_PENDING)]
        return [_repaired(name.removesuffix(_PENDING), self.root.read(folder / name)) for name in waiting]

    def _torn_files_are_named(self) -> None:
        folder = self.folder / TORN
        if not self.root.exists(folder):
            return
        with self.root.folder(folder) as fd, named(folder):
            for name in os.listdir(fd):
                if name.endswith(_PENDING):
                    os.rename(name, name.removesuffix(_PENDING), src_dir_fd=fd, dst_dir_fd=fd)
            platform.sync_folder(fd)

    def _write(self, end: _End, blob: bytes) -> None:
        """One `write(2)`; if it or the sync fails, cut back to where the segment ended before."""
        rel = self.folder / segment_name(end.segment)
        flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT if end.size == 0 else 0)
        fd = self.root.open_file(rel, flags, 0o600)
        try:
            if end.size == 0:
                self.root.sync_folder(self.folder)
            try:
                with named(rel):
                    if os.write(fd, blob) != len(blob):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    platform.sync_data(fd)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, end.size)
                    platform.sync_data(fd)
                raise
        finally:
            os.close(fd)

    def _read_again(self, end: _End, blob: bytes) -> None:
        rel = self.folder / segment_name(end.segment)
        if read_range(self.root, rel, end.size, len(blob)) != blob:
            raise ReadbackFailed(where=rel.posix, why=say("the event is not there as it was written"))

    def read(self, start: tuple[int, int] = (1, 0), *, containing: bytes = b"") -> Iterator[Placed]:
        """Every event that can be read, in order, from a segment and offset on.

        With `containing`, only lines that hold these bytes.  Lines that are no records are passed
        over here; `verify` is what names them.
        """
        for number in segment_numbers(self.root, self.folder):
            if number < start[0]:
                continue
            begin = start[1] if number == start[0] else 0
            for offset, line in lines_of(self.root, self.folder / segment_name(number), start=begin):
                if line.endswith(b"\n") and containing in line:
                    with contextlib.suppress(BadRecord):
                        yield Placed(read_line(line[:-1]), number, offset)

    def events(self, *, containing: bytes = b"") -> Iterator[Event]:
        """Every event that can be read, in order."""
        return (placed.event for placed in self.read(containing=containing))

    def last(self, count: int) -> list[Event]:
        """The newest events, oldest of them first; no more is read than they need."""
        found: list[Event] = []
        for number in reversed(segment_numbers(self.root, self.folder)):
            here: list[Event] = []
            for line in read_tail(self.root, self.folder / segment_name(number), count - len(found)).lines:
                with contextlib.suppress(BadRecord):
                    here.append(read_line(line))
            found = here + found
            if len(found) >= count:
                break
        return found

    def find(self, event_id: str) -> Event:
        """The event of an id."""
        for event in self.events(containing=event_id.encode()):
            if event.event_id == event_id:
                return event
        raise NotInLedger(where=event_id)


def _fault(line: bytes) -> str:
    try:
        read_line(line)
    except BadRecord as error:
        return str(error)
    return ""


def _broken_end(tail: Tail) -> str:
    """Why a segment can not be continued: its last line, or the one before it, is bad."""
    if tail.last is None:
        return ""
    try:
        last = read_line(tail.last)
    except BadRecord as error:
        return f"a record before a torn one: {error}"
    if tail.before_last is None:
        return ""
    try:
        before = read_line(tail.before_last)
    except BadRecord as error:
        return f"the record before the last: {error}"
    return "" if before.sha256 == last.prev else "the last record does not continue the one before"


def _repaired(name: str, torn: bytes) -> Draft:
    evidence: dict[str, Json] = {"torn": f"torn/{name}", "bytes": len(torn), "sha256": sha256(torn).hex}
    return Draft("ledger.repaired", "ledger", evidence)


def _damage(segment: int, finding: str) -> Draft:
    evidence: dict[str, Json] = {"segment": segment_name(segment), "finding": finding}
    return Draft("ledger.segment_after_damage", "ledger", evidence)
