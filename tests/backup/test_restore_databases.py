"""Databases that come back: with the snapshot's rows, whatever lies beside them (spec 4, restore)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.backup.test_databases import CRASH, run
from tests.backup.world import World, rows

from muniment.backup.model import Request
from muniment.backup.restore_model import Status

MORE = """
import os, sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("PRAGMA journal_mode = WAL")
base.execute("PRAGMA wal_autocheckpoint = 0")
base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(5000, 5500)])
os._exit(1)
"""

HOLD = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("SELECT count(*) FROM t").fetchall()
print("ready", flush=True)
sys.stdin.read()
"""


def database(path: Path, *, wal: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
        base.execute("CREATE TABLE t (n INTEGER)")
        base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1000)])
        base.commit()
    return path


@contextmanager
def held(path: Path) -> Iterator[int]:
    """A process that has the database open and does nothing."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process.pid
        finally:
            process.stdin.close()
            process.wait()


def beside(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(path.parent.glob(f"{path.name}*"))}


def test_the_trap_a_live_log_from_after_the_snapshot(world: World, tmp_path: Path) -> None:
    path = database(world.workspace / "app/state.db")
    kept = world.snapshot()
    run(MORE, path)
    assert path.with_name("state.db-wal").stat().st_size > 0
    live = beside(path)

    # The trap is real: the packed file beside the live log gives back the rows of the log.
    trap = tmp_path / "trap"
    shutil.copytree(path.parent, trap)
    (trap / "state.db").write_bytes(b"".join(world.reading(kept).read("workspace/app/state.db")))
    assert rows(trap / "state.db")[-1] == 5499

    applied = world.restore(kept.snapshot.id)
    assert applied.troubles == ()
    assert rows(path) == list(range(1000))
    for name in ("state.db-wal", "state.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    undone = world.restores.undo(applied.restore)
    assert undone.kept == ()
    assert beside(path) == live
    assert rows(path) == [*range(1000), *range(5000, 5500)]


def test_a_database_whose_file_is_as_kept_but_whose_log_is_not_is_modified(world: World) -> None:
    path = database(world.workspace / "state.db")
    kept = world.snapshot()
    path.write_bytes(b"".join(world.reading(kept).read("workspace/state.db")))
    run(MORE, path)
    plan, _ = world.restores.plan(kept.snapshot.id)
    (item,) = [one for one in plan.items if one.step.rel == "state.db"]
    assert item.status is Status.MODIFIED
    world.restore(kept.snapshot.id)
    assert rows(path) == list(range(1000))


@pytest.mark.parametrize("wal", [True, False], ids=["wal", "rollback"])
def test_one_that_a_process_holds_is_left_and_named(world: World, wal: bool) -> None:
    path = database(world.workspace / "state.db", wal=wal)
    world.write("note", "kept")
    kept = world.snapshot()
    with closing(sqlite3.connect(path)) as base:
        base.execute("INSERT INTO t VALUES (7777)")
        base.commit()
    (world.workspace / "note").unlink()
    with held(path) as pid:
        before = path.read_bytes()
        applied = world.restore(kept.snapshot.id)
        assert [(one.rel, one.code) for one in applied.troubles] == [("state.db", "DB_IN_USE")]
        if not wal:
            assert str(pid) in str(applied.troubles[0].why)
        assert path.read_bytes() == before
        assert (world.workspace / "note").read_text() == "kept"
        assert rows_of_copy(path)[-1] == 7777
    # Once it has ended, the restore goes on to its end.
    again = world.restores.go_on()
    assert again.troubles == () and world.restores.half() is None
    assert rows(path) == list(range(1000))


def rows_of_copy(path: Path) -> list[int]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        return [number for (number,) in base.execute("SELECT n FROM t ORDER BY n")]


def test_a_log_that_came_after_the_plan_keeps_the_database(world: World) -> None:
    path = database(world.workspace / "state.db")
    kept = world.snapshot()
    with closing(sqlite3.connect(path)) as base:
        base.execute("DELETE FROM t WHERE n > 10")
        base.commit()
    order, fetched = world.order(kept.snapshot.id)
    run(MORE, path)
    before = beside(path)
    applied = world.apply(order, fetched)
    assert [(one.rel, one.code) for one in applied.troubles] == [("state.db", "SOURCE_CHANGED")]
    assert beside(path) == before


def test_a_crashed_programs_log_goes_into_undo_with_its_database(world: World) -> None:
    path = world.workspace / "a?b#c%20 数据.sqlite3"
    run(CRASH, path)
    kept = world.snapshot()
    before = beside(path)
    applied = world.restore(kept.snapshot.id)
    assert rows(path) == list(range(1000))
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    world.restores.undo(applied.restore)
    assert beside(path) == before


def test_a_snapshot_in_mode_full_brings_database_and_log_together(world: World) -> None:
    path = world.workspace / "state.db"
    run(CRASH, path)
    kept = world.snapshot(Request(mode="full"))
    before = {name: data for name, data in beside(path).items() if not name.endswith("-shm")}
    with closing(sqlite3.connect(path)) as base:  # folds the log in and goes on
        base.execute("DELETE FROM t")
        base.commit()
    applied = world.restore(kept.snapshot.id)
    assert applied.troubles == ()
    assert {name: data for name, data in beside(path).items() if not name.endswith("-shm")} == before
    assert rows(path) == list(range(1000))


def test_undo_leaves_a_database_that_was_written_to_since(world: World) -> None:
    path = database(world.workspace / "state.db")
    kept = world.snapshot()
    with closing(sqlite3.connect(path)) as base:
        base.execute("DELETE FROM t")
        base.commit()
    applied = world.restore(kept.snapshot.id)
    run(MORE, path)
    before = beside(path)
    undone = world.restores.undo(applied.restore)
    assert [one.rel for one in undone.kept] == ["state.db"]
    assert beside(path) == before


def test_undo_does_not_touch_a_database_in_use(world: World) -> None:
    path = database(world.workspace / "state.db", wal=False)
    kept = world.snapshot()
    with closing(sqlite3.connect(path)) as base:
        base.execute("DELETE FROM t")
        base.commit()
    applied = world.restore(kept.snapshot.id)
    with held(path):
        undone = world.restores.undo(applied.restore)
        assert [one.code for one in undone.kept] == ["DB_IN_USE"]
        assert rows(path) == list(range(1000))
    assert world.restores.undo(applied.restore).kept == ()
    assert rows(path) == []


def test_a_new_database_is_opened_and_compared(world: World) -> None:
    path = database(world.workspace / "state.db")
    kept = world.snapshot()
    path.unlink()
    assert world.restore(kept.snapshot.id).troubles == ()
    assert rows(path) == list(range(1000))
    assert os.listdir(world.workspace).count("state.db") == 1
