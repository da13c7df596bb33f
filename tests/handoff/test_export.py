"""An exported folder proves itself to somebody who has nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.handoff.conftest import HOST, Place, dispatched, killed, packet, work

from muniment.canonical import canonical
from muniment.errors import MunimentError
from muniment.handoff import errors
from muniment.handoff.export import export, verify_folder
from muniment.handoff.service import Checked, Handoffs
from muniment.path import BadPath
from muniment.record.event import Context, Draft, read_line, seal


@pytest.fixture
def handoffs(place: Place) -> Handoffs:
    return place.reopen()


def exported(place: Place, handoffs: Handoffs, **returned: object) -> tuple[str, Path]:
    handoff = dispatched(handoffs)
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


def test_a_packet_that_the_manifest_leaves_out_is_held_to_the_ledger_all_the_same(
    place: Place, handoffs: Handoffs
) -> None:
    _, folder = exported(place, handoffs)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["documents"].remove("packet.json")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert verify_folder(folder).now.complete
    packet_file = folder / "packet.json"
    packet_file.write_text(packet_file.read_text().replace("without a header", "with a header"))
    with pytest.raises(errors.ExportDamaged) as caught:
        verify_folder(folder)
    assert caught.value.where == "packet.json"


def test_a_verdict_of_another_count_of_targets_is_refused(place: Place, handoffs: Handoffs) -> None:
    """Somebody who can write ledger lines can make a trace that fits them; it still has to fit the rest."""
    _, folder = exported(place, handoffs)
    [trace_file] = (folder / "traces").iterdir()
    trace = json.loads(trace_file.read_text())
    trace_file.write_bytes(canonical({**trace, "rows": trace["rows"][:3]}) + b"\n")
    lines, prev = [], "0" * 64
    for line in (folder / "ledger.jsonl").read_bytes().splitlines():
        old = read_line(line)
        evidence = dict(old.evidence)
        if evidence.get("document") == f"traces/{trace_file.name}":
            evidence["sha256"] = hashlib.sha256(trace_file.read_bytes()).hexdigest()
        draft = Draft(old.kind, old.subject, evidence)
        event, forged = seal(
            draft,
            event_id=old.event_id,
            at=old.at,
            actor=old.actor,
            context=Context(**old.context),
            prev=prev,
        )
        lines.append(forged)
        prev = event.sha256
    (folder / "ledger.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(errors.ExportDamaged) as caught:
        verify_folder(folder)
    assert caught.value.where == "rows"


def test_a_place_without_a_name_of_its_own_is_refused(place: Place, handoffs: Handoffs) -> None:
    handoff = handoffs.new(packet()).handoff_id
    for name in ("..", "x" * 300):
        with pytest.raises(BadPath):
            export(handoffs, handoff, place.path / name)


def test_of_two_exports_at_once_the_second_takes_nothing_away(
    place: Place, handoffs: Handoffs, monkeypatch: pytest.MonkeyPatch
) -> None:
    handoff = handoffs.new(packet()).handoff_id
    folder, check = place.path.parent / "proof", handoffs.check

    def overtaken(handoff_id: str) -> Checked:
        """Another process makes its export while this one reads everything back."""
        monkeypatch.setattr(Handoffs, "check", lambda self, handoff_id: check(handoff_id))
        export(handoffs, handoff_id, folder)
        return check(handoff_id)

    monkeypatch.setattr(Handoffs, "check", lambda self, handoff_id: overtaken(handoff_id))
    with pytest.raises(errors.ExportExists):
        export(handoffs, handoff, folder)
    assert verify_folder(folder).handoff_id == handoff


def test_an_export_that_is_killed_has_no_name_yet(
    place: Place, handoffs: Handoffs, monkeypatch: pytest.MonkeyPatch
) -> None:
    handoff, folder = handoffs.new(packet()).handoff_id, place.path.parent / "proof"

    def dying(*given: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr("muniment.handoff.export.bear_witness", dying)
        killed(place, lambda: export(handoffs, handoff, folder))
    assert not folder.exists()
    place.machine.drawn += 50_000
    export(place.reopen(), handoff, folder)
    assert verify_folder(folder).handoff_id == handoff


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
