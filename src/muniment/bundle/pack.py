"""Floor 2, `bundle`: packing: entries in path order become extents, a manifest and an index.

The calling thread plans: it groups small files by path and size alone, and reads and cuts large
ones.  Workers read the small files, hash and deflate.  What comes out is the same for any number of
workers, because nothing that decides a cut depends on them.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import Any

from muniment.bundle import tar
from muniment.bundle.crew import Crew, Odd, may_fork, uncollected
from muniment.bundle.cuts import MEASURED, CutRules, pieces
from muniment.bundle.index import Index, IndexWriter
from muniment.bundle.listing import Listing
from muniment.bundle.making import (
    CHANGED,
    Group,
    Groups,
    Made,
    Maker,
    Piece,
    Step,
    face,
    key_of,
    regular,
    require_later,
    unreadable,
)
from muniment.bundle.manifest import Heading, Rows, Text
from muniment.bundle.model import (
    MANIFEST,
    Entry,
    Extent,
    Fault,
    Have,
    Known,
    Memory,
    Packed,
    Source,
    too_far,
)
from muniment.bundle.segments import Part, Segment, one_by_one
from muniment.bundle.stretches import End, Fresh, Kept, Recorder, Sheet, Told, in_stretches
from muniment.bundle.tar import wire
from muniment.disk import platform
from muniment.disk.errors import system_reason
from muniment.evidence import Kind
from muniment.ids import Entropy
from muniment.message import Message, say
from muniment.path import printable

BATCH = 1 << 20
"""Raw bytes that a worker is given at once: enough to make the hand-over cheap."""

BATCH_MOST = 4096
"""Steps in a batch at most, when nearly everything is known already."""

AHEAD = 3
"""Batches in flight for each worker."""

SPOOL = 8 << 20
"""Bytes of deflated manifest that are kept in memory; more goes to a temporary file."""


_Fields = tuple[Any, ...]
_Asked = list[_Fields] | tuple[_Fields, ...]
"""What helpers are asked for: the entries of a group, or the segments of a stretch."""

_Told = tuple[list[_Fields], list[_Fields], bytes, bool, _Fields | None, _Fields | None]
"""What helpers send: extents and files as plain tuples, pickled faults, whether it may be remembered; of
a stretch its sheet and rows."""

_Crew = Crew[list[_Asked], list[_Told]]
_Pending = Future[list[Made]] | int | None


def _weight(step: Step) -> int:
    """Raw bytes that are to be worked on."""
    if isinstance(step, _SMALL):
        return step.size
    return len(step.raw) if isinstance(step, Piece) else 0


def _for_helper(step: Group | Fresh) -> _Asked:
    if isinstance(step, Fresh):
        return tuple((place, origin, tuple(part)) for place, origin, part in step.run)
    return [
        (path, kind.value, mode, mtime_ns, size, target, b"", origin, content)
        for path, kind, mode, mtime_ns, size, target, _, origin, content in step.members
    ]


def _asked(asked: _Asked) -> Group | Fresh:
    """In the helper: what it is to make."""
    if isinstance(asked, tuple):
        return Fresh(b"", b"", [Segment(place, origin, Part(*part)) for place, origin, part in asked], 0)
    return Group([Entry(path, _KINDS[kind], *rest) for path, kind, *rest in asked], b"", 0)


def _told(made: Made) -> _Told:
    """In the helper: what it made."""
    return (
        [tuple(one) for one in made.extents],
        [tuple(one) for one in made.files],
        pickle.dumps(made.faults) if made.faults else b"",
        made.key is not None,
        made.sheet.plain() if made.sheet else None,
        tuple(made.rows) if made.rows else None,
    )


def _from_helper(step: Step, told: _Told) -> Made:
    """What a helper made; where all went well, its files are those that it was asked for."""
    extents, files, faults, remembered, sheet, rows = told
    return Made(
        [_extent(one) for one in extents],
        [_packed(one) for one in files],
        pickle.loads(faults) if faults else [],
        step.key if remembered and isinstance(step, Group | Fresh) else None,
        first=step.first if isinstance(step, Fresh) else b"",
        sheet=Sheet.of(sheet) if sheet else None,
        rows=Rows(*rows) if rows else None,
    )


# Past the named tuple's own `__new__`, which takes thrice as long.
_extent = partial(tuple.__new__, Extent)
_packed = partial(tuple.__new__, Packed)
_SMALL = Group | Fresh
_KINDS = {kind.value: kind for kind in Kind}


class Packing:
    """One run of the packer: iterate it for the extents in stream order, then ask for the rest.

    `workers` threads help the calling one; 0 does everything in it.  Where `shared` says of all small
    files of a group that a forked process can open them too, as many helpers pack them (ADR 0103); what
    stands in segments it can open in any case.  `memory` and `have` save reading and deflating what is
    known to be kept already; of a stretch that the memory knows as a whole no extent is given out, but
    `passed` is told its last path and its raw bytes.  Where it knows nothing at all, stretches are planned
    where they are packed (ADR 0109).  With `prove` each piece is checked where it was made, as a vault checks
    what is handed in, so that one in the same process need not do that.  `faults`, `index`, `files` and
    `size` (of all files, in bytes) are complete when the iteration has ended.
    """

    def __init__(
        self,
        entries: Iterable[Entry | Segment],
        source: Source,
        heading: Heading,
        *,
        rules: CutRules = MEASURED,
        workers: int = 2,
        memory: Memory | None = None,
        have: Have = lambda extent: False,
        shared: Callable[[Entry], bool] | None = None,
        passed: Callable[[bytes, int], object] = lambda path, size: None,
        prove: Entropy | None = None,
    ) -> None:
        self._entries = entries
        self._shared = shared
        self._passed = passed
        self._source = source
        self._heading = heading
        self._rules = rules
        self._workers = workers
        self._memory = memory
        self._maker = Maker(source, rules, have, prove)
        self._alone = False
        self._rows = IndexWriter()
        self._text = Text(heading)
        self._index: Index | None = None
        self._told: deque[Told] = deque()
        self._members: deque[int] = deque()
        self.faults: list[Fault] = []

    @property
    def index(self) -> Index:
        """The index of everything that was given out."""
        if self._index is None or self._index.count != self._rows.count:
            self._index = self._rows.done()
        return self._index

    @property
    def files(self) -> int:
        """How many files the manifest lists."""
        return self._text.files

    @property
    def size(self) -> int:
        """How many bytes those files have together."""
        return self._text.size

    def __iter__(self) -> Generator[Extent, None, None]:
        with uncollected(), SpooledTemporaryFile(max_size=SPOOL) as spool:
            created = int(self._heading.created_at.timestamp())
            listing = Listing(self._text, created, self._rules.text_mean, spool, self._maker.extent)
            recorder = Recorder(self._memory, self._told) if self._memory else None
            number = -1
            for number, made in enumerate(self._made()):
                if recorder:
                    recorder.before(number)
                if made.kept:
                    self._pass(made.kept, listing)
                    continue
                self.faults += made.faults
                if made.sheet:
                    if made.rows:
                        listing.add_rows(made.rows)
                    if self._memory:
                        made.sheet.tell(self._memory, made.first, made.key or b"")
                    yield from self._indexed(made.extents)
                    continue
                sheet = recorder.sheet if recorder else None
                for packed in made.files:
                    cut = listing.add(packed)
                    if sheet:
                        sheet.file(packed, cut)
                for extent in self._indexed(made.extents):
                    if sheet:
                        sheet.extent(extent)
                    yield extent
                if sheet and not made.more:
                    sheet.group(made.key, self._members.popleft())
            if recorder:
                recorder.before(number + 1)
            yield from self._indexed(
                listing.finish([f"{printable(fault.path)}: {fault.finding}" for fault in self.faults])
            )
        yield from self._indexed([self._maker.extent(tar.END, wire(MANIFEST))])

    def _indexed(self, extents: Iterable[Extent]) -> Iterator[Extent]:
        for extent in extents:
            self._rows.add(extent)
            yield extent

    def _pass(self, kept: Kept, listing: Listing) -> None:
        """What is known is not given out."""
        before = self._rows.raw
        known = kept.stretch
        self._rows.add_groups(kept.paths(), [note[2] for note in known.notes], known.rows)
        listing.add_many(kept.files(), known.cuts)
        self._passed(kept.last, self._rows.raw - before)

    def _made(self) -> Iterator[Made]:
        """Everything made, in stream order, with a bounded number of batches in flight."""
        if not self._workers:
            for batch in self._batches():
                yield from map(self._maker.make, batch)
            return
        self._alone = self._shared is None or not may_fork()
        most = AHEAD * self._workers
        flying: deque[tuple[_Pending, Sequence[Step]]] = deque()
        busy = size = 0
        with ExitStack() as held:
            pool = held.enter_context(ThreadPoolExecutor(self._workers, "pack"))
            crew: _Crew | None = None
            try:
                for batch in self._batches():
                    size += sum(map(_weight, batch))
                    if not self._alone and crew is None and size >= BATCH:
                        # Not before there is something to do, and before there is a thread.
                        with self._or_alone():
                            crew = held.enter_context(Crew(self._help, self._workers))
                    pending: _Pending = None
                    steps = self._for_helpers(batch) if crew and not self._alone else None
                    if crew and steps:
                        with self._or_alone():
                            pending = crew.give([*map(_for_helper, steps)])
                    elif (crew or self._alone) and any(not isinstance(step, Made) for step in batch):
                        pending = pool.submit(self._work, batch)
                    flying.append((pending, batch))
                    busy += pending is not None
                    while flying and (busy > most or len(flying) > 4 * most or flying[0][0] is None):
                        busy -= flying[0][0] is not None
                        yield from self._landed(crew, *flying.popleft())
                while flying:
                    yield from self._landed(crew, *flying.popleft())
            finally:
                for waiting, _ in flying:
                    if isinstance(waiting, Future):
                        waiting.cancel()

    def _landed(self, crew: _Crew | None, pending: _Pending, batch: Sequence[Step]) -> Iterable[Made]:
        if isinstance(pending, Future):
            return pending.result()
        if pending is not None and crew and not self._alone:
            with self._or_alone():
                return [*map(_from_helper, batch, crew.result(pending))]
        return self._work(batch)

    @contextmanager
    def _or_alone(self) -> Iterator[None]:
        """What helpers can not do, or one that is lost has not done, this process does itself."""
        try:
            yield
        except Odd:
            self._alone = True

    def _for_helpers(self, batch: Sequence[Step]) -> list[Group | Fresh] | None:
        """The steps of a batch, if helpers can open all that is in them."""
        shared = self._shared
        steps = [step for step in batch if isinstance(step, _SMALL)]
        if len(steps) < len(batch) or shared is None:
            return None
        groups = [step for step in steps if isinstance(step, Group)]
        return steps if all(shared(entry) for group in groups for entry in group.members) else None

    def _work(self, batch: Sequence[Step]) -> list[Made]:
        return [*map(self._maker.make, batch)]

    def _help(self, batch: list[_Asked]) -> list[_Told]:
        """What a helper does."""
        return [_told(self._maker.make(_asked(one))) for one in batch]

    # Planning, in the calling thread.

    def _batches(self) -> Iterator[list[Step]]:
        batch: list[Step] = []
        size = 0
        for step in self._steps():
            kept = isinstance(step, Made) and step.kept is not None
            if batch and (
                kept or (self._shared and isinstance(step, _SMALL) is not isinstance(batch[-1], _SMALL))
            ):
                yield batch
                batch, size = [], 0
            if kept:
                yield [step]  # it holds a listing that nobody needs for long
                continue
            batch.append(step)
            size += _weight(step)
            if size >= BATCH or len(batch) >= BATCH_MOST:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _steps(self) -> Iterator[Step]:
        """What is to be made, in order; the stretches it belongs to are told beside it."""
        number = 0
        for step in self._plan():
            if isinstance(step, Told):
                step.begin = number
                self._told.append(step)
            elif isinstance(step, End):
                self._told[-1].end = number
            else:
                number += 1
                if isinstance(step, Group):
                    self._members.append(len(step.members))
                elif isinstance(step, Made) and not step.kept:
                    self._members.append(step.members)
                yield step

    def _plan(self) -> Iterator[Step | Told | End]:
        rules, memory = self._rules, self._memory
        groups = Groups(rules)
        before = b""
        for entry in (
            one_by_one(self._entries) if memory is None else in_stretches(self._entries, rules, memory)
        ):
            if isinstance(entry, Kept | Fresh):
                require_later(before, entry.first)
                before = entry.last
                yield entry if isinstance(entry, Fresh) else Made([], [], [], kept=entry)
                continue
            if not isinstance(entry, Entry):
                for members, size in groups.close():
                    assert isinstance(entry, End) and entry.last
                    yield self._group(members, size)
                yield entry
                continue
            path = wire(entry.path)
            require_later(before, path)
            before = path
            if too_far(path):
                yield Made([], [], [Fault(entry.path, "left_out", TOO_FAR)])
            elif entry.size > rules.large:
                for members, size in groups.close():
                    yield self._group(members, size)
                yield from self._large(entry, path)
            else:
                for members, size in groups.add(entry, path):
                    yield self._group(members, size)
        for members, size in groups.close():
            yield self._group(members, size)

    def _group(self, members: list[Entry], size: int) -> Group | Made:
        if self._memory is None:
            return Group(members, None, size)
        key = key_of(members)
        known = None if key is None else self._memory.recall(key)
        made = None if known is None else _recalled(members, known, key)
        return made or Group(members, key, size)

    def _large(self, entry: Entry, path: bytes) -> Iterator[Step]:
        """A large file: its records, then its pieces; only hashing the whole is done here."""
        first = self._group([entry], 0)
        if isinstance(first, Made):
            yield first
            return
        fd = -1
        try:
            if entry.content is None:
                fd = self._source.open(entry)
                before = regular(fd)
        except OSError as error:
            if fd >= 0:
                platform.close(fd)
            yield Made([], [], [unreadable(entry, error)])
            return
        try:
            size = entry.size if fd < 0 else before.st_size
            read = partial(os.read, fd) if entry.content is None else BytesIO(entry.content).read
            reader = _Exactly(read, size)
            yield Piece(tar.header(entry, size), path)
            held = b""
            for piece in pieces(reader.read, self._rules):
                if held:
                    yield Piece(held, path)
                held = piece
            if held:
                yield Piece(held + tar.padding(size), path)
            faults = []
            if reader.finding is not None:
                faults.append(Fault(entry.path, "cut_short", reader.finding))
            elif fd >= 0 and face(os.fstat(fd)) != face(before):
                faults.append(Fault(entry.path, "changed", CHANGED))
        finally:
            if fd >= 0:
                platform.close(fd)
        key = None if faults or size != entry.size else first.key
        yield Made([], [Packed(entry.path, size, reader.sha256.hexdigest())], faults, key)


TOO_FAR = say("its path is longer or deeper than a snapshot can hold")


def _recalled(members: list[Entry], known: Known, key: bytes | None) -> Made | None:
    """What a memory gives back; none if it can not be that of these entries."""
    files = [entry for entry in members if entry.kind is Kind.FILE]
    if len(files) != len(known.files):
        return None
    path = wire(members[0].path)
    return Made(
        [Extent(*extent, path, None) for extent in known.extents],
        [Packed(entry[0], entry[4], digest) for entry, digest in zip(files, known.files, strict=True)],
        [],
        key,
        members=len(members),
    )


class _Exactly:
    """Reads so many bytes of a file, whatever becomes of it, and hashes them."""

    def __init__(self, read: Callable[[int], bytes], size: int) -> None:
        self._read = read
        self._left = size
        self.sha256 = hashlib.sha256()
        self.finding: Message | None = None

    def read(self, most: int) -> bytes:
        """Up to so many bytes; none at the end.  Zeros stand for what is gone: its length is told."""
        want = min(most, self._left)
        data = b""
        if want and self.finding is None:
            try:
                data = self._read(want)
            except OSError as error:
                self.finding = say("it could not be read to its end: {error}", error=system_reason(error))
        if want and not data:
            if self.finding is None:
                self.finding = say("it became shorter while it was read")
            data = bytes(want)
        self._left -= len(data)
        self.sha256.update(data)
        return data
