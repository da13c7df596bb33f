"""The second snapshot: what is unchanged is not read, and what is believed is checked (spec 4)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from operator import attrgetter
from pathlib import Path
from struct import pack

import pytest
from tests.backup.test_databases import CRASH, HOT, run
from tests.backup.world import World

from muniment.backup import cache as memory
from muniment.bundle import segments
from muniment.bundle.model import Entry
from muniment.bundle.tree import Tree
from muniment.disk.root import Root
from muniment.disk.sqlite import DatabaseCopy, copy_database
from muniment.path import RelPath

Worlds = Callable[..., World]


@contextmanager
def files_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The files of the workspace that are opened for packing, without Muniment's own."""
    found: set[str] = set()
    honest = Tree.open

    def counting(self: Tree, entry: Entry, origin: str) -> int:
        if "/.muniment/" not in entry.path:
            found.add(entry.path.removeprefix("files/workspace/"))
        return honest(self, entry, origin)

    with monkeypatch.context() as patch:
        patch.setattr(Tree, "open", counting)
        yield found


@pytest.fixture
def settled(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world of 60 files, all of which have rested long enough to be believed."""
    for number in range(60):
        world.write(f"notes/{number:02}/text.md", f"note {number}\n" * 2000)
    monkeypatch.setattr(memory, "SETTLED_NS", -60_000_000_000)
    # Wherever the tests run; what is believed in memory has tests of its own.
    monkeypatch.setattr(memory, "UNDATED", frozenset())
    return world


def test_unchanged_files_are_not_read(settled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with files_read(monkeypatch) as first:
        settled.snapshot()
    assert len(first) == 61
    with files_read(monkeypatch) as second:
        receipt = settled.snapshot()
    assert 0 < len(second) <= 61 / 30 + 3, "a thirtieth of the bytes, by whole groups"
    assert settled.reading(receipt).verify().files == receipt.files
    assert settled.restored(receipt, "notes/07/text.md").read_text() == "note 7\n" * 2000


def test_in_thirty_runs_everything_is_read_again(settled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    settled.snapshot()
    everything: set[str] = set()
    for _ in range(30):
        with files_read(monkeypatch) as again:
            settled.snapshot()
        everything |= again
    assert len(everything) == 61


def test_a_changed_file_is_read_and_only_it_is_sent(settled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    settled.snapshot()
    settled.write("notes/30/text.md", "another\n" * 2000)
    with files_read(monkeypatch) as again:
        receipt = settled.snapshot()
    assert "notes/30/text.md" in again
    assert settled.restored(receipt, "notes/30/text.md").read_text() == "another\n" * 2000
    assert receipt.sent < 20_000


def test_what_changed_just_now_is_never_believed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the runs take here; that it is two seconds is a test of its own."""
    monkeypatch.setattr(memory, "SETTLED_NS", 24 * 3600 * 10**9)
    world.write("young.md", "a")
    world.snapshot()
    with files_read(monkeypatch) as again:
        world.snapshot()
    assert "young.md" in again


def test_reread_believes_nothing(settled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    settled.snapshot()
    with files_read(monkeypatch) as again:
        settled.snapshot(reread=True)
    assert len(again) == 61


def forge(path: Path, content: str) -> None:
    """Other bytes of the same length in the same inode, with the old time."""
    before = path.stat()
    path.write_text(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_another_content_under_the_same_time_is_seen_by_its_ctime(
    settled: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled.snapshot()
    forge(settled.workspace / "notes" / "11" / "text.md", "forged!\n"[:8] * 2000)
    receipt = settled.snapshot()
    assert settled.restored(receipt, "notes/11/text.md").read_text() == "forged!\n" * 2000


def test_one_difference_ends_all_credit(settled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that lies about times: what is read anew differs, so everything is read."""
    monkeypatch.setattr(segments, "mark", lambda fact: pack("<QQ", fact.st_ino, fact.st_size))
    told = attrgetter("st_mode", "st_dev", "st_ino", "st_size", "st_size", "st_size")
    monkeypatch.setattr(segments, "_told", told)
    settled.snapshot()
    for number in range(60):
        forge(settled.workspace / "notes" / f"{number:02}" / "text.md", f"lies {number}\n" * 2000)
    with files_read(monkeypatch) as again:
        receipt = settled.snapshot()
    assert len(again) == 61
    assert [one for one in receipt.warnings if "everything was read again" in str(one)]
    assert settled.reading(receipt).verify().files == receipt.files


def test_a_clock_that_went_back_distrusts_everything(settled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    settled.snapshot()
    honest = memory._probe
    monkeypatch.setattr(memory, "_probe", lambda root: honest(root) - 3600 * 10**9)
    with files_read(monkeypatch) as again:
        settled.snapshot()
    assert len(again) == 61


@pytest.mark.parametrize("damage", [b"", b"no database", None])
def test_a_damaged_cache_costs_time_and_nothing_else(settled: World, damage: bytes | None) -> None:
    settled.snapshot()
    (place,) = (settled.place / "cache").glob("*.sqlite")
    if damage is None:
        place.unlink()
    else:
        place.write_bytes(damage)
    receipt = settled.snapshot()
    assert settled.reading(receipt).verify().files == receipt.files


def test_a_cache_that_can_not_be_written_is_done_without(settled: World) -> None:
    (settled.place / "cache").write_text("a file stands here")
    receipt = settled.snapshot()
    assert settled.reading(receipt).verify().files == receipt.files


def test_a_cache_of_extents_that_the_vault_lost_is_no_proof(settled: World) -> None:
    """The vault is another one under the old identity: everything has to be sent again."""
    first = settled.snapshot()
    settled.vault.delete(first.snapshot.id)
    with settled.vault.catalogue.writing():
        for (pack,) in settled.vault.catalogue._base.rows("SELECT name FROM packs"):
            settled.vault.blobs.delete(f"packs/{pack}")
        settled.vault.catalogue._base.run("DELETE FROM extents")
        settled.vault.catalogue._base.run("DELETE FROM packs")
    receipt = settled.snapshot()
    assert settled.reading(receipt).verify().files == receipt.files


def test_the_cache_is_closed_to_others_and_holds_no_path(settled: World) -> None:
    settled.snapshot()
    folder = settled.place / "cache"
    assert folder.stat().st_mode & 0o777 == 0o700
    (place,) = folder.glob("*.sqlite")
    assert b"text.md" not in place.read_bytes()


@contextmanager
def databases_copied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The databases that are copied."""
    found: list[str] = []

    def counting(root: Root, rel: RelPath, target: Path) -> DatabaseCopy:
        found.append(rel.posix)
        return copy_database(root, rel, target)

    with monkeypatch.context() as patch:
        patch.setattr("muniment.backup.content.copy_database", counting)
        yield found


@pytest.mark.parametrize("script", [CRASH, HOT], ids=["log", "journal"])
def test_a_database_that_rests_is_not_copied_again_for_having_been_read(
    settled: World, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """SQLite gives what lies beside a database to its owner when it reads it as root, which dates that."""
    path = settled.workspace / "data" / "app.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as base, base:  # large enough to stand for itself
        base.execute("CREATE TABLE more (filler)")
        base.executemany("INSERT INTO more VALUES (randomblob(4000))", [()] * 200)
    run(script, path)
    settled.snapshot()
    with databases_copied(monkeypatch) as copied:
        for _ in range(5):
            receipt = settled.snapshot()
    assert len(copied) <= 1, "when its share is read anew"
    settled.reading(receipt).verify()


@pytest.mark.parametrize("script", [CRASH, HOT], ids=["log", "journal"])
def test_what_lies_beside_a_database_is_told_by_its_bytes(
    settled: World, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """Of the same size, and dated as before."""
    path = settled.workspace / "data" / "app.db"
    run(script, path)
    beside = path.with_name("app.db-wal" if script is CRASH else "app.db-journal")
    settled.snapshot()
    before, data = beside.stat(), bytearray(beside.read_bytes())
    data[-1] ^= 1
    beside.write_bytes(data)
    os.utime(beside, ns=(before.st_atime_ns, before.st_mtime_ns))
    with databases_copied(monkeypatch) as copied:
        settled.snapshot()
    assert copied == ["data/app.db"]
