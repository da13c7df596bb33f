"""Round trip over the nasty tree: byte for byte, mode for mode, time for time."""

from __future__ import annotations

import errno
import os
import random
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bundle.worlds import HEADING, chunks, pack_folder

from muniment.bundle import making
from muniment.bundle.extract import extract
from muniment.bundle.gunzip import raw
from muniment.bundle.join import join
from muniment.bundle.model import Entry
from muniment.bundle.pack import Packing
from muniment.bundle.tree import Tree
from muniment.bundle.verify import unfold
from muniment.disk.errors import AlreadyThere, NoSpace
from muniment.disk.root import Root
from muniment.path import RelPath

OUT = RelPath.parse("out")


def nasty(root: bytes) -> None:
    """Everything that file systems allow and people do."""
    rng = random.Random(9)

    def put(name: bytes, data: bytes, mode: int = 0o644, when: int = 1_700_000_000_000_000_000) -> None:
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        os.utime(path, ns=(when, when))

    put(b"bad\xff\xfe\x80name", b"not UTF-8")
    put(b"bad\xffdir/inner\xc3", b"twice")
    put(b"new\nline", b"n")
    put(b"tab\tand\x01control", b"c")
    put(b" blank ", b"b")
    put(b"back\\slash", b"s")
    put("数据/ö 🙂".encode(), "内容".encode())
    put(b"o\xcc\x88", b"decomposed")
    put("ö".encode(), b"composed")
    put(b"Case", b"1")
    put(b"case", b"2")
    put(b"CASE", b"3")
    put(b"n" * 255, b"longest name")
    put(b"/".join([b"deep" * 20] * 4) + b"/" + b"m" * 200, b"300 and more")
    put(b"empty", b"")
    put(b"-rf", b"looks like an option")
    put(b"run", b"#!/bin/sh\n", 0o755)
    put(b"secret", b"s", 0o600)
    if os.geteuid() == 0:  # anybody else may not read it, so it could not be kept
        put(b"none", b"nobody may read this", 0o000)
    put(b"old", b"before 1970", when=-86_400_000_000_001)
    put(b"older", b"long before", when=-3_000_000_000_500_000_000)
    put(b"precise", b"nanoseconds", when=1_700_000_000_123_456_789)
    put(b"whole", b"no nanoseconds", when=1_234_567_890_000_000_000)
    put(b"future", b"2446", when=15_032_385_535_999_999_999 // 2)
    for size in (511, 512, 513, 65_535, 524_288, 524_289, 1_048_576):
        put(b"sizes/%d" % size, rng.randbytes(size))
    put(b"chat.jsonl", b"".join(b'{"n":%d}\n' % rng.randrange(10**9) for _ in range(90_000)))
    put(b"state.db", b"SQLite format 3\0" + rng.randbytes(1_000_000))
    os.makedirs(os.path.join(root, b"empty folder/in/it"))
    os.makedirs(os.path.join(root, b"shared"))
    os.chmod(os.path.join(root, b"shared"), 0o1777)
    os.link(os.path.join(root, b"precise"), os.path.join(root, b"twin"))
    for name, target in (
        (b"to file", b"precise"),
        (b"to folder", b"shared"),
        (b"to nothing", b"not/there"),
        (b"to itself", b"to itself"),
        (b"to bad\xff", b"bad\xff\xfe\x80name"),
        (b"to far", b"x/" * 200 + b"y"),
        (b"outside", b"/etc/hostname"),
        (b"outside too", b"../../../../etc"),
    ):
        os.symlink(target, os.path.join(root, name))
    with open(os.path.join(root, b"sparse"), "wb") as file:
        file.seek(40 << 20)
        file.write(b"in the middle")
        file.truncate(64 << 20)
    os.mkfifo(os.path.join(root, b"pipe"))


def faces(root: bytes) -> dict[bytes, tuple[object, ...]]:
    """What stands where: kind, mode, time, and content or target; pipes are not kept."""
    found: dict[bytes, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            fact = os.lstat(path)
            kind = stat.S_IFMT(fact.st_mode)
            if kind == stat.S_IFIFO:
                continue
            inside: object = None
            mode = stat.S_IMODE(fact.st_mode)
            if kind == stat.S_IFREG:
                with open(path, "rb") as file:
                    inside = file.read()
            elif kind == stat.S_IFLNK:
                inside, mode = os.readlink(path), 0
            found[os.path.relpath(path, root)] = (kind, mode, fact.st_mtime_ns, inside)
    return found


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("nasty")
    nasty(os.fsencode(root))
    return root


def test_round_trip(tree: Path, tmp_path: Path) -> None:
    made = pack_folder(tree)
    assert made.faults == []
    with Root.open(tmp_path) as root:
        result = extract(raw(chunks(made.gz)), root, OUT, outside_links=True)
        again = extract(unfold(made.index, made.fetch, 2), root, RelPath.parse("again"), outside_links=True)
    want = faces(os.fsencode(tree))
    assert len(want) > 50
    assert faces(os.fsencode(tmp_path / "out/files/workspace")) == want
    assert faces(os.fsencode(tmp_path / "again/files/workspace")) == want
    assert result == again
    assert (result.files, result.size) == (made.files, made.size)
    sparse = tmp_path / "out/files/workspace/sparse"
    assert sparse.stat().st_blocks * 512 < 1 << 20


def test_gnu_tar_gives_the_same_tree(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tgz").write_bytes(pack_folder(tree).gz)
    subprocess.run(["tar", "xzpf", "b.tgz"], cwd=tmp_path, check=True)
    assert faces(os.fsencode(tmp_path / "files/workspace")) == faces(os.fsencode(tree))


def test_it_never_goes_where_something_is(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"mine")
    with Root.open(tmp_path) as root, pytest.raises(AlreadyThere):
        extract(raw(chunks(pack_folder(tree).gz)), root, OUT, outside_links=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == b"mine"


def test_a_full_disk_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    made = pack_folder(tree)

    def torn() -> Iterator[bytes]:
        yield made.gz[: len(made.gz) * 3 // 4]
        raise OSError(errno.ENOSPC, "No space left on device")

    with Root.open(tmp_path) as root, pytest.raises(NoSpace):
        extract(raw(torn()), root, OUT, outside_links=True)
    assert list(tmp_path.iterdir()) == []


def test_setuid_is_packed_and_not_restored(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/su").write_bytes(b"x")
    (tmp_path / "in/su").chmod(0o6755)
    made = pack_folder(tmp_path / "in")
    with Root.open(tmp_path) as root:
        extract(raw(chunks(made.gz)), root, OUT)
    assert (tmp_path / "out/files/workspace/su").stat().st_mode & 0o7777 == 0o755


@pytest.mark.long
def test_sparse_8_gib_and_more(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with open(tmp_path / "in/huge", "wb") as file:
        file.seek((8 << 30) + 123)
        file.write(b"the end")
    fd = os.open(tmp_path / "in", os.O_RDONLY)
    with open(tmp_path / "b.tgz", "wb") as out, Tree(fd) as source:
        packing = Packing(source.entries("files/workspace"), source, HEADING)
        out.writelines(join(packing))
    os.close(fd)
    listed = subprocess.run(
        ["tar", "tzvf", tmp_path / "b.tgz"], check=True, capture_output=True
    ).stdout.decode()
    assert str((8 << 30) + 130) in listed
    with Root.open(tmp_path) as root, open(tmp_path / "b.tgz", "rb") as file:
        result = extract(raw(iter(lambda: file.read(1 << 20), b"")), root, OUT)
    assert result.size == (8 << 30) + 130
    found = tmp_path / "out/files/workspace/huge"
    assert found.stat().st_size == result.size
    assert found.stat().st_blocks * 512 < 1 << 20
    with open(found, "rb") as file:
        file.seek(-8, 2)
        assert file.read() == b"\0the end"


@pytest.mark.long
def test_fifty_thousand_files_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(50_000):
        (tmp_path / f"in/{number}").write_bytes(b"%d" % number)
    made = pack_folder(tmp_path / "in")
    with Root.open(tmp_path) as root:
        assert extract(raw(chunks(made.gz)), root, OUT).files == 50_000
    assert faces(os.fsencode(tmp_path / "out/files/workspace")) == faces(os.fsencode(tmp_path / "in"))


class Fading:
    """A source whose files change, shrink or vanish between the plan and the reading."""

    def __init__(self, tree: Tree, folder: Path) -> None:
        self._tree, self._folder = tree, folder

    def open(self, entry: Entry) -> int:
        path = self._folder / entry.origin
        match path.name:
            case "gone":
                path.unlink()
            case "grown":
                path.write_bytes(path.read_bytes() + b"more")
            case "shrunk":
                os.truncate(path, 600_000)
            case "piped" | "piped large":
                path.unlink()
                os.mkfifo(path)
            case "swapped":
                path.unlink()
                path.symlink_to("/etc/passwd")
        return self._tree.open(entry)


def test_files_that_change_after_the_plan(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("gone", "grown", "piped", "quiet", "swapped"):
        (folder / name).write_bytes(name.encode())
    for name in ("shrunk", "piped large"):
        (folder / name).write_bytes(b"x" * 900_000)
    fd = os.open(folder, os.O_RDONLY)
    with Tree(fd) as tree:
        packing = Packing(tree.entries("files/workspace"), Fading(tree, folder), HEADING)
        gz = b"".join(join(packing))
    os.close(fd)
    assert {(os.path.basename(fault.path), fault.kind) for fault in packing.faults} == {
        ("gone", "left_out"),
        ("swapped", "left_out"),
        ("piped", "left_out"),
        ("piped large", "left_out"),
    }
    with Root.open(tmp_path) as root:
        result = extract(raw(chunks(gz)), root, OUT)
    out = tmp_path / "out/files/workspace"
    # The manifest tells what was packed, and that is what was read.
    assert (out / "grown").read_bytes() == b"grownmore"
    assert (out / "shrunk").read_bytes() == b"x" * 600_000
    assert sorted(path.name for path in out.iterdir()) == ["grown", "quiet", "shrunk"]
    assert len(result.facts["plan_summary"]["warnings"]) == 4


def test_two_walks_at_once_take_nothing_from_each_other(tmp_path: Path) -> None:
    """How far a listing has come belongs to what was opened, not to its descriptor."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x")
    fd = os.open(tmp_path, os.O_RDONLY)
    with Tree(fd) as tree, os.scandir(fd) as other:
        next(other)
        assert [entry.path for entry in tree.entries("f")] == ["f", "f/a", "f/b"]
        assert [entry.path for entry in tree.entries("f")] == ["f", "f/a", "f/b"]
    os.close(fd)


def test_a_small_file_that_became_very_large_is_told_to_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "GROWN_MOST", 100_000)
    (tmp_path / "grown").write_bytes(b"x")

    class Growing:
        def open(self, entry: Entry) -> int:
            (tmp_path / "grown").write_bytes(b"y" * 300_000)
            return os.open(tmp_path / "grown", os.O_RDONLY)

    fd = os.open(tmp_path, os.O_RDONLY)
    with Tree(fd) as tree:
        packing = Packing(tree.entries("files/workspace"), Growing(), HEADING, workers=0)
        b"".join(join(packing))
    os.close(fd)
    assert [(os.path.basename(fault.path), fault.kind) for fault in packing.faults] == [
        ("grown", "cut_short")
    ]
    assert packing.size == 100_000


def test_a_file_cut_short_while_it_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "log").write_bytes(b"y" * (20 << 20))
    fd = os.open(folder, os.O_RDONLY)
    with Tree(fd) as tree:
        packing = Packing(tree.entries("files/workspace"), tree, HEADING, workers=0)
        extents = []
        for extent in packing:
            extents.append(extent)
            if len(extents) == 3:
                os.truncate(folder / "log", 5 << 20)
        gz = b"".join(join(extents))
    os.close(fd)
    (fault,) = packing.faults
    assert (fault.kind, str(fault.finding)) == ("cut_short", "it became shorter while it was read")
    with Root.open(tmp_path) as root:
        extract(raw(chunks(gz)), root, OUT)
    data = (tmp_path / "out/files/workspace/log").read_bytes()
    # What had been read before is there, zeros stand for the rest.
    read = data.count(b"y")
    assert 5 << 20 <= read < 15 << 20
    assert data == b"y" * read + bytes((20 << 20) - read)
