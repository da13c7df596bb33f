"""Garbage: what goes, what stays, and that a kill in between leaves nothing behind for ever."""

from __future__ import annotations

import contextlib
import os
import time

import pytest
from tests.vault.content import finish, keep, numbered, restored
from tests.vault.killing import Fuse, Killed, doomed
from tests.vault.sites import Folder

from muniment.vault.collect import collect
from muniment.vault.errors import UploadGone
from muniment.vault.examine import examine


def test_nothing_needless_is_left(folder: Folder) -> None:
    vault = folder.client()
    first, second = (keep(vault, numbered(1, number)).snapshot for number in (2, 3))
    vault.delete(first.id)
    vault.delete(second.id)
    assert collect(vault).marked == 2
    assert len(folder.packs()) == 2
    folder.clock.step(hours=23)
    assert collect(vault).packs == 0
    folder.clock.step(hours=1)
    assert collect(vault).packs == 2
    assert folder.files() == {"catalogue.sqlite", "lock", "vault.json"}
    assert examine(vault).sound


def test_collecting_in_a_new_vault(folder: Folder) -> None:
    done = collect(folder.client())
    assert (done.uploads, done.marked, done.packs, done.snapshots, done.unfinished) == (0, 0, 0, 0, 0)


def test_an_upload_that_was_left(folder: Folder) -> None:
    vault = folder.client()
    upload = vault.reserve().upload_id
    vault.put(upload, numbered(1, 2).extents)
    assert collect(vault).marked == 0
    folder.clock.step(hours=1, seconds=1)
    done = collect(vault)
    assert (done.uploads, done.marked) == (1, 1)
    folder.clock.step(days=1)
    assert collect(vault).packs == 1
    assert folder.packs() == []


def test_what_a_dead_writer_left_beside_goes_after_a_day(folder: Folder) -> None:
    vault = folder.client()
    keep(vault, numbered(1, 2))
    folder.clock.now = folder.clock.now.fromtimestamp(time.time(), folder.clock.now.tzinfo)
    left = folder.packs()[0].with_name(".muniment-0123456789abcdef.tmp")
    left.write_bytes(b"half a pack")
    assert collect(vault).unfinished == 0
    folder.clock.step(hours=25)
    assert collect(vault).unfinished == 1
    assert not left.exists()


def test_a_clock_that_ran_ahead_buries_nothing_later_than_it_should(folder: Folder) -> None:
    """Marked in a wrong year ahead, a pack is not kept until that year comes."""
    vault = folder.client()
    vault.delete(keep(vault, numbered(1, 2)).snapshot.id)
    folder.clock.step(days=3650)
    collect(vault)
    folder.clock.step(days=-3650)
    collect(vault)
    folder.clock.step(days=1)
    assert collect(vault).packs == 1


def test_a_clock_that_jumps_ahead_takes_nothing_that_is_needed(folder: Folder) -> None:
    vault, other = folder.client(), folder.client()
    told = keep(vault, numbered(1, 2)).snapshot
    upload = vault.reserve(numbered(3, 4).ids).upload_id
    vault.put(upload, numbered(3, 4).extents)
    for _ in range(3):
        folder.clock.step(days=400)
        collect(other)
    folder.clock.step(days=-1200)
    with pytest.raises(UploadGone):
        finish(vault, upload, numbered(3, 4))
    assert restored(vault, told.id) == numbered(1, 2).raw
    assert restored(vault, keep(vault, numbered(3, 4)).snapshot.id) == numbered(3, 4).raw


def test_a_healed_snapshot_keeps_the_packs_that_healed_it(folder: Folder) -> None:
    """The extents that came back were brought by an upload that ended; they lie in a pack that was
    dead already."""
    vault, what = folder.client(), numbered(1, 2)
    first = keep(vault, what).snapshot
    folder.packs()[0].write_bytes(b"")
    examine(vault, repair=True)
    second = keep(vault, what).snapshot
    assert vault.show(first.id).soundness.value == "sound"
    vault.delete(second.id)
    for _ in range(3):
        collect(vault)
        folder.clock.step(days=1, seconds=1)
    assert restored(vault, first.id) == what.raw


@pytest.mark.parametrize("act", ["create", "replace", "delete", "collect"])
def test_a_kill_at_every_step_leaves_nothing_for_ever(folder: Folder, act: str) -> None:
    """Killed at each step in turn; then everything is deleted, and after two days nothing is left."""
    for fuse in range(1, 100):
        vault = folder.client()
        base = keep(vault, numbered(1, 2)).snapshot
        what = numbered(1, 10 + fuse)
        burning = Fuse(fuse)
        dying = doomed(folder.client(), burning)
        with contextlib.suppress(Killed):
            if act == "create":
                keep(dying, what)
            elif act == "replace":
                keep(dying, what, replace=base.id)
            elif act == "delete":
                dying.delete(base.id)
            else:
                vault.delete(base.id)
                collect(vault)
                folder.clock.step(days=1)
                collect(dying)
        folder.close()
        vault = folder.client()
        assert examine(vault).sound
        there = {one.id for one in vault.list().snapshots}
        for one in there:
            assert restored(vault, one) in (numbered(1, 2).raw, what.raw)
            vault.delete(one)
        for _ in range(3):
            collect(vault)
            folder.clock.step(days=1, seconds=1)
        left = {name for name in folder.files() if not os.path.basename(name).startswith(".muniment-")}
        assert left == {"catalogue.sqlite", "lock", "vault.json"}, fuse
        holdings = vault.catalogue.holdings()
        assert (holdings.packs, holdings.extents, holdings.uploads) == (0, 0, 0)
        assert vault.catalogue.known_snapshots() == set()
        folder.close()
        if not burning.burnt:
            return
    raise AssertionError("it never came to an end")
