"""What is packed with a memory is what is packed without one, byte for byte: for any tree, any changes to
it, any loss of the memory, any number of workers.

The real cache remembers, on trees that a machine changes as it likes.  The rules of the cuts are small
here, so that a few dozen files make many groups and stretches, and large files among them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.backup.test_cache_truth import explore
from tests.bundle.worlds import HEADING, Made, finish

from muniment.backup.cache import Cache, open_base
from muniment.bundle import pack, segments, stretches
from muniment.bundle.cuts import CutRules
from muniment.bundle.model import Entry, Extent
from muniment.bundle.pack import Packing
from muniment.bundle.segments import Segment, one_by_one
from muniment.bundle.tree import Tree

RULES = CutRules(2048, 4096, 8192, 4096, 4096, 8192, 4096, 512)
NAMES = ["a", "a.txt", "a-b", "ab", "b", "b\udcff", "ü", "z" * 120, 'q"\\', "\n", "\x7f", "a ", "0"]
"""`a.txt` comes between `a` and what lies in it; the others are hard to write down."""

FOLDERS = ["", "a", "a/a", "a/b", "b", "b/a.txt", "ü", "a/a/a"]
PLACES = st.builds(
    lambda folder, name: f"{folder}/{name}".lstrip("/"), st.sampled_from(FOLDERS), st.sampled_from(NAMES)
)
SIZES = st.sampled_from([0, 1, 100, 511, 512, 1500, 3000, 4095, 8192, 8193, 20_000])


class Source:
    """A tree of which some files can not be read."""

    def __init__(self, tree: Tree, unreadable: set[str]) -> None:
        self._tree = tree
        self._unreadable = unreadable

    def open(self, entry: Entry) -> int:
        if entry.origin in self._unreadable:
            raise PermissionError(13, "Permission denied")
        return self._tree.open(entry)


class Machine(RuleBasedStateMachine):
    """A tree that changes, and runs in between."""

    def __init__(self) -> None:
        super().__init__()
        self.held = ExitStack()
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.place = Path(self.held.enter_context(tempfile.TemporaryDirectory(dir=shared)))
        self.root = self.place / "tree"
        self.root.mkdir()
        patch = self.held.enter_context(pytest.MonkeyPatch.context())
        self.patch = patch
        self.written = 0
        self.runs = 0
        self.kept: set[bytes] = set()
        self.unreadable: set[str] = set()
        self.alone: set[str] = set()
        self.workers = 0
        self.quiet = 0

    @initialize(
        ends=st.sampled_from([1, 2, 4]), many=st.sampled_from([2, 256]), batch=st.sampled_from([1, 1 << 20])
    )
    def take_sizes(self, ends: int, many: int, batch: int) -> None:
        self.patch.setattr(stretches, "ENDS_IN", ends)
        self.patch.setattr(segments, "MANY", many)
        self.patch.setattr(segments, "PARTED_BELOW", 1 << 31)
        self.patch.setattr(pack, "BATCH", batch)

    def teardown(self) -> None:
        self.held.close()

    def dated(self, path: Path) -> None:
        """No two states of a file ever look the same: what the cache believes is not asked here."""
        self.written += 1
        os.utime(path, ns=(0, 1_700_000_000_000_000_000 + self.written * 1_000_003), follow_symlinks=False)

    def free(self, place: str) -> Path | None:
        path = self.root / place
        for above in reversed(path.relative_to(self.root).parents):
            if (self.root / above).is_symlink() or (self.root / above).is_file():
                return None
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @rule(place=PLACES, size=SIZES)
    def write(self, place: str, size: int) -> None:
        path = self.free(place)
        if path is None or path.is_dir() or path.is_symlink():
            return
        self.written += 1
        path.write_bytes((b"%d " % self.written * (size // 2 + 1))[:size])
        self.dated(path)

    @rule(folder=st.sampled_from(FOLDERS), count=st.integers(1, 40), size=SIZES)
    def write_many(self, folder: str, count: int, size: int) -> None:
        for number in range(count):
            self.write(f"{folder}/n{number:02}".lstrip("/"), size + number)

    @rule(place=PLACES)
    def make_a_folder(self, place: str) -> None:
        path = self.free(place)
        if path is not None and not os.path.lexists(path):
            path.mkdir()

    @rule(place=PLACES, to=st.sampled_from(["a", "../b", "x" * 150, "ü"]))
    def make_a_link(self, place: str, to: str) -> None:
        path = self.free(place)
        if path is not None and not os.path.lexists(path):
            path.symlink_to(to)
            self.dated(path)

    @rule(place=PLACES)
    def remove(self, place: str) -> None:
        path = self.root / place
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()

    @rule(one=PLACES, other=PLACES)
    def rename(self, one: str, other: str) -> None:
        source, target = self.root / one, self.free(other)
        if target is None or not os.path.lexists(source) or os.path.lexists(target):
            return
        if not target.is_relative_to(source):
            source.rename(target)

    @rule(place=PLACES, mode=st.sampled_from([0o600, 0o644, 0o755]))
    def set_mode(self, place: str, mode: int) -> None:
        path = self.root / place
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)

    @rule(place=PLACES)
    def take_the_right_to_read(self, place: str) -> None:
        self.unreadable ^= {place}
        path = self.root / place
        if path.is_file() and not path.is_symlink():
            self.dated(path)  # no right changes without another ctime

    @rule(place=PLACES)
    def tell_of_it_alone(self, place: str) -> None:
        """As what has changed a moment ago is told of: it stands alone and is always read."""
        self.alone ^= {f"files/workspace/{place}"}

    @rule(every=st.integers(1, 5))
    def lose_pieces(self, every: int) -> None:
        """The vault has not everything any more."""
        self.kept = {one for number, one in enumerate(sorted(self.kept)) if number % every}

    @rule(how=st.sampled_from(["gone", "stretches", "groups", "keys"]))
    def lose_the_memory(self, how: str) -> None:
        place = self.place / "memory.sqlite"
        if how == "gone":
            place.unlink(missing_ok=True)
        elif place.exists():
            with closing(sqlite3.connect(place)) as base, base:
                if how == "stretches":
                    base.execute("DELETE FROM stretches WHERE id % 2")
                elif how == "groups":
                    base.execute("DELETE FROM groups WHERE key % 2")
                else:
                    base.execute("UPDATE stretches SET key = x'' WHERE id % 2")

    @rule(workers=st.sampled_from([0, 0, 1, 2]))
    def take_workers(self, workers: int) -> None:
        self.workers = workers

    @rule(steps=st.integers(1, 6))
    def let_more_happen(self, steps: int) -> None:
        self.quiet = steps

    def told(self, tree: Tree) -> list[Entry | Segment]:
        """The tree, with what is told of alone as the walk of the backups does it."""
        found: list[Entry | Segment] = []
        for item in tree.segments("files/workspace"):
            if isinstance(item, Segment) and self.alone & {*map(os.fsdecode, item.paths)}:
                begin = 0
                for end, entry in enumerate(item.entries()):
                    if entry.path not in self.alone:
                        continue
                    if begin < end:
                        found.append(item._replace(part=item.part.between(begin, end)))
                    found.append(entry._replace(stamp=b""))
                    begin = end + 1
                if begin < item.part.number:
                    found.append(item._replace(part=item.part.between(begin, item.part.number)))
            else:
                found.append(item)
        return found

    @invariant()
    def run(self) -> None:
        if self.quiet:
            self.quiet -= 1
            return
        self.runs += 1
        fd = os.open(self.root, os.O_RDONLY)
        memory = Cache(open_base(str(self.place / "memory.sqlite")), 10**18 + self.runs, share=30)
        memory.trust(self.kept.__contains__)
        try:
            with memory, Tree(fd) as tree:
                told = self.told(tree)
                source = Source(tree, self.unreadable)
                plain = finish(Packing(one_by_one(told), source, HEADING, rules=RULES, workers=0))
                source = Source(tree, self.unreadable)
                shared = (lambda entry: True) if self.runs % 2 else None
                packing = Packing(
                    told,
                    source,
                    HEADING,
                    rules=RULES,
                    workers=self.workers,
                    memory=memory,
                    have=self.kept.__contains__,
                    shared=shared,
                )
                given = list(packing)
                assert not memory.lied
                self.compare(plain, packing, given)
                memory.keep({})
                self.kept |= {extent.id for extent in plain.extents}
        finally:
            os.close(fd)

    def compare(self, plain: Made, packing: Packing, given: list[Extent]) -> None:
        assert packing.index.to_bytes() == plain.index.to_bytes()
        assert packing.index.root == plain.index.root
        assert (packing.files, packing.size) == (plain.files, plain.size)
        assert packing.faults == plain.faults
        pieces = {extent.id: extent.piece for extent in plain.extents}
        owed = {one for one in pieces if one not in self.kept}
        assert owed <= {extent.id for extent in given if extent.piece is not None}
        for extent in given:
            assert extent.piece is None or extent.piece == pieces[extent.id]


def test_with_a_memory_the_bytes_are_the_same() -> None:
    explore(Machine, examples=40, steps=25)


@pytest.mark.long
def test_with_a_memory_the_bytes_are_the_same_for_long() -> None:
    explore(Machine, examples=1000, steps=50)
