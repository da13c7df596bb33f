"""Every hostile file is refused in its own words, and nothing is written anywhere."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.bundle.hostile import PLACE, build
from tests.bundle.worlds import chunks

from muniment.bundle.errors import BadExtent, BadIndex, OutsideLink
from muniment.bundle.extent import check
from muniment.bundle.extract import extract
from muniment.bundle.gunzip import raw
from muniment.bundle.index import Index
from muniment.bundle.verify import verify
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.path import RelPath

EXPECTED = json.loads((PLACE / "expected.json").read_text())


class Said(NamedTuple):
    """What a client declares of an extent."""

    id: bytes
    length: int
    crc: int
    path: bytes


def read(name: str) -> bytes:
    return gzip.decompress((PLACE / f"{name}.gz").read_bytes())


def finding(error: MunimentError) -> str:
    if isinstance(error, OutsideLink):
        return error.what
    return error.why.template if error.why else ""


def test_there_are_enough_of_every_kind() -> None:
    kinds = [one["file"].rpartition(".")[2] for one in EXPECTED]
    assert kinds.count("tgz") >= 50
    assert kinds.count("index") >= 15
    assert kinds.count("extent") >= 15


def test_the_files_are_those_of_the_builder() -> None:
    built = build()
    assert [{"file": one.name, "code": one.code, "why": one.why} for one in built] == EXPECTED
    assert {one.name + ".gz" for one in built} | {"expected.json"} == {path.name for path in PLACE.iterdir()}
    # Another zlib may squeeze otherwise: then only what is not squeezed can be compared.
    alike = {one.name: one.data for one in built}["trailing-zero.extent"] == read("trailing-zero.extent")
    compared = [one for one in built if alike or one.name.endswith(".index")]
    assert [one.name for one in compared if one.data != read(one.name)] == []


@pytest.mark.parametrize("size", [1 << 16, 7])
@pytest.mark.parametrize(
    "one", [one for one in EXPECTED if one["file"].endswith(".tgz")], ids=lambda one: one["file"]
)
def test_a_hostile_bundle_is_refused_in_its_words_and_leaves_nothing(
    one: dict[str, str], size: int, tmp_path: Path
) -> None:
    data = read(one["file"])
    if size < 512 and len(data) > 50_000:
        size = 997
    before = tmp_path.stat().st_mode
    with Root.open(tmp_path) as root, pytest.raises(MunimentError) as refused:
        extract(raw(chunks(data, size)), root, RelPath.parse("out"))
    assert (refused.value.code, finding(refused.value)) == (one["code"], one["why"])
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mode == before
    if one["code"] != "OUTSIDE_LINK":
        with pytest.raises(MunimentError) as again:
            verify(raw(chunks(data, size)))
        assert str(again.value) == str(refused.value)


@pytest.mark.parametrize(
    "one", [one for one in EXPECTED if one["file"].endswith(".index")], ids=lambda one: one["file"]
)
def test_a_hostile_index_is_refused_in_its_words(one: dict[str, str]) -> None:
    with pytest.raises(BadIndex) as refused:
        Index.read(read(one["file"]))
    assert (refused.value.code, finding(refused.value)) == (one["code"], one["why"])


def test_an_index_beyond_the_cap() -> None:
    with pytest.raises(BadIndex) as refused:
        Index.read(bytes(1001), most=1000)
    assert finding(refused.value) == "it has {size} bytes; {most} is the most"


@pytest.mark.parametrize(
    "one", [one for one in EXPECTED if one["file"].endswith(".extent")], ids=lambda one: one["file"]
)
def test_a_hostile_extent_is_refused_in_its_words(one: dict[str, str]) -> None:
    data = read(one["file"])
    length, crc = struct.unpack_from("<II", data, 32)
    with pytest.raises(BadExtent) as refused:
        check(
            data[40:], Said(data[:32], length, crc, b"files/workspace/a"), lambda count: bytes(range(count))
        )
    assert (refused.value.code, finding(refused.value)) == (one["code"], one["why"])
