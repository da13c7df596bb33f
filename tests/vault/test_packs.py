"""Packs: their bytes are those of the page, and a damaged footer is refused whatever byte it is."""

from __future__ import annotations

import hashlib
import random
import struct
import zlib

import pytest
from tests.vault.content import content, flipped, numbered, part
from tests.vault.sites import Folder

from muniment.bundle.extent import make_extent
from muniment.bundle.model import Extent
from muniment.vault.errors import BadPack
from muniment.vault.packs import PACK_MOST, Pack, Slot, pack_blob, pack_in, read_footer

NAME = "01KDVDNA000000000000000001"


def written(*extents: Extent, name: str = NAME) -> tuple[bytes, Pack]:
    """A pack's bytes."""
    pack = Pack(name)
    return b"".join(pack.fill(extents[0], iter(extents[1:]))), pack


def slots_of(data: bytes, name: str = NAME) -> list[Slot]:
    return read_footer(name, len(data), lambda at, size: data[at : at + size])


def stranger(data: bytes) -> dict[bytes, bytes]:
    """A reader made from docs/vault.md alone: the raw bytes of every extent by its id."""
    assert data[:8] == b"MUNPACK1" and data[-8:] == b"MUNPACKE"
    (count,) = struct.unpack_from("<I", data, len(data) - 44)
    begin = len(data) - 44 - 44 * count
    covered = data[:34] + data[begin : len(data) - 40]
    assert hashlib.sha256(covered).digest() == data[-40:-8]
    found, at = {}, 34
    for row in range(count):
        one, length, crc, size = struct.unpack_from("<32sIII", data, begin + 44 * row)
        raw = zlib.decompressobj(-15).decompress(data[at : at + size])
        assert (len(raw), zlib.crc32(raw), hashlib.sha256(raw).digest()) == (length, crc, one)
        found[one] = raw
        at += size
    assert at == begin
    return found


def test_a_stranger_reads_what_was_kept(folder: Folder) -> None:
    vault = folder.client()
    what = numbered(*range(30))
    upload = vault.reserve().upload_id
    vault.put(upload, what.extents)
    (path,) = folder.packs()
    assert stranger(path.read_bytes()) == {
        extent.id: part(number) for number, extent in enumerate(what.extents)
    }
    assert path.read_bytes()[8:34].decode() == path.name


def test_slots_are_found_again() -> None:
    what = numbered(1, 2, 3, 2)
    data, pack = written(*what.extents)
    assert slots_of(data) == pack.slots
    assert [slot.id for slot in pack.slots] == what.ids[:3], "one that stands twice is kept once"
    assert pack.size == len(data)


def test_a_full_pack_leaves_the_rest() -> None:
    noise = content([random.Random(number).randbytes(2 << 20) for number in range(17)])
    rest = iter(noise.extents[1:])
    pack = Pack(NAME)
    size = sum(len(chunk) for chunk in pack.fill(noise.extents[0], rest))
    assert size == pack.size <= PACK_MOST < size + (2 << 20)
    assert pack.left == noise.extents[len(pack.slots)]
    assert list(rest) == list(noise.extents[len(pack.slots) + 1 :])


def test_any_flipped_byte_of_head_or_footer_is_seen() -> None:
    data, pack = written(*numbered(1, 2).extents)
    begin = pack.slots[-1].offset + pack.slots[-1].stored
    for at in (*range(34), *range(begin, len(data))):
        with pytest.raises(BadPack):
            slots_of(flipped(data, at))


def test_a_pack_cut_short_anywhere_is_refused() -> None:
    data, _ = written(make_extent(part(1), b"p"))
    for size in range(len(data)):
        with pytest.raises(BadPack):
            slots_of(data[:size])
    with pytest.raises(BadPack):
        slots_of(data + b"\0")


def forged(rows: list[tuple[bytes, int, int, int]], body: bytes, count: int | None = None) -> bytes:
    """A pack with a right digest over wrong rows."""
    head = b"MUNPACK1" + NAME.encode()
    footer = b"".join(struct.pack("<32sIII", *row) for row in rows)
    footer += struct.pack("<I", len(rows) if count is None else count)
    return head + body + footer + hashlib.sha256(head + footer).digest() + b"MUNPACKE"


@pytest.mark.parametrize(
    "data",
    [
        forged([(bytes(32), 512, 0, 9)], bytes(10)),
        forged([(bytes(32), 512, 0, 11)], bytes(10)),
        forged([(bytes(32), 0, 0, 10)], bytes(10)),
        forged([(bytes(32), (2 << 20) + 1, 0, 10)], bytes(10)),
        forged([(bytes(32), 512, 0, 0)], b""),
        forged([(bytes(32), 512, 0, 3 << 20)], bytes(3 << 20)),
        forged([(bytes(32), 512, 0, 10)], bytes(10), count=2),
        forged([(bytes(32), 512, 0, 10)], bytes(10), count=0xFFFFFFFF),
        forged([], b"left over"),
        b"",
        bytes(100),
    ],
    ids=[
        "gap",
        "beyond",
        "empty",
        "long",
        "no piece",
        "long piece",
        "rows",
        "many rows",
        "rest",
        "0",
        "zeros",
    ],
)
def test_a_forged_footer_is_refused(data: bytes) -> None:
    with pytest.raises(BadPack):
        slots_of(data)


def test_a_pack_under_another_name_is_refused() -> None:
    data, _ = written(*numbered(1, 2).extents)
    with pytest.raises(BadPack):
        slots_of(data, name=NAME[:-1] + "2")


@pytest.mark.parametrize(
    "blob", ["packs/1/x", f"packs/2/{NAME}", f"packs/{NAME}", f"packs/1/{NAME.lower()}", "packs/1/..", ""]
)
def test_names_that_no_pack_has(blob: str) -> None:
    assert pack_in(pack_blob(NAME)) == NAME
    with pytest.raises(BadPack):
        pack_in(blob)
