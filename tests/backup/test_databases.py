"""SQLite in a snapshot: consistent, whole, and the source untouched (spec 4, what goes in)."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.backup.world import World, rows

from muniment.backup.model import Request

CRASH = """
import os, sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("PRAGMA journal_mode = WAL")
base.execute("PRAGMA wal_autocheckpoint = 0")
base.execute("CREATE TABLE t (n INTEGER)")
base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1000)])
os._exit(1)
"""

HOT = """
import os, sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("PRAGMA cache_size = 5")
base.execute("CREATE TABLE t (n INTEGER, filler TEXT)")
base.execute("BEGIN")
base.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 500) for n in range(200)])
base.execute("COMMIT")
base.execute("BEGIN")
base.execute("UPDATE t SET n = n + 100000, filler = 'y'")
base.executemany("INSERT INTO t VALUES (?, ?)", [(n, "z" * 500) for n in range(5000, 9000)])
os._exit(1)
"""

WRITER = """
import sqlite3, sys, time
base = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
print("ready", flush=True)
n = 1000
while True:
    base.execute("BEGIN IMMEDIATE")
    base.execute("INSERT INTO t VALUES (?)", (n,))
    base.execute("INSERT INTO t VALUES (?)", (n + 1,))
    base.execute("COMMIT")
    n += 2
"""


def run(script: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 1


def face(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Everything in a folder: size, time, bytes; but for what reading a database may make."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name.endswith("-shm") or (path.name.endswith("-wal") and not path.stat().st_size):
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        found[path.name] = (path.stat().st_size, path.stat().st_mtime_ns, digest)
    return found


@pytest.mark.parametrize("name", ["app.db", "state", "a?b#c%20 数据.sqlite3", 'quote\'s "x".db'])
def test_rows_of_a_crashed_program_are_in_it_whatever_its_name(world: World, name: str) -> None:
    path = world.workspace / "data" / name
    run(CRASH, path)
    assert path.with_name(name + "-wal").stat().st_size > 0
    before = face(path.parent)
    receipt = world.snapshot()
    assert face(path.parent) == before
    assert rows(world.restored(receipt, f"data/{name}")) == list(range(1000))
    assert world.paths(receipt) == {"files/workspace/memory/note.md", f"files/workspace/data/{name}"}
    assert ("workspace", f"data/{name}-wal", "folded_into_database") in world.exclusions(receipt)
    assert not receipt.partial


def test_a_database_whose_shared_memory_can_not_be_opened(world: World) -> None:
    """Nobody can open shared memory here, whoever tries: a folder stands in its place."""
    path = world.workspace / "data" / "app.db"
    run(CRASH, path)
    path.with_name("app.db-shm").unlink()
    path.with_name("app.db-shm").mkdir()
    receipt = world.snapshot()
    assert rows(world.restored(receipt, "data/app.db")) == list(range(1000))


def test_a_hot_journal_is_rolled_back_on_a_copy(world: World) -> None:
    path = world.workspace / "data" / "app.db"
    run(HOT, path)
    assert path.with_name("app.db-journal").stat().st_size > 0
    before = face(path.parent)
    receipt = world.snapshot()
    assert face(path.parent) == before
    with closing(sqlite3.connect(world.restored(receipt, "data/app.db"))) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert base.execute("SELECT count(*), min(n), max(n), min(filler) FROM t").fetchone() == (
            200,
            0,
            199,
            "x" * 500,
        )
    assert ("workspace", "data/app.db-journal", "folded_into_database") in world.exclusions(receipt)
    assert [one for one in receipt.warnings if "recovered" in str(one)]


def test_a_database_under_a_writer_is_consistent(world: World) -> None:
    """The writer commits pairs: the copy holds whole pairs, and all that were there before."""
    path = world.workspace / "data" / "app.db"
    run(CRASH, path)
    planned = world.plan()
    world.confirm(planned)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
                (least,) = base.execute("SELECT count(*) FROM t").fetchone()
            receipt = world.backups.create(planned.plan.plan_id)
        finally:
            writer.kill()
    found = rows(world.restored(receipt, "data/app.db"))
    assert found == list(range(len(found)))
    assert len(found) >= least and len(found) % 2 == 0
    assert not receipt.partial


def test_an_open_transaction_is_not_in_it(world: World) -> None:
    path = world.workspace / "data" / "app.db"
    run(CRASH, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("BEGIN IMMEDIATE")
        base.execute("INSERT INTO t VALUES (77777)")
        receipt = world.snapshot()
        base.execute("ROLLBACK")
    assert rows(world.restored(receipt, "data/app.db")) == list(range(1000))


def test_full_packs_what_lies_there(world: World) -> None:
    path = world.workspace / "data" / "app.db"
    run(CRASH, path)
    before = path.read_bytes()
    receipt = world.snapshot(Request(mode="full"))
    assert world.restored(receipt, "data/app.db").read_bytes() == before
    assert {"files/workspace/data/app.db-wal", "files/workspace/data/app.db-shm"} <= world.paths(receipt)
    place = world.place / "again"
    place.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(world.restored(receipt, f"data/app.db{suffix}"), place / f"app.db{suffix}")
    assert rows(place / "app.db") == list(range(1000))


def test_a_file_that_only_begins_like_a_database_is_not_lost(world: World) -> None:
    content = b"SQLite format 3\0" + os.urandom(4096 - 16)
    world.write("data/odd.bin", content)
    receipt = world.snapshot()
    assert world.restored(receipt, "data/odd.bin").read_bytes() == content


def test_a_log_beside_what_is_no_database_is_a_file(world: World) -> None:
    world.write("data/trip-journal", "day one")
    world.write("data/trip", "a trip")
    receipt = world.snapshot()
    assert {"files/workspace/data/trip-journal", "files/workspace/data/trip"} <= world.paths(receipt)


def test_an_unchanged_database_is_not_sent_again_and_a_committed_row_is(world: World) -> None:
    path = world.workspace / "data" / "app.db"
    run(CRASH, path)
    world.snapshot()
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("PRAGMA wal_autocheckpoint = 0")
        base.execute("INSERT INTO t VALUES (1000)")
        size = path.stat()
        receipt = world.snapshot()
        assert path.stat().st_mtime_ns == size.st_mtime_ns  # only its log has changed
    assert rows(world.restored(receipt, "data/app.db")) == list(range(1001))
