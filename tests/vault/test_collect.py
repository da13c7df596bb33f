"""Garbage: what goes, what stays, and that a kill in between leaves nothing behind for ever."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vault.content import finish, keep, numbered, restored
from tests.vault.killing import Fuse, Killed, doomed
from tests.vault.sites import Folder

from muniment.disk.errors import DiskFault
from muniment.vault.collect import collect, tidy
from muniment.vault.errors import UploadGone
from muniment.vault.examine import examine


def age(path: Path, *, hours: int) -> None:
    """Make a file look as if it had been written so many hours ago, by the clock of its file system."""
    when = path.stat().st_mtime - hours * 3600
    os.utime(path, (when, when))


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
    left = folder.packs()[0].with_name(".muniment-0123456789abcdef.tmp")
    left.write_bytes(b"half a pack")
    before = folder.files()
    for days in (-3650, 3650, 3650):  # whatever the collector's own clock says
        folder.clock.step(days=days)
        assert collect(vault).unfinished == 0
    assert folder.files() == before
    age(left, hours=25)
    folder.clock.step(days=-3650)
    assert collect(vault).unfinished == 1
    assert folder.files() == before - {left.relative_to(folder.path).as_posix()}


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


# As the program opens a vault: tidied after each act


@pytest.fixture
def tidied(quick_path: Path) -> Iterator[Folder]:
    site = Folder(quick_path / "vault", after=tidy)
    yield site
    site.close()


def test_a_tidied_vault_needs_no_keeper(tidied: Folder) -> None:
    """What a deletion left is gone a day later, when the next snapshot was kept."""
    vault = tidied.client()
    first = keep(vault, numbered(1, 2)).snapshot
    (old,) = tidied.packs()
    vault.delete(first.id)
    assert vault.catalogue.holdings().dead_packs == 1
    tidied.clock.step(hours=23)
    keep(vault, numbered(3))
    assert old.exists(), "somebody may have been reading it"
    tidied.clock.step(hours=1, seconds=1)
    last = keep(vault, numbered(4)).snapshot
    assert not old.exists()
    assert examine(vault).sound and restored(vault, last.id) == numbered(4).raw


def test_what_is_pinned_is_not_tidied_away(tidied: Folder) -> None:
    vault, other = tidied.client(), tidied.client()
    first = keep(vault, numbered(1, 2)).snapshot
    upload = other.reserve(numbered(1, 2).ids).upload_id
    for _ in range(60):
        tidied.clock.step(minutes=30)
        assert other.ask(upload, numbered(1).ids) == frozenset()
        vault.delete(keep(vault, numbered(9)).snapshot.id)
    vault.delete(first.id)
    done = finish(other, upload, numbered(1, 2)).snapshot
    tidied.clock.step(days=2)
    vault.delete(keep(vault, numbered(8)).snapshot.id)
    assert restored(vault, done.id) == numbered(1, 2).raw


def test_a_dead_writer_is_tidied_away_in_the_end(tidied: Folder) -> None:
    """Killed while it wrote a pack: its row and its unfinished file go a day after its upload has ended."""
    vault = tidied.client()
    keep(vault, numbered(5))
    upload = vault.reserve().upload_id
    with vault.catalogue.writing():
        vault.catalogue.announce_pack("0" * 26, upload)
    left = tidied.packs()[0].with_name(".muniment-0123456789abcdef.tmp")
    left.write_bytes(b"half a pack")
    age(left, hours=25)
    for number in range(3):
        tidied.clock.step(hours=25)
        keep(vault, numbered(6 + number))
    assert not left.exists()
    assert "0" * 26 not in dict(vault.catalogue.packs())


def test_what_fails_while_tidying_fails_nothing_else(tidied: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a disk that can not remove: the snapshot is kept all the same."""
    vault = tidied.client()
    vault.delete(keep(vault, numbered(1)).snapshot.id)
    tidied.clock.step(days=2)

    def fail(name: str) -> None:
        raise DiskFault(where=name, fault=OSError(5, "Input/output error"))

    monkeypatch.setattr(vault.blobs, "delete", fail)
    told = keep(vault, numbered(2)).snapshot
    monkeypatch.undo()
    assert restored(vault, told.id) == numbered(2).raw
    tidied.clock.step(days=1)
    keep(vault, numbered(3))
    assert len(tidied.packs()) == 2, "the next one went on"


def test_nothing_is_walked_while_nothing_is_dead(tidied: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = tidied.client()
    walked: list[str] = []
    sweep = vault.blobs.sweep

    def watched(prefix: str, age_s: float) -> int:
        walked.append(prefix)
        return sweep(prefix, age_s)

    monkeypatch.setattr(vault.blobs, "sweep", watched)
    for number in range(3):
        keep(vault, numbered(number))
        tidied.clock.step(days=2)
    assert walked == []
    vault.delete(vault.list().snapshots[0].id)
    tidied.clock.step(days=2)
    keep(vault, numbered(9))
    assert walked != []
