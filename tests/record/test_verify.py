"""The ledger: a whole reading finds any change of any byte; a witness finds what a chain can not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.record.ledgers import START, ZEROS, Desk, chained, digest_in, draft, lay, sealed, spelled

from muniment.disk import write
from muniment.disk.root import Root
from muniment.path import RelPath
from muniment.record.damage import AFTER_DAMAGE, FINDINGS_KEPT, Finding, naming
from muniment.record.errors import LedgerDamaged
from muniment.record.event import LINE_LIMIT, Draft
from muniment.record.ledger import Ledger
from muniment.record.segments import count_lines, lines_of, read_tail
from muniment.record.verify import Verdict, name_damage, verify
from muniment.record.witness import Witness, bear_witness

ROOT_ID = "01KDVDNA0000000000000000RT"
OTHER_ROOT = "01KDVDNA000000000000000000"


def test_a_sound_ledger(desk: Desk) -> None:
    events = desk.fill(9, desk.ledger(segment_bytes=900))
    verdict = desk.verify()
    assert verdict == Verdict(
        events=9,
        lines=9,
        segments=len(desk.segments),
        bytes=sum(path.stat().st_size for path in desk.segments),
        head=events[-1].sha256,
        last_event_id=events[-1].event_id,
    )
    assert verdict.whole and len(desk.segments) > 3


def test_no_ledger_is_whole_and_is_not_made(desk: Desk) -> None:
    assert desk.verify() == Verdict()
    assert not desk.folder.exists()


def test_any_byte_changed_anywhere_is_found(swift: Desk) -> None:
    """Over three segments: each byte made another, in several ways, and each byte left out."""
    events = swift.fill(3, swift.ledger(segment_bytes=500))
    assert len(swift.segments) == 3
    for path in swift.segments:
        sound = path.read_bytes()
        for at, byte in enumerate(sound):
            for other in {byte ^ 1, 0, 0x0A, 0xFF} - {byte}:
                path.write_bytes(sound[:at] + bytes([other]) + sound[at + 1 :])
                assert not swift.verify().whole, (path.name, at, other)
            path.write_bytes(sound[:at] + sound[at + 1 :])
            assert not swift.verify().whole, (path.name, at)
        path.write_bytes(sound)
    assert swift.verify().head == events[-1].sha256


@given(st.data())
def test_any_bytes_put_anywhere_are_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = tmp_path_factory.getbasetemp() / "put"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with Root.open(place) as root:
        desk = Desk(root)
        lay(desk, LINES[:3], LINES[3:])
        assert desk.verify().whole
        path = data.draw(st.sampled_from(desk.segments))
        sound = path.read_bytes()
        at = data.draw(st.integers(0, len(sound)))
        until = data.draw(st.integers(at, len(sound)))
        more = data.draw(st.binary(max_size=30) | st.sampled_from([line + b"\n" for line in LINES]))
        changed = sound[:at] + more + sound[until:]
        path.write_bytes(changed)
        verdict = desk.verify()
        # Nothing changed, or whole records were cut off the end: that is what witnesses are for.
        whole_records = not changed or changed.endswith(b"\n")
        holds = changed == sound or (
            path == desk.segments[-1] and sound.startswith(changed) and whole_records
        )
        assert verdict.whole == holds


LINES = chained(6)


# What has a fitting hash and is still no record of this ledger.

FORGED: dict[str, tuple[list[bytes], str]] = {
    "rewritten": ([*LINES[:2], sealed(digest_in(LINES[1]), subject="arc_x"), *LINES[3:]], "continue"),
    "left out": ([*LINES[:2], *LINES[3:]], "continue"),
    "twice": ([*LINES[:3], LINES[2], *LINES[3:]], "continue"),
    "exchanged": ([LINES[0], LINES[2], LINES[1], *LINES[3:]], "continue"),
    "beginning anew": ([*LINES[:3], *chained(2)], "continue"),
    "beginning anew after damage, but not in a new segment": (
        [*LINES[:3], *chained(1, kind=AFTER_DAMAGE), *LINES[3:]],
        "continue",
    ),
    "not from the beginning": (LINES[1:], "continue"),
    "another member": ([*LINES[:2], sealed(digest_in(LINES[1]), more=1), *LINES[3:]], "members"),
    "another version": ([*LINES[:2], sealed(digest_in(LINES[1]), v=2), *LINES[3:]], "version"),
    "a version with a fraction": ([*LINES[:2], sealed(digest_in(LINES[1]), v=1.0), *LINES[3:]], "canonical"),
    "a version that is true": ([*LINES[:2], sealed(digest_in(LINES[1]), v=True), *LINES[3:]], "version"),
    "an id that is none": ([*LINES[:2], sealed(digest_in(LINES[1]), event_id="x"), *LINES[3:]], "type"),
    "a subject of another type": ([*LINES[:2], sealed(digest_in(LINES[1]), subject=1), *LINES[3:]], "type"),
    "evidence that is no object": (
        [*LINES[:2], sealed(digest_in(LINES[1]), evidence=[]), *LINES[3:]],
        "object",
    ),
    "context that is no object": (
        [*LINES[:2], sealed(digest_in(LINES[1]), context=None), *LINES[3:]],
        "object",
    ),
    "an integer nobody reads exactly": (
        [*LINES[:2], sealed(digest_in(LINES[1]), evidence={"n": 2**53}), *LINES[3:]],
        "canonical",
    ),
    "spelled with escapes": (
        [*LINES[:2], LINES[2].replace(b"test.happened", b"test\\u002ehappened"), *LINES[3:]],
        "canonical",
    ),
    "no object": ([*LINES[:2], b"[]", *LINES[3:]], "members"),
    "an empty line": ([*LINES[:2], b"", *LINES[3:]], "JSON"),
    "too long": (
        [*LINES[:2], sealed(digest_in(LINES[1]), evidence={"text": "x" * LINE_LIMIT}), *LINES[3:]],
        "longer",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_fitting_hash_alone_makes_no_record(desk: Desk, name: str) -> None:
    lines, why = FORGED[name]
    lay(desk, lines)
    verdict = desk.verify()
    assert not verdict.whole
    assert why in verdict.findings[0].why


def test_one_fault_is_one_finding(desk: Desk) -> None:
    lay(desk, [*LINES[:2], b"bad", *LINES[3:]])
    (finding,) = desk.verify().findings
    assert finding == Finding("000001.jsonl", 3, len(b"\n".join(LINES[:2])) + 1, finding.why)


def test_a_broken_link_does_not_excuse_the_next_one(desk: Desk) -> None:
    lay(desk, [LINES[0], LINES[2], LINES[4]])
    assert [finding.line for finding in desk.verify().findings] == [2, 3]


def test_a_bad_end_of_a_segment_is_found_though_the_next_one_begins(desk: Desk) -> None:
    lay(desk, [*LINES[:2], b"bad"], LINES[3:])
    assert [finding.place for finding in desk.verify().findings] == [
        ("000001.jsonl", len(b"\n".join(LINES[:2])) + 1)
    ]


def test_a_torn_end_is_called_torn_only_where_the_next_writer_sets_it_aside(desk: Desk) -> None:
    lay(desk, b"\n".join(LINES[:2]) + b"\ntorn", b"\n".join(LINES[2:4]) + b"\ntorn")
    assert [(finding.segment, finding.torn) for finding in desk.verify().findings] == [
        ("000001.jsonl", False),
        ("000002.jsonl", True),
    ]


def test_very_many_faults_are_counted_and_only_the_first_kept(desk: Desk) -> None:
    lay(desk, [LINES[0], *[b"x"] * (3 * FINDINGS_KEPT), *LINES[1:3]])
    verdict = desk.verify()
    assert verdict.faults == 3 * FINDINGS_KEPT and len(verdict.findings) == FINDINGS_KEPT
    event = name_damage(desk.ledger(), verdict)
    assert event is not None and event.evidence["count"] == FINDINGS_KEPT
    desk.fill(1)
    assert name_damage(desk.ledger(), desk.verify()) is None


# Segments.


@pytest.mark.parametrize(
    ("gone", "first", "why"),
    [
        ([1], 1, "it is missing"),
        ([2], 2, "it is missing"),
        ([2, 3], 2, "it and those before 000004 are missing"),
        ([1, 2, 3], 1, "it and those before 000004 are missing"),
    ],
)
def test_missing_segments_are_found_and_named_once(desk: Desk, gone: list[int], first: int, why: str) -> None:
    lay(desk, LINES[:1], LINES[1:3], LINES[3:4], LINES[4:])
    for number in gone:
        (desk.folder / f"{number:06}.jsonl").unlink()
    verdict = desk.verify()
    assert verdict.findings == [Finding(f"{first:06}.jsonl", 0, 0, why)]
    assert name_damage(desk.ledger(), verdict) is not None
    assert desk.segments[-1].name == "000005.jsonl"
    desk.fill(1)
    again = desk.verify()
    assert again.findings == verdict.findings and again.named_damage == 1
    assert name_damage(desk.ledger(), again) is None


def test_two_gaps_are_two_findings(desk: Desk) -> None:
    lay(desk, *[[line] for line in LINES])
    for number in (2, 4):
        (desk.folder / f"{number:06}.jsonl").unlink()
    assert [finding.segment for finding in desk.verify().findings] == ["000002.jsonl", "000004.jsonl"]


def test_an_emptied_segment_is_found(desk: Desk) -> None:
    lay(desk, LINES[:2], b"", LINES[3:])
    assert [finding.place for finding in desk.verify().findings] == [("000003.jsonl", 0)]


def test_an_end_cut_off_in_the_middle_of_the_ledger_is_found(desk: Desk) -> None:
    lay(desk, LINES[:2], LINES[3:])
    assert [finding.place for finding in desk.verify().findings] == [("000002.jsonl", 0)]


@pytest.mark.parametrize(
    "name", ["0000001.jsonl", "00001.jsonl", "000001.json", "\u0660" * 5 + "\u0661.jsonl", "x"]
)
def test_other_names_are_no_segments(desk: Desk, name: str) -> None:
    lay(desk, LINES)
    (desk.folder / name).write_bytes(b"bad\n")
    assert desk.verify().whole
    desk.fill(1)
    assert len(desk.segments) == 1


def test_a_segment_numbered_nought_is_not_the_first(desk: Desk) -> None:
    lay(desk, LINES)
    (desk.folder / "000000.jsonl").write_bytes(b"")
    assert not desk.verify().whole


# Damage and its name.


def test_a_name_is_no_excuse(desk: Desk) -> None:
    """A segment after damage names one fault; another, which nobody named, is found as ever."""
    lay(desk, [*LINES[:2], b"bad", *LINES[3:]])
    name_damage(desk.ledger(), desk.verify())
    desk.fill(2)
    path = desk.segments[0]
    path.write_bytes(path.read_bytes().replace(LINES[4], b"worse"))
    verdict = desk.verify()
    assert [finding.line for finding in verdict.findings] == [3, 5]
    event = name_damage(desk.ledger(), verdict)
    assert event is not None
    assert [one["offset"] for one in event.evidence["damage"]] == [verdict.findings[1].offset]
    assert desk.verify().named_damage == 2 and len(desk.segments) == 3


def test_a_ledger_that_names_damage_is_never_whole_again(desk: Desk) -> None:
    """Not even when the bad record is put right: somebody changed what was written."""
    lay(desk, [*LINES[:2], b"bad", *LINES[3:]])
    name_damage(desk.ledger(), desk.verify())
    lay(desk, LINES)
    verdict = desk.verify()
    assert not verdict.findings and verdict.named_damage == 1 and not verdict.whole


def test_only_the_right_kind_begins_a_new_chain(desk: Desk) -> None:
    lay(desk, LINES[:3], chained(2))
    assert [finding.place for finding in desk.verify().findings] == [("000002.jsonl", 0)]
    lay(desk, LINES[:3], chained(2, prev="1" * 64, kind=AFTER_DAMAGE))
    assert [finding.place for finding in desk.verify().findings] == [("000002.jsonl", 0)]
    lay(desk, LINES[:3], chained(1, kind=AFTER_DAMAGE))
    verdict = desk.verify()
    assert not verdict.findings and verdict.named_damage == 1 and not verdict.whole


def test_naming_nothing_writes_nothing(desk: Desk) -> None:
    lay(desk, LINES)
    assert name_damage(desk.ledger(), desk.verify()) is None
    (desk.folder / "000001.jsonl").write_bytes(b"\n".join(LINES[:2]) + b"\ntorn")
    before = {path: path.read_bytes() for path in desk.segments}
    assert name_damage(desk.ledger(), desk.verify()) is None
    assert {path: path.read_bytes() for path in desk.segments} == before


def test_naming_sets_a_torn_end_aside_first(desk: Desk) -> None:
    lay(desk, b"\n".join([LINES[0], b"bad", LINES[2], LINES[3], b"torn"]))
    event = name_damage(desk.ledger(), desk.verify())
    assert event is not None and len(event.evidence["damage"]) == 1
    assert list(desk.torn.values()) == [b"torn"]
    verdict = desk.verify()
    assert [finding.line for finding in verdict.findings] == [2] and verdict.repaired == 1


def test_damage_at_the_end_and_further_up_is_named_together(desk: Desk) -> None:
    lay(desk, [b"bad", *LINES[1:4], b"bad", LINES[5]])
    event = name_damage(desk.ledger(), desk.verify())
    assert event is not None
    assert sorted(one["offset"] for one in event.evidence["damage"]) == [
        0,
        len(b"\n".join([b"bad", *LINES[1:4]])) + 1,
    ]
    assert len(desk.segments) == 2
    assert name_damage(desk.ledger(), desk.verify()) is None


def test_naming_uses_an_empty_segment_that_waits(desk: Desk) -> None:
    lay(desk, [b"bad", *LINES[1:]], b"")
    assert name_damage(desk.ledger(), desk.verify()) is not None
    assert [path.name for path in desk.segments] == ["000001.jsonl", "000002.jsonl"]


def test_the_words_of_damage_fit_into_a_record(desk: Desk) -> None:
    worst = [Finding.at("000001.jsonl", 1, 2**50 + at, "\U0001f600" * 300) for at in range(2 * FINDINGS_KEPT)]
    event = desk.ledger().append(naming(worst))
    assert event.evidence["count"] == 2 * FINDINGS_KEPT and len(event.evidence["damage"]) == FINDINGS_KEPT


# Witnesses.


def seen(desk: Desk, root_id: str = ROOT_ID) -> Witness:
    return bear_witness(desk.ledger(), root_id)


def test_a_witness_is_what_a_whole_reading_would_say(desk: Desk) -> None:
    ledger = desk.ledger(segment_bytes=900)
    witnesses = [seen(desk)]
    assert witnesses == [Witness(ROOT_ID, 0, ZEROS, "", "")]
    for number in range(8):
        event = ledger.append(draft(number))
        assert seen(desk) == Witness(ROOT_ID, number + 1, event.sha256, event.event_id, event.at)
        witnesses.append(seen(desk))
    verdict = desk.verify(witnesses=reversed(witnesses))
    assert verdict.whole and verdict.newest_witness == witnesses[-1]
    assert [Witness.from_json(json.loads(spelled(one.to_json()))) for one in witnesses] == witnesses


def test_whole_records_cut_off_leave_a_chain_that_holds_and_a_witness_against_it(desk: Desk) -> None:
    """However many are cut off, over segments, a witness of more than is left contradicts."""
    ledger = desk.ledger(segment_bytes=900)
    witnesses = [seen(desk)]
    for number in range(7):
        ledger.append(draft(number))
        witnesses.append(seen(desk))
    records = b"".join(path.read_bytes() for path in desk.segments).splitlines(keepends=True)
    sizes = [len(path.read_bytes().splitlines()) for path in desk.segments]
    for left in range(7):
        start, segments = 0, []
        for size in sizes:
            segments.append(b"".join(records[start : min(start + size, left)]))
            start += size
        shutil.rmtree(desk.folder)
        lay(desk, *[each for each in segments if each])
        assert desk.verify().whole
        verdict = desk.verify(witnesses=witnesses)
        assert not verdict.whole and not verdict.findings
        assert verdict.contradicted == witnesses[left + 1 :]
        assert verdict.newest_witness == witnesses[-1]


def test_records_replaced_by_a_sound_chain_are_contradicted(desk: Desk) -> None:
    lay(desk, LINES)
    witness = seen(desk)
    lay(desk, [*LINES[:4], *chained(2, prev=digest_in(LINES[3]), actor="somebody else")])
    assert desk.verify().whole
    verdict = desk.verify(witnesses=[witness])
    assert verdict.contradicted == [witness] and not verdict.whole


def test_two_witnesses_that_disagree_can_not_both_hold(desk: Desk) -> None:
    lay(desk, LINES)
    honest = seen(desk)
    liar = replace(honest, head="f" * 64)
    assert desk.verify(witnesses=[liar, honest]).contradicted == [liar]
    nothing = replace(honest, count=0)
    assert desk.verify(witnesses=[nothing]).contradicted == [nothing]


def test_a_witness_of_another_workspace_says_nothing_of_this_one(desk: Desk) -> None:
    lay(desk, LINES)
    own, other = seen(desk), Witness(OTHER_ROOT, 99, "f" * 64, OTHER_ROOT, "")
    verdict = desk.verify(witnesses=[own, other], root_id=ROOT_ID)
    assert verdict.whole and verdict.foreign == [other] and verdict.newest_witness == own
    assert desk.verify(witnesses=[own, other]).contradicted == [other]


def test_damage_further_up_does_not_make_a_witness_a_liar(desk: Desk) -> None:
    """Its count is one of lines: the place it speaks of is still the same."""
    lay(desk, LINES)
    witness = seen(desk)
    lay(desk, [LINES[0], b"bad", *LINES[2:]])
    verdict = desk.verify(witnesses=[witness])
    assert not verdict.whole and not verdict.contradicted
    lay(desk, [*LINES[:5], b"bad"], b"")
    assert desk.verify(witnesses=[witness]).contradicted == [witness]


def test_a_witness_sees_no_end_that_will_be_set_aside(desk: Desk) -> None:
    lay(desk, LINES)
    before = seen(desk)
    for end in (b"torn", b"bad\n", LINES[-1][:-1], bytes(50)):
        lay(desk, b"\n".join(LINES) + b"\n" + end)
        assert seen(desk) == before
    desk.fill(1)
    verdict = desk.verify(witnesses=[before])
    assert verdict.whole and verdict.repaired == 1


def test_nobody_bears_witness_to_a_bad_end(desk: Desk) -> None:
    lay(desk, b"\n".join([*LINES[:3], b"bad", b"torn"]))
    with pytest.raises(LedgerDamaged):
        seen(desk)
    desk.fill(1)
    assert desk.verify(witnesses=[seen(desk)]).contradicted == []


GOOD = Witness(ROOT_ID, 3, "a" * 64, OTHER_ROOT, "2026-11-30T14:28:00.000000Z").to_json()
BAD_WITNESSES: list[object] = [
    None,
    [],
    {},
    {**GOOD, "v": 2},
    {**GOOD, "more": 1},
    {key: GOOD[key] for key in GOOD if key != "at"},
    {**GOOD, "count": -1},
    {**GOOD, "count": True},
    {**GOOD, "count": 1.0},
    {**GOOD, "count": "1"},
    {**GOOD, "head": "A" * 64},
    {**GOOD, "head": "a" * 64 + "\n"},
    {**GOOD, "head": None},
    {**GOOD, "root_id": "x"},
    {**GOOD, "root_id": None},
    {**GOOD, "event_id": ""},
    {**GOOD, "event_id": "x"},
    {**GOOD, "at": 1},
]


@pytest.mark.parametrize("value", BAD_WITNESSES, ids=range(len(BAD_WITNESSES)))
def test_what_travels_as_a_witness_and_is_none(value: object) -> None:
    assert Witness.from_json(GOOD).count == 3
    with pytest.raises(ValueError):
        Witness.from_json(value)


# Reading at one moment.


def test_a_reading_stays_within_what_was_there_when_it_began(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torn end is set aside and written over between the look at the end and the reading."""
    lay(desk, b"\n".join(LINES) + b"\n" + LINES[0][:100])
    ledger = desk.ledger()
    real = Ledger.extent

    def extent(self: Ledger) -> object:
        found = real(self)
        desk.fill(5, desk.ledger(segment_bytes=len(b"\n".join(LINES)) + 800))
        return found

    monkeypatch.setattr(Ledger, "extent", extent)
    verdict = verify(ledger)
    assert [finding.torn for finding in verdict.findings] == [True]
    assert verdict.events == len(LINES) and verdict.head == digest_in(LINES[-1])
    monkeypatch.undo()
    assert desk.verify().whole


# The tail and the count of a segment, against a naive reading.

contents = st.lists(st.binary(max_size=5).map(lambda raw: raw.replace(b"\n", b"")), max_size=8).map(
    b"\n".join
)


@pytest.fixture(scope="module")
def scrap(tmp_path_factory: pytest.TempPathFactory) -> Iterable[Desk]:
    """A place that the examples of a property use one after the other."""
    with Root.open(tmp_path_factory.mktemp("scrap")) as root:
        yield Desk(root)


@given(content=contents, count=st.integers(1, 4), block=st.integers(1, 7))
def test_the_tail_of_any_bytes(scrap: Desk, content: bytes, count: int, block: int) -> None:
    lay(scrap, content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("muniment.record.segments._BLOCK", block)
        tail = read_tail(scrap.root, scrap.ledger().folder / "000001.jsonl", count)
    *whole, rest = content.split(b"\n")
    assert [line.data for line in tail.lines] == whole[-count:]
    assert content[tail.rest_offset :] == rest and tail.torn == bool(rest)
    assert [content[line.offset : line.end] for line in tail.lines] == [
        line + b"\n" for line in whole[-count:]
    ]


@given(content=contents, chunk=st.integers(1, 7), cut=st.integers(0, 40))
def test_the_lines_of_any_bytes(scrap: Desk, content: bytes, chunk: int, cut: int) -> None:
    lay(scrap, content)
    rel, end = scrap.ledger().folder / "000001.jsonl", min(cut, len(content))
    whole = content[:end].count(b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "CHUNK", chunk)
        count, begin = count_lines(scrap.root, rel, end)
    lines = list(lines_of(scrap.root, rel, end=end))
    assert b"".join(line.data + b"\n" * line.ended for line in lines) == content[:end]
    assert all(b"\n" not in line.data for line in lines)
    assert [line.ended for line in lines[:whole]] == [True] * whole
    assert len(lines) == count == whole + (content[:end] != b"" and not content[:end].endswith(b"\n"))
    if lines:
        assert begin == lines[-1].offset


def test_a_ledger_may_lie_in_any_folder(tmp_path: Path) -> None:
    """Elsewhere than in a workspace, as in a copy that is checked."""
    with Root.open(tmp_path) as root:
        ledger = Ledger(root, RelPath.parse("copied/here"), clock=lambda: START)
        event = ledger.append(Draft("test.happened", "a"))
        verdict = verify(ledger)
    assert verdict.whole and (verdict.events, verdict.head) == (1, event.sha256)
