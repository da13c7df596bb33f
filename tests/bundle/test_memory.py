"""What is known is not read, what is kept is not deflated, and the snapshot is the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bundle.worlds import HEADING, Nowhere, chunks, entry, finish, pack_entries, pack_folder

from muniment.bundle.errors import BadExtent
from muniment.bundle.extract import extract
from muniment.bundle.gunzip import Limits, raw
from muniment.bundle.index import Index
from muniment.bundle.making import Unsorted
from muniment.bundle.model import NOBODY, NOTE, Entry, Known, Row, Stretch
from muniment.bundle.pack import Packing
from muniment.bundle.tree import Tree
from muniment.bundle.vault import Limits as TenantLimits
from muniment.bundle.vault import Listing
from muniment.bundle.verify import unfold, verify
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.path import RelPath


class Notebook:
    """A memory in a dictionary."""

    def __init__(self) -> None:
        self.notes: dict[bytes, Known] = {}
        self.stretches: dict[tuple[bytes, bytes], Stretch] = {}

    def stretch(self, first: bytes, key: bytes) -> Stretch | None:
        return self.stretches.get((first, key))

    @property
    def blank(self) -> bool:
        return not self.notes

    def recall(self, key: bytes) -> Known | None:
        return self.notes.get(key)

    def learn(self, first: bytes, key: bytes, stretch: Stretch) -> None:
        rows = list(NOTE.iter_unpack(stretch.rows))
        files = [stretch.digests[at : at + 32].hex() for at in range(0, len(stretch.digests), 32)]
        for note in stretch.notes:
            known = Known(tuple(rows[: note.extents]), tuple(files[: note.files]))
            rows, files = rows[note.extents :], files[note.files :]
            if note.key != NOBODY:
                self.notes[note.key] = known
        assert not rows and not files
        if key:
            self.stretches[first, key] = stretch


class Counting:
    """A source that counts what is opened."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.opened: list[str] = []

    def open(self, entry: Entry) -> int:
        self.opened.append(entry.origin)
        return self._tree.open(entry)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "in"
    for number in range(200):
        place = root / f"d{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"f{number}").write_bytes(b"text %d " % number * 99)
    (root / "large").write_bytes(b"".join(b"%d," % number for number in range(300_000)))
    return root


@pytest.mark.parametrize("workers", [0, 2])
def test_an_unchanged_tree_is_not_read_again(folder: Path, workers: int) -> None:
    notebook = Notebook()
    first = pack_folder(folder, memory=notebook, workers=workers)
    fd = os.open(folder, os.O_RDONLY)
    with Tree(fd) as tree:
        source = Counting(tree)
        packing = Packing(tree.entries("files/workspace"), source, HEADING, memory=notebook, workers=workers)
        second = finish(packing)
    assert source.opened == []
    assert second.index.root == first.index.root
    # What was recalled has no piece; only the manifest was made anew.
    made = [extent for extent in second.extents if extent.piece is not None]
    assert {extent.path for extent in made} == {b"manifest.json"}

    (folder / "d3/f3").write_bytes(b"changed")
    with open(folder / "large", "ab") as file:
        file.write(b"appended")
    with Tree(fd) as tree:
        source = Counting(tree)
        packing = Packing(tree.entries("files/workspace"), source, HEADING, memory=notebook, workers=workers)
        third = finish(packing)
    os.close(fd)
    assert "d3/f3" in source.opened and "large" in source.opened
    assert len(source.opened) < 60
    assert third.index.root == pack_folder(folder).index.root


def test_what_the_vault_has_is_not_deflated(folder: Path) -> None:
    first = pack_folder(folder)
    known = set(first.index.ids)
    fd = os.open(folder, os.O_RDONLY)
    with Tree(fd) as tree:
        packing = Packing(tree.entries("files/workspace"), tree, HEADING, have=known.__contains__)
        assert all(extent.piece is None for extent in packing)
    os.close(fd)
    assert packing.index.to_bytes() == first.index.to_bytes()


def test_a_memory_that_does_not_fit_is_not_believed(folder: Path) -> None:
    notebook = Notebook()
    first = pack_folder(folder, memory=notebook)
    notebook.notes = {key: Known(known.extents, known.files[1:]) for key, known in notebook.notes.items()}
    again = pack_folder(folder, memory=notebook)
    assert again.index.root == first.index.root


def test_of_an_unstamped_file_nothing_is_remembered() -> None:
    notebook = Notebook()
    finish(Packing([entry("files/workspace/a", b"x")], Nowhere(), HEADING, memory=notebook, workers=0))
    assert notebook.notes == {}


def test_a_damaged_piece_is_named(folder: Path) -> None:
    made = pack_folder(folder)
    victim = made.extents[5]

    def fetch(row: Row) -> bytes:
        piece = made.fetch(row)
        return piece[:8] + bytes((piece[8] ^ 1,)) + piece[9:] if row.id == victim.id else piece

    for workers in (0, 1, 2):
        with pytest.raises(BadExtent) as refused:
            verify(unfold(made.index, fetch, workers))
        assert refused.value.where == victim.id.hex()[:12]


def test_swapped_pieces_of_a_file_are_seen(folder: Path) -> None:
    made = pack_folder(folder)
    rows = list(made.index)
    at = [number for number, row in enumerate(rows) if row.path == b"files/workspace/large"]
    assert len(at) >= 4
    one, two = at[1], at[2]
    rows[one], rows[two] = rows[two], rows[one]
    other = Index.of(rows)
    assert other.root != made.index.root
    with pytest.raises(MunimentError) as refused:
        verify(unfold(other, made.fetch))
    assert refused.value.code == "CONTENTS_DIFFER"
    assert refused.value.where == "files/workspace/large"


def test_limits_hold_before_anything_is_held(folder: Path) -> None:
    made = pack_folder(folder)
    with pytest.raises(MunimentError, match="inflates to more than 1000 bytes"):
        verify(raw(chunks(made.gz), Limits(total=1000)))
    with pytest.raises(MunimentError, match="more than 2 times"):
        verify(raw(chunks(made.gz), Limits(ratio=2, free=1000)))


def test_zeros_are_no_bomb(tmp_path: Path) -> None:
    made = pack_entries(
        [Entry("files/workspace/z", Kind.FILE, 0o644, 0, 200 << 20, content=bytes(200 << 20))]
    )
    assert len(made.gz) < 2 << 20
    with Root.open(tmp_path) as root:
        extract(raw(chunks(made.gz)), root, RelPath.parse("out"))
    assert (tmp_path / "out/files/workspace/z").stat().st_blocks * 512 < 1 << 20


def test_two_at_once_have_one_winner(folder: Path, tmp_path: Path) -> None:
    made = pack_folder(folder)
    target = RelPath.parse("out")

    with Root.open(tmp_path) as root:

        def second() -> Iterator[bytes]:
            yield from chunks(made.gz)
            # The other one ends while this one is about to.
            extract(raw(chunks(made.gz)), root, target)

        with pytest.raises(MunimentError) as refused:
            extract(raw(second()), root, target)
    assert refused.value.code == "ALREADY_THERE"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_entries_out_of_order_are_a_fault_of_the_caller() -> None:
    with pytest.raises(Unsorted):
        pack_entries([entry("files/workspace/b", b""), entry("files/workspace/a", b"")])
    with pytest.raises(Unsorted):
        pack_entries([entry("files/workspace/a", b""), entry("files/workspace/a", b"")])


def test_a_path_that_goes_too_far_is_left_out_and_named() -> None:
    deep = "files/workspace/" + "d/" * 200 + "x"
    made = pack_entries(
        [entry("files/workspace/a", b"a"), entry(deep, b"b"), entry("files/workspace/z", b"z")]
    )
    assert [(fault.path, fault.kind) for fault in made.faults] == [(deep, "left_out")]
    assert verify(raw(chunks(made.gz))).files == 2


def test_prefixes_of_other_writers(tmp_path: Path) -> None:
    made = pack_folder(tmp_path_with(tmp_path))
    (tmp_path / "b.tgz").write_bytes(made.gz)
    (tmp_path / "x/backup").mkdir(parents=True)
    subprocess.run(["tar", "xzf", tmp_path / "b.tgz", "-C", tmp_path / "x/backup"], check=True)
    for number, call in enumerate((["-C", "x/backup", "."], ["-C", "x", "backup"], ["-C", "x", "./backup"])):
        archive = tmp_path / f"again{number}.tgz"
        # Plain GNU tar, hard links and all, and in its own order.
        subprocess.run(["tar", "--format=posix", "-czf", archive, *call], cwd=tmp_path, check=True)
        assert verify(raw(chunks(archive.read_bytes()))).files == 3


def tmp_path_with(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "in" / name).write_bytes(name.encode())
    return tmp_path / "in"


def test_hard_links_of_other_writers_become_files(tmp_path: Path) -> None:
    made = pack_folder(tmp_path_with(tmp_path))
    (tmp_path / "b.tgz").write_bytes(made.gz)
    (tmp_path / "x").mkdir()
    subprocess.run(["tar", "xzf", tmp_path / "b.tgz", "-C", tmp_path / "x"], check=True)
    where = tmp_path / "x/files/workspace"
    (where / "b").unlink()
    os.link(where / "a", where / "b")
    text = (tmp_path / "x/manifest.json").read_text()
    text = text.replace(hashlib.sha256(b"b").hexdigest(), hashlib.sha256(b"a").hexdigest())
    (tmp_path / "x/manifest.json").write_text(text)
    subprocess.run(
        ["tar", "--sort=name", "-czf", "y.tgz", "-C", "x", "files", "manifest.json"], cwd=tmp_path, check=True
    )
    with Root.open(tmp_path) as root:
        extract(raw(chunks((tmp_path / "y.tgz").read_bytes())), root, RelPath.parse("out"))
    assert (tmp_path / "out/files/workspace/b").read_bytes() == b"a"
    assert (tmp_path / "out/files/workspace/b").stat().st_nlink == 1


def test_remaining_slots() -> None:
    assert Listing((), TenantLimits(snapshots=5), uploading=2).remaining == 3
    assert Listing((), TenantLimits(snapshots=1), uploading=2).remaining == 0
    assert Listing((), TenantLimits()).remaining is None
