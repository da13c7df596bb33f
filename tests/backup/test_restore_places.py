"""Restoring over several file systems, and on those that can do less."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 9))
def test_killed_at_any_rename_without_an_exchange_of_names(
    world: World, monkeypatch: pytest.MonkeyPatch, at: int, after: bool
) -> None:
    """What was there stands at its place, or comes back; whoever goes on comes to the end."""
    path = world.write("a", "kept")
    kept = world.snapshot()
    path.write_text("mine")
    monkeypatch.setattr(platform, "rename_swap", lambda *names: False)
    order, fetched = world.order(kept.snapshot.id)
    honest, left = platform.rename_exclusive, at

    def dying(*names: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0 and not after:
            os._exit(9)
        honest(*names)
        if left == 0:
            os._exit(9)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(platform, "rename_exclusive", dying)
        with contextlib.suppress(BaseException):
            world.apply(order, fetched)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        assert at > 6, "of which four are those of the file"
        return
    world.now += timedelta(hours=1)  # the child's clock was its own
    applied = world.restores.go_on() if world.restores.half() else world.restore(kept.snapshot.id)
    assert applied.troubles == () and path.read_text() == "kept"
    assert world.restores.undo(applied.restore).put_back == 1
    assert path.read_text() == "mine"
    assert sorted(os.listdir(world.workspace)) == [".muniment", ".restore", "a", "memory"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_killed_while_it_takes_folders_away(
    world: World, monkeypatch: pytest.MonkeyPatch, at: int, after: bool
) -> None:
    kept = world.snapshot()
    world.write("later/deep/file", "later")
    (world.workspace / "later/deep").chmod(0o750)
    (world.workspace / "nothing in it").mkdir()
    before = shape(world.workspace)
    order, fetched = world.order(kept.snapshot.id, exact=True)
    honest, left = os.rmdir, at

    def dying(name: Any, *, dir_fd: int | None = None) -> None:
        nonlocal left
        left -= name in ("later", "deep", "nothing in it")
        if left == 0 and not after:
            os._exit(9)
        honest(name, dir_fd=dir_fd)
        if left == 0:
            os._exit(9)

    child = os.fork()
    if child == 0:
        monkeypatch.setattr(os, "rmdir", dying)
        with contextlib.suppress(BaseException):
            world.apply(order, fetched)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    world.now += timedelta(hours=1)  # the child's clock was its own
    applied = world.restores.go_on()
    assert applied.troubles == ()
    assert sorted(os.listdir(world.workspace)) == [".muniment", ".restore", "memory"]
    assert world.restores.undo(applied.restore).kept == ()
    assert shape(world.workspace) == before


@pytest.mark.parametrize("number", [errno.EPERM, errno.EINVAL, errno.ENOTSUP])
def test_an_owner_that_can_not_be_given_is_done_without(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Not only of files: a container may not know the owner that the folder has."""
    world.write("folder/a", "kept")
    (world.workspace / "folder/link").symlink_to("a")
    kept = world.snapshot()
    shutil.rmtree(world.workspace / "folder")

    def refused(*arguments: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "chown", refused)
    monkeypatch.setattr(os, "fchown", refused)
    applied = world.restore(kept.snapshot.id)
    assert applied.troubles == ()
    assert os.readlink(world.workspace / "folder/link") == "a"


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
