"""The whole check: any byte that turns over is named, and what can be mended is mended."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vault.content import Content, flipped, keep, numbered, restored, spread
from tests.vault.sites import Folder

from muniment.bundle.vault import Soundness
from muniment.disk.errors import NoPermission
from muniment.errors import NotVerified
from muniment.vault.blobs import Directory
from muniment.vault.errors import CatalogueLost, ExtentsMissing
from muniment.vault.examine import Examined, Part, examine
from muniment.vault.open import rebuild_directory


@pytest.fixture
def kept(folder: Folder) -> dict[str, Content]:
    """Two snapshots that share two extents, in two packs."""
    vault = folder.client()
    return {keep(vault, what).snapshot.id: what for what in (numbered(1, 2, 3), numbered(1, 2, 4))}


def check(folder: Folder, *, repair: bool = False) -> Examined:
    """A check by a process of its own."""
    vault = folder.client()
    try:
        return examine(vault, repair=repair)
    finally:
        vault.close()


def turn(path: Path, at: int) -> None:
    """Turn a bit of a file over."""
    path.write_bytes(flipped(path.read_bytes(), at))


def places(folder: Folder) -> Iterator[tuple[Path, int]]:
    """Some bytes of each file that holds what was kept."""
    for path in (*folder.packs(), *sorted((folder.path / "snapshots").iterdir())):
        for at in spread(path.stat().st_size, 12):
            yield path, at


def heal(folder: Folder, kept: dict[str, Content]) -> None:
    """The same is saved again, as the next day's backup would."""
    vault = folder.client()
    for what in kept.values():
        vault.delete(keep(vault, what).snapshot.id)


def test_a_sound_vault_is_sound(folder: Folder, kept: dict[str, Content]) -> None:
    found = check(folder)
    assert found.sound and (found.packs, found.extents) == (2, 4)
    assert found.bytes == sum(path.stat().st_size for path in folder.packs())
    assert check(folder, repair=True).sound


def test_progress_tells_all_bytes(folder: Folder, kept: dict[str, Content]) -> None:
    told: list[int] = []
    found = examine(folder.client(), progress=told.append)
    assert sum(told) == found.bytes > 0


def test_any_flipped_byte_is_named_and_mended(folder: Folder, kept: dict[str, Content]) -> None:
    """Each of many places in turn: found, never restored wrongly, repaired, healed by the next backup."""
    folder.close()
    pristine = folder.path.with_name("pristine")
    shutil.copytree(folder.path, pristine)
    tried = 0
    for path, at in list(places(folder)):
        turn(path, at)
        found = check(folder)
        assert not found.sound, (path, at)
        names = {one.name for one in found.findings}
        if path.parent.name == "snapshots":
            assert path.name.partition(".")[0] in names
        for snapshot_id, what in kept.items():
            vault = folder.client()
            try:
                assert restored(vault, snapshot_id) == what.raw
            except NotVerified:
                assert snapshot_id in names or path.parent.name == "snapshots"
            finally:
                vault.close()
        check(folder, repair=True)
        heal(folder, kept)
        after = check(folder, repair=True)
        vault = folder.client()
        for snapshot_id, what in kept.items():
            if path.name == f"{snapshot_id}.index":
                assert after.names(Part.SNAPSHOT) == [snapshot_id]
                assert vault.show(snapshot_id).soundness is Soundness.DAMAGED
                continue
            assert vault.show(snapshot_id).soundness is Soundness.SOUND
            assert restored(vault, snapshot_id) == what.raw
        if path.suffix != ".index":
            assert after.sound, (path, at, after.findings)
        folder.close()
        shutil.rmtree(folder.path)
        shutil.copytree(pristine, folder.path)
        tried += 1
    assert tried > 60


def test_sound_pieces_of_a_pack_with_a_damaged_footer_outlive_the_catalogue(
    folder: Folder, kept: dict[str, Content]
) -> None:
    for path in folder.packs():
        turn(path, path.stat().st_size - 20)
    assert len(check(folder).names(Part.PACK)) == 2
    check(folder, repair=True)
    assert check(folder).sound
    folder.close()
    folder.catalogue.unlink()
    rebuild_directory(folder.path, clock=folder.clock)
    vault = folder.client()
    assert {one.id: restored(vault, one.id) for one in vault.list().snapshots} == {
        snapshot_id: what.raw for snapshot_id, what in kept.items()
    }


def test_a_repaired_pack_goes_and_what_it_held_stays(folder: Folder, kept: dict[str, Content]) -> None:
    old = folder.packs()[0]
    turn(old, old.stat().st_size - 20)
    check(folder, repair=True)
    for _ in range(2):
        folder.collect()
        folder.clock.step(days=1, seconds=1)
    folder.collect()
    assert not old.exists() and len(folder.packs()) == 2
    vault = folder.client()
    for snapshot_id, what in kept.items():
        assert restored(vault, snapshot_id) == what.raw


def test_a_pack_that_is_gone(folder: Folder, kept: dict[str, Content]) -> None:
    max(folder.packs(), key=lambda path: path.stat().st_size).unlink()
    found = check(folder)
    assert len(found.names(Part.PACK)) == 1 and set(found.names(Part.SNAPSHOT)) == set(kept)
    with pytest.raises(NotVerified):
        restored(folder.client(), next(iter(kept)))
    check(folder, repair=True)
    assert {one.soundness for one in folder.client().list().snapshots} == {Soundness.DAMAGED}
    heal(folder, kept)
    vault = folder.client()
    for snapshot_id, what in kept.items():
        assert vault.show(snapshot_id).soundness is Soundness.SOUND
        assert restored(vault, snapshot_id) == what.raw


@pytest.mark.parametrize("instead", ["folder", "link", "pipe", "empty", "long"])
def test_something_else_where_a_pack_was(folder: Folder, kept: dict[str, Content], instead: str) -> None:
    path = folder.packs()[0]
    data = path.read_bytes()
    path.unlink()
    if instead == "folder":
        path.mkdir()
    elif instead == "link":
        path.symlink_to(folder.packs()[0])
    elif instead == "pipe":
        os.mkfifo(path)
    elif instead == "empty":
        path.write_bytes(b"")
    else:
        with path.open("wb") as stream:
            stream.write(data)
            stream.truncate(33 << 20)
    assert check(folder).names(Part.PACK) == [path.name]


def test_a_description_that_is_gone_is_written_again(folder: Folder, kept: dict[str, Content]) -> None:
    first = next(iter(kept))
    path = folder.path / "snapshots" / f"{first}.json"
    before = path.read_bytes()
    path.unlink()
    assert check(folder).names(Part.SNAPSHOT) == [first]
    check(folder, repair=True)
    assert path.read_bytes() == before
    assert check(folder).sound


def change(folder: Folder, statement: str, *values: object) -> None:
    """What a damaged catalogue may say; SQLite has no checksums."""
    base = sqlite3.connect(folder.catalogue)
    with base:
        assert base.execute(statement, values).rowcount > 0
    base.close()


ROWS = {
    "place": "UPDATE extents SET at = at + 1",
    "length": "UPDATE extents SET length = length + 512",
    "crc": "UPDATE extents SET crc = crc + 1",
    "stored": "UPDATE extents SET stored = stored - 1",
    "extent gone": "DELETE FROM extents WHERE at = 34",
    "label": "UPDATE snapshots SET label = 'x'",
    "time": "UPDATE snapshots SET created = created + 1",
    "root": f"UPDATE snapshots SET root = '{'0' * 64}'",
    "sections": "UPDATE snapshots SET sections = '[]'",
    "facts": "UPDATE snapshots SET facts = '{}'",
}


@pytest.mark.parametrize("row", ROWS)
def test_a_damaged_row_is_named_and_set_right(folder: Folder, kept: dict[str, Content], row: str) -> None:
    before = folder.client().list().snapshots
    change(folder, ROWS[row])
    assert not check(folder).sound
    check(folder, repair=True)
    if row == "extent gone":
        heal(folder, kept)
        check(folder, repair=True)
    assert check(folder).sound
    vault = folder.client()
    assert vault.list().snapshots == before
    for snapshot_id, what in kept.items():
        assert restored(vault, snapshot_id) == what.raw


def test_a_row_that_no_sum_can_hold_is_a_lost_catalogue(folder: Folder, kept: dict[str, Content]) -> None:
    change(folder, "UPDATE extents SET stored = 9000000000000000000")
    with pytest.raises(CatalogueLost):
        check(folder)
    folder.close()
    rebuild_directory(folder.path, clock=folder.clock)
    assert check(folder).sound


def test_files_that_no_row_knows_of_are_named_and_never_removed(
    folder: Folder, kept: dict[str, Content]
) -> None:
    """A catalogue of yesterday, put back by somebody."""
    yesterday = folder.catalogue.read_bytes()
    vault = folder.client()
    late = keep(vault, numbered(5, 6)).snapshot
    folder.close()
    folder.catalogue.write_bytes(yesterday)
    found = check(folder)
    assert {one.part for one in found.findings} == {Part.UNKNOWN}
    assert len(found.findings) == 3
    before = folder.files()
    for _ in range(3):
        folder.collect()
        folder.clock.step(days=2)
    assert folder.files() == before
    folder.close()
    rebuild_directory(folder.path, clock=folder.clock)
    assert restored(folder.client(), late.id) == numbered(5, 6).raw


def test_strange_names_are_named(folder: Folder, kept: dict[str, Content]) -> None:
    (folder.path / "packs" / "x").mkdir()
    (folder.path / "packs" / "x" / "note.txt").write_text("?")
    (folder.path / "snapshots" / "bk_1.json").write_text("?")
    assert set(check(folder).names(Part.UNKNOWN)) == {"packs/x/note.txt", "snapshots/bk_1.json"}


def test_what_can_not_be_read_for_want_of_a_right_is_no_damage(
    folder: Folder, kept: dict[str, Content], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgetting extents for it would do harm; the tests run as one who may read everything, so a
    stand-in refuses."""

    def refuse(blobs: Directory, name: str, most: int) -> bytes:
        raise NoPermission(where=name)

    monkeypatch.setattr(Directory, "read", refuse)
    with pytest.raises(NoPermission):
        check(folder, repair=True)
    monkeypatch.undo()
    assert check(folder).sound


def test_a_check_beside_a_client(folder: Folder, kept: dict[str, Content]) -> None:
    """An upload is under way while another process checks and repairs."""
    vault, what = folder.client(), numbered(1, 2, 7)
    upload = vault.reserve(what.ids)
    vault.put(upload.upload_id, [one for one in what.extents if one.id in upload.missing])
    assert check(folder, repair=True).sound
    told = vault.finish(upload.upload_id, what.index, label="", sections=[], facts={}).snapshot
    assert check(folder, repair=True).sound
    assert restored(vault, told.id) == what.raw


def test_damage_that_is_found_while_a_snapshot_is_made(folder: Folder, kept: dict[str, Content]) -> None:
    """It was told that nothing is missing; then `fsck` took pieces away: it is asked for them."""
    vault, what = folder.client(), numbered(1, 2)
    upload = vault.reserve(what.ids)
    assert upload.missing == frozenset()
    for path in folder.packs():
        turn(path, 40)
    check(folder, repair=True)
    with pytest.raises(ExtentsMissing):
        vault.finish(upload.upload_id, what.index, label="", sections=[], facts={})
    missing = vault.ask(upload.upload_id, what.ids)
    vault.put(upload.upload_id, [one for one in what.extents if one.id in missing])
    told = vault.finish(upload.upload_id, what.index, label="", sections=[], facts={}).snapshot
    assert restored(vault, told.id) == what.raw
