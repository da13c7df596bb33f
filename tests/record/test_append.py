"""The ledger: appending, its chain, its segments, and what a refused append leaves (spec 0, ledger)."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.record.ledgers import START, ZEROS, Desk, Ticking, digest_in, draft, lay, sealed, spelled

from muniment.canonical import Json, NotJson
from muniment.disk import platform
from muniment.disk.errors import DiskFault, NoSpace, ReadbackFailed
from muniment.errors import MunimentError
from muniment.record.errors import EventTooLarge, NotInLedger
from muniment.record.event import LINE_LIMIT, Context, Draft, read_line, seal


def test_a_record_is_what_the_format_says(desk: Desk) -> None:
    context = Context(session="s", handoff_id="ho_1", job_id=None)
    event = desk.ledger(context=context).append(Draft("archive.kept", "arc_1", {"a": ["é", None, True]}))
    (record,) = desk.records
    digest = record.pop("sha256")
    assert record == {
        "v": 1,
        "event_id": event.event_id,
        "at": event.at,
        "actor": "test",
        "kind": "archive.kept",
        "subject": "arc_1",
        "context": {"session": "s", "handoff_id": "ho_1", "job_id": None},
        "evidence": {"a": ["é", None, True]},
        "prev": ZEROS,
    }
    assert digest == hashlib.sha256(spelled(record)).hexdigest() == event.sha256
    (path,) = desk.segments
    assert path.name == "000001.jsonl"
    assert path.read_bytes() == spelled({**record, "sha256": digest}) + b"\n"
    assert event.at == "2026-11-30T14:28:00.007000Z"


def test_only_the_owner_may_look_inside(desk: Desk) -> None:
    desk.fill(1)
    assert desk.folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in desk.folder.iterdir())


def test_each_record_continues_the_one_before_over_segments(desk: Desk) -> None:
    events = desk.fill(20, desk.ledger(segment_bytes=900))
    assert len(desk.segments) > 5
    prev = ZEROS
    for record, event in zip(desk.records, events, strict=True):
        assert (record["prev"], record["sha256"]) == (prev, event.sha256)
        prev = event.sha256
    assert all(path.stat().st_size <= 900 for path in desk.segments)
    assert desk.verify().whole


def test_a_record_larger_than_a_segment_has_one_of_its_own(desk: Desk) -> None:
    ledger = desk.ledger(segment_bytes=900)
    desk.fill(1, ledger)
    ledger.append(draft(1, text="x" * 2000))
    desk.fill(1, ledger)
    assert [len(path.read_bytes().splitlines()) for path in desk.segments] == [1, 1, 1]
    assert desk.verify().whole


def test_a_batch_is_one_write_and_stays_together(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    real = os.write

    def write(fd: int, data: bytes) -> int:
        written.append(len(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    ledger = desk.ledger(segment_bytes=2000)
    desk.fill(1, ledger)
    events = ledger.append_many([draft(number) for number in range(40)])
    assert len(written) == 2
    assert [event.subject for event in events] == [f"arc_{number}" for number in range(40)]
    assert [len(path.read_bytes().splitlines()) for path in desk.segments] == [1, 40]
    assert len({event.event_id for event in events}) == 40
    assert desk.verify().whole


def test_no_events_touch_nothing(desk: Desk) -> None:
    assert desk.ledger().append_many([]) == []
    assert not desk.folder.exists()


@pytest.mark.parametrize("step", [timedelta(0), -timedelta(days=400)], ids=["standing still", "backwards"])
def test_the_order_of_the_ledger_is_not_the_clock_s(desk: Desk, step: timedelta) -> None:
    events = desk.fill(5, desk.ledger(clock=Ticking(step=step)))
    assert [record["subject"] for record in desk.records] == [event.subject for event in events]
    assert len({event.event_id for event in events}) == 5
    assert desk.verify().whole
    assert [event.sha256 for event in desk.ledger().events()] == [event.sha256 for event in events]


def test_two_ledgers_in_one_process_share_one_chain(desk: Desk) -> None:
    one, other = desk.ledger(), desk.ledger()
    for number in range(10):
        (one if number % 2 else other).append(draft(number))
    verdict = desk.verify()
    assert verdict.whole and verdict.events == 10


# Sizes.


def padding_for(size: int) -> int:
    """How long a text makes a line of so many bytes, its newline included."""
    return size - len(sealed(evidence={"number": 0, "text": ""}, subject="arc_0")) - 1


@pytest.mark.parametrize("short", [0, 1])
def test_a_record_of_the_greatest_length(desk: Desk, short: int) -> None:
    ledger = desk.ledger(segment_bytes=64 << 20)
    desk.fill(1, ledger)
    ledger.append(draft(text="x" * (padding_for(LINE_LIMIT) - short)))
    assert len(desk.segments[0].read_bytes().splitlines()[1]) + 1 == LINE_LIMIT - short
    desk.fill(1, ledger)
    verdict = desk.verify()
    assert verdict.whole and verdict.events == 3
    assert [event.subject for event in ledger.last(3)] == ["arc_0"] * 3


def test_a_record_one_byte_longer_is_refused_and_nothing_is_written(desk: Desk) -> None:
    ledger = desk.ledger(segment_bytes=64 << 20)
    desk.fill(1, ledger)
    before = desk.segments[0].read_bytes()
    with pytest.raises(EventTooLarge) as caught:
        ledger.append_many([draft(), draft(text="x" * (padding_for(LINE_LIMIT) + 1)), draft()])
    assert caught.value.facts == {"size": LINE_LIMIT + 1, "limit": LINE_LIMIT}
    assert desk.segments[0].read_bytes() == before


ULID = "01KDVDNA000000000000000000"
UNWRITABLE: list[Any] = [math.nan, 2**53, 2.0**60, "\udcff", b"", {1: 1}]


@pytest.mark.parametrize("value", UNWRITABLE, ids=range(len(UNWRITABLE)))
def test_what_json_can_not_hold_is_refused_and_nothing_is_written(desk: Desk, value: Any) -> None:
    desk.fill(1)
    with pytest.raises(NotJson):
        desk.ledger().append_many([draft(), draft(value=value)])
    assert len(desk.records) == 1
    desk.fill(1)
    assert desk.verify().whole


# A disk that fails.


def failing(name: str, number: int, fault: int) -> tuple[Callable[..., Any], list[int]]:
    """A call that fails at its so-and-so-manieth time, and how often it was made."""
    real, calls = getattr(os, name), [0]

    def call(*args: Any, **kwargs: Any) -> Any:
        # The root's own folder, opened again, is the business of `disk`.
        calls[0] += args[0] != "."
        if calls[0] == number and args[0] != ".":
            raise OSError(fault, os.strerror(fault))
        return real(*args, **kwargs)

    return call, calls


CALLS = ("open", "write", "fdatasync", "fsync", "pread", "mkdir", "listdir", "stat", "fstat")
REPAIRING = ("ftruncate", "rename")
"""What is called only where an end is torn."""

FEW = 12
"""Of so many appends one begins a segment, and makes all the calls that there are."""


@pytest.mark.parametrize("fault", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize(
    ("name", "end"), [*((name, b"") for name in CALLS), *((name, b'{"begun') for name in CALLS + REPAIRING)]
)
def test_a_fault_at_any_call_leaves_all_that_was_acknowledged(
    swift: Desk, monkeypatch: pytest.MonkeyPatch, name: str, fault: int, end: bytes
) -> None:
    ledger = swift.ledger(segment_bytes=2000)
    acknowledged = [event.event_id for event in swift.fill(4, ledger)]

    def append(number: int) -> int:
        """One append with a fault at a call; gives how many calls it made, and holds what must hold."""
        shutil.rmtree(swift.folder / "torn", ignore_errors=True)
        with swift.segments[-1].open("ab") as stream:
            stream.write(end)
        with monkeypatch.context() as patch:
            call, calls = failing(name, number, fault)
            patch.setattr(os, name, call)
            try:
                acknowledged.append(ledger.append(draft(number)).event_id)
            except MunimentError as error:
                assert calls[0] >= number
                assert isinstance(error, NoSpace if fault == errno.ENOSPC else DiskFault), error
        acknowledged.append(ledger.append(draft(-number)).event_id)
        verdict = swift.verify()
        assert verdict.whole, (number, verdict.findings)
        there = [record["event_id"] for record in swift.records]
        assert [each for each in there if each in set(acknowledged)] == acknowledged
        return calls[0]

    most = max(append(1_000_000) for _ in range(FEW))
    assert most > 0
    for number in range(1, most + 1):
        assert any(append(number) >= number for _ in range(FEW)), f"call {number} of {most} was never made"


def test_a_short_write_is_cut_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = desk.ledger()
    desk.fill(2, ledger)
    before = desk.segments[0].read_bytes()
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: real(fd, data[: len(data) // 2]))
        with pytest.raises(NoSpace):
            ledger.append_many([draft(1), draft(2)])
    assert desk.segments[0].read_bytes() == before
    desk.fill(1, ledger)
    assert desk.verify().whole and desk.verify().repaired == 0


def test_bytes_that_are_read_back_otherwise_are_not_acknowledged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = desk.ledger()
    desk.fill(2, ledger)
    real = platform.sync_data

    def lose(fd: int) -> None:
        real(fd)
        path = desk.segments[0]
        path.write_bytes(path.read_bytes().replace(b"arc_77", b"arc_78"))

    with monkeypatch.context() as patch:
        patch.setattr(platform, "sync_data", lose)
        with pytest.raises(ReadbackFailed):
            ledger.append(draft(77))


# Reading.


def test_the_newest(desk: Desk) -> None:
    ledger = desk.ledger(segment_bytes=900)
    events = desk.fill(10, ledger)
    ids = [event.event_id for event in events]
    for count in (1, 2, 3, 9, 10, 11, 1000):
        assert [event.event_id for event in ledger.last(count)] == ids[-count:]
    assert ledger.last(0) == [] and ledger.last(-1) == []
    assert desk.ledger().last(1)[0] == events[-1]


def test_the_newest_of_an_empty_ledger(desk: Desk) -> None:
    assert desk.ledger().last(5) == []
    assert list(desk.ledger().events()) == []


def test_bad_lines_do_not_make_a_gap_in_the_newest(desk: Desk) -> None:
    lines = [sealed(subject=f"arc_{number}") for number in range(8)]
    lay(desk, [b"older"], [*lines[:4], b"bad", b"", *lines[4:7], b"bad", lines[7]])
    assert [event.subject for event in desk.ledger().last(6)] == [f"arc_{number}" for number in range(2, 8)]


def test_an_event_is_found_by_its_whole_id(desk: Desk) -> None:
    ledger = desk.ledger(segment_bytes=900)
    events = desk.fill(6, ledger)
    ledger.append(draft(6, of=events[3].event_id))
    for event in events:
        assert ledger.find(event.event_id) == event
    other = events[0].event_id[:-1] + ("0" if events[0].event_id[-1] != "0" else "1")
    for wrong in (
        other,
        "",
        events[0].event_id[:-1],
        events[0].event_id.lower(),
        "\udcff",
        "\0",
        "test.happened",
    ):
        with pytest.raises(NotInLedger) as caught:
            ledger.find(wrong)
        str(caught.value).encode("utf-8")


def test_reading_goes_on_from_a_place(desk: Desk) -> None:
    ledger = desk.ledger(segment_bytes=900)
    desk.fill(7, ledger)
    placed = list(ledger.read())
    for number, one in enumerate(placed):
        assert [each.event for each in ledger.read((one.segment, one.offset))] == [
            each.event for each in placed[number:]
        ]
        line = desk.segments[one.segment - 1].read_bytes()[one.offset :].split(b"\n")[0]
        assert digest_in(line) == one.event.sha256


def test_only_lines_that_hold_something(desk: Desk) -> None:
    ledger = desk.ledger()
    desk.fill(12, ledger)
    assert [event.subject for event in ledger.events(containing=b'"arc_1')] == ["arc_1", "arc_10", "arc_11"]


def test_the_context_is_read_strictly() -> None:
    assert Context.read('{"session":"s","job_id":null}') == Context("s", None, None)
    for text in (
        "",
        "[]",
        '{"other":1}',
        '{"session":1}',
        '{"session":"a","session":"b"}',
        '{"session":"\udcff"}',
    ):
        with pytest.raises(ValueError):
            Context.read(text)


def test_time_is_kept_as_it_was_given(desk: Desk) -> None:
    (event,) = desk.fill(1, desk.ledger(clock=lambda: START))
    assert event.at == "2026-11-30T14:28:00.000000Z"
    assert json.loads(desk.segments[0].read_text())["at"] == event.at


@given(
    st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from([',"subject":"', '","v":1}', "\\"])
)
def test_a_record_has_one_spelling_whatever_stands_in_it(text: str) -> None:
    evidence: dict[str, Json] = {
        ",": {"subject": text, ',"subject":"': 1, "sha256": "x"},
        "sha256": text,
        "subject": text,
    }
    given_draft = Draft(text, text, evidence)
    event, line = seal(
        given_draft, event_id=ULID, at=text, actor=text, context=Context(session=text), prev=ZEROS
    )
    record = {key: value for key, value in event.to_json().items() if key != "sha256"}
    digest = hashlib.sha256(spelled(record)).hexdigest()
    assert line == event.line() == spelled({**record, "sha256": digest}) + b"\n"
    assert read_line(line[:-1]) == event
