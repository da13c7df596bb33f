"""Floor 2, `bundle`: packing: entries in path order become extents, a manifest and an index.

The calling thread plans: it groups small files by path and size alone, and reads and cuts large
ones.  Workers read the small files, hash and deflate.  What comes out is the same for any number of
workers, because nothing that decides a cut depends on them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

from muniment.bundle import tar
from muniment.bundle.crew import Crew, Odd, may_fork, uncollected
from muniment.bundle.cuts import MEASURED, CutRules, cut_after, pieces
from muniment.bundle.extent import check, make_extent
from muniment.bundle.index import Index, IndexWriter
from muniment.bundle.listing import Listing
from muniment.bundle.manifest import Heading, Text
from muniment.bundle.model import (
    BLOCK,
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
from muniment.bundle.segments import Segment, one_by_one
from muniment.bundle.stretches import End, Kept, Recorder, Told, in_stretches
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

TRIES = 3
"""How often a file that changes under the reader is read."""

GROWN_MOST = 64 << 20
"""So many bytes are packed of a file that was small when it was listed and is now larger than that."""

SPOOL = 8 << 20
"""Bytes of deflated manifest that are kept in memory; more goes to a temporary file."""


class Unsorted(ValueError):
    """The entries do not come in the order of their paths, or a path stands twice."""


class _Group(NamedTuple):
    """Small entries that make one extent; `size` is what it will have, in raw bytes."""

    members: list[Entry]
    key: bytes | None
    size: int


class _Piece(NamedTuple):
    """Raw bytes that make one extent of a large file."""

    raw: bytes
    path: bytes


class _Made(NamedTuple):
    """What came of one group or piece; `more` when the same file goes on in the next."""

    extents: list[Extent]
    files: list[Packed]
    faults: list[Fault]
    key: bytes | None = None
    more: bool = False
    members: int = 1
    kept: Kept | None = None


_Step = _Group | _Piece | _Made
_Fields = tuple[Any, ...]
_Told = tuple[list[_Fields], list[_Fields], bytes, bool]
"""What helpers send: extents and files as plain tuples, pickled faults, whether it may be remembered."""

_Crew = Crew[list[list[_Fields]], list[_Told]]
_Pending = Future[list[_Made]] | int | None


def _weight(step: _Step) -> int:
    """Raw bytes that are to be worked on."""
    if isinstance(step, _Group):
        return step.size
    return len(step.raw) if isinstance(step, _Piece) else 0


def _for_helper(group: _Group) -> list[_Fields]:
    return [
        (path, kind.value, mode, mtime_ns, size, target, b"", origin, content)
        for path, kind, mode, mtime_ns, size, target, _, origin, content in group.members
    ]


def _from_helper(step: _Step, told: _Told) -> _Made:
    """What a helper made of a group; where all went well, its files are those of the group."""
    assert isinstance(step, _Group)
    extents, files, faults, remembered = told
    return _Made(
        [_extent(one) for one in extents],
        [_packed(one) for one in files],
        pickle.loads(faults) if faults else [],
        step.key if remembered else None,
    )


# Past the named tuple's own `__new__`, which takes thrice as long.
_extent = partial(tuple.__new__, Extent)
_packed = partial(tuple.__new__, Packed)
_KINDS = {kind.value: kind for kind in Kind}


class Packing:
    """One run of the packer: iterate it for the extents in stream order, then ask for the rest.

    `workers` threads help the calling one; 0 does everything in it.  Where `shared` says of all small
    files of a group that a forked process can open them too, as many helpers pack them (ADR 0103).
    `memory` and `have` save reading and deflating what is known to be kept already; of a stretch that
    the memory knows as a whole no extent is given out, but `passed` is told its last path and its raw
    bytes.  With `prove` each piece is checked where it was made, as a vault checks what is handed in, so that
    one in the same process need not do that.  `faults`, `index`, `files` and `size` (of all files, in bytes)
    are complete when the iteration has ended.
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
        self._have = have
        self._prove = prove
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
            listing = Listing(self._text, created, self._rules.text_mean, spool, self._extent)
            recorder = Recorder(self._memory, self._told) if self._memory else None
            number = -1
            for number, made in enumerate(self._made()):
                if recorder:
                    recorder.before(number)
                if made.kept:
                    self._pass(made.kept, listing)
                    continue
                self.faults += made.faults
                for packed in made.files:
                    cut = listing.add(packed)
                    if recorder:
                        recorder.file(packed, cut)
                for extent in made.extents:
                    self._rows.add(extent)
                    if recorder:
                        recorder.extent(extent)
                    yield extent
                if recorder and not made.more:
                    recorder.group(made.key, self._members.popleft())
            if recorder:
                recorder.before(number + 1)
            for extent in listing.finish(
                [f"{printable(fault.path)}: {fault.finding}" for fault in self.faults]
            ):
                self._rows.add(extent)
                yield extent
        end = self._extent(tar.END, wire(MANIFEST))
        self._rows.add(end)
        yield end

    def _pass(self, kept: Kept, listing: Listing) -> None:
        """What is known is not given out."""
        before = self._rows.raw
        known = kept.stretch
        self._rows.add_groups(kept.paths(), [note[2] for note in known.notes], known.rows)
        listing.add_many(kept.files(), known.cuts)
        self._passed(kept.last, self._rows.raw - before)

    def _made(self) -> Iterator[_Made]:
        """Everything made, in stream order, with a bounded number of batches in flight."""
        if not self._workers:
            for batch in self._batches():
                yield from self._work(batch)
            return
        self._alone = self._shared is None or not may_fork()
        most = AHEAD * self._workers
        flying: deque[tuple[_Pending, Sequence[_Step]]] = deque()
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
                            crew = held.enter_context(Crew(self._pack_groups, self._workers))
                    pending: _Pending = None
                    groups = self._for_helpers(batch) if crew and not self._alone else None
                    if crew and groups:
                        with self._or_alone():
                            pending = crew.give([_for_helper(group) for group in groups])
                    elif (crew or self._alone) and any(not isinstance(step, _Made) for step in batch):
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

    def _landed(self, crew: _Crew | None, pending: _Pending, batch: Sequence[_Step]) -> Iterable[_Made]:
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

    def _for_helpers(self, batch: Sequence[_Step]) -> list[_Group] | None:
        """The groups of a batch, if helpers can open all that is in them."""
        shared = self._shared
        groups = [step for step in batch if isinstance(step, _Group)]
        if len(groups) < len(batch) or shared is None:
            return None
        return groups if all(shared(entry) for group in groups for entry in group.members) else None

    # Planning, in the calling thread.

    def _batches(self) -> Iterator[list[_Step]]:
        batch: list[_Step] = []
        size = 0
        for step in self._steps():
            kept = isinstance(step, _Made) and step.kept is not None
            if batch and (
                kept or (self._shared and isinstance(step, _Group) is not isinstance(batch[-1], _Group))
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

    def _steps(self) -> Iterator[_Step]:
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
                if isinstance(step, _Group):
                    self._members.append(len(step.members))
                elif isinstance(step, _Made) and not step.kept:
                    self._members.append(step.members)
                yield step

    def _plan(self) -> Iterator[_Step | Told | End]:
        rules, memory = self._rules, self._memory
        group: list[Entry] = []
        size = 0
        before = b""
        for entry in (
            one_by_one(self._entries) if memory is None else in_stretches(self._entries, rules, memory)
        ):
            if not isinstance(entry, Entry):
                if isinstance(entry, Kept):
                    _require_later(before, entry.first)
                    before = entry.last
                    yield _Made([], [], [], kept=entry)
                else:
                    if group:
                        assert isinstance(entry, End) and entry.last
                        yield self._group(group, size)
                        group, size = [], 0
                    yield entry
                continue
            path = wire(entry.path)
            _require_later(before, path)
            before = path
            if too_far(path):
                yield _Made([], [], [Fault(entry.path, "left_out", TOO_FAR)])
                continue
            room = tar.room(entry, path)
            large = entry.size > rules.large
            if group and (large or size + room > rules.cap):
                yield self._group(group, size)
                group, size = [], 0
            if large:
                yield from self._large(entry, path)
                continue
            group.append(entry)
            size += room
            if cut_after(path, room, rules.mean):
                yield self._group(group, size)
                group, size = [], 0
        if group:
            yield self._group(group, size)

    def _group(self, members: list[Entry], size: int) -> _Group | _Made:
        if self._memory is None:
            return _Group(members, None, size)
        key = _key(members)
        known = None if key is None else self._memory.recall(key)
        made = None if known is None else _recalled(members, known, key)
        return made or _Group(members, key, size)

    def _large(self, entry: Entry, path: bytes) -> Iterator[_Step]:
        """A large file: its records, then its pieces; only hashing the whole is done here."""
        first = self._group([entry], 0)
        if isinstance(first, _Made):
            yield first
            return
        fd = -1
        try:
            if entry.content is None:
                fd = self._source.open(entry)
                before = _regular(fd)
        except OSError as error:
            if fd >= 0:
                platform.close(fd)
            yield _Made([], [], [_unreadable(entry, error)])
            return
        try:
            size = entry.size if fd < 0 else before.st_size
            read = partial(os.read, fd) if entry.content is None else BytesIO(entry.content).read
            reader = _Exactly(read, size)
            yield _Piece(tar.header(entry, size), path)
            held = b""
            for piece in pieces(reader.read, self._rules):
                if held:
                    yield _Piece(held, path)
                held = piece
            if held:
                yield _Piece(held + tar.padding(size), path)
            faults = []
            if reader.finding is not None:
                faults.append(Fault(entry.path, "cut_short", reader.finding))
            elif fd >= 0 and _face(os.fstat(fd)) != _face(before):
                faults.append(Fault(entry.path, "changed", CHANGED))
        finally:
            if fd >= 0:
                platform.close(fd)
        key = None if faults or size != entry.size else first.key
        yield _Made([], [Packed(entry.path, size, reader.sha256.hexdigest())], faults, key)

    # Working, in any thread.

    def _extent(self, raw: bytes, path: bytes) -> Extent:
        made = make_extent(raw, path, self._have)
        if self._prove and made.piece is not None:
            check(made.piece, made, self._prove)
        return made

    def _work(self, batch: Sequence[_Step]) -> list[_Made]:
        return [self._make(step) for step in batch]

    def _pack_groups(self, groups: list[list[_Fields]]) -> list[_Told]:
        """What a helper does."""
        told: list[_Told] = []
        for members in groups:
            entries = [Entry(path, _KINDS[kind], *rest) for path, kind, *rest in members]
            made = self._make(_Group(entries, b"", 0))
            faults = pickle.dumps(made.faults) if made.faults else b""
            plain = [tuple(one) for one in made.extents], [tuple(one) for one in made.files]
            told.append((*plain, faults, made.key is not None))
        return told

    def _make(self, step: _Step) -> _Made:
        if isinstance(step, _Piece):
            return _Made([self._extent(step.raw, step.path)], [], [], more=True)
        if isinstance(step, _Made):
            return step
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
                faults.append(_unreadable(entry, error))
                continue
            if fault is not None:
                faults.append(fault)
            size = len(data)
            if size != entry.size:
                key = None
            parts += (tar.header(entry, size), data, bytes(-size % BLOCK))
            files.append(Packed(entry.path, size, hashlib.sha256(data).hexdigest()))
        if not parts:
            return _Made([], [], faults)
        blob, path = b"".join(parts), wire(step.members[0].path)
        # A file that grew since it was listed may make more than one extent can hold.
        most = max(self._rules.cap, self._rules.piece_most)
        cut = [blob[start : start + most] for start in range(0, len(blob), most)]
        extents = [self._extent(part, path) for part in cut]
        return _Made(extents, files, faults, None if faults else key)


TOO_FAR = say("its path is longer or deeper than a snapshot can hold")
CHANGED = say("it changed while it was read and was packed as it was read")
GROWN = say("it grew while it was read and was cut")


def _key(members: list[Entry]) -> bytes | None:
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


def _require_later(before: bytes, path: bytes) -> None:
    if path <= before:
        raise Unsorted(f"{os.fsdecode(path)!r} does not come after {os.fsdecode(before)!r}")


def _recalled(members: list[Entry], known: Known, key: bytes | None) -> _Made | None:
    """What a memory gives back; none if it can not be that of these entries."""
    files = [entry for entry in members if entry.kind is Kind.FILE]
    if len(files) != len(known.files):
        return None
    path = wire(members[0].path)
    return _Made(
        [Extent(*extent, path, None) for extent in known.extents],
        [Packed(entry[0], entry[4], digest) for entry, digest in zip(files, known.files, strict=True)],
        [],
        key,
        members=len(members),
    )


def _read(source: Source, entry: Entry) -> tuple[bytes, Fault | None]:
    """A small file's bytes, and what they are not: those of one moment, or all of it."""
    if entry.content is not None:
        return entry.content, None
    fd = source.open(entry)
    try:
        data = _to_end(fd, entry.size)
        after = _regular(fd)
        if after.st_size == entry.size == len(data) and after.st_mtime_ns == entry.mtime_ns:
            return data, None  # as the plan saw it, so also while it was read
        for _ in range(TRIES):
            before = os.fstat(fd)
            os.lseek(fd, 0, os.SEEK_SET)
            if before.st_size > GROWN_MOST:
                return os.read(fd, GROWN_MOST), Fault(entry.path, "cut_short", GROWN)
            data = _to_end(fd, before.st_size)
            if _face(os.fstat(fd)) == _face(before) and len(data) == before.st_size:
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


def _regular(fd: int) -> os.stat_result:
    """What `fstat` says, if it is still a file: a pipe may have been put in its place."""
    fact = os.fstat(fd)
    if not stat.S_ISREG(fact.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return fact


def _face(fact: os.stat_result) -> tuple[int, int, int]:
    return fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns


def _unreadable(entry: Entry, error: OSError) -> Fault:
    return Fault(entry.path, "left_out", say("it could not be read: {error}", error=system_reason(error)))


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
