"""Floor 2, `bundle`: a bundle's bytes against its own manifest: every file, nothing more, nothing less.

`verify` and `extract` are one walk: what differs is only the `Taker` that is given each member.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from muniment.bundle.crew import Crew, Odd, may_fork, uncollected
from muniment.bundle.errors import BadBundle, BadManifest, ContentsDiffer
from muniment.bundle.extent import inflate
from muniment.bundle.groups import Piece, read_run, units
from muniment.bundle.gunzip import raw as inflated
from muniment.bundle.index import Index
from muniment.bundle.join import Fetch
from muniment.bundle.manifest import BYTES_MOST, read_manifest
from muniment.bundle.members import Admission, Member, Members
from muniment.bundle.model import MANIFEST, Packed, Row
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

    def whole(self, member: Member, data: bytes) -> None:
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
        return verify(unfold(index, fetch, workers))


def verify_quickly(
    index: Index,
    fetch: Fetch,
    taker: QuickTaker | None = None,
    *,
    workers: int = 2,
    advance: Advance = unwatched,
    seen: Seen = unwatched,
) -> Verified:
    """Small members are read by helpers beside each other, large ones in order.

    `Odd` when a snapshot is not as our packer writes it: `verify` judges it then.
    """
    if index.whole:
        raise Odd("it was sent whole")
    tally = _Tally(taker, BYTES_MOST, seen)
    large: list[Row] = []
    helpers = workers if index.raw >= FORK_FROM and workers > 1 and may_fork() else 0
    work = partial(read_run, take=taker.whole if taker else None)
    try:
        with uncollected(), Crew(work, helpers) as crew, _threads(workers) as pool:
            for run in crew.map(_runs(index, fetch, large, pool, advance)):
                for fields, digest in run:
                    tally.small(Member(*fields), digest)
            tally.walk(Members(_told(_unfold(large, fetch, pool), advance), tally.admission))
    except BadBundle as error:  # perhaps only because it was not read in its own order
        raise Odd(str(error)) from error
    return tally.compare()


def _told(raw: Iterator[bytes], advance: Advance) -> Iterator[bytes]:
    for part in raw:
        advance(len(part))
        yield part


def _runs(
    index: Index, fetch: Fetch, large: list[Row], pool: _Pool | None, advance: Advance
) -> Iterator[list[Piece]]:
    """Groups with their pieces, about a `RUN` at once; the rows of what is no group are put aside."""

    def groups() -> Iterator[Row]:
        for unit in units(iter(index)):
            if len(unit) > 1:
                large.extend(unit)
            else:
                yield unit[0]

    def one(rows: list[Row]) -> list[Piece]:
        return [Piece(fetch(row), row.id, row.length) for row in rows]

    for run in _ahead(one, _batches(groups(), RUN), pool):
        advance(sum(piece.length for piece in run))
        yield run


class _Tally:
    """What was found, to be held to the manifest."""

    def __init__(self, taker: Taker | None, manifest_most: int, seen: Seen) -> None:
        self.admission = Admission()
        self._taker = taker
        self._seen = seen
        self._most = manifest_most
        self._found: dict[str, bytes] = {}
        self._manifest: bytes | None = None

    def small(self, member: Member, digest: bytes) -> None:
        """A member that a helper has read, and a file that it has taken."""
        self.admission.admit(member)
        if member.path == MANIFEST:
            raise Odd("the manifest in a group")
        if member.kind is Kind.FILE:
            self._found[member.path] = _facts(member.size, digest)
        else:
            self._give(member)
        self._seen(member)

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
            section = "/".join(path.split("/", 2)[: 1 if path.startswith("api/") else 2])
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


def unfold(index: Index, fetch: Fetch, workers: int = 1) -> Iterator[bytes]:
    """The tar stream from an index and its pieces, each checked against its row; of a snapshot that
    was sent whole it is what its tar.gz holds.

    Pieces are fetched and inflated ahead by `workers` threads, so `fetch` must allow that; 0 does
    everything in the calling one.
    """

    pool = _Pool(workers) if workers else None
    try:
        pieces = _unfold(index, fetch, pool)
        yield from inflated(pieces) if index.whole else pieces
    finally:
        # Not waited for: this may be run by the collector of garbage, in any thread at any place.
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)


def _unfold(rows: Iterable[Row], fetch: Fetch, pool: _Pool | None) -> Iterator[bytes]:
    def one(rows: list[Row]) -> list[bytes]:
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
