"""Floor 2, `bundle`: a bundle's bytes against its own manifest: every file, nothing more, nothing less.

`verify` and `extract` are one walk: what differs is only the `Taker` that is given each member.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from muniment.bundle import tar
from muniment.bundle.crew import Crew, Odd, may_fork, uncollected
from muniment.bundle.errors import BadBundle, BadExtent, BadManifest, ContentsDiffer, OutsideLink
from muniment.bundle.extent import check, inflate
from muniment.bundle.groups import Piece, Told, digest_of, read_run, section_of, units
from muniment.bundle.gunzip import raw as inflated
from muniment.bundle.index import Index
from muniment.bundle.join import Fetch
from muniment.bundle.manifest import BYTES_MOST, read_listed, read_manifest, row_of
from muniment.bundle.members import PLACES, Admission, Member, Members
from muniment.bundle.model import MANIFEST, Packed, Row
from muniment.bundle.tar import wire
from muniment.evidence import Kind
from muniment.message import say

BATCH = 512 << 10
"""Raw bytes that a thread fetches and inflates at once; a few such batches wait for the reader."""

RUN = 1 << 20
"""Raw bytes of small members that a helper is given at once."""

FORK_FROM = 16 << 20
"""Raw bytes of a snapshot from which on helpers are worth their beginning."""

Advance = Callable[[int], object]
"""Is told of raw bytes as they are done."""

Seen = Callable[[Member], object]
"""Is told of every member but the manifest."""


def unwatched(_: object) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A bundle that holds what its manifest says: files and bytes in all and by section.

    `facts` are the manifest's, without `contents`; `manifest` is its text.
    """

    facts: Mapping[str, Any]
    files: int
    size: int
    sections: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    manifest: bytes = field(default=b"", repr=False)


class Taker(Protocol):
    """Is given every member in stream order; may raise to end the walk."""

    def folder(self, member: Member) -> None: ...
    def link(self, member: Member) -> None: ...
    def file(self, member: Member) -> Callable[[bytes], object]:
        """A function that takes the bytes, piece by piece; an empty piece says that it was all."""
        ...


class QuickTaker(Taker, Protocol):
    """One that takes small files in any order, in forked helpers too."""

    def whole(self, path: str, mode: int, mtime_ns: int, data: bytes) -> None:
        """A small file with all its bytes."""
        ...


def verify(
    raw: Iterable[bytes],
    taker: Taker | None = None,
    manifest_most: int = BYTES_MOST,
    seen: Seen = unwatched,
) -> Verified:
    """Walk a tar stream once and compare; raises `BadBundle`, `BadManifest` or `ContentsDiffer`.

    Memory: a path and a digest a file, and the manifest's text.
    """
    tally = _Tally(taker, manifest_most, seen)
    tally.walk(Members(raw, tally.admission))
    return tally.compare()


def verify_kept(index: Index, fetch: Fetch, workers: int = 2) -> Verified:
    """`verify` of a snapshot whose extents are kept; `fetch` must allow to be called from threads."""
    try:
        return verify_quickly(index, fetch, workers=workers)
    except Odd:
        return verify(unfold(index, fetch, workers, prove=True))


def verify_quickly(
    index: Index,
    fetch: Fetch,
    taker: QuickTaker | None = None,
    *,
    workers: int = 2,
    advance: Advance = unwatched,
    seen: Seen | None = None,
) -> Verified:
    """Small members are read by helpers beside each other, large ones in order.

    `Odd` when a snapshot is not as our packer writes it: `verify` judges it then.  Memory: a few bytes
    for each MiB, the paths of folders, and the manifest's text.
    """
    if index.whole:
        raise Odd("it was sent whole")
    tally = _Quick(taker, seen)
    helpers = workers if index.raw >= FORK_FROM and workers > 1 and may_fork() else 0
    work = partial(read_run, take=taker.whole if taker else None, tell=seen is not None)
    try:
        with uncollected(), Crew(work, helpers) as crew, _threads(workers) as pool:
            for told in crew.map(_pieces(tally.runs(index), fetch, pool, advance)):
                tally.run(Told._make(told))
            tally.walk(_told(_unfold(chain.from_iterable(tally.large), fetch, pool, True), advance))
        return tally.compare()
    except (
        BadBundle,
        BadExtent,
        BadManifest,
        OutsideLink,
    ) as error:  # perhaps not the first thing that is wrong
        raise Odd(str(error)) from error


def _told(raw: Iterator[bytes], advance: Advance) -> Iterator[bytes]:
    for part in raw:
        advance(len(part))
        yield part


def _pieces(
    runs: Iterator[list[Row]], fetch: Fetch, pool: _Pool | None, advance: Advance
) -> Iterator[list[Piece]]:
    """The pieces of some groups that follow each other, with what they have to be."""

    def one(rows: list[Row]) -> list[Piece]:
        return [(fetch(row), row.id, row.length, row.crc) for row in rows]

    for run in _ahead(one, runs, pool):
        advance(sum([length for _, _, length, _ in run]))
        yield run


class _Stretch:
    """Members that follow each other: a run of groups, or one large file, which has a `path`."""

    __slots__ = ("api", "files", "first", "last", "path")

    def __init__(self, path: bytes = b"") -> None:
        self.path = path
        self.first = self.last = b""
        self.api = self.files = (0, b"")


_ROOTS = frozenset(("", "files", *PLACES))
"""Folders that are there without a member: nothing but a folder may bear these names (`judge`)."""


class _Quick:
    """What was found, stretch by stretch, to be held to the manifest at the end.

    Paths that rise from the first member to the last stand once each; and when each lies in a folder
    that is a member itself, none leads through a file or link.  So no path has to be kept.
    """

    def __init__(self, taker: QuickTaker | None, seen: Seen | None) -> None:
        self.large: list[list[Row]] = []
        self._taker = taker
        self._seen = seen
        self._stretches: list[_Stretch] = []
        self._waiting: deque[_Stretch] = deque()
        self._above: set[str] = set()
        self._folders: set[str] = set()
        self._files: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        self._manifest: bytes | None = None

    def runs(self, index: Index) -> Iterator[list[Row]]:
        """The rows of groups that follow each other, about a `RUN` at once; those of large files, and
        of the manifest, are put aside."""
        run: list[Row] = []
        size = 0
        for unit in units(iter(index)):
            if len(unit) > 1 or size >= RUN:
                if run:
                    yield self._run(run)
                run, size = [], 0
            if len(unit) > 1:
                self.large.append(unit)
                self._stretches.append(_Stretch(unit[0].path))
            else:
                run += unit
                size += unit[0].length
        if run:
            yield self._run(run)

    def _run(self, rows: list[Row]) -> list[Row]:
        stretch = _Stretch()
        self._stretches.append(stretch)
        self._waiting.append(stretch)
        return rows

    def run(self, told: Told) -> None:
        """What a run gave; they come in order."""
        stretch = self._waiting.popleft()
        stretch.first, stretch.last, stretch.api, stretch.files = told[:4]
        for section, files, size in told.counts:
            self._files[section] += files
            self._sizes[section] += size
        self._above.update(told.above)
        for path, kind, mode, mtime_ns, size, target in told.met:
            self._meet(Member(path, Kind(kind), mode, mtime_ns, size, target))

    def _meet(self, member: Member) -> None:
        if member.kind is Kind.DIRECTORY:
            self._folders.add(member.path)
            if self._taker:
                self._taker.folder(member)
        elif member.kind is Kind.LINK and self._taker:
            self._taker.link(member)
        if self._seen:
            self._seen(member)

    def walk(self, raw: Iterator[bytes]) -> None:
        """The large files, and the manifest; `raw` are their extents' bytes, one after the other.

        Between two of them something else may stand in the stream, so each has to end where its extents
        do: it is given an end of its own, and that has to be met there and nowhere else.
        """
        large = [stretch for stretch in self._stretches if stretch.path]
        for number, (unit, stretch) in enumerate(zip(self.large, large, strict=True), 1):
            members = Members(chain(islice(raw, len(unit)), (tar.END,)))
            self._unit(stretch, members)
            if (members.over >= len(tar.END)) is not (number == len(large)):
                raise Odd("a stream that ends in its middle, or not at all")

    def _unit(self, stretch: _Stretch, members: Members) -> None:
        rows: dict[bool, list[str]] = {True: [], False: []}  # those below `api/`, and all others
        for member in members:
            path = wire(member.path)
            if path <= stretch.last or path < stretch.path:
                raise Odd("members that are not in order")
            stretch.first, stretch.last = stretch.first or path, path
            self._above.add(member.path.rpartition("/")[0])
            if member.path == MANIFEST:
                if member.size > BYTES_MOST:
                    raise Odd("a manifest that is too long")
                self._manifest = b"".join(members.content())
                continue
            if member.same_as:
                raise Odd("a hard link")
            if member.kind is Kind.FILE:
                digest = take(members, member, self._taker)[:32]
                rows[path.startswith(b"api/")].append(row_of(member.path, member.size, digest.hex()))
                section = section_of(member.path)
                self._files[section] += 1
                self._sizes[section] += member.size
            self._meet(member)
        stretch.api, stretch.files = digest_of(rows[True]), digest_of(rows[False])

    def compare(self) -> Verified:
        """Hold everything to the manifest; `Odd` when something does not fit."""
        before = b""
        for stretch in self._stretches:
            if stretch.first <= before:
                raise Odd("members that are not in order")
            before = stretch.last
        if not self._above <= self._folders | _ROOTS:
            raise Odd("a folder that is no member")
        if self._manifest is None:
            raise Odd("no manifest")
        facts = read_listed(
            self._manifest,
            [stretch.api for stretch in self._stretches],
            [stretch.files for stretch in self._stretches],
        )
        if facts is None:
            raise Odd("a manifest that lists something else, or otherwise than ours")
        files, sizes = self._files, self._sizes
        sections = {name: (files[name], sizes[name]) for name in sorted(files)}
        return Verified(facts, files.total(), sizes.total(), sections, self._manifest)


class _Tally:
    """What was found, to be held to the manifest."""

    def __init__(self, taker: Taker | None, manifest_most: int, seen: Seen) -> None:
        self.admission = Admission()
        self._taker = taker
        self._seen = seen
        self._most = manifest_most
        self._found: dict[str, bytes] = {}
        self._manifest: bytes | None = None

    def walk(self, members: Members) -> None:
        """Members in the order of a stream."""
        for member in members:
            if member.path == MANIFEST:
                if member.size > self._most:
                    raise BadManifest(
                        why=say("it has {size} bytes; {most} is the most", size=member.size, most=self._most)
                    )
                self._manifest = b"".join(members.content())
                continue
            if member.kind is not Kind.FILE:
                self._give(member)
            elif member.same_as:
                self._found[member.path] = self._found[member.same_as]
                if self._taker:
                    self._taker.file(member)(b"")
            else:
                self._found[member.path] = take(members, member, self._taker)
            self._seen(member._replace(same_as=""))

    def _give(self, member: Member) -> None:
        if self._taker is None:
            return
        if member.kind is Kind.DIRECTORY:
            self._taker.folder(member)
        else:
            self._taker.link(member)

    def compare(self) -> Verified:
        """Hold everything to the manifest."""
        if self._manifest is None:
            raise BadManifest(why=say("there is none"))
        bad: list[str] = []
        missing: list[str] = []
        files: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        found = self._found

        def each(packed: Packed) -> None:
            path = packed.path
            present = found.pop(path, None)
            if present is None and self.admission.kind(path) is Kind.FILE:
                raise BadManifest(where=path, why=say("a path stands twice in its contents"))
            if present is None:
                missing.append(path)
                return
            if present != facts_of(packed):
                bad.append(path)
            section = section_of(path)
            files[section] += 1
            sizes[section] += packed.size

        facts = read_manifest(self._manifest, each)
        if bad or missing or found:
            raise ContentsDiffer.of(bad, missing, list(found))
        sections = {name: (files[name], sizes[name]) for name in sorted(files)}
        return Verified(facts, files.total(), sizes.total(), sections, self._manifest)


def take(members: Members, member: Member, taker: Taker | None) -> bytes:
    """Hand on the present file's bytes; its size and sha256, as `facts_of` has them."""
    state = hashlib.sha256()
    put = taker.file(member) if taker else None
    for part in members.content():
        state.update(part)
        if put:
            put(part)
    if put:
        put(b"")
    return _facts(member.size, state.digest())


def _facts(size: int, digest: bytes) -> bytes:
    return digest + size.to_bytes(8, "little")


def facts_of(packed: Packed) -> bytes:
    """Size and sha256 of a row, in one."""
    return bytes.fromhex(packed.sha256) + packed.size.to_bytes(8, "little")


def unfold(index: Index, fetch: Fetch, workers: int = 1, *, prove: bool = False) -> Iterator[bytes]:
    """The tar stream from an index and its pieces, each held to its id; of a snapshot that was sent
    whole it is what its tar.gz holds.  With `prove` each is asked all that a vault asks, so that they can
    be joined to that tar.gz too.

    Pieces are fetched and inflated ahead by `workers` threads, so `fetch` must allow that; 0 does
    everything in the calling one.
    """

    pool = _Pool(workers) if workers else None
    try:
        pieces = _unfold(index, fetch, pool, prove)
        yield from inflated(pieces) if index.whole else pieces
    finally:
        # Not waited for: this may be run by the collector of garbage, in any thread at any place.
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)


def _unfold(rows: Iterable[Row], fetch: Fetch, pool: _Pool | None, prove: bool) -> Iterator[bytes]:
    def one(rows: list[Row]) -> list[bytes]:
        if prove:
            return [check(fetch(row), row, os.urandom) for row in rows]
        return [inflate(fetch(row), row) for row in rows]

    for batch in _ahead(one, _batches(rows, BATCH), pool):
        yield from batch


def _batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    batch: list[Row] = []
    have = 0
    for row in rows:
        batch.append(row)
        have += row.length
        if have >= size:
            yield batch
            batch, have = [], 0
    if batch:
        yield batch


Done = TypeVar("Done")


class _Pool(ThreadPoolExecutor):
    """Threads that fetch and inflate."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, "unfold")
        self.workers = workers


@contextmanager
def _threads(workers: int) -> Iterator[_Pool | None]:
    """So many threads for the length of a block, if any; what they have not begun is not done."""
    if not workers:
        yield None
        return
    with _Pool(workers) as pool:
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ahead(
    work: Callable[[list[Row]], Done], batches: Iterator[list[Row]], pool: _Pool | None
) -> Iterator[Done]:
    """What became of each batch, in order; some are worked on ahead."""
    if pool is None:
        yield from map(work, batches)
        return
    flying: deque[Future[Done]] = deque()
    for batch in batches:
        flying.append(pool.submit(work, batch))
        if len(flying) > 2 * pool.workers:
            yield flying.popleft().result()
    while flying:
        yield flying.popleft().result()
