"""An exported folder proves itself to somebody who has nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.handoff.conftest import HOST, Place, packet, work

from muniment.errors import MunimentError
from muniment.handoff import errors
from muniment.handoff.export import export, verify_folder
from muniment.handoff.service import Handoffs


@pytest.fixture
def handoffs(place: Place) -> Handoffs:
    return place.reopen()


def exported(place: Place, handoffs: Handoffs, **returned: object) -> tuple[str, Path]:
    handoff = handoffs.new(packet(), recipient="mei").handoff_id
    handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST)
    (place.path / "agents/mei").mkdir(parents=True)
    (place.path / "agents/mei/MEMORY.md").write_text("# Memory\n")
    (place.path / "out").mkdir()
    (place.path / "out/report.md").write_text("Forty files pass.")
    (place.path / "out/table.csv").write_text("a,b\n")
    handoffs = place.reopen()
    work(handoffs, handoff, artifact_paths=["out", str(place.path / "out/report.md")])
    folder = place.path.parent / "proof"
    export(handoffs, handoff, folder)
    return handoff, folder


def test_it_is_judged_anew_without_the_workspace(place: Place, handoffs: Handoffs) -> None:
    handoff, folder = exported(place, handoffs)
    shutil.rmtree(place.path)
    shutil.rmtree(place.user)
    moved = folder.rename(folder.with_name("moved"))
    found = verify_folder(moved)
    assert found.now.complete and found.handoff_id == handoff
    assert [row.written_by for row in found.now.rows[:2]] == ["muniment", "muniment"]
    assert found.not_repeated == ("root",)


def test_every_file_in_it_counts(place: Place, handoffs: Handoffs) -> None:
    _, folder = exported(place, handoffs)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    assert len(files) >= 14
    for file in files:
        if file.name == "witness.json":
            continue  # it speaks of the whole ledger, of which only the owner can tell
        data = file.read_bytes()
        changed = bytearray(data)
        changed[len(data) // 2] ^= 0x01
        for other in (bytes(changed), data[:-3], b""):
            file.write_bytes(other)
            with pytest.raises(MunimentError) as caught:
                verify_folder(folder)
            assert caught.value.code in ("EXPORT_DAMAGED", "HANDOFF_SHAPE"), file
        file.unlink()
        with pytest.raises(MunimentError):
            verify_folder(folder)
        file.write_bytes(data)
    assert verify_folder(folder).now.complete


def test_what_was_never_complete_is_exported_as_that(place: Place, handoffs: Handoffs) -> None:
    handoff = handoffs.new(packet()).handoff_id
    export(handoffs, handoff, place.path.parent / "proof")
    found = verify_folder(place.path.parent / "proof")
    assert not found.now.complete
    assert {each["code"] for each in found.then["findings"]} == {"RETURN_MISSING", "NO_RECEIPT"}


def test_an_exported_handoff_is_never_dispatched_again(place: Place, handoffs: Handoffs) -> None:
    handoff = handoffs.new(packet()).handoff_id
    export(handoffs, handoff, place.path.parent / "proof")
    with pytest.raises(errors.AlreadyDispatched) as caught:
        handoffs.deliver_by_host(handoff, "openclaw", "mei", HOST)
    assert "nonces" in str(caught.value)


def test_nothing_is_overwritten(place: Place, handoffs: Handoffs) -> None:
    handoff = handoffs.new(packet()).handoff_id
    (place.path.parent / "proof").mkdir()
    with pytest.raises(errors.ExportExists):
        export(handoffs, handoff, place.path.parent / "proof")
    with pytest.raises(errors.HandoffUnknown):
        export(handoffs, "ho_01KDVDNA0000000000000000Z9", place.path.parent / "other")
    assert not (place.path.parent / "other").exists()


def test_a_folder_of_anybody(tmp_path: Path) -> None:
    for text in ("", "[]", json.dumps({"v": 2}), json.dumps({"v": 1, "documents": ["../../etc/passwd"]})):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(MunimentError):
            verify_folder(tmp_path)
    document = {"v": 1, "handoff_id": "ho_01KDVDNA000000000000000001", "exported_at": "now",
                "documents": ["../../../etc/passwd"], "not_repeated": []}  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(document))
    (tmp_path / "ledger.jsonl").write_text("")
    with pytest.raises(errors.ExportDamaged) as caught:
        verify_folder(tmp_path)
    assert "root:x:" not in str(caught.value)
