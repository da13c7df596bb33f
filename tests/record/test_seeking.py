"""Finding a few events among very many: the same ones that a look at each line would find."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.record.ledgers import Desk, draft

from muniment.record import segments
from muniment.record.event import Draft


@pytest.fixture(params=[1, 700, 1 << 20], ids=["a byte", "a line and a bit", "a mebibyte"])
def span(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How much is read at a time, so that lines lie across every kind of border."""
    monkeypatch.setattr(segments, "_SPAN", request.param)
    return int(request.param)


def filled(desk: Desk) -> Any:
    """A ledger of several segments."""
    ledger = desk.ledger(segment_bytes=4_000)
    for number in range(40):
        ledger.append(draft(number, text="x" * (number * 7)))
    assert len(desk.segments) > 2
    return ledger


def test_events_that_hold_something(swift: Desk, span: int) -> None:
    ledger = filled(swift)
    every = list(ledger.events())
    for wanted in (b'"number":3', b'"arc_39"', b"nowhere", b'"kind":"test.happened"'):
        found = [one for one in every if wanted in one.line()]
        assert list(ledger.events(containing=wanted)) == found
        assert ledger.newest(wanted) == (found[-1] if found else None)


def test_it_goes_on_from_an_offset(swift: Desk, span: int) -> None:
    ledger = filled(swift)
    placed = list(ledger.read())
    start = placed[17]
    rest = [one for one in placed[17:] if b'"number":3' in one.event.line()]
    assert list(ledger.read((start.segment, start.offset), containing=b'"number":3')) == rest


def test_subjects(swift: Desk, span: int) -> None:
    ledger = filled(swift)
    ledger.append_many(
        [
            Draft("job.init", "job:a"),
            Draft("job.end", "job:a"),
            Draft("job.init", "job:b.2"),
            Draft("other", "x", {"subject": "job:inside", "text": ',"subject":"job:told","v":1}\n'}),
            Draft("other", "xjob:c"),
        ]
    )
    assert ledger.subjects("job:") == {"job:a", "job:b.2"}
    assert ledger.subjects("arc_") == {f"arc_{number}" for number in range(40)}
    assert ledger.subjects("job:.*") == set()


def test_a_bad_line_is_passed_over(swift: Desk, span: int) -> None:
    """The newest that can be read, also when what follows it is damaged, torn, or longer than may be."""
    ledger = filled(swift)
    last = swift.segments[-1]
    whole = ledger.newest(b'"kind":"test.happened"')
    good = last.read_bytes()
    for tail in (
        good.splitlines(keepends=True)[-1].replace(b'"number":39', b'"number":38'),
        b'{"kind":"test.happened"' + b"x" * (2 << 20) + b"\n",
        b'{"kind":"test.happened"',
    ):
        last.write_bytes(good + tail)
        assert ledger.newest(b'"kind":"test.happened"') == whole
        assert len(list(ledger.events(containing=b'"kind":"test.happened"'))) == 40


def test_an_empty_ledger(swift: Desk) -> None:
    ledger = swift.ledger()
    assert ledger.newest(b"x") is None and ledger.subjects("job:") == set()
    assert list(ledger.events(containing=b"x")) == []


@given(st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.booleans())
def test_blocks_are_whole_lines(lines: list[bytes], ended: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    wanted = [line for line in data.split(b"\n")[:-1] if b"a" in line]
    found = list(segments.lines_holding(b"a", 100, data))
    assert [line.data for line in found] == wanted
    assert all(data[line.offset - 100 : line.end - 100] == line.data + b"\n" for line in found)
