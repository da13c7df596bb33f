"""The cache never lies: a run that reads as little as it may stores what a run that reads all would.

A machine changes real files in every way it knows, steps the clock, damages the cache, takes other vaults
and other folders; after each run every file's bytes are hashed, and a second run that believes nothing is
put beside it.  The file system's own time can not be set by hand, so the margin of two seconds is made
nothing instead: what was written the moment before the run is believed, which asks more of the rules.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.backup.world import World, rows

from muniment.backup import cache as memory
from muniment.backup import taking, walk_ahead
from muniment.backup.model import Receipt
from muniment.backup.service import Backups
from muniment.bundle.model import Entry
from muniment.bundle.tree import Tree
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.record.state import open_workspace
from muniment.vault.collect import collect
from muniment.vault.open import open_directory
from muniment.vault.store import VaultStore

SIZE = 20_000
"""So many bytes make a group of their own."""

RESTING = 15
"""Files that nobody touches: they are looked at again before one that has just been read is."""

NAMES = [f"notes/{letter}.md" for letter in "abcdef"]
PLACES = st.sampled_from(NAMES)
FILLS = st.integers(0, 5)
DAMAGES = st.sampled_from(["cut", "garbage", "gone", "empty", "flip", "foreign"])
Facts = dict[str, tuple[int, str]]


def fill(number: int, size: int = SIZE) -> bytes:
    """Different bytes of one size."""
    return bytes([65 + number]) * size


class Machine(RuleBasedStateMachine):
    """A workspace at work, and runs in between."""

    def __init__(self) -> None:
        super().__init__()
        self.held = ExitStack()
        self.place = Path(self.held.enter_context(tempfile.TemporaryDirectory()))
        # The vault lies in memory, and nothing waits for a device: what survives a power cut is proved
        # elsewhere, and here only costs time.  What matters of it is done for the files it matters to.
        memory_folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.beside = Path(self.held.enter_context(tempfile.TemporaryDirectory(dir=memory_folder)))
        patch = self.held.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(memory, "SETTLED_NS", 0)
        patch.setattr(platform, "sync_data", lambda fd: None)
        patch.setattr(platform, "sync_folder", lambda fd: None)
        patch.setattr(platform, "sync_file_system", lambda fd: self.hand_over())
        self.mapped: dict[str, tuple[mmap.mmap, int]] = {}
        self.step = 0
        patch.setattr(taking, "FORK_FROM", 0)
        patch.setattr(walk_ahead, "may_fork", lambda: platform.LINUX)
        honest = memory._probe
        patch.setattr(memory, "_probe", lambda root: honest(root) + self.step)
        self.meddle: dict[str, bytes] = {}
        opening = Tree.open

        def opened(tree: Tree, entry: Entry, origin: str) -> int:
            """Somebody writes after the file was looked at and before it is read."""
            name = entry.path.removeprefix("files/workspace/")
            if name in self.meddle:
                forge(self.world.workspace / name, self.meddle.pop(name))
            return opening(tree, entry, origin)

        patch.setattr(Tree, "open", opened)
        self.world = World(self.beside / "world", workspace=self.place / "workspace")
        self.world.rules()
        for number, name in enumerate(NAMES[:3]):
            self.world.write(name, fill(number))
        for number in range(RESTING):
            self.world.write(f"rest/{number:02}.md", fill(number % 6))
        self.vaults: list[VaultStore] = [self.world.vault]
        self.taken: list[tuple[VaultStore, str]] = []
        self.bases: dict[str, sqlite3.Connection] = {}
        self.rows = self.runs = self.quiet = 0
        self.copies = 0

    def teardown(self) -> None:
        self.let_go()
        for base in self.bases.values():
            base.close()
        for vault in self.vaults:
            if vault is not self.world.vault:
                vault.close()
        self.world.close()
        self.held.close()

    def hand_over(self) -> None:
        """What the kernel does with all files, for those that matter here."""
        for _, fd in self.mapped.values():
            os.fdatasync(fd)

    def let_go(self) -> None:
        for mapping, fd in self.mapped.values():
            mapping.close()
            os.close(fd)
        self.mapped.clear()

    def at(self, name: str) -> Path:
        return self.world.workspace / name

    # What people and programs do to files

    @rule(name=PLACES, number=FILLS, size=st.sampled_from([SIZE, SIZE, 0, 100, 300_000]))
    def write(self, name: str, number: int, size: int) -> None:
        self.world.write(name, fill(number, size))

    @rule(name=PLACES, number=FILLS)
    def write_and_set_the_time_back(self, name: str, number: int) -> None:
        if self.at(name).exists():
            forge(self.at(name), fill(number, self.at(name).stat().st_size))

    @rule(name=PLACES, number=FILLS)
    def write_twice_within_a_tick(self, name: str, number: int) -> None:
        self.world.write(name, fill(number))
        self.world.write(name, fill((number + 1) % 6))

    @rule(name=PLACES, number=FILLS)
    def replace(self, name: str, number: int) -> None:
        """Another file comes in its place, of the same size and time."""
        beside = self.world.write("notes/new", fill(number))
        if self.at(name).exists():
            found = self.at(name).stat()
            os.utime(beside, ns=(found.st_atime_ns, found.st_mtime_ns))
        beside.rename(self.at(name))

    @rule(one=PLACES, other=PLACES)
    def rename(self, one: str, other: str) -> None:
        if self.at(one).exists():
            self.at(one).rename(self.at(other))

    @rule(one=PLACES, other=PLACES)
    def swap(self, one: str, other: str) -> None:
        if one != other and self.at(one).exists() and self.at(other).exists():
            self.at(one).rename(self.at("notes/aside"))
            self.at(other).rename(self.at(one))
            self.at("notes/aside").rename(self.at(other))

    @rule(one=PLACES, other=PLACES)
    def link(self, one: str, other: str) -> None:
        if self.at(one).exists() and not self.at(other).exists():
            os.link(self.at(one), self.at(other))

    @rule(name=PLACES)
    def remove(self, name: str) -> None:
        self.at(name).unlink(missing_ok=True)

    @rule(name=PLACES, mode=st.sampled_from([0o600, 0o644, 0o755]))
    def set_mode(self, name: str, mode: int) -> None:
        if self.at(name).exists():
            self.at(name).chmod(mode)

    @rule(name=PLACES, number=FILLS, at=st.integers(0, SIZE - 1))
    def write_through_a_mapping(self, name: str, number: int, at: int) -> None:
        """Some of them stay open over many runs, and nothing is ever handed over by their owner."""
        if name not in self.mapped:
            if not self.at(name).exists() or self.at(name).stat().st_size < SIZE:
                return
            fd = os.open(self.at(name), os.O_RDWR)
            self.mapped[name] = (mmap.mmap(fd, SIZE), fd)
        mapping, fd = self.mapped[name]
        if os.fstat(fd).st_size < SIZE:
            return  # it was cut: who writes past the end of it is killed
        mapping[at : at + 1] = bytes([97 + number])

    @rule(name=PLACES, number=FILLS)
    def write_while_it_is_packed(self, name: str, number: int) -> None:
        if self.at(name).exists():
            self.meddle[name] = fill(number, self.at(name).stat().st_size)

    # Databases

    @rule(name=st.sampled_from(["wal.db", "roll.db"]))
    def commit(self, name: str) -> None:
        base = self.bases.get(name)
        if base is None:
            self.at("data").mkdir(exist_ok=True)
            base = sqlite3.connect(self.at("data") / name, isolation_level=None)
            self.bases[name] = base
            base.execute(f"PRAGMA journal_mode = {'WAL' if name == 'wal.db' else 'DELETE'}")
            base.execute("PRAGMA synchronous = OFF")
            base.execute("PRAGMA wal_autocheckpoint = 0")
            base.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER)")
        self.rows += 1
        base.execute("INSERT INTO t VALUES (?)", (self.rows,))

    @rule(name=st.sampled_from(["wal.db", "roll.db"]))
    def change_a_row(self, name: str) -> None:
        """The database and its log keep their sizes."""
        if name in self.bases:
            self.rows += 1
            self.bases[name].execute("UPDATE t SET n = ? WHERE rowid = 1", (self.rows,))

    @rule()
    def checkpoint(self) -> None:
        if "wal.db" in self.bases:
            self.bases["wal.db"].execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @rule(name=st.sampled_from(["wal.db", "roll.db"]))
    def close(self, name: str) -> None:
        if name in self.bases:
            self.bases.pop(name).close()

    # Clocks, caches, vaults, folders

    @rule(seconds=st.sampled_from([0, 0, 3600, 40 * 86400, -1, -3600, -40 * 86400]))
    def set_the_clock(self, seconds: int) -> None:
        """Forth, back, and right again."""
        self.step = seconds * 1_000_000_000

    @rule(how=DAMAGES, at=st.integers(0, 1 << 20))
    def damage_the_cache(self, how: str, at: int) -> None:
        for place in sorted((self.world.place / "cache").glob("*.sqlite")):
            data = bytearray(place.read_bytes())
            if how == "gone":
                place.unlink()
            elif how == "cut":
                place.write_bytes(data[: at % (len(data) + 1)])
            elif how == "flip" and data:
                data[at % len(data)] ^= 1 << at % 8
                place.write_bytes(data)
            elif how == "foreign":
                place.write_bytes(self.foreign())
            else:
                place.write_bytes(b"" if how == "empty" else os.urandom(9000))

    def foreign(self) -> bytes:
        """The cache of another workspace that looks like this one."""
        there = self.beside / "foreign"
        if not there.exists():
            other = World(there)
            other.rules()
            for number, name in enumerate(NAMES[:3]):
                other.write(name, fill(5 - number))
            other.snapshot()
            other.close()
        (place,) = (there / "cache").glob("*.sqlite")
        return place.read_bytes()

    @rule()
    def take_another_vault(self) -> None:
        if len(self.vaults) < 2:
            self.vaults.append(open_directory(self.beside / "second", clock=self.world.clock))
        self.world.vault = self.vaults[1] if self.world.vault is self.vaults[0] else self.vaults[0]

    @precondition(lambda self: self.taken)
    @rule(collecting=st.booleans())
    def delete_a_snapshot(self, collecting: bool) -> None:
        vault, snapshot = self.taken.pop()
        vault.delete(snapshot)
        if collecting:
            collect(vault)  # what nobody needs is marked, and a day later it goes
            self.world.now += timedelta(days=3)
            collect(vault)

    @rule()
    def move_into_a_copy(self) -> None:
        """The workspace becomes a copy of itself: the same path, names, sizes and times; other inodes."""
        world = self.world
        self.let_go()
        for base in self.bases.values():
            base.close()
        self.bases.clear()
        self.copies += 1
        shutil.copytree(world.workspace, self.place / "copy")
        world.root.close()
        world.workspace.rename(self.place / f"former{self.copies}")
        (self.place / "copy").rename(world.workspace)
        world.root = Root.open(world.workspace)
        world.record = open_workspace(world.root, clock=world.clock)

    # The runs

    @rule(elsewhere=st.booleans())
    def walk_elsewhere(self, elsewhere: bool) -> None:
        """Another process walks, or none."""
        self.world.workers = int(elsewhere)

    @rule(steps=st.integers(1, 4))
    def let_more_happen(self, steps: int) -> None:
        """Nothing runs until so much more has happened."""
        self.quiet = steps

    @invariant()
    def run(self) -> None:
        if self.quiet:
            self.quiet -= 1
            return
        # Who writes to a file by one of its names does so by all of them, also when they have been packed.
        written = {self.at(name).stat().st_ino for name in self.meddle if self.at(name).exists()}
        meddled = {
            name for name in NAMES if self.at(name).exists() and self.at(name).stat().st_ino in written
        }
        receipt = self.world.snapshot()
        self.taken.append((self.world.vault, receipt.snapshot.id))
        self.meddle.clear()
        self.runs += 1
        self.compare(receipt, without=meddled)

    def compare(self, receipt: Receipt, without: set[str]) -> None:
        found = stored(self.world, receipt)
        for name, (size, digest) in found.items():
            if name in without or name.endswith(".db"):
                continue
            data = self.at(name).read_bytes()
            assert (size, digest) == (len(data), hashlib.sha256(data).hexdigest()), name
        there = {path.relative_to(self.world.workspace).as_posix() for path in walked(self.world.workspace)}
        assert set(found) == {name for name in there if not name.endswith(("-wal", "-shm", "-journal"))}
        for name, base in self.bases.items():
            here = [number for (number,) in base.execute("SELECT n FROM t ORDER BY n")]
            assert rows(self.world.restored(receipt, f"data/{name}")) == here
        if not without and self.runs % 5 == 0:
            assert found == stored(self.world, unbelieving(self.world)), "by a run that reads everything"
            self.world.reading(receipt).verify()


def walked(folder: Path) -> Iterator[Path]:
    """The files of the workspace, without Muniment's own."""
    for above, folders, names in os.walk(folder):
        if Path(above) == folder:
            folders[:] = [name for name in folders if name != ".muniment"]
        for name in names:
            yield Path(above, name)


def forge(place: Path, content: bytes) -> None:
    """Other bytes in the same inode, under the old time."""
    before = place.stat()
    place.write_bytes(content)
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


def stored(world: World, receipt: Receipt) -> Facts:
    """What a snapshot keeps of the workspace, by the manifest."""
    found = world.reading(receipt).files()
    return {
        one.path.removeprefix("files/workspace/"): (one.size, one.sha256)
        for one in found
        if "/.muniment/" not in one.path
    }


def unbelieving(world: World) -> Receipt:
    """A run that reads everything, with a cache of its own, and is taken back."""
    options = replace(world.backups.options, cache=world.place / "unbelieving")
    room = Backups(world.record, world.places, lambda: world.vault, options)
    planned = world.plan()
    world.confirm(planned)
    return room.create(planned.plan.plan_id, reread=True)


def explore(machine: type[RuleBasedStateMachine], *, examples: int, steps: int) -> None:
    """Run a machine for so many examples of so many steps."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_cache_never_lies() -> None:
    explore(Machine, examples=12, steps=14)


@pytest.mark.long
def test_the_cache_never_lies_for_long() -> None:
    explore(Machine, examples=300, steps=50)
