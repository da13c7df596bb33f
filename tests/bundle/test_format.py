"""The bytes themselves: every tool reads them, and the same input gives the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import pytest
from tests.bundle.worlds import HEADING, entry, pack_entries, pack_folder
from tests.children import ENVIRONMENT
from tests.faults.stage import refuse_or_skip

from muniment.bundle import tar
from muniment.bundle.cuts import CutRules, pieces
from muniment.bundle.deflate import FLUSHED, combine, combine_slowly, deflate, stored
from muniment.bundle.extent import make_extent
from muniment.bundle.index import Index
from muniment.bundle.join import assemble
from muniment.bundle.model import Entry
from muniment.bundle.tree import Tree
from muniment.canonical import canonical_digest
from muniment.evidence import Kind


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some hundred files of every size class, one of them a database's size and magic."""
    rng = random.Random(5)
    root = tmp_path_factory.mktemp("tree")
    for number in range(300):
        place = root / f"d{number % 17}" / f"e{number % 5}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"f{number}.txt").write_bytes(b"line of text %d\n" % number * rng.randrange(400))
    (root / "noise.bin").write_bytes(rng.randbytes(3 << 20))
    (root / "text.log").write_bytes(
        b"".join(b"%d the same again\n" % rng.randrange(99) for _ in range(90_000))
    )
    (root / "state.db").write_bytes(b"SQLite format 3\0" + rng.randbytes(700_001))
    (root / "exactly").write_bytes(bytes(512 << 10))
    (root / "one more").write_bytes(bytes((512 << 10) + 1))
    (root / "link").symlink_to("d1")
    (root / "run").write_bytes(b"#!/bin/sh\n")
    (root / "run").chmod(0o755)
    return root


def test_the_same_bytes_for_any_number_of_workers(tree: Path) -> None:
    first = pack_folder(tree, workers=0)
    for workers in (1, 2, 3):
        assert pack_folder(tree, workers=workers).gz == first.gz


def test_the_same_bytes_in_another_process(tree: Path) -> None:
    # Another process has other addresses; an encoder that hashes an address would show.
    program = (
        "import sys, hashlib; from pathlib import Path; from tests.bundle.worlds import pack_folder;"
        "print(hashlib.sha256(pack_folder(Path(sys.argv[1])).gz).hexdigest())"
    )
    call = [sys.executable, "-c", program, str(tree)]
    found = set()
    for _ in range(3):
        done = subprocess.run(call, capture_output=True, env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert found == {hashlib.sha256(pack_folder(tree).gz).hexdigest().encode() + b"\n"}


def test_joined_again_from_the_index(tree: Path) -> None:
    made = pack_folder(tree)
    index = Index.read(made.index.to_bytes())
    assert b"".join(assemble(index, made.fetch)) == made.gz
    assert index.crc == zlib.crc32(gzip.decompress(made.gz))


def test_gnu_tar_and_gzip_read_it(tree: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "b.tar.gz"
    bundle.write_bytes(pack_folder(tree).gz)
    subprocess.run(["gzip", "-t", bundle], check=True)
    listed = (
        subprocess.run(["tar", "tzf", bundle], check=True, capture_output=True).stdout.decode().splitlines()
    )
    assert listed == sorted(listed)
    assert listed[-1] == "manifest.json"
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run(["tar", "xzf", bundle, "-C", out], check=True)
    subprocess.run(["diff", "-r", "--no-dereference", tree, out / "files" / "workspace"], check=True)
    assert (out / "files/workspace/run").stat().st_mode & 0o7777 == 0o755
    assert (out / "files/workspace/noise.bin").stat().st_mtime_ns == (tree / "noise.bin").stat().st_mtime_ns


def test_python_reads_it(tree: Path) -> None:
    made = pack_folder(tree)
    with tarfile.open(fileobj=io.BytesIO(made.gz)) as archive:
        for member in archive:
            assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
            if member.isreg() and member.name != "manifest.json":
                data = archive.extractfile(member)
                assert data is not None
                assert data.read() == (tree / member.name.removeprefix("files/workspace/")).read_bytes()
        manifest = archive.extractfile("manifest.json")
        assert manifest is not None
        told = json.load(manifest)
    assert told["contents"]["files"] == [
        {
            "path": "files/workspace/" + path.relative_to(tree).as_posix(),
            "size": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(tree.rglob("*"), key=lambda path: os.fsencode(path))
        if path.is_file() and not path.is_symlink()
    ]


def test_node_reads_it(tree: Path, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        refuse_or_skip("node")
    made = pack_folder(tree)
    bundle = tmp_path / "b.tar.gz"
    bundle.write_bytes(made.gz)
    program = (
        "const z=require('zlib'),f=require('fs'),c=require('crypto');"
        "console.log(c.createHash('sha256').update(z.gunzipSync(f.readFileSync(process.argv[1]))).digest('hex'))"
    )
    said = subprocess.run(["node", "-e", program, bundle], check=True, capture_output=True).stdout
    assert said.decode().strip() == hashlib.sha256(gzip.decompress(made.gz)).hexdigest()


def test_the_manifest_has_the_fields_of_version_1_1() -> None:
    made = pack_entries([entry("api/profile.json", b"{}"), entry("files/workspace/a", b"hi")])
    with tarfile.open(fileobj=io.BytesIO(made.gz)) as archive:
        data = archive.extractfile("manifest.json")
        assert data is not None
        manifest = json.load(data)
    hi, empty = hashlib.sha256(b"hi").hexdigest(), hashlib.sha256(b"{}").hexdigest()
    assert manifest == {
        "version": "1.1",
        "source": "generic",
        "mode": "default",
        "created_at_unix": int(HEADING.created_at.timestamp()),
        "created_at": "2026-11-30T12:00:00Z",
        "label": "daily",
        "sections": ["workspace/a"],
        "contents": {
            "files": [{"path": "files/workspace/a", "size": 2, "sha256": hi}],
            "api": [{"path": "api/profile.json", "size": 2, "sha256": empty}],
        },
        "exclusions": [],
        "plan_summary": {"total_files": 2, "total_size_bytes": 4, "warnings": []},
    }


def test_an_empty_bundle_is_one_too() -> None:
    made = pack_entries([])
    with tarfile.open(fileobj=io.BytesIO(made.gz)) as archive:
        assert archive.getnames() == ["manifest.json"]


def test_the_head_and_tail_of_the_member() -> None:
    made = pack_entries([entry("files/workspace/a", b"hi")])
    raw = gzip.decompress(made.gz)
    assert made.gz[:10] == bytes.fromhex("1f8b08000000000000ff")
    assert made.gz[-10:] == b"\x03\x00" + zlib.crc32(raw).to_bytes(4, "little") + len(raw).to_bytes(
        4, "little"
    )


def test_the_root_is_the_digest_of_the_canonical_list_of_ids() -> None:
    made = pack_entries([entry("files/workspace/a", b"hi"), entry("files/workspace/b", bytes(700_000))])
    assert made.index.root == canonical_digest([extent.id.hex() for extent in made.extents])


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 31, 512, 16_384, 65_535, 65_536, 131_072, 300_000, 1 << 20])
@pytest.mark.parametrize("kind", ["zeros", "noise", "text"])
def test_a_piece_stands_alone(size: int, kind: str) -> None:
    rng = random.Random(size)
    raw = {
        "zeros": bytes(size),
        "noise": rng.randbytes(size),
        "text": (b"some text %d " % size) * (size // 8 + 1),
    }[kind][:size]
    for piece in (deflate(raw), stored(raw)):
        machine = zlib.decompressobj(-15)
        assert machine.decompress(piece) == raw
        assert not machine.eof
        assert piece.endswith(FLUSHED)
    # Nothing grows by more than a few bytes in 64 KiB.
    assert len(deflate(raw)) <= size + 20 + size // 8000


def test_combining_agrees_with_the_definition() -> None:
    rng = random.Random(1)
    for _ in range(200):
        one, two = rng.randbytes(rng.randrange(3000)), rng.randbytes(rng.randrange(3000))
        want = zlib.crc32(one + two)
        assert combine(zlib.crc32(one), zlib.crc32(two), len(two)) == want
        assert combine_slowly(zlib.crc32(one), zlib.crc32(two), len(two)) == want


def test_a_record_beyond_8_gib() -> None:
    size = (9 << 30) + 5
    record = tar.header(Entry("files/workspace/big", Kind.FILE, 0o600, -1_500_000_000, size), size)
    with tarfile.open(fileobj=io.BytesIO(record + bytes(1024))) as archive:
        member: tarfile.TarInfo = archive.firstmember  # type: ignore[attr-defined]
    assert (member.size, member.mode, member.mtime) == (size, 0o600, -1.5)


NAMES = [
    "files/workspace/plain",
    "files/workspace/" + "d" * 40 + "/" + "e" * 60 + "/f",
    "files/workspace/" + "x" * 300,
    "files/workspace/" + "/".join(["é" * 30] * 12),
    "files/workspace/new\nline = 7",
    "files/workspace/bad\udcff\udc80name",
    "files/workspace/数据 🙂",
    "files/workspace/" + "p" * 84,
    "files/workspace/" + "p" * 85,
    "files/workspace/" + "q" * 155 + "/" + "r" * 100,
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("when", [0, 5 * 10**9, 5, -1, -(10**9), (1 << 33) * 10**9])
def test_the_room_foreseen_is_the_room_taken(name: str, kind: Kind, when: int) -> None:
    for size in (0, 1, 512, 8 << 30) if kind is Kind.FILE else (0,):
        one = Entry(name, kind, 0o600, when, size, "x" if kind is Kind.LINK else "")
        assert tar.room(one, tar.wire(name)) == len(tar.header(one, size)) + (size + 511) // 512 * 512


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", list(Kind))
def test_names_as_tarfile_reads_them(name: str, kind: Kind) -> None:
    target = name[::-1].strip("/") if kind is Kind.LINK else ""
    record = tar.header(Entry(name, kind, 0o750, 1_234_567_890_000_000_000, 0, target), 0)
    with tarfile.open(fileobj=io.BytesIO(record + tar.END)) as archive:
        (member,) = archive.getmembers()
    assert (member.name, member.linkname, member.mode, member.mtime) == (name, target, 0o750, 1_234_567_890)
    assert {Kind.FILE: member.isreg(), Kind.DIRECTORY: member.isdir(), Kind.LINK: member.issym()}[kind]


def test_pieces_of_a_large_file_do_not_depend_on_how_it_is_read() -> None:
    data = random.Random(2).randbytes(9 << 20)
    rules = CutRules()

    def reading(step: int) -> list[bytes]:
        stream = io.BytesIO(data)
        return list(pieces(lambda most: stream.read(min(most, step)), rules))

    whole = reading(1 << 30)
    assert b"".join(whole) == data
    assert all(rules.piece_least <= len(piece) <= rules.piece_most for piece in whole[:-1])
    for step in (777_777, 1 << 20, 4 << 20):
        assert reading(step) == whole


def test_an_insertion_moves_only_the_cuts_near_it() -> None:
    data = random.Random(3).randbytes(12 << 20)
    other = data[:500_000] + b"put in" + data[500_000:]
    before = {make_extent(piece, b"").id for piece in pieces(io.BytesIO(data).read)}
    after = [make_extent(piece, b"").id for piece in pieces(io.BytesIO(other).read)]
    assert sum(extent not in before for extent in after) <= 3


def test_a_database_is_cut_at_fixed_places() -> None:
    data = b"SQLite format 3\0" + random.Random(4).randbytes(3_000_000)
    cut = list(pieces(io.BytesIO(data).read))
    assert [len(piece) for piece in cut[:-1]] == [65_536] * (len(data) // 65_536)
    assert b"".join(cut) == data


def test_a_changed_file_moves_only_its_own_group() -> None:
    entries = [entry(f"files/workspace/f{number:04d}", b"text %d " % number * 300) for number in range(400)]
    before = {extent.id for extent in pack_entries(entries).extents}
    entries[200] = entry(entries[200].path, b"quite another text")
    made = pack_entries(entries)
    new = [extent for extent in made.extents if extent.id not in before]
    # Its group, its row's stretch of the manifest, the manifest's opening and end.
    assert len(new) <= 4


def test_a_tree_is_walked_in_the_order_of_whole_paths(tmp_path: Path) -> None:
    for name in ("a/b", "a/c/d", "a.txt", "a!", "a0/x", "ab", "é/ü", "A/z", "a/c.d", "a/c-/e"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    fd = os.open(tmp_path / "in", os.O_RDONLY)
    with Tree(fd) as tree:
        found = [one.path for one in tree.entries("files/workspace")]
    os.close(fd)
    everything = [
        "files/workspace/" + p.relative_to(tmp_path / "in").as_posix() for p in (tmp_path / "in").rglob("*")
    ]
    assert found == ["files/workspace", *sorted(everything, key=os.fsencode)]


def test_a_folder_that_can_not_be_listed_is_named(tmp_path: Path) -> None:
    for name in ("a/x", "b/y", "c/z"):
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_bytes(b"")
    fd = os.open(tmp_path / "in", os.O_RDONLY)
    with Tree(fd) as tree:
        found = []
        for one in tree.entries("files/workspace"):
            found.append(one.path.removeprefix("files/workspace"))
            if one.path.endswith("/b"):
                # It becomes a link after it was listed; a link is never followed.
                (tmp_path / "in/b").rename(tmp_path / "elsewhere")
                (tmp_path / "in/b").symlink_to(tmp_path / "elsewhere")
    os.close(fd)
    assert found == ["", "/a", "/a/x", "/b", "/c", "/c/z"]
    assert [(fault.path, fault.kind) for fault in tree.faults] == [("files/workspace/b", "left_out")]
