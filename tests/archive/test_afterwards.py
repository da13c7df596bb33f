"""What can be done with a deliverable later: taken back, copied out, sealed, found again, verified."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archive.command import muniment
from tests.archive.scene import REPORT, Scene, content, fail_at, look, open_scene, rel

from muniment.archive.check import check, entries, find_entry
from muniment.archive.entries import COPIED, SEALED, UNDONE
from muniment.archive.errors import AlreadyUndone, EmptySource, InvalidInput, NotRecorded
from muniment.archive.keepers import copy_out, seal, undo
from muniment.archive.model import Checked, Entry, Standing
from muniment.desk.doctor import Level, examine
from muniment.disk import platform
from muniment.disk.errors import (
    AlreadyThere,
    DiskFault,
    NoPermission,
    NoSpace,
    NotThere,
    SourceBusy,
    SourceChanged,
)
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.record.errors import Claimed
from muniment.record.locate import locate_path


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        yield opened


def kept(scene: Scene, name: str, data: bytes = REPORT) -> Entry:
    scene.write(name, data)
    (receipt,) = scene.keep(rel(name).parts[0] if "/" in name else name)
    return find_entry(scene.workspace, receipt.reference)


def place(scene: Scene, entry: Entry) -> Path:
    return scene.path / entry.path.posix


def standing(scene: Scene, reference: str, mutable: tuple[str, ...] = ()) -> Checked:
    (found,) = check(scene.workspace, [find_entry(scene.workspace, reference)], mutable)
    return found


# Undo


@pytest.mark.parametrize("name", ["report.md", "results/a/b.txt"])
def test_what_is_taken_back_is_as_it_was(scene: Scene, name: str) -> None:
    scene.write(name)
    source = scene.path / rel(name).parts[0]
    before = look(source)
    (receipt,) = scene.keep(rel(name).parts[0])
    entry = find_entry(scene.workspace, receipt.reference)
    assert undo(scene.workspace, entry) == entry.origin
    assert look(source) == before
    assert scene.archived() == {} and scene.journals() == [] and scene.sound()
    (event,) = scene.events(UNDONE)
    assert (event.subject, event.evidence["from"]) == (entry.reference, entry.path.posix)
    assert find_entry(scene.workspace, entry.reference).undone


def test_taken_back_twice_is_refused(scene: Scene) -> None:
    entry = kept(scene, "report.md")
    undo(scene.workspace, entry)
    with pytest.raises(AlreadyUndone):
        undo(scene.workspace, entry)  # as it was known before
    assert muniment(scene.path, "archive", "undo", entry.reference).code == 3
    assert (scene.path / "report.md").exists() and len(scene.events(UNDONE)) == 1


def test_what_changed_is_not_taken_back(scene: Scene) -> None:
    entry = kept(scene, "results/a.txt")
    (place(scene, entry) / "a.txt").write_bytes(b"other\n")
    before = look(place(scene, entry))
    with pytest.raises(SourceChanged):
        undo(scene.workspace, entry)
    assert look(place(scene, entry)) == before and not (scene.path / "results").exists()
    assert scene.journals() == [] and scene.events(UNDONE) == []


def test_an_old_path_that_is_taken_stays_as_it_is(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = kept(scene, "report.md")
    scene.write("report.md", b"newer\n")
    with pytest.raises(AlreadyThere, match="old path is taken"):
        undo(scene.workspace, entry)
    (scene.path / "report.md").unlink()
    # Taken between the look and the rename.
    true = platform.rename_exclusive

    def late(source_fd: int, source: str, target_fd: int, target: str) -> None:
        if target == "report.md":
            scene.write("report.md", b"newer\n")
        true(source_fd, source, target_fd, target)

    monkeypatch.setattr(platform, "rename_exclusive", late)
    with pytest.raises(AlreadyThere, match="old path is taken"):
        undo(scene.workspace, entry)
    assert (scene.path / "report.md").read_bytes() == b"newer\n"
    assert place(scene, entry).read_bytes() == REPORT
    assert scene.journals() == [] and standing(scene, entry.reference).standing is Standing.INTACT


def test_undo_is_refused_while_somebody_writes_or_claims(scene: Scene) -> None:
    entry = kept(scene, "report.md")
    with place(scene, entry).open("r+b"), pytest.raises(SourceBusy):
        undo(scene.workspace, entry)
    claim = scene.workspace.claims.make(rel("report.md"), "ho_1")
    with pytest.raises(Claimed):
        undo(scene.workspace, entry)
    scene.workspace.claims.end(claim)
    undo(scene.workspace, entry)


@pytest.mark.parametrize("function", ["rename_exclusive", "sync_data", "sync_file_system", "sync_folder"])
def test_a_fault_anywhere_leaves_it_in_the_archive(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    entry = kept(scene, "results/a.txt")
    before = look(place(scene, entry))
    for use in range(1, 80):
        with monkeypatch.context() as patch:
            fail_at(patch, function, use, errno.EIO)
            try:
                undo(scene.workspace, entry)
            except MunimentError as error:
                assert error.code == "DISK"
            else:
                break
        assert look(place(scene, entry)) == before, use
        assert not (scene.path / "results").exists() and scene.journals() == [], use
        assert scene.events(UNDONE) == [] and scene.unfinished() == [], use
    assert use > 1 and (scene.path / "results").exists()


def test_a_ledger_that_refuses_the_undo(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = kept(scene, "report.md")
    with monkeypatch.context() as patch:

        def full(*_: object, mode: int) -> None:
            raise NoSpace(where="ledger")

        patch.setattr("muniment.record.ledger.append", full)
        with pytest.raises(NoSpace):
            undo(scene.workspace, entry)
    assert place(scene, entry).exists() and not (scene.path / "report.md").exists()
    assert scene.journals() == []

    def blind(*_: object) -> bytes:
        raise DiskFault(fault="it can not be read")

    with monkeypatch.context() as patch:
        patch.setattr("muniment.record.chain.read_range", blind)
        with pytest.raises(NotRecorded):
            undo(scene.workspace, entry)
    assert (scene.path / "report.md").exists() and len(scene.journals()) == 1
    assert not [one for one in examine(scene.workspace, mend=True) if one.level is Level.WRONG]
    assert scene.journals() == [] and len(scene.events(UNDONE)) == 1 and scene.archived() == {}


def test_archived_again_it_is_found_by_its_first_reference_too(scene: Scene) -> None:
    first = kept(scene, "report.md")
    undo(scene.workspace, first)
    scene.later()
    (second,) = scene.keep("report.md")
    found = standing(scene, first.reference)
    assert (found.standing, found.place) == (Standing.INTACT, second.address.path)
    located = locate_path(scene.workspace.ledger, scene.workspace.tables, scene.root, rel("report.md"))
    assert {one.path for one in located} == {second.address.path}
    answer = muniment(scene.path, "archive", "verify", "--all", "--json")
    assert [one["reference"] for one in answer.object["verified"]] == [second.reference]


def test_a_timestamp_that_can_not_be_removed_takes_nothing_from_the_undo(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = kept(scene, "report.md")

    def stays(*_: object) -> None:
        raise NoPermission(where="archives")

    monkeypatch.setattr(type(scene.root), "remove_folder", stays)
    assert undo(scene.workspace, entry) == entry.origin
    assert (scene.path / "report.md").read_bytes() == REPORT and len(scene.events(UNDONE)) == 1


# Copy


def test_a_copy_is_read_back_and_the_original_stays(scene: Scene, tmp_path: Path) -> None:
    entry = kept(scene, "results/a.txt")
    (tmp_path / "out").mkdir()
    with Root.open(tmp_path / "out") as out:
        copy_out(scene.workspace, entry, out, rel("copy"))
        with pytest.raises(AlreadyThere):
            copy_out(scene.workspace, entry, out, rel("copy"))
    assert content(tmp_path / "out/copy") == content(place(scene, entry))
    (event,) = scene.events(COPIED)
    assert event.evidence["to"] is None and event.evidence["outside"] is True


def test_a_copy_below_the_workspace_is_told_by_its_path_there(scene: Scene) -> None:
    entry = kept(scene, "report.md")
    (scene.path / "sub").mkdir()
    with Root.open(scene.path / "sub") as out:
        copy_out(scene.workspace, entry, out, rel("copy.md"))
    (event,) = scene.events(COPIED)
    assert event.evidence["to"] == "sub/copy.md" and event.evidence["outside"] is False
    assert standing(scene, entry.reference).place == entry.path


def test_no_copy_leads_into_the_archives_or_the_state(scene: Scene) -> None:
    entry = kept(scene, "report.md")
    for folder in ("archives", f"archives/{entry.archive_id}", ".muniment", ".muniment/ledger"):
        before = look(scene.path / folder)
        with Root.open(scene.path / folder) as out, pytest.raises(InvalidInput):
            copy_out(scene.workspace, entry, out, rel("copy.md"))
        assert look(scene.path / folder) == before
    with pytest.raises(InvalidInput):
        copy_out(scene.workspace, entry, scene.root, rel("archives"))


def test_what_changed_is_not_copied_and_a_copy_that_is_not_recorded_goes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = kept(scene, "report.md")

    def full(*_: object, mode: int) -> None:
        raise NoSpace(where="ledger")

    with monkeypatch.context() as patch:
        patch.setattr("muniment.record.ledger.append", full)
        with pytest.raises(NoSpace):
            copy_out(scene.workspace, entry, scene.root, rel("copy.md"))
    assert not (scene.path / "copy.md").exists()
    place(scene, entry).write_bytes(b"other\n")
    with pytest.raises(SourceChanged):
        copy_out(scene.workspace, entry, scene.root, rel("copy.md"))
    assert not (scene.path / "copy.md").exists() and scene.events(COPIED) == []


# Seal, and what may be edited


def test_a_plan_is_edited_in_place_until_it_is_sealed(scene: Scene) -> None:
    entry = kept(scene, "PLAN.md", b"# Plan\n")
    place(scene, entry).write_bytes(b"# Plan\n\n- [x] one\n")
    found = standing(scene, entry.reference)
    assert found.standing is Standing.EDITED and found.found is not None
    assert found.to_json()["recorded_sha256"] == entry.tree.hex != found.to_json()["found_sha256"]
    assert muniment(scene.path, "archive", "verify", "--all").code == 0
    seal(scene.workspace, entry)
    sealed = find_entry(scene.workspace, entry.reference)
    assert sealed.sealed and sealed.tree == found.found
    assert standing(scene, entry.reference).standing is Standing.INTACT
    (event,) = scene.events(SEALED)
    assert event.evidence["was"] == entry.tree.hex
    place(scene, entry).write_bytes(b"# Another plan\n")
    assert standing(scene, entry.reference).standing is Standing.CHANGED
    assert muniment(scene.path, "archive", "verify", "--all").code == 4
    with pytest.raises(SourceChanged):
        seal(scene.workspace, sealed)


def test_patterns_say_what_else_may_be_edited(scene: Scene) -> None:
    entry = kept(scene, "notes.md")
    other = kept(scene, "report.md")
    for one in (entry, other):
        place(scene, one).write_bytes(b"# Edited\n")
    assert standing(scene, entry.reference).standing is Standing.CHANGED
    assert standing(scene, entry.reference, ("notes*",)).standing is Standing.EDITED
    assert standing(scene, other.reference, ("notes*",)).standing is Standing.CHANGED
    environment = {"MUNIMENT_ARCHIVE_MUTABLE": "notes*"}
    answer = muniment(scene.path, "archive", "verify", entry.reference, "--json", environment=environment)
    assert answer.code == 0 and answer.object["verified"][0]["standing"] == "edited"
    answer = muniment(scene.path, "archive", "seal", entry.reference, environment=environment)
    assert answer.code == 0 and standing(scene, entry.reference).standing is Standing.INTACT


def test_a_seal_makes_no_change_good(scene: Scene) -> None:
    entry = kept(scene, "report.md")
    place(scene, entry).write_bytes(b"# Forged\n")
    with pytest.raises(SourceChanged):
        seal(scene.workspace, entry)
    assert muniment(scene.path, "archive", "seal", entry.reference).code == 5
    assert standing(scene, entry.reference).standing is Standing.CHANGED and scene.events(SEALED) == []


def test_nothing_is_sealed_that_is_empty_gone_or_taken_back(scene: Scene) -> None:
    plan = kept(scene, "PLAN.md", b"# Plan\n")
    place(scene, plan).write_bytes(b"")
    with pytest.raises(EmptySource):
        seal(scene.workspace, plan)
    place(scene, plan).unlink()
    with pytest.raises(NotThere):
        seal(scene.workspace, plan)
    entry = kept(scene, "report.md")
    undo(scene.workspace, entry)
    for known in (entry, find_entry(scene.workspace, entry.reference)):
        with pytest.raises(AlreadyUndone):
            seal(scene.workspace, known)
    assert scene.events(SEALED) == []


# Verify


def test_how_things_stand(scene: Scene) -> None:
    entry = kept(scene, "results/a.txt")
    reference = entry.reference
    (place(scene, entry) / "late.txt").write_bytes(b"late\n")
    found = standing(scene, reference)
    assert (found.standing, found.differs) == (Standing.CHANGED, "late.txt")
    (place(scene, entry) / "late.txt").unlink()
    (place(scene, entry) / "a.txt").rename(place(scene, entry) / "b.txt")
    assert standing(scene, reference).standing is Standing.CHANGED
    (place(scene, entry) / "b.txt").rename(place(scene, entry) / "a.txt")
    assert standing(scene, reference).standing is Standing.INTACT
    place(scene, entry).rename(scene.path.parent / "away")
    assert standing(scene, reference).standing is Standing.MISSING
    place(scene, entry).symlink_to(scene.path.parent / "away")
    assert standing(scene, reference).standing is Standing.CHANGED
    place(scene, entry).unlink()
    place(scene, entry).parent.rmdir()
    place(scene, entry).parent.write_bytes(b"a file where a folder was")
    assert standing(scene, reference).standing is Standing.MISSING
    assert muniment(scene.path, "archive", "verify", reference).code == 4


def test_what_can_not_be_read_is_unknown_and_not_good(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = kept(scene, "report.md")

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("muniment.disk.tree._hash", broken)
    found = standing(scene, entry.reference)
    assert found.standing is Standing.UNKNOWN and not found.standing.good
    answer = muniment(scene.path, "archive", "verify", "--all")
    assert answer.code == 4 and "can not be read" in answer.out and "what was recorded" not in answer.out


@pytest.mark.parametrize("damage", ["missing", "damaged", "another"])
def test_without_its_table_it_is_still_told_apart(scene: Scene, damage: str) -> None:
    entry = kept(scene, "results/a.txt")
    table = scene.path / f".muniment/evidence/{entry.tree.hex}"
    if damage == "missing":
        table.unlink()
    else:
        table.write_bytes(b"" if damage == "another" else table.read_bytes()[:-5])
    assert standing(scene, entry.reference).standing is Standing.INTACT
    (place(scene, entry) / "a.txt").write_bytes(b"other\n")
    found = standing(scene, entry.reference)
    assert found.standing is Standing.CHANGED and "evidence table" in found.differs


def test_an_unknown_reference_is_named(scene: Scene) -> None:
    kept(scene, "report.md")
    for verb in ("show", "undo", "copy", "seal", "verify"):
        answer = muniment(scene.path, "archive", verb, "arc_01KDVDNA000000000000000000")
        assert answer.code == 7 and "Nothing was archived under this reference" in answer.err


def test_list_and_show(scene: Scene) -> None:
    first = kept(scene, "PLAN.md", b"# Plan\n")
    scene.later()
    second = kept(scene, "report.md")
    listed = muniment(scene.path, "archive", "list", "--json").object["archived"]
    assert [one["reference"] for one in listed] == [second.reference, first.reference]
    assert muniment(scene.path, "archive", "list", "other-id", "--json").object["archived"] == []
    for asked in (second.reference, second.path.posix):
        shown = muniment(scene.path, "archive", "show", asked, "--json")
        assert shown.code == 0 and shown.object["standing"] == "intact"
        assert shown.object["card"]["data"]["subpath"] == "2026-11-30-12-01-00/report.md"
    place(scene, second).write_bytes(b"forged\n")
    shown = muniment(scene.path, "archive", "show", second.reference, "--json")
    assert shown.code == 4 and shown.object["card"] is None, "no card of what was not read back"
    assert [one.reference for one in entries(scene.workspace)] == [first.reference, second.reference]
