"""The desk over all rooms, on the walk: one grammar, one screen, a timeline, an honest end when stopped."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.desk.walk import REPORT, Walked

from muniment.app import House
from muniment.clock import instant, system_clock
from muniment.record import subject

DIGEST = f"sha256:{hashlib.sha256(REPORT).hexdigest()}"


def hits(walk: Walked, text: str) -> list[dict[str, Any]]:
    answer = walk.call("find", text, "--json")
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = answer.object["hits"]
    return found


def test_a_digest_tells_the_whole_story(walked: Walked) -> None:
    found = {one["reference"]: one for one in hits(walked, DIGEST)}
    assert set(found) == {walked.report, walked.handoff, walked.job, walked.older, walked.newer}
    assert set(found[walked.report]["within"]) == {walked.handoff, walked.job}
    assert found[walked.job]["within"] == [walked.handoff]
    assert found[walked.report]["standing"] == found[walked.job]["standing"] == "good"
    assert found[walked.handoff]["role"] == "artifact of the handoff"
    assert found[walked.older]["path"] == found[walked.newer]["path"]
    address = walked.archived("counts-report.txt").relative_to(walked.workspace).as_posix()
    assert found[walked.newer]["path"] == f"workspace/{address}"
    kinds = {one["kind"] for one in walked.call("find", DIGEST, "--json").object["events"]}
    assert "archive.kept" in kinds


def test_a_digest_may_be_shortened_or_bare(walked: Walked) -> None:
    whole = hits(walked, DIGEST)
    assert hits(walked, DIGEST[:19]) == hits(walked, DIGEST.removeprefix("sha256:")) == whole


def test_a_place_that_holds_other_bytes_now_is_said(walked: Walked) -> None:
    walked.archived("counts-report.txt").write_bytes(b"reads: 13\n")
    answer = walked.call("find", DIGEST, "--json")
    assert answer.code == 4
    found = {one["reference"]: one["standing"] for one in answer.object["hits"]}
    assert (found[walked.report], found[walked.job]) == ("bad", "good")


def test_only_indexes_and_manifests_are_fetched_of_snapshots(
    walked: Walked, monkeypatch: pytest.MonkeyPatch
) -> None:
    from muniment.vault.store import VaultStore

    def never(*_: object) -> None:
        raise AssertionError("a whole snapshot was downloaded")

    monkeypatch.setattr(VaultStore, "download", never)
    assert len(hits(walked, DIGEST)) == 5


def test_a_text_is_found_in_every_room(walked: Walked) -> None:
    found = {one["reference"] for one in hits(walked, "count")}
    assert found == {walked.report, walked.handoff, walked.job, walked.older, walked.newer}
    assert {one["reference"] for one in hits(walked, "one.md")} == {walked.notes}
    assert walked.call("find", "nobody wrote this").code == 7
    assert walked.call("find", " ").code == 2


@pytest.mark.parametrize("name", ["handoff", "job"])
def test_a_reference_finds_what_was_made_within_it(walked: Walked, name: str) -> None:
    found = {one["reference"] for one in hits(walked, getattr(walked, name))}
    assert walked.report in found and getattr(walked, name) in found


def test_what_can_not_be_searched_is_no_silence(walked: Walked) -> None:
    (walked.job_folder / "registry.yaml").unlink()
    (walked.place / "vault/catalogue.sqlite").unlink()
    found = {one["reference"]: one["standing"] for one in hits(walked, DIGEST)}
    assert found[walked.job] == found["vault"] == "unknown"


@pytest.mark.parametrize("name", ["report", "notes", "handoff", "job", "older"])
def test_every_reference_can_be_shown(walked: Walked, name: str) -> None:
    reference = getattr(walked, name)
    shown = walked.call("show", reference, "--json").object
    assert shown["reference"] == reference
    assert shown["within"] == {
        "report": [walked.handoff, walked.job],
        "job": [walked.handoff],
    }.get(name, [])
    assert reference in walked.call("show", reference).out


def test_an_event_can_be_shown_and_verified(walked: Walked) -> None:
    first = json.loads(walked.segment.read_text().splitlines()[0])
    for spelling in (f"ev_{first['event_id']}", first["event_id"]):
        assert walked.call("show", spelling, "--json").object["event_id"] == first["event_id"]
        assert walked.verify(spelling) == {f"ev_{first['event_id']}": "good"}
    assert walked.call("ledger", "show", f"ev_{first['event_id']}").code == 0


def test_a_shortened_reference_has_to_fit_one_thing(walked: Walked) -> None:
    assert walked.call("show", walked.handoff[:12], "--json").object["reference"] == walked.handoff
    assert walked.call("show", "job:cou", "--json").object["reference"] == walked.job
    both = walked.call("show", "bk_20", "--json")
    assert (both.code, both.object["error"]) == (2, "REFERENCE_AMBIGUOUS")
    assert walked.older in both.err and walked.newer in both.err


@pytest.mark.parametrize(
    ("text", "code", "name"),
    [
        ("job:nosuch", 7, "REFERENCE_UNKNOWN"),
        ("ho_7ZZZ", 7, "REFERENCE_UNKNOWN"),
        ("arc_01KDVDNA000000000000000000", 7, "UNKNOWN_REFERENCE"),
        ("ho_01KDVDNA000000000000000000", 7, "HANDOFF_UNKNOWN"),
        ("bk_20000101_000000_aaaa", 7, "SNAPSHOT_UNKNOWN"),
        ("ev_01KDVDNA000000000000000000", 7, "NOT_IN_LEDGER"),
        ("zz_1", 7, "NO_REFERENCE"),
        ("ho_", 7, "NO_REFERENCE"),
        ("../../etc/passwd", 7, "NO_REFERENCE"),
    ],
)
def test_what_is_not_there_has_one_clear_error(walked: Walked, text: str, code: int, name: str) -> None:
    answer = walked.call("show", text, "--json")
    assert (answer.code, answer.object["error"]) == (code, name), answer.err
    verified = walked.call("verify", text, "--json")
    if name != "NO_REFERENCE":
        assert (verified.code, verified.object["error"]) == (code, name), verified.err


def test_where_nothing_was_recorded_nothing_is_made(walked: Walked, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for words in (["verify", "--all"], ["find", "x"], ["show", "ho_1"], ["timeline"]):
        answer = walked.call("-w", str(empty), *words, "--json")
        assert (answer.code, answer.object["error"]) == (7, "NOTHING_RECORDED")
    assert list(empty.iterdir()) == []


def test_the_timeline_tells_claims_from_proofs(walked: Walked) -> None:
    told = walked.call("timeline", "--json").object
    worth = {one["kind"]: one["worth"] for one in told["events"]}
    assert worth["archive.kept"] == worth["handoff.checked"] == worth["backup.created"] == "proved"
    assert worth["handoff.returned"] == worth["job.submit"] == worth["backup.creating"] == "claim_proved"
    assert worth["handoff.recorded"] is None
    assert told["not_proved"] == 0
    returned = next(one for one in told["events"] if one["kind"] == "handoff.returned")
    checked = next(one for one in told["events"] if one["kind"] == "handoff.checked")
    assert returned["answered_by"] == checked["event"]


def test_a_claim_that_nobody_proved_stands_as_one(walked: Walked) -> None:
    shutil.rmtree(walked.workspace / "agents")
    assert walked.call("handoff", "check", walked.handoff).code == 4
    told = walked.call("timeline", "--json").object
    returned = next(one for one in told["events"] if one["kind"] == "handoff.returned")
    assert returned["worth"] == "claim_refuted"
    assert told["not_proved"] == 2  # the dispatch and the return
    assert "2 claims are not proved." in walked.call("timeline").out


def test_the_timeline_can_begin_later(walked: Walked) -> None:
    every = walked.call("timeline", "--json").object["events"]
    assert walked.call("timeline", "--json", "--count", "3").object["events"] == every[-3:]
    assert walked.call("timeline", "--json", "--since", every[-2]["at"]).object["events"] == every[-2:]
    ahead = instant(system_clock() + timedelta(days=2))
    assert walked.call("timeline", "--json", "--since", ahead).object["events"] == []
    assert walked.call("timeline", "--json", "--since", "2d").object["events"] == every
    assert walked.call("timeline", "--since", "yesterday").code == 2


def test_stopped_it_tells_what_was_read(walked: Walked, monkeypatch: pytest.MonkeyPatch) -> None:
    from muniment.handoff.subject import HandoffSubject

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HandoffSubject, "verify", stop)
    answer = walked.call("verify", "--all", "--json")
    assert answer.code == 130
    assert answer.object["stopped"] is True and answer.object["good"] is False
    assert {one["reference"] for one in answer.object["verified"]} == {"ledger", walked.report, walked.notes}
    shown = walked.call("verify", "--all")
    assert shown.code == 130
    assert "3 were read again: 3 as recorded" in shown.out and "was not read" in shown.out


def test_several_things_can_be_named(walked: Walked) -> None:
    assert walked.verify("ledger", walked.job, "vault") == {
        "ledger": "good",
        walked.job: "good",
        "vault": "good",
    }
    assert walked.call("verify").code == 2
    assert walked.call("verify", "--all", "ledger").code == 2
    # nothing is read when one of them is not understood
    assert walked.call("verify", "ledger", "nosuch", "--json").object["error"] == "NO_REFERENCE"


def test_a_path_in_the_archive_is_its_deliverable(walked: Walked) -> None:
    place = walked.archived("notes").relative_to(walked.workspace)
    assert walked.verify(str(place)) == {walked.notes: "good"}
    assert walked.verify(str(place / "one.md")) == {walked.notes: "good"}


def test_files_and_folders_carry_their_own_proof(walked: Walked) -> None:
    copy, tar = walked.place / "ledger-copy", walked.place / "snapshot.tar.gz"
    try:
        assert walked.call("ledger", "export", str(copy)).code == 0
        assert walked.call("backup", "fetch", walked.newer, "--output", str(tar)).code == 0
        assert walked.verify(str(copy), str(tar)) == {str(copy): "good", str(tar): "good"}
        lines = (copy / "ledger.jsonl").read_bytes().splitlines(keepends=True)
        (copy / "ledger.jsonl").write_bytes(b"".join(lines[:-1]))
        data = bytearray(tar.read_bytes())
        middle = len(data) // 2  # one bit of a deflated stream can be another and still give the same bytes
        data[middle - 32 : middle + 32] = bytes(64)
        tar.write_bytes(bytes(data))
        assert walked.verify(str(copy), str(tar)) == {str(copy): "bad", str(tar): "bad"}
        walked.workspace.joinpath("plain.txt").write_text("no proof in here")
        assert walked.call("verify", "plain.txt", "--json").object["error"] == "NOTHING_TO_VERIFY"
    finally:
        shutil.rmtree(copy, ignore_errors=True)
        tar.unlink(missing_ok=True)


def test_an_exported_handoff_is_judged_by_its_room(walked: Walked, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    assert walked.call("handoff", "export", walked.handoff, str(proof)).code == 0
    answer = walked.call("verify", str(proof), "--json")
    assert answer.code == 0 and answer.object["complete"] is True
    among_others = walked.call("verify", str(proof), "ledger", "--json").object
    assert among_others["error"] == "USAGE" and "judged alone" in among_others["why"]


def test_every_room_keeps_the_form_of_a_subject(walked: Walked) -> None:
    house = House(workspace=None, environment=walked.environment, note=lambda message: None)
    found = house.subjects()
    assert [one.prefix for one in found] == ["arc_", "ho_", "job:", "bk_"]
    for one in found:
        every = list(one.references())
        assert [verdict.reference for verdict in one.verify(every)] == every
        assert all(reference.startswith(one.prefix) for reference in every)
        assert list(one.find(subject.Sought("there is nothing of this name"))) == []
    house.close()


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_people_read_it_in_their_language(walked: Walked, language: str) -> None:
    shown = walked.call("verify", "--all", "--lang", language).out
    assert walked.handoff in shown
    assert {"en": "8 were read again: 8 as recorded", "zh-CN": "重新读取了 8 项：8 项与记录一致"}[
        language
    ] in shown
