"""Floor 2, `bundle`: a bundle's bytes against its own manifest: every file, nothing more, nothing less.

`verify` and `extract` are one walk: what differs is only the `Taker` that is given each member.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from muniment.bundle.errors import BadManifest, ContentsDiffer
from muniment.bundle.extent import inflate
from muniment.bundle.gunzip import raw as inflated
from muniment.bundle.index import Index
from muniment.bundle.join import Fetch
from muniment.bundle.manifest import BYTES_MOST, read_manifest
from muniment.bundle.members import Member, Members
from muniment.bundle.model import MANIFEST, Packed, Row
from muniment.evidence import Kind
from muniment.message import say

AHEAD = 64
"""Extents that are fetched and inflated ahead of the reader, for each worker."""


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


def verify(raw: Iterable[bytes], taker: Taker | None = None, manifest_most: int = BYTES_MOST) -> Verified:
    """Walk a tar stream once and compare; raises `BadBundle`, `BadManifest` or `ContentsDiffer`.

    Memory: a path and a digest a file, and the manifest's text.
    """
    found: dict[str, tuple[int, bytes]] = {}
    manifest: bytes | None = None
    members = Members(raw)
    for member in members:
        if member.kind is Kind.DIRECTORY:
            if taker:
                taker.folder(member)
        elif member.kind is Kind.LINK:
            if taker:
                taker.link(member)
        elif member.path == MANIFEST:
            if member.size > manifest_most:
                raise BadManifest(
                    why=say("it has {size} bytes; {most} is the most", size=member.size, most=manifest_most)
                )
            manifest = b"".join(members.content())
        elif member.same_as:
            found[member.path] = found[member.same_as]
            if taker:
                taker.file(member)(b"")
        else:
            found[member.path] = take(members, member, taker)
    if manifest is None:
        raise BadManifest(why=say("there is none"))
    return _compare(manifest, found)


def take(members: Members, member: Member, taker: Taker | None) -> tuple[int, bytes]:
    """Hand on the present file's bytes; its size and sha256."""
    state = hashlib.sha256()
    put = taker.file(member) if taker else None
    for part in members.content():
        state.update(part)
        if put:
            put(part)
    if put:
        put(b"")
    return member.size, state.digest()


def facts_of(packed: Packed) -> tuple[int, bytes]:
    """Size and sha256 of a row, as `take` gives them."""
    return packed.size, bytes.fromhex(packed.sha256)


def _compare(manifest: bytes, found: dict[str, tuple[int, bytes]]) -> Verified:
    bad: list[str] = []
    missing: list[str] = []
    listed = dict.fromkeys(found, False)
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()

    def each(packed: Packed) -> None:
        if listed.get(packed.path):
            raise BadManifest(where=packed.path, why=say("a path stands twice in its contents"))
        present = found.get(packed.path)
        if present is None:
            missing.append(packed.path)
            return
        listed[packed.path] = True
        if present != facts_of(packed):
            bad.append(packed.path)
        section = "/".join(packed.path.split("/")[: 1 if packed.path.startswith("api/") else 2])
        files[section] += 1
        sizes[section] += packed.size

    facts = read_manifest(manifest, each)
    extra = [path for path, known in listed.items() if not known]
    if bad or missing or extra:
        raise ContentsDiffer.of(bad, missing, extra)
    sections = {name: (files[name], sizes[name]) for name in sorted(files)}
    return Verified(facts, files.total(), sizes.total(), sections, manifest)


def unfold(index: Index, fetch: Fetch, workers: int = 1) -> Iterator[bytes]:
    """The tar stream from an index and its pieces, each checked against its row; of a snapshot that
    was sent whole it is what its tar.gz holds.

    Pieces are fetched and inflated ahead by `workers` threads, so `fetch` must allow that; 0 does
    everything in the calling one.
    """

    pieces = _unfold(index, fetch, workers)
    yield from inflated(pieces) if index.whole else pieces


def _unfold(index: Index, fetch: Fetch, workers: int) -> Iterator[bytes]:
    def one(rows: list[Row]) -> list[bytes]:
        return [inflate(fetch(row), row) for row in rows]

    rows = iter(index)
    batches = iter(lambda: list(islice(rows, AHEAD // 4)), [])
    if not workers:
        for batch in batches:
            yield from one(batch)
        return
    with ThreadPoolExecutor(workers, "unfold") as pool:
        flying: list[Future[list[bytes]]] = []
        try:
            for batch in batches:
                flying.append(pool.submit(one, batch))
                if len(flying) > 4 * workers:
                    yield from flying.pop(0).result()
            while flying:
                yield from flying.pop(0).result()
        finally:
            for future in flying:
                future.cancel()
