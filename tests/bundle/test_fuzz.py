"""Whatever bytes come, the answer is a refusal or a sound reading; never another error, never a write."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import zlib
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.bundle.worlds import HEADING, Nowhere, chunks, entry, finish, pack_entries

from muniment.bundle.errors import BadExtent, BadIndex, BadManifest
from muniment.bundle.extent import check
from muniment.bundle.extract import extract
from muniment.bundle.gunzip import raw
from muniment.bundle.index import Index
from muniment.bundle.manifest import Heading, Text, read_manifest
from muniment.bundle.model import Packed
from muniment.bundle.pack import Packing
from muniment.bundle.verify import verify
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.path import RelPath

SOUND = pack_entries(
    [
        entry("api/profile.json", b"{}"),
        entry("files/workspace/a", b"text " * 300),
        entry("files/workspace/b" + "c" * 120, random.Random(8).randbytes(2000)),
        entry("files/workspace/d\udcff", b"x"),
        entry("files/workspace/large", random.Random(9).randbytes(600_000)),
    ]
)
STREAM = gzip.decompress(SOUND.gz)
INDEX = SOUND.index.to_bytes()

Edit = tuple[int, int, bytes]
edits = st.lists(
    st.tuples(st.integers(0, 1 << 30), st.integers(0, 40), st.binary(max_size=40)), min_size=1, max_size=4
)
# The interesting bytes of a tar stream are in its records, not in what a file holds.
near = st.lists(
    st.tuples(st.integers(0, 6000), st.integers(0, 16), st.binary(max_size=16)), min_size=1, max_size=4
)


def edit(data: bytes, changes: list[Edit]) -> bytes:
    for at, drop, put in changes:
        at %= len(data) + 1
        data = data[:at] + put + data[at + drop :]
    return data


@settings(max_examples=200, deadline=None)
@given(edits)
def test_any_gzip(changes: list[Edit]) -> None:
    data = edit(SOUND.gz, changes)
    try:
        result = verify(raw(chunks(data, 4096)))
    except MunimentError:
        return
    assert result.files == 5


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(edits, near), st.booleans())
def test_any_tar(tmp_path: Path, changes: list[Edit], write: bool) -> None:
    stream = edit(STREAM, changes)
    try:
        if not write:
            verify([stream])
            return
        with Root.open(tmp_path) as root:
            extract([stream], root, RelPath.parse("out"))
    except MunimentError:
        assert list(tmp_path.iterdir()) == []
        return
    os.rename(tmp_path / "out", tmp_path.parent / f"kept-{os.urandom(6).hex()}")


@settings(max_examples=300, deadline=None)
@given(edits, st.booleans())
def test_any_index(changes: list[Edit], mend: bool) -> None:
    data = edit(INDEX, changes)
    if mend:
        data = data[:-32] + hashlib.sha256(data[:-32]).digest()
    try:
        index = Index.read(data)
    except BadIndex:
        return
    assert index.to_bytes() == data
    assert sum(row.length for row in index) == index.raw


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SOUND.extents) - 1), edits)
def test_any_extent(number: int, changes: list[Edit]) -> None:
    one = SOUND.extents[number]
    assert one.piece is not None
    data = edit(one.piece, changes)
    try:
        found = check(data, one, random.Random(8).randbytes)
    except BadExtent:
        return
    # Other bytes that are as good: it has to be what its id says, and let others follow.
    assert hashlib.sha256(found).digest() == one.id
    follows = SOUND.extents[0]
    assert follows.piece is not None
    whole = zlib.decompressobj(-15).decompress(data + follows.piece + b"\3\0")
    assert whole == found + zlib.decompressobj(-15).decompress(follows.piece)


@settings(max_examples=300, deadline=None)
@given(edits)
def test_any_manifest(changes: list[Edit]) -> None:
    text = Text(HEADING)
    told = text.opening()
    for path in ("api/a", "files/workspace/b", "files/workspace/c\udc80"):
        told += text.row(Packed(path, 3, "0" * 64))
    told += text.closing(["careful"])
    try:
        read_manifest(edit(told.encode(), changes))
    except BadManifest:
        return


paths = st.lists(
    st.text(
        st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=30
    ).filter(lambda name: name not in (".", "..")),
    min_size=1,
    max_size=5,
).map("/".join)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(paths, st.binary(max_size=3000), max_size=8),
    st.text(max_size=64),
    st.integers(-(10**18), 10**18),
)
def test_what_is_packed_comes_back(tree: dict[str, bytes], label: str, when: int) -> None:
    names = [name for name in tree if not any(other.startswith(name + "/") for other in tree)]
    entries = sorted(
        (entry("files/workspace/" + name, tree[name], 0o640, when) for name in names),
        key=lambda one: one.path.encode("utf-8", "surrogateescape"),
    )
    heading = Heading("generic", "full", HEADING.created_at, label.encode("utf-8", "replace").decode(), [])
    made = finish(Packing(entries, Nowhere(), heading, workers=0))
    result = verify(raw(chunks(made.gz)))
    assert result.files == len(names)
    assert result.facts["label"] == heading.label
