"""What the tests of `vault` put into one: small snapshots of known bytes, and an honest client."""

from __future__ import annotations

import gzip
import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from muniment.bundle.extent import make_extent
from muniment.bundle.index import Index
from muniment.bundle.model import Extent
from muniment.bundle.vault import Stored, Vault

BLOCK = 512
START = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Ticking:
    """A clock that stands still until it is told to step."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def step(self, **time: float) -> None:
        """Go on, or back, by so much (`timedelta`'s words)."""
        self.now += timedelta(**time)


def entropy(seed: int) -> Callable[[int], bytes]:
    """Random bytes that are the same in each run."""
    return random.Random(seed).randbytes


@lru_cache(maxsize=4096)
def part(number: int, blocks: int = 2) -> bytes:
    """Raw bytes of one extent, the same for the same number; half of them deflate well."""
    noise = random.Random(number).randbytes(BLOCK * blocks // 2)
    return noise + b"%09d" % number + bytes(BLOCK * blocks - len(noise) - 9)


@dataclass(frozen=True, slots=True)
class Content:
    """A snapshot as a client has it: extents with their pieces, the index, the raw stream."""

    extents: tuple[Extent, ...]
    index: Index
    raw: bytes

    @property
    def ids(self) -> list[bytes]:
        """The ids in order."""
        return [extent.id for extent in self.extents]


def content(parts: Sequence[bytes]) -> Content:
    """A snapshot of these raw extents, each of whole blocks."""
    extents = tuple(make_extent(raw, b"files/workspace/%06d" % at) for at, raw in enumerate(parts))
    return Content(extents, Index.of(extents), b"".join(parts))


def numbered(*numbers: int) -> Content:
    """A snapshot of the extents of these numbers."""
    return content([part(number) for number in numbers])


def keep(vault: Vault, what: Content, label: str = "", replace: str | None = None) -> Stored:
    """What an honest client does: name all, send what is missing once, finish."""
    upload = vault.reserve(what.ids, replace=replace)
    wanted = {extent.id: extent for extent in what.extents if extent.id in upload.missing}
    vault.put(upload.upload_id, list(wanted.values()))
    return finish(vault, upload.upload_id, what, label)


def finish(vault: Vault, upload_id: str, what: Content, label: str = "") -> Stored:
    """End an upload with that content."""
    return vault.finish(upload_id, what.index, label=label, sections=["workspace/a"], facts={"n": 1})


def restored(vault: Vault, snapshot_id: str) -> bytes:
    """The raw stream of a snapshot, by way of its tar.gz and a decoder that is not ours; each
    piece is fetched as well, and its bytes are held to the index."""
    index = vault.index(snapshot_id)
    whole = b"".join(vault.download(snapshot_id))
    assert len(whole) == vault.show(snapshot_id).size
    raw = gzip.decompress(whole)
    at = 0
    for row in index:
        assert hashlib.sha256(raw[at : at + row.length]).digest() == row.id
        assert vault.fetch(row) in whole
        at += row.length
    assert at == len(raw)
    return raw


def root_of(ids: Sequence[bytes]) -> str:
    """A snapshot's root by its definition: sha256 of the JSON list of the ids in hexadecimal."""
    text = "[" + ",".join(f'"{one.hex()}"' for one in ids) + "]"
    return hashlib.sha256(text.encode()).hexdigest()


def flipped(data: bytes, at: int) -> bytes:
    """The same bytes with one bit of one of them turned over."""
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def spread(size: int, steps: int) -> Iterator[int]:
    """Places from the first byte to the last, evenly."""
    yield from sorted({size * step // steps for step in range(steps)} | {size - 1})
