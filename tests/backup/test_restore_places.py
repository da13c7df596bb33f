"""Restoring over several file systems, and on those that can do less."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.backup.trees import shape
from tests.backup.world import World, put
from tests.disk.mounts import folding, mounted

from muniment.backup.model import Request
from muniment.backup.restore_model import Stored
from muniment.backup.restore_survey import colliding, folds
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.evidence import Kind

Worlds = Callable[..., World]


def test_what_is_replaced_on_another_file_system_comes_into_the_set_and_back(
    make_world: Worlds, tmp_path: Path
) -> None:
    world = make_world(layout="starchild")
    world.rules()
    assert world.data is not None
    kept_api = tmp_path / "api"
    for name, text in {"settings.json": "{}", "profile.json": "{}", "scheduled_tasks.json": "[]"}.items():
        put(kept_api / name, text)
    with mounted("tmpfs", world.data / "sessions", "size=8m"):
        sessions = world.data / "sessions"
        path = put(sessions / "one.json", "kept")
        put(sessions / "deep/two.json", "kept")
        kept = world.snapshot(Request(api_dir=str(kept_api)))
        path.write_text("mine")
        path.chmod(0o600)
        os.utime(path, ns=(1, 7_000_000_001))
        shutil.rmtree(sessions / "deep")
        (sessions / "link").symlink_to("one.json")
        before = shape(sessions)
        assert os.stat(path).st_dev != os.stat(world.workspace).st_dev
        applied = world.restore(kept.snapshot.id, only=["data/sessions"])
        assert applied.troubles == ()
        assert path.read_text() == "kept"
        undone = world.restores.undo(applied.restore)
        assert undone.kept == () and (undone.put_back, undone.removed) == (1, 1)
        assert shape(sessions) == before


def test_without_an_exchange_of_names(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.write("a", "kept")
    kept = world.snapshot()
    path.write_text("mine")
    # A stand-in for file systems whose kernel answers that it can not exchange names.
    monkeypatch.setattr(platform, "rename_swap", lambda *names: False)
    applied = world.restore(kept.snapshot.id)
    assert applied.troubles == () and path.read_text() == "kept"
    assert world.restores.undo(applied.restore).put_back == 1
    assert path.read_text() == "mine"
    order, fetched = world.order(kept.snapshot.id)
    path.write_text("written since")
    applied = world.apply(order, fetched)
    assert [one.code for one in applied.troubles] == ["SOURCE_CHANGED"]
    assert path.read_text() == "written since"


def test_names_that_fold_are_refused_where_they_are_one_name(tmp_path: Path) -> None:
    rows = [
        Stored(f"files/data/{name}", Kind.FILE, 0o644, 0, 1, "00")
        for name in ("Read.me", "a/x", "read.me", "\u00e9", "e\u0301")
    ]
    with folding(tmp_path) as place, Root.open(place) as root:
        assert folds(root)
        assert colliding(rows, {"data": root}) == [
            ("files/data/Read.me", "files/data/read.me"),
            ("files/data/\u00e9", "files/data/e\u0301"),
        ]
        assert os.listdir(place) == []
    with Root.open(tmp_path) as root:
        assert not folds(root)
        assert colliding(rows, {"data": root}) == []
