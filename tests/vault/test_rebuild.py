"""The catalogue made again from packs and snapshots' files alone, some of them hostile."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from tests.vault.content import keep, numbered, restored
from tests.vault.sites import Folder

from muniment.bundle.vault import Soundness
from muniment.canonical import canonical
from muniment.vault.description import describe, read_description
from muniment.vault.errors import SnapshotDamaged
from muniment.vault.examine import examine
from muniment.vault.open import rebuild_directory
from muniment.vault.rebuild import Rebuilt


def again(folder: Folder) -> Rebuilt:
    """Close everything, lose the catalogue, make it again."""
    folder.close()
    folder.catalogue.unlink(missing_ok=True)
    return rebuild_directory(folder.path, clock=folder.clock)


def test_everything_is_found_again(folder: Folder) -> None:
    vault = folder.client()
    what = [numbered(1, 2, number) for number in range(3, 8)]
    told = []
    for each in what:
        told.append(keep(vault, each, "每日").snapshot)
        folder.clock.step(hours=1)
    vault.delete(told[2].id)
    done = again(folder)
    assert (done.packs, done.extents, done.snapshots, done.damaged) == (5, 7, 4, 0)
    vault = folder.client()
    assert vault.list().snapshots == (told[4], told[3], told[1], told[0])
    for one, wanted in zip(told, what, strict=True):
        if one is not told[2]:
            assert restored(vault, one.id) == wanted.raw


def test_it_goes_on_as_before(folder: Folder) -> None:
    first = keep(folder.client(), numbered(1, 2)).snapshot
    again(folder)
    vault = folder.client()
    upload = vault.reserve(numbered(1, 2, 3).ids)
    assert upload.missing == {numbered(3).ids[0]}
    vault.abort(upload.upload_id)
    second = keep(vault, numbered(1, 2, 3)).snapshot
    vault.delete(first.id)
    for _ in range(3):
        folder.collect()
        folder.clock.step(days=1, seconds=1)
    assert restored(vault, second.id) == numbered(1, 2, 3).raw


def test_a_missing_pack_makes_snapshots_damaged_and_the_next_backup_heals_them(folder: Folder) -> None:
    told = keep(folder.client(), numbered(1, 2)).snapshot
    folder.packs()[0].unlink()
    done = again(folder)
    assert (done.snapshots, done.damaged) == (1, 1)
    vault = folder.client()
    assert vault.show(told.id).soundness is Soundness.DAMAGED
    keep(vault, numbered(1, 2))
    assert vault.show(told.id).soundness is Soundness.SOUND
    assert restored(vault, told.id) == numbered(1, 2).raw


def test_a_kill_before_the_end_of_a_rebuild_changes_nothing(folder: Folder) -> None:
    told = keep(folder.client(), numbered(1, 2)).snapshot
    folder.close()
    (folder.path / "catalogue.sqlite.new").write_bytes(b"half of one")
    (folder.path / "catalogue.sqlite.new-journal").write_bytes(b"and its journal")
    assert folder.client().list().snapshots == (told,)
    assert again(folder).snapshots == 1
    assert folder.client().list().snapshots == (told,)


# Hostile files


def resealed(record: dict[str, Any]) -> bytes:
    """A description with a right digest, whatever it says."""
    body = {name: value for name, value in record.items() if name != "sha256"}
    return canonical({**body, "sha256": hashlib.sha256(canonical(body)).hexdigest()})


CHANGES: dict[str, dict[str, Any]] = {
    "a version of later": {"v": 2},
    "no version": {"v": None},
    "an id of elsewhere": {"id": "../../x"},
    "another id": {"id": "bk_20200101_000000_aaaa"},
    "an id that is a number": {"id": 7},
    "a label that is a list": {"label": ["x"]},
    "a time that is none": {"created_at": "yesterday"},
    "a size that is a list": {"size": []},
    "sections that are numbers": {"sections": [1, 2]},
    "a root that is short": {"root": "ab"},
    "another root": {"root": "0" * 64},
    "facts that are a list": {"facts": [1]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_forged_description_is_not_believed(folder: Folder, change: str) -> None:
    vault = folder.client()
    bad, good = (keep(vault, numbered(1, number)).snapshot for number in (2, 3))
    path = folder.path / "snapshots" / f"{bad.id}.json"
    path.write_bytes(resealed({**json.loads(path.read_bytes()), **CHANGES[change]}))
    done = again(folder)
    # What the index alone tells is told; another root than the index has makes it damaged.
    vault = folder.client()
    if change == "another root":
        assert [one.blob for one in done.refused] == [f"snapshots/{bad.id}.index"]
        assert vault.show(bad.id).soundness is Soundness.DAMAGED
    else:
        assert [one.blob for one in done.refused] == [f"snapshots/{bad.id}.json"]
        assert restored(vault, bad.id) == numbered(1, 2).raw
        assert (vault.show(bad.id).label, vault.show(bad.id).created_at) == ("", bad.created_at)
    assert vault.show(good.id) == good


GARBAGE = [
    b"",
    b"{}",
    b"[]",
    b"nonsense",
    b"\xff\xfe",
    b"[" * 100_000,
    b"null",
    b'{"v":1}',
    b" " * (2 << 20),
]


@pytest.mark.parametrize("kind", ["json", "index"])
@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_refused_and_what_is_left_is_taken(folder: Folder, kind: str, garbage: bytes) -> None:
    vault = folder.client()
    bad, good = (keep(vault, numbered(1, number)).snapshot for number in (2, 3))
    (folder.path / "snapshots" / f"{bad.id}.{kind}").write_bytes(garbage)
    done = again(folder)
    assert [one.blob for one in done.refused] == [f"snapshots/{bad.id}.{kind}"]
    vault = folder.client()
    assert vault.show(good.id) == good
    if kind == "json":
        assert restored(vault, bad.id) == numbered(1, 2).raw
        examine(vault, repair=True)
        assert examine(vault).sound
    else:
        assert vault.show(bad.id).soundness is Soundness.DAMAGED
        assert vault.delete(bad.id).id == bad.id
        assert examine(vault).sound


def test_nothing_is_left_of_a_snapshot_without_both(folder: Folder) -> None:
    told = keep(folder.client(), numbered(1, 2)).snapshot
    for kind in ("json", "index"):
        (folder.path / "snapshots" / f"{told.id}.{kind}").write_bytes(b"")
    done = again(folder)
    assert (len(done.refused), done.snapshots) == (2, 0)
    assert folder.client().list().snapshots == ()


def test_a_description_is_read_as_it_was_written(folder: Folder) -> None:
    vault = folder.client()
    told = keep(vault, numbered(1, 2), "x").snapshot
    facts = {"n": 1, "deep": {"list": [1, "two", None, True]}}
    assert read_description(describe(told, facts)) == (told, facts)


def test_an_index_with_another_ones_name_is_refused(folder: Folder) -> None:
    vault = folder.client()
    one, two = (keep(vault, numbered(1, number)).snapshot for number in (2, 3))
    place = folder.path / "snapshots"
    (place / f"{one.id}.index").write_bytes((place / f"{two.id}.index").read_bytes())
    with pytest.raises(SnapshotDamaged):
        vault.index(one.id)
    done = again(folder)
    assert (done.snapshots, done.damaged) == (2, 1)
