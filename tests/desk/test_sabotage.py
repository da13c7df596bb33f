"""`verify --all` after the walk: all of it green, and each sabotage turns its own thing red, nothing else.

What has to turn red follows from what rests on what: a handoff on its documents, its anchors and the
artifact that its worker named; a snapshot on the pieces that it shares with others.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.desk.walk import REPORT, Walked

Sabotage = Callable[[Walked], None]


def edit(path: Path, before: bytes, after: bytes) -> None:
    """Change bytes of a file, which have to be there once at least."""
    data = path.read_bytes()
    assert before in data and before != after
    path.write_bytes(data.replace(before, after, 1))


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(bytes(data))


def a_byte_in_the_report(walk: Walked) -> None:
    edit(walk.archived("counts-report.txt"), b"12", b"13")


def a_byte_in_the_notes(walk: Walked) -> None:
    edit(walk.archived("notes") / "one.md", b"first", b"First")


def a_file_of_the_notes_removed(walk: Walked) -> None:
    (walk.archived("notes") / "two.md").unlink()


def a_file_too_much_in_the_notes(walk: Walked) -> None:
    (walk.archived("notes") / "three.md").write_text("nobody archived this")


def the_notes_removed(walk: Walked) -> None:
    shutil.rmtree(walk.archived("notes"))


def an_evidence_table_altered(walk: Walked) -> None:
    (kept,) = [
        json.loads(line)["evidence"]["tree"]
        for line in walk.segment.read_text().splitlines()
        if json.loads(line)["subject"] == walk.notes
    ]
    edit(walk.muniment / "evidence" / kept, b"one.md", b"0ne.md")


def _lines(walk: Walked) -> list[bytes]:
    return walk.segment.read_bytes().splitlines(keepends=True)


def _kinds(walk: Walked) -> list[str]:
    return [json.loads(line)["kind"] for line in _lines(walk)]


def the_ledger_cut(walk: Walked) -> None:
    """To before the record of the older snapshot, which the newer one's witness saw."""
    lines = _lines(walk)
    walk.segment.write_bytes(b"".join(lines[: _kinds(walk).index("backup.created")]))


def a_line_of_the_ledger_edited(walk: Walked) -> None:
    lines = _lines(walk)
    lines[0] = lines[0].replace(b'"actor":"cli"', b'"actor":"clu"')
    assert lines != _lines(walk)
    walk.segment.write_bytes(b"".join(lines))


def a_line_of_the_ledger_removed(walk: Walked) -> None:
    """The one of the verdict: its trace proves nothing by itself, so nothing rests on it."""
    lines = _lines(walk)
    del lines[_kinds(walk).index("handoff.checked")]
    walk.segment.write_bytes(b"".join(lines))


def the_line_of_the_packet_edited(walk: Walked) -> None:
    lines = _lines(walk)
    at = _kinds(walk).index("handoff.issued")
    lines[at] = lines[at].replace(b'"depth":1', b'"depth":2')
    assert lines != _lines(walk)
    walk.segment.write_bytes(b"".join(lines))


def the_identity_of_the_root_swapped(walk: Walked) -> None:
    place = walk.muniment / "root.json"
    identity = json.loads(place.read_text())
    identity["root_id"] = "01KDVDNA000000000000000000"
    place.write_text(json.dumps(identity, sort_keys=True, separators=(",", ":")) + "\n")


def the_root_swapped_for_a_copy(walk: Walked) -> None:
    aside = walk.place / "workspace.aside"
    walk.workspace.rename(aside)
    shutil.copytree(aside, walk.workspace, symlinks=True)
    os.chdir(walk.workspace)


def the_registry_changed(walk: Walked) -> None:
    edit(walk.job_folder / "registry.yaml", b"count the reads", b"count the beads")


def the_registry_removed(walk: Walked) -> None:
    (walk.job_folder / "registry.yaml").unlink()


def the_job_s_journal_edited(walk: Walked) -> None:
    edit(walk.job_folder / "journal.jsonl", b'"witness":"relayed"', b'"witness":"console"')


def an_output_of_the_job_changed(walk: Walked) -> None:
    edit(walk.job_folder / "outputs/report.txt", b"12", b"13")


def an_output_of_the_job_removed(walk: Walked) -> None:
    (walk.job_folder / "outputs/report.txt").unlink()


def the_folder_of_jobs_removed(walk: Walked) -> None:
    shutil.rmtree(walk.place / "jobs")


def the_receipt_edited(walk: Walked) -> None:
    (receipt,) = (walk.folder / "outcomes").iterdir()
    edit(receipt, b'"recipient_id":"fay"', b'"recipient_id":"may"')


def the_return_edited(walk: Walked) -> None:
    (answer,) = (walk.folder / "returns").iterdir()
    edit(answer, b"twelve", b"eleven")


def the_packet_removed(walk: Walked) -> None:
    (walk.folder / "packet.json").unlink()


def the_documents_of_handoffs_removed(walk: Walked) -> None:
    shutil.rmtree(walk.muniment / "handoff")


def the_anchor_overwritten(walk: Walked) -> None:
    place = walk.workspace / "agents/fay/WORKLOG.md"
    place.write_bytes(place.read_bytes()[::-1])


def the_anchored_file_removed(walk: Walked) -> None:
    (walk.workspace / "agents/fay/WORKLOG.md").unlink()


def the_newest_pack_damaged(walk: Walked) -> None:
    flip(walk.packs()[-1], 40)


def the_newest_pack_removed(walk: Walked) -> None:
    walk.packs()[-1].unlink()


def the_oldest_pack_removed(walk: Walked) -> None:
    walk.packs()[0].unlink()


def _catalogue(walk: Walked, command: str, *values: object) -> None:
    with sqlite3.connect(walk.place / "vault/catalogue.sqlite") as base:
        assert base.execute(command, values).rowcount > 0
    base.close()


def a_row_of_the_catalogue_removed(walk: Walked) -> None:
    _catalogue(walk, "DELETE FROM snapshots WHERE id = ?", walk.older)


def a_row_of_the_catalogue_edited(walk: Walked) -> None:
    _catalogue(walk, "UPDATE snapshots SET label = 'another' WHERE id = ?", walk.older)


def the_index_altered(walk: Walked) -> None:
    flip(walk.place / f"vault/snapshots/{walk.newer}.index", 200)


def the_index_removed(walk: Walked) -> None:
    (walk.place / f"vault/snapshots/{walk.older}.index").unlink()


RED: list[tuple[Sabotage, str]] = [
    (a_byte_in_the_report, "report handoff"),
    (a_byte_in_the_notes, "notes"),
    (a_file_of_the_notes_removed, "notes"),
    (a_file_too_much_in_the_notes, "notes"),
    (the_notes_removed, "notes"),
    (an_evidence_table_altered, "notes"),
    (a_line_of_the_ledger_edited, "ledger"),
    (a_line_of_the_ledger_removed, "ledger"),
    (the_line_of_the_packet_edited, "ledger handoff"),
    (the_identity_of_the_root_swapped, "handoff"),
    (the_root_swapped_for_a_copy, "handoff"),
    (the_registry_changed, "job"),
    (the_registry_removed, "job"),
    (the_job_s_journal_edited, "job"),
    (an_output_of_the_job_changed, "job"),
    (an_output_of_the_job_removed, "job"),
    (the_folder_of_jobs_removed, "job"),
    (the_receipt_edited, "handoff"),
    (the_return_edited, "handoff"),
    (the_packet_removed, "handoff"),
    (the_documents_of_handoffs_removed, "handoff"),
    (the_anchor_overwritten, "handoff"),
    (the_anchored_file_removed, "handoff"),
    (the_newest_pack_damaged, "vault newer"),
    (the_newest_pack_removed, "vault newer"),
    (the_oldest_pack_removed, "vault older newer"),
    (a_row_of_the_catalogue_removed, "vault older"),
    (a_row_of_the_catalogue_edited, "vault"),
    (the_index_altered, "vault newer"),
    (the_index_removed, "vault older"),
]
"""Each sabotage, and all that it has to turn red."""


def _named(walk: Walked, words: str) -> set[str]:
    return {getattr(walk, word, word) for word in words.split()}


def test_after_the_walk_everything_is_green(walked: Walked) -> None:
    assert walked.verify() == dict.fromkeys(walked.everything, "good")


@pytest.mark.parametrize(("sabotage", "red"), RED, ids=[one.__name__ for one, _ in RED])
def test_each_sabotage_turns_its_own_thing_red(walked: Walked, sabotage: Sabotage, red: str) -> None:
    sabotage(walked)
    found = walked.verify()
    assert {one for one, standing in found.items() if standing == "bad"} == _named(walked, red)
    assert {one for one, standing in found.items() if standing == "good"} == walked.everything - _named(
        walked, red
    )


def test_a_cut_ledger_is_red_and_knows_less(walked: Walked) -> None:
    the_ledger_cut(walked)
    found = walked.verify()
    # what was archived after the cut is on no record any more
    expected = dict.fromkeys(walked.everything - {walked.notes}, "good") | {"ledger": "bad"}
    assert found == expected


def test_without_its_catalogue_nobody_knows_of_the_snapshots(walked: Walked) -> None:
    (walked.place / "vault/catalogue.sqlite").unlink()
    found = walked.verify()
    unknown = {walked.older: "unknown", walked.newer: "unknown"}
    assert found == dict.fromkeys(walked.everything, "good") | unknown | {"vault": "bad"}


def test_without_a_vault_nobody_knows_of_the_snapshots(walked: Walked) -> None:
    shutil.rmtree(walked.place / "vault")
    found = walked.verify()
    assert found == dict.fromkeys(walked.everything - {"vault"}, "good") | {
        walked.older: "unknown",
        walked.newer: "unknown",
    }
    assert not (walked.place / "vault").exists()


@pytest.mark.parametrize(("sabotage", "red"), RED, ids=[one.__name__ for one, _ in RED])
def test_what_is_red_is_red_when_it_alone_is_asked_for(walked: Walked, sabotage: Sabotage, red: str) -> None:
    sabotage(walked)
    for reference in _named(walked, red):
        assert walked.verify(reference) == {reference: "bad"}


def test_the_card_of_a_deliverable_is_held_to_the_record(walked: Walked) -> None:
    place = walked.workspace / "card.json"
    card = walked.call("archive", "show", walked.report, "--json").object["card"]
    place.write_text(json.dumps(card))
    assert walked.verify("card.json") == {walked.report: "good"}
    place.write_text(f"Done.\n\n```json\n{json.dumps(card)}\n```\n")
    assert walked.verify("card.json") == {walked.report: "good"}
    place.write_text(json.dumps(card).replace('"name": "counts-report.txt"', '"name": "final-report.txt"'))
    assert walked.verify("card.json") == {walked.report: "bad"}
    place.write_text(json.dumps(card).replace("counts-report.txt", "other.txt"))
    ((reference, standing),) = walked.verify("card.json").items()
    assert (reference.rpartition("/")[2], standing) == ("other.txt", "bad")
    a_byte_in_the_report(walked)
    place.write_text(json.dumps(card))
    assert walked.verify("card.json") == {walked.report: "bad"}


def test_looking_changes_nothing(walked: Walked) -> None:
    def everything() -> dict[str, bytes]:
        files = [one for one in walked.place.rglob("*") if one.is_file() and "lock" not in one.name]
        return {str(one): one.read_bytes() for one in files if "cache" not in one.parts}

    before = everything()
    walked.verify()
    walked.call("find", walked.report)
    walked.call("show", walked.handoff)
    walked.call("timeline")
    assert everything() == before
    assert REPORT in before.values()
