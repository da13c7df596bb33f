"""Each rule by which the cache is distrusted, alone: what it is for happens, and what is stored is true."""

from __future__ import annotations

import mmap
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from tests.backup.test_again import files_read
from tests.backup.test_cache_truth import forge
from tests.backup.world import World, rows

from muniment.backup import cache as memory
from muniment.backup.cache import Cache
from muniment.backup.model import Request
from muniment.bundle.model import NOTE, Note, Stretch
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.record.state import open_workspace
from muniment.vault.open import open_directory

Worlds = Callable[..., World]
LARGE = 20_000
"""So many bytes make a group of their own."""


@pytest.fixture
def eager(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world that believes whatever was there before the run began, so that nobody has to wait; and
    enough at rest that the share that is read anew is of something else."""
    monkeypatch.setattr(memory, "SETTLED_NS", 0)
    for number in range(20):
        world.write(f"a/{number:02}", bytes([number]) * LARGE)
    return world


def needs_dates(world: World) -> None:
    """Only a file system that dates mapped writes can show that they are seen."""
    mount = platform.mount_of(world.root.fd)
    if mount is not None and mount.fs_type in memory.UNDATED:
        pytest.skip("this file system is in memory, and is never believed")


def content(world: World, name: str) -> bytes:
    return world.restored(world.snapshot(), name).read_bytes()


def test_size(eager: World) -> None:
    eager.write("b", b"1" * LARGE)
    eager.snapshot()
    eager.write("b", b"1" * (LARGE + 1))
    assert content(eager, "b") == b"1" * (LARGE + 1)


def test_mtime_set_back_is_seen_by_ctime(eager: World) -> None:
    place = eager.write("b", b"1" * LARGE)
    eager.snapshot()
    forge(place, b"2" * LARGE)
    assert content(eager, "b") == b"2" * LARGE


def test_another_inode_with_the_same_size_and_time(eager: World) -> None:
    place = eager.write("b", b"1" * LARGE)
    eager.snapshot()
    other = eager.write("c", b"2" * LARGE)
    found = place.stat()
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.rename(place)
    assert content(eager, "b") == b"2" * LARGE


def test_two_files_that_change_places(eager: World) -> None:
    one, other = eager.write("b", b"1" * LARGE), eager.write("c", b"2" * LARGE)
    os.utime(other, ns=(one.stat().st_atime_ns, one.stat().st_mtime_ns))
    eager.snapshot()
    one.rename(eager.workspace / "d")
    other.rename(one)
    (eager.workspace / "d").rename(other)
    receipt = eager.snapshot()
    assert eager.restored(receipt, "b").read_bytes() == b"2" * LARGE
    assert eager.restored(receipt, "c").read_bytes() == b"1" * LARGE


@pytest.mark.parametrize("age_ns", [0, 1_000_000_000, 1_999_999_999])
def test_what_is_younger_than_two_seconds_is_not_believed(
    world: World, monkeypatch: pytest.MonkeyPatch, age_ns: int
) -> None:
    """Within one tick of the clock a file may change twice and look the same."""
    place = world.write("b", b"1" * LARGE)
    for number in range(20):
        world.write(f"a/{number:02}", bytes([number]) * LARGE)
    changed = max(place.stat().st_mtime_ns, place.stat().st_ctime_ns)
    monkeypatch.setattr(memory, "_probe", lambda root: changed + age_ns)
    world.snapshot()
    with files_read(monkeypatch) as again:
        world.snapshot()
    assert "b" in again


def test_what_is_older_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "UNDATED", frozenset())
    later = count(1)

    def settled(root: Root) -> int:
        changed = max(path.stat().st_ctime_ns for path in world.workspace.rglob("*") if path.is_file())
        return changed + memory.SETTLED_NS + next(later)

    monkeypatch.setattr(memory, "_probe", settled)
    for number in range(20):
        world.write(f"a/{number:02}", bytes([number]) * LARGE)
    world.snapshot()
    world.write("b", b"1" * LARGE)  # looked at last, so that the share that is read anew is of the others
    world.snapshot()
    with files_read(monkeypatch) as again:
        world.snapshot()
    assert len(again) == 1 and "b" not in again


@pytest.mark.parametrize("flushed", [False, True])
def test_a_mapping_that_stays_open(eager: World, flushed: bool) -> None:
    """A page that is dirty already is written to without any new time; so all is handed over first."""
    needs_dates(eager)
    place = eager.write("b", b"1" * LARGE)
    with place.open("r+b") as stream, mmap.mmap(stream.fileno(), LARGE) as mapping:
        mapping[0:1] = b"2"
        assert content(eager, "b")[:2] == b"21"
        mapping[1:2] = b"3"
        if flushed:
            mapping.flush()
        assert content(eager, "b")[:2] == b"23"
        mapping[2:3] = b"4"
        assert content(eager, "b")[:3] == b"234"


def test_without_handing_over_a_mapping_would_not_be_seen(
    eager: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: this is what the rule is for."""
    needs_dates(eager)
    monkeypatch.setattr(memory, "_dates_every_write", lambda fd: True)
    eager.snapshot()  # what is looked at after this is not in the share that is read anew
    place = eager.write("b", b"1" * LARGE)
    with place.open("r+b") as stream, mmap.mmap(stream.fileno(), LARGE) as mapping:
        mapping[0:1] = b"2"
        dated = place.stat().st_mtime_ns
        eager.snapshot()
        mapping[1:2] = b"3"
        if place.stat().st_mtime_ns != dated:
            pytest.skip("the kernel handed the page over meanwhile")
        assert content(eager, "b")[:2] == b"21"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no file system in memory here")
def test_a_file_system_in_memory_is_never_believed(
    make_world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a mapping never changes a file's times."""
    monkeypatch.setattr(memory, "SETTLED_NS", 0)
    place = Path("/dev/shm") / f"muniment-{os.getpid()}"
    try:
        world = make_world(workspace=place)
        world.rules()
        file = world.write("b", b"1" * LARGE)
        with file.open("r+b") as stream, mmap.mmap(stream.fileno(), LARGE) as mapping:
            mapping[0:1] = b"2"
            assert content(world, "b")[:2] == b"21"
            mapping[1:2] = b"3"
            assert content(world, "b")[:2] == b"23"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_what_can_not_be_handed_over_is_not_believed(eager: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(5, "Input/output error")

    eager.snapshot()
    with monkeypatch.context() as patch:
        patch.setattr(platform, "sync_file_system", full)
        with files_read(monkeypatch) as again:
            eager.snapshot()
    assert len(again) == 21


def test_another_device_is_not_believed(eager: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock may be another: a probe on this one says nothing of it."""
    eager.snapshot()
    opening = Cache.open.__func__  # type: ignore[attr-defined]

    def elsewhere(cls: type[Cache], /, *arguments: object, **more: object) -> Cache:
        cache: Cache = opening(cls, *arguments, **more)
        cache.device += 1
        return cache

    monkeypatch.setattr(Cache, "open", classmethod(elsewhere))
    with files_read(monkeypatch) as again:
        eager.snapshot()
    assert len(again) == 21


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_database_is_what_its_log_makes_it(eager: World, mode: str) -> None:
    place = eager.workspace / "b.db"
    with closing(sqlite3.connect(place, isolation_level=None)) as base:
        base.execute(f"PRAGMA journal_mode = {mode}")
        base.execute("PRAGMA wal_autocheckpoint = 0")
        base.execute("CREATE TABLE t (n INTEGER)")
        for number in range(3):
            base.execute("INSERT INTO t VALUES (?)", (number,))
            assert rows(eager.restored(eager.snapshot(), "b.db")) == list(range(number + 1))
        base.execute("UPDATE t SET n = 7 WHERE n = 0")
        assert rows(eager.restored(eager.snapshot(), "b.db")) == [1, 2, 7]
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert rows(eager.restored(eager.snapshot(), "b.db")) == [1, 2, 7]


def test_the_log_alone_tells_of_a_change(eager: World) -> None:
    """The database's own bytes and times stay as they are while its log grows."""
    place = eager.workspace / "b.db"
    with closing(sqlite3.connect(place, isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA wal_autocheckpoint = 0")
        base.execute("CREATE TABLE t (n INTEGER)")
        eager.snapshot()
        before = place.stat()
        base.execute("INSERT INTO t VALUES (1)")
        after = place.stat()
        assert (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
        assert rows(eager.restored(eager.snapshot(), "b.db")) == [1]


def test_another_vault_has_a_cache_of_its_own(eager: World, monkeypatch: pytest.MonkeyPatch) -> None:
    eager.snapshot()
    first = eager.vault
    eager.vault = open_directory(eager.place / "second", clock=eager.clock)
    try:
        with files_read(monkeypatch) as again:
            receipt = eager.snapshot()
        assert len(again) == 21
        assert eager.reading(receipt).verify().files == receipt.files
    finally:
        eager.vault.close()
        eager.vault = first


def test_a_copy_of_the_workspace_at_its_path(eager: World, monkeypatch: pytest.MonkeyPatch) -> None:
    eager.snapshot()
    shutil.copytree(eager.workspace, eager.place / "copy")
    forge(eager.place / "copy" / "a" / "03", b"!" * LARGE)
    eager.root.close()
    eager.workspace.rename(eager.place / "former")
    (eager.place / "copy").rename(eager.workspace)
    eager.root = Root.open(eager.workspace)
    eager.record = open_workspace(eager.root, clock=eager.clock)
    with files_read(monkeypatch) as again:
        receipt = eager.snapshot()
    assert len(again) == 21
    assert eager.restored(receipt, "a/03").read_bytes() == b"!" * LARGE


def test_a_workspace_at_another_path(eager: World) -> None:
    eager.snapshot()
    moved = eager.place / "moved"
    eager.workspace.rename(moved)
    eager.root.close()
    eager.root = Root.open(moved)
    place = eager.place / "cache"
    with Cache.open(place, eager.vault.identity, eager.root) as cache:
        assert list(cache.extents()) == []


def test_a_deleted_snapshot_takes_its_pieces_along(eager: World) -> None:
    from datetime import timedelta

    from muniment.vault.collect import collect

    first = eager.snapshot().snapshot.id
    eager.vault.delete(first)
    collect(eager.vault)
    eager.now += timedelta(days=3)
    assert collect(eager.vault).packs > 0
    receipt = eager.snapshot()
    assert eager.reading(receipt).verify().files == receipt.files


@pytest.mark.parametrize("cut", [0, 1, 100, 5000, -1, -4096])
def test_a_cache_that_was_cut(eager: World, cut: int) -> None:
    eager.snapshot()
    (place,) = (eager.place / "cache").glob("*.sqlite")
    place.write_bytes(place.read_bytes()[:cut])
    receipt = eager.snapshot()
    assert eager.reading(receipt).verify().files == receipt.files


def test_a_base_with_other_columns_is_begun_anew(eager: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "UNDATED", frozenset())
    eager.snapshot()
    (place,) = (eager.place / "cache").glob("*.sqlite")
    place.unlink()
    with closing(sqlite3.connect(place)) as base, base:
        base.execute("CREATE TABLE stretches (key BLOB PRIMARY KEY, other TEXT)")
    receipt = eager.snapshot()
    assert eager.reading(receipt).verify().files == receipt.files
    with files_read(monkeypatch) as again:
        eager.snapshot()
    assert len(again) < 21, "it remembers again"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE stretches SET record = zeroblob(length(record))",
        "UPDATE stretches SET record = substr(record, 1, length(record) - 1)",
        "UPDATE stretches SET record = x'00'",
        "UPDATE stretches SET record = 'text', key = 7",
        "UPDATE stretches SET key = zeroblob(32)",
        "UPDATE stretches SET size = 'many', checked = 'never'",
        "UPDATE stretches SET size = -1, checked = -1",
        "UPDATE stretches SET place = 'text' || id",
        "UPDATE stretches SET place = x'ff' || place",
        "UPDATE stretches SET seal = x''",
        "UPDATE facts SET value = 'now'",
        # Each row says what another one should.
        "UPDATE stretches SET record = (SELECT record FROM stretches LIMIT 1),"
        " key = (SELECT key FROM stretches LIMIT 1), seal = (SELECT seal FROM stretches LIMIT 1)",
        "UPDATE copies SET size = 1",
        "UPDATE copies SET size = -1",
        "UPDATE copies SET size = 'many'",
        "UPDATE copies SET size = 9e999",
        "UPDATE stretches SET size = 9e999, checked = 9e999",
        "UPDATE stretches SET size = 9223372036854775807",
    ],
)
def test_rows_that_are_not_as_they_were_written(eager: World, damage: str) -> None:
    base_file = eager.workspace / "b.db"
    with closing(sqlite3.connect(base_file)) as base, base:
        base.execute("CREATE TABLE t (n INTEGER)")
        base.execute("INSERT INTO t VALUES (1)")
    eager.snapshot()
    (place,) = (eager.place / "cache").glob("*.sqlite")
    with closing(sqlite3.connect(place)) as base, base:
        base.execute(damage)
    receipt = eager.snapshot()
    assert eager.reading(receipt).verify().files == receipt.files
    assert rows(eager.restored(receipt, "b.db")) == [1]


@pytest.mark.parametrize(
    "damage", ["size = size / 40", "checked = checked + 1", "size = 9223372036854775807"]
)
def test_a_row_that_would_thin_what_is_read_anew_is_not_used(
    eager: World, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setattr(memory, "UNDATED", frozenset())
    eager.snapshot()
    (place,) = (eager.place / "cache").glob("*.sqlite")
    with closing(sqlite3.connect(place)) as base, base:
        base.execute(f"UPDATE stretches SET {damage}")
    with files_read(monkeypatch) as again:
        eager.snapshot()
    assert len(again) == 21, "nothing of it is believed"


def test_a_cache_that_another_run_is_writing_is_left_alone(eager: World) -> None:
    eager.snapshot()
    (place,) = (eager.place / "cache").glob("*.sqlite")
    before = place.stat().st_ino
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            memory.connect(place, patience_s=0)
    assert place.stat().st_ino == before


def test_sizes_of_copies_go_with_their_databases(eager: World) -> None:
    for name in ("b.db", "c.db"):
        with closing(sqlite3.connect(eager.workspace / name)) as base, base:
            base.execute("CREATE TABLE t (n INTEGER)")
    eager.snapshot()
    (place,) = (eager.place / "cache").glob("*.sqlite")
    (eager.workspace / "c.db").unlink()
    for _ in range(2):
        eager.snapshot()
        with closing(sqlite3.connect(place)) as base:
            assert base.execute("SELECT count(*) FROM copies").fetchone() == (1,)


def test_a_database_as_it_lies_is_not_its_copy(eager: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may have the same size, and differ: `full` packs the file, and the other mode its copy."""
    monkeypatch.setattr(memory, "UNDATED", frozenset())
    place = eager.workspace / "b.db"
    with closing(sqlite3.connect(place)) as base, base:
        base.execute("CREATE TABLE t (n INTEGER)")
    # A copy counts its own changes, which the file it is made from did not have.
    with place.open("r+b") as file:
        file.seek(24)
        file.write((99).to_bytes(4, "big"))
        file.seek(92)
        file.write((99).to_bytes(4, "big"))
    copy = eager.restored(eager.snapshot(), "b.db").read_bytes()
    assert len(copy) == place.stat().st_size and copy != place.read_bytes()
    receipt = eager.snapshot(Request(mode="full"))
    assert eager.restored(receipt, "b.db", "raw").read_bytes() == place.read_bytes()


def test_the_cache_of_another_root_under_this_name(eager: World, make_world: Worlds) -> None:
    other = make_world()
    other.rules()
    for number in range(20):
        other.write(f"a/{number:02}", bytes([99 - number]) * LARGE)
    other.snapshot()
    eager.snapshot()
    (theirs,) = (other.place / "cache").glob("*.sqlite")
    (ours,) = (eager.place / "cache").glob("*.sqlite")
    ours.write_bytes(theirs.read_bytes())
    receipt = eager.snapshot()
    assert eager.restored(receipt, "a/03").read_bytes() == bytes([3]) * LARGE
    assert eager.reading(receipt).verify().files == receipt.files


def test_a_clock_that_went_back(eager: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it is right again before the run after: what was written meanwhile may bear any time."""
    eager.snapshot()
    honest = memory._probe
    monkeypatch.setattr(memory, "_probe", lambda root: honest(root) - 1)
    (place,) = (eager.place / "cache").glob("*.sqlite")
    with closing(sqlite3.connect(place)) as base:
        (last,) = base.execute("SELECT value FROM facts").fetchone()
    monkeypatch.setattr(memory, "_probe", lambda root: last - 1)
    with files_read(monkeypatch) as again:
        eager.snapshot()
    assert len(again) == 21


def keep_one(cache: Cache, place: bytes, *, stretch: bytes = b"") -> None:
    """A stretch of one group of 100 bytes, whose key is its place."""
    rows = NOTE.pack(place, 100, 0)
    cache.learn(place, stretch, Stretch([Note(place, 1, 1, 0)], rows, b"", ()))


def test_the_share_that_is_read_anew_begins_with_what_was_looked_at_longest_ago(tmp_path: Path) -> None:
    """On the cache alone: thirty groups of one size, checked in this order; each run takes the next."""
    place = str(tmp_path / "cache.sqlite")
    order = [bytes([number]) * 32 for number in (5, 3, 9, 1, 7, *range(10, 35))]
    for now, key in enumerate(order):
        with Cache(memory.open_base(place), 1000 + now) as one:
            one.trust(lambda extent: True)
            for known in order[:now]:  # what was unchanged keeps the time of its last look
                if one.recall(known) is not None:
                    keep_one(one, known)
                else:
                    one._checked[known] = 1000 + order.index(known)
                    keep_one(one, known)
            keep_one(one, key)
            one.keep({})
    for run in range(30):
        with Cache(memory.open_base(place), 5000 + run) as cache:
            cache.trust(lambda extent: True)
            again = [key for key in order if cache.recall(key) is None]
            assert again == [order[run]]
            for key in order:
                keep_one(cache, key)
            cache.keep({})


def test_of_a_stretch_too_the_share_is_what_was_looked_at_longest_ago(tmp_path: Path) -> None:
    """Three stretches of ten groups each: one group of one of them is read anew in each run, and the other
    two are known as a whole."""
    place = str(tmp_path / "cache.sqlite")
    keys = [[bytes([50 * stretch + group + 1]) * 32 for group in range(10)] for stretch in range(3)]

    def learn(cache: Cache, members: list[bytes]) -> None:
        rows = b"".join(NOTE.pack(key, 100, 0) for key in members)
        cache.learn(members[0], b"!" * 32, Stretch([Note(key, 1, 1, 0) for key in members], rows, b"", ()))

    with Cache(memory.open_base(place), 1000) as cache:
        for members in keys:
            learn(cache, members)
        cache.keep({})
    seen: list[bytes] = []
    for run in range(30):
        with Cache(memory.open_base(place), 5000 + run) as cache:
            cache.trust(lambda extent: True)
            for members in keys:
                if cache.stretch(members[0], b"!" * 32) is None:
                    seen += [key for key in members if cache.recall(key) is None]
                    learn(cache, members)
            cache.keep({})
    assert sorted(seen) == sorted(key for members in keys for key in members), "each once in thirty runs"
