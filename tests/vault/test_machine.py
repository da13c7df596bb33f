"""A vault against a model: whatever happens in whatever order, what was acknowledged is there."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.vault.content import Content, finish, flipped, keep, numbered, restored
from tests.vault.killing import Fuse, Killed, doomed
from tests.vault.sites import Folder

from muniment.bundle.vault import Soundness
from muniment.errors import NotVerified
from muniment.vault.collect import collect
from muniment.vault.examine import Examined, Finding, Part, examine
from muniment.vault.open import rebuild_directory
from muniment.vault.packs import pack_blob
from muniment.vault.store import VaultStore

NUMBERS = st.lists(st.integers(0, 9), min_size=2, max_size=5)
ANY = st.integers(0, 1_000_000)
FUSE = st.integers(1, 24)


class VaultMachine(RuleBasedStateMachine):
    """One vault, one client at a time; the model knows what was acknowledged."""

    @initialize()
    def begin(self) -> None:
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.place = Path(tempfile.mkdtemp(dir=memory, prefix="muniment-test-"))
        self.site = Folder(self.place / "vault")
        self.store = self.site.client()
        self.kept: dict[str, Content] = {}
        self.flipped = False
        """A pack may have a wrong byte; then a snapshot may refuse to be restored, and nothing else."""
        self.lost: set[str] = set()
        """Snapshots whose own index or description may have one: a rebuild may not find them."""
        self.turned: set[str] = set()
        """Every blob of which a bit was ever turned; a rebuild may make nothing of it and names it."""

    def teardown(self) -> None:
        if hasattr(self, "site"):
            self.site.close()
            shutil.rmtree(self.place)

    def some(self, number: int) -> str:
        """One of the snapshots."""
        return sorted(self.kept)[number % len(self.kept)]

    # What clients do

    @rule(numbers=NUMBERS)
    def create(self, numbers: list[int]) -> None:
        what = numbered(*numbers)
        self.kept[keep(self.store, what).snapshot.id] = what

    @precondition(lambda self: self.kept)
    @rule(numbers=NUMBERS, which=ANY)
    def replace(self, numbers: list[int], which: int) -> None:
        what, old = numbered(*numbers), self.some(which)
        self.kept[keep(self.store, what, replace=old).snapshot.id] = what
        self.forget(old)

    @precondition(lambda self: self.kept)
    @rule(which=ANY)
    def delete(self, which: int) -> None:
        old = self.some(which)
        assert self.store.delete(old).id == old
        self.forget(old)

    @rule(numbers=NUMBERS)
    def begin_and_leave(self, numbers: list[int]) -> None:
        what = numbered(*numbers)
        upload = self.store.reserve(what.ids)
        self.store.put(upload.upload_id, [one for one in what.extents if one.id in upload.missing])

    @precondition(lambda self: self.kept)
    @rule(numbers=NUMBERS, which=ANY, hours=st.integers(0, 30))
    def base_goes_meanwhile(self, numbers: list[int], which: int, hours: int) -> None:
        """A snapshot is made while another one is deleted and garbage is collected."""
        what, old, other = numbered(*numbers), self.some(which), self.site.client()
        upload = self.store.reserve(what.ids)
        other.delete(old)
        self.forget(old)
        collect(other)
        self.site.clock.step(minutes=50)
        collect(other)
        self.store.put(upload.upload_id, [one for one in what.extents if one.id in upload.missing])
        self.kept[finish(self.store, upload.upload_id, what).snapshot.id] = what
        self.site.clock.step(hours=hours)
        other.close()

    # What the keeper does

    @rule(hours=st.sampled_from([-48, -1, 0, 2, 13, 25, 24 * 400]))
    def collect(self, hours: int) -> None:
        self.site.clock.step(hours=hours)
        collect(self.store)

    @rule(lose=st.booleans())
    def rebuild(self, lose: bool) -> None:
        self.store.close()
        if lose:
            self.site.catalogue.unlink()
        done = rebuild_directory(self.site.path, clock=self.site.clock)
        self.store = self.site.client()
        there = {one.id for one in self.store.list().snapshots}
        gone = set(self.kept) - there
        assert gone <= self.lost, f"acknowledged and not found again: {gone}"
        # A kill between the two files of a snapshot leaves one without the other.
        assert {one.blob for one in done.refused if (self.site.path / one.blob).exists()} <= self.turned
        for snapshot_id in gone:
            self.forget(snapshot_id)
        self.adopt(there - set(self.kept), what=None)
        if not self.flipped:
            # A damaged pack from which all was saved is still there, and known again.
            examine(self.store, repair=True)

    @precondition(lambda self: self.kept)
    @rule(which=ANY, at=ANY)
    def flip(self, which: int, at: int) -> None:
        """One bit of a file that is in use turns over; a check names the file's part."""
        files = [self.site.path / pack_blob(name) for name, size in self.store.catalogue.packs() if size]
        files += [
            self.site.path / "snapshots" / f"{one}.{kind}" for one in self.kept for kind in ("index", "json")
        ]
        path = sorted(path for path in files if path.exists())[which % len(files)]
        before = path.read_bytes()
        path.write_bytes(flipped(before, at % len(before)))
        self.turned.add(path.relative_to(self.site.path).as_posix())
        if path.parent.name == "snapshots":
            self.lost.add(path.name.partition(".")[0])
        else:
            self.flipped = True
        found = examine(self.store)
        assert not found.sound
        names = {name for part in Part for name in found.names(part)}
        if path.parent.name == "snapshots" or at % len(before) < 34:
            assert path.name.partition(".")[0] in names

    @rule()
    def check(self) -> None:
        found = examine(self.store)
        if not (self.flipped or self.lost):
            assert self.beside(found) == []

    def beside(self, found: Examined) -> list[Finding]:
        """What was found beside files that a rebuild had refused and named."""
        return [one for one in found.findings if one.part is not Part.UNKNOWN or one.name not in self.turned]

    @rule()
    def repair_and_heal(self) -> None:
        """After a repair, making the same snapshots again brings back all that still has its index."""
        examine(self.store, repair=True)
        for what in list(self.kept.values()):
            self.kept[keep(self.store, what).snapshot.id] = what
        beyond = {one.id for one in self.store.list().snapshots if one.soundness is not Soundness.SOUND}
        assert beyond <= self.lost
        found = examine(self.store, repair=True)
        assert set(found.names(Part.SNAPSHOT)) == beyond
        assert {one.part for one in self.beside(found)} <= {Part.SNAPSHOT}
        for snapshot_id in beyond:
            self.store.delete(snapshot_id)
            self.forget(snapshot_id)
        self.flipped, self.lost = False, set()
        assert self.beside(examine(self.store)) == []

    # A process dies

    @rule(numbers=NUMBERS, fuse=FUSE)
    def killed_while_creating(self, numbers: list[int], fuse: int) -> None:
        what = numbered(*numbers)
        self.killed(lambda store: keep(store, what), fuse)
        self.adopt({one.id for one in self.store.list().snapshots} - set(self.kept), what)

    @precondition(lambda self: self.kept)
    @rule(numbers=NUMBERS, which=ANY, fuse=FUSE)
    def killed_while_replacing(self, numbers: list[int], which: int, fuse: int) -> None:
        what, old = numbered(*numbers), self.some(which)
        self.killed(lambda store: keep(store, what, replace=old), fuse)
        there = {one.id for one in self.store.list().snapshots}
        new = there - set(self.kept)
        assert (old in there) != bool(new), "neither before nor after"
        if new:
            self.forget(old)
        self.adopt(new, what)

    @precondition(lambda self: self.kept)
    @rule(which=ANY, fuse=FUSE)
    def killed_while_deleting(self, which: int, fuse: int) -> None:
        old = self.some(which)
        self.killed(lambda store: store.delete(old), fuse)
        if old not in {one.id for one in self.store.list().snapshots}:
            self.forget(old)

    @rule(hours=st.sampled_from([0, 25]), fuse=FUSE)
    def killed_while_collecting(self, hours: int, fuse: int) -> None:
        self.site.clock.step(hours=hours)
        self.killed(collect, fuse)

    @rule(fuse=FUSE)
    def killed_while_repairing(self, fuse: int) -> None:
        self.killed(lambda store: examine(store, repair=True), fuse)

    def killed(self, act: Callable[[VaultStore], object], fuse: int) -> None:
        """Do it in a process that dies at some step, or has just ended; then open the vault anew."""
        burning = Fuse(fuse)
        store = doomed(self.site.client(), burning)
        with contextlib.suppress(Killed):
            act(store)
        store.close()
        self.store.close()
        self.store = self.site.client()

    # What holds

    def adopt(self, new: set[str], what: Content | None) -> None:
        """Snapshots that were being made when their process died may be there; then they are whole.  One
        that was being deleted, and comes back by a rebuild, may have been damaged before."""
        for snapshot_id in new:
            if what is not None:
                index = self.store.index(snapshot_id)
                assert list(index) == list(what.index)
                self.kept[snapshot_id] = what
            elif self.store.show(snapshot_id).soundness is Soundness.SOUND and not self.flipped:
                assert restored(self.store, snapshot_id)
                self.store.delete(snapshot_id)
            else:
                self.store.delete(snapshot_id)

    def forget(self, snapshot_id: str) -> None:
        """It was deleted, and said to be."""
        del self.kept[snapshot_id]
        self.lost.discard(snapshot_id)

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        if not hasattr(self, "store"):
            return
        assert {one.id for one in self.store.list().snapshots} == set(self.kept)
        for snapshot_id, what in self.kept.items():
            try:
                assert restored(self.store, snapshot_id) == what.raw
            except NotVerified:
                assert self.flipped or snapshot_id in self.lost
            else:
                if not self.flipped and snapshot_id not in self.lost:
                    assert self.store.show(snapshot_id).soundness is Soundness.SOUND


TestVault = VaultMachine.TestCase
TestVault.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
