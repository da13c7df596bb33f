"""What can not be read: named in the receipt and in the manifest, and the snapshot is partial.

Root reads everything, so these run in a process that has given its rights away.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backup.test_databases import CRASH, run
from tests.backup.test_walk_ahead import walked_elsewhere
from tests.backup.world import World, put

from muniment.backup.errors import PartialReplacesNothing
from muniment.backup.model import Receipt
from muniment.backup.taking import Taking
from muniment.bundle.tree import Tree
from muniment.disk.errors import NoPermission
from muniment.disk.sqlite import DatabaseUnreadable

NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that nobody may enter, which that of pytest is not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


BROKEN = b"SQLite format 3\0" + bytes(1008)
"""It says that it is a database, and is none: packed as it lies, and the snapshot is partial."""


def test_a_partial_snapshot_takes_no_other_ones_place_unless_told(world: World) -> None:
    kept = world.snapshot()
    world.write("broken.db", BROKEN)
    planned = world.plan()
    world.confirm(planned)
    with pytest.raises(PartialReplacesNothing) as caught:
        world.backups.create(planned.plan.plan_id, replace=kept.snapshot.id)
    assert "broken.db" in caught.value.where
    assert [one.id for one in world.vault.list().snapshots] == [kept.snapshot.id]
    assert world.vault.list().uploading == 0
    world.confirm(planned)
    made = world.backups.create(planned.plan.plan_id, replace=kept.snapshot.id, allow_partial=True)
    assert made.partial and [one.id for one in world.vault.list().snapshots] == [made.snapshot.id]


def as_nobody(place: Path, act: Callable[[], None]) -> None:
    """Run it in a process without root's rights, which owns the place."""
    if os.geteuid() == 0:
        for above, folders, files in os.walk(place):
            for name in (".", *folders, *files):
                os.chown(os.path.join(above, name), NOBODY, NOBODY, follow_symlinks=False)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        story = ""
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            act()
        except BaseException:  # noqa: BLE001 - the parent tells it
            story = traceback.format_exc()
        with os.fdopen(write, "w") as told:
            told.write(story)
        os._exit(bool(story))
    os.close(write)
    with os.fdopen(read) as told:
        story = told.read()
    status = os.waitpid(child, 0)[1]
    assert status == 0, story


def prepared(place: Path) -> None:
    """Everything is imported, and a world stands there, before the rights are given away."""
    world = World(place / "first")
    world.rules()
    world.write("a", "a")
    world.reading(world.snapshot()).verify()
    world.close()


def denied(path: Path) -> None:
    path.chmod(0)


@pytest.mark.parametrize("deep", ["closed", "open/closed"])
def test_a_folder_that_can_not_be_listed(place: Path, deep: str) -> None:
    prepared(place)

    def act() -> None:
        world = World(place / "world")
        world.rules()
        world.write("open/read.md", "kept")
        world.write(f"{deep}/lost.md", "lost")
        denied(world.workspace / deep)
        planned = world.plan()
        told = f"files/workspace/{deep}"
        assert any(told in str(warning) for warning in planned.plan.warnings), "the plan says so already"
        receipt = world.snapshot()
        assert receipt.partial
        assert [(fault.path, fault.kind) for fault in receipt.faults] == [(told, "left_out")]
        facts = world.reading(receipt).contents.facts
        (warning,) = [one for one in facts["plan_summary"]["warnings"] if one.startswith(f"{told}: ")]
        assert "EACCES" in warning
        assert ("workspace", deep, "unreadable") in world.exclusions(receipt)
        assert "files/workspace/open/read.md" in world.paths(receipt)
        world.reading(receipt).verify()
        (created,) = [one for one in world.record.ledger.events() if one.kind == "backup.created"]
        assert created.evidence["partial"] is True and created.evidence["faults"] == 1

    as_nobody(place, act)


def test_a_workspace_that_can_not_be_opened_is_refused(place: Path) -> None:
    """Of a snapshot that holds nothing nobody has anything."""
    prepared(place)

    def act() -> None:
        world = World(place / "world")
        world.rules()
        world.workspace.chmod(0o300)
        with pytest.raises(NoPermission):
            world.snapshot()
        assert not world.vault.list().snapshots

    as_nobody(place, act)


def test_a_folder_among_the_further_paths(place: Path) -> None:
    prepared(place)

    def act() -> None:
        world = World(place / "world")
        further = place / "world" / "further"
        (further / "inner").mkdir(parents=True)
        (further / "inner" / "lost").write_text("x")
        (further / "kept").write_text("x")
        world.rules(paths=[str(further)])
        denied(further / "inner")
        receipt = world.snapshot()
        assert receipt.partial
        assert [fault.path for fault in receipt.faults] == ["files/extra/further/inner"]
        assert "files/extra/further/kept" in world.paths(receipt)

    as_nobody(place, act)


@pytest.mark.parametrize("size", [4096, 4097], ids=["may be a database", "is none"])
def test_a_file_that_can_not_be_read(place: Path, size: int) -> None:
    prepared(place)

    def act() -> None:
        world = World(place / "world")
        world.rules()
        world.write("open/read.md", "kept")
        denied(world.write("open/lost", b"x" * size))
        receipt = world.snapshot()
        assert receipt.partial
        assert [(fault.path, fault.kind) for fault in receipt.faults] == [
            ("files/workspace/open/lost", "left_out")
        ]
        warnings = world.reading(receipt).contents.facts["plan_summary"]["warnings"]
        assert len([one for one in warnings if one.startswith("files/workspace/open/lost: ")]) == 1

    as_nobody(place, act)


def test_the_bare_source_names_it_too(place: Path) -> None:
    """Who packs a folder by `bundle` alone finds it in the tree's faults."""

    def act() -> None:
        (place / "tree" / "closed").mkdir(parents=True)
        denied(place / "tree" / "closed")
        fd = os.open(place / "tree", os.O_RDONLY)
        with Tree(fd) as tree:
            assert [entry.path for entry in tree.entries("files/workspace")] == [
                "files/workspace",
                "files/workspace/closed",
            ]
            assert [(one.path, one.kind) for one in tree.faults] == [("files/workspace/closed", "left_out")]
        os.close(fd)

    as_nobody(place, act)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_database_that_can_not_be_copied_lies_as_it_is_with_its_newest_rows(
    world: World, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
) -> None:
    """Then nothing is folded: the manifest must not say so, and the rows of the `-wal` must be there."""
    if elsewhere:
        walked_elsewhere(world, monkeypatch)
    path = world.workspace / "data" / "app.db"
    run(CRASH, path)
    world.write("data/app.db-a", "between the two in the order of names")

    def refused(*arguments: object) -> None:
        raise DatabaseUnreadable(where="app.db")

    with monkeypatch.context() as patch:
        patch.setattr("muniment.backup.content.copy_database", refused)
        receipt = world.snapshot()
    assert receipt.partial
    assert [(fault.path, fault.kind) for fault in receipt.faults] == [
        ("files/workspace/data/app.db", "unsettled")
    ]
    packed = {"data/app.db", "data/app.db-wal"}
    for rel in packed:
        assert world.restored(receipt, rel).read_bytes() == (world.workspace / rel).read_bytes()
    assert "files/workspace/data/app.db-a" in world.paths(receipt)
    assert ("workspace", "data/app.db-wal", "folded_into_database") not in world.exclusions(receipt)
    world.reading(receipt).verify()
    # The next one is whole again, and folds.
    receipt = world.snapshot()
    assert not receipt.partial
    assert ("workspace", "data/app.db-wal", "folded_into_database") in world.exclusions(receipt)


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_further_path_that_goes_after_the_plan_held(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    further = world.place / "further"
    inner = put(further / "inner", "x") if kind == "folder" else put(further, "x")
    world.rules(paths=[str(further)])
    honest = Taking.take

    def late(self: Taking, *arguments: Any, **named: Any) -> Receipt:
        inner.unlink()
        if kind == "folder":
            further.rmdir()
        return honest(self, *arguments, **named)

    monkeypatch.setattr(Taking, "take", late)
    receipt = world.snapshot()
    assert receipt.partial
    assert [(fault.path, fault.kind) for fault in receipt.faults] == [("files/extra/further", "left_out")]
    (warning,) = [
        one
        for one in world.reading(receipt).contents.facts["plan_summary"]["warnings"]
        if one.startswith("files/extra/further: ")
    ]
    assert warning
