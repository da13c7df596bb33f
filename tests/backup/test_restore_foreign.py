"""A snapshot that came to the vault as somebody else's tar.gz comes back like any other."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from tests.backup.trees import shape
from tests.backup.world import World, put

from muniment.backup.errors import NoSuchEntry
from muniment.backup.whole import Whole
from muniment.bundle.whole import Description
from muniment.vault.whole import Wholes

FILES = {"memory/note.md": b"remember", "zeta.txt": b"z" * 70_000, "a b.txt": b""}


@pytest.fixture
def foreign(world: World, tmp_path: Path) -> str:
    """A tar.gz made by `tar`, as an older client made it: `backup/` before each path, a hard link, no
    order to speak of."""
    top = tmp_path / "made" / "backup"
    for name, data in FILES.items():
        put(top / "files/workspace" / name, data)
    (top / "files/workspace/same.txt").hardlink_to(top / "files/workspace/zeta.txt")
    (top / "files/workspace/link").symlink_to("zeta.txt")
    listed = [
        {
            "path": path.relative_to(top).as_posix(),
            "size": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in (top / "files").rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    manifest = {"version": "1.1", "source": "starchild", "contents": {"files": listed, "api": []}}
    put(top / "manifest.json", json.dumps(manifest))
    made = tmp_path / "old.tar.gz"
    subprocess.run(["tar", "czf", made, "-C", top.parent, "backup/manifest.json", "backup/files"], check=True)
    told = Description("old", ("workspace/memory",))
    return Wholes(world.vault).keep(iter([made.read_bytes()]), told).snapshot.id


def test_it_is_listed_read_and_verified(world: World, foreign: str, tmp_path: Path) -> None:
    reading = world.backups.reading(foreign)
    assert {one.path for one in reading.files("workspace")} == {
        f"files/workspace/{name}" for name in (*FILES, "same.txt")
    }
    for name in (*FILES, "same.txt"):
        assert b"".join(reading.read(f"workspace/{name}")) == FILES.get(name, FILES["zeta.txt"])
    assert reading.verify().files == 4
    whole = Whole(world.backups.reading(foreign))
    assert b"".join(whole) == (tmp_path / "old.tar.gz").read_bytes()
    assert whole.verified is not None and whole.verified.files == 4


def test_it_is_restored_and_undone(world: World, foreign: str) -> None:
    world.write("zeta.txt", "mine")
    before = shape(world.workspace, times=False)
    applied = world.restore(foreign)
    assert applied.troubles == ()
    for name in (*FILES, "same.txt"):
        assert (world.workspace / name).read_bytes() == FILES.get(name, FILES["zeta.txt"])
    assert (world.workspace / "link").is_symlink()
    world.restores.undo(applied.restore)
    assert shape(world.workspace, times=False) == before


def test_a_part_of_it_is_restored(world: World, foreign: str) -> None:
    assert world.restore(foreign, only=["workspace/same.txt"]).wrote == 1
    assert (world.workspace / "same.txt").read_bytes() == FILES["zeta.txt"]
    assert not (world.workspace / "zeta.txt").exists()
    with pytest.raises(NoSuchEntry):
        world.restores.plan(foreign, only=["workspace/nothing"])
