"""The ledger: ends that a crash left are set aside and named; damage before the end is named and
never touched (spec 0, ledger)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.record.ledgers import START, ZEROS, Desk, chained, digest_in, draft, lay, sealed

from muniment.disk.root import Root
from muniment.disk.write import is_scratch
from muniment.record.event import LINE_LIMIT
from muniment.record.verify import name_damage

ULID = "01KDVDNA000000000000000000"
LINES = chained(5)


def after_repair(desk: Desk, kept: bytes, torn: bytes) -> None:
    """One append after a torn end: what was whole still stands, what was torn is set aside and named."""
    (event,) = desk.fill(1)
    data = desk.segments[-1].read_bytes()
    assert data.startswith(kept)
    repaired, happened = data[len(kept) :].splitlines()
    record = json.loads(repaired)
    assert record["kind"] == "ledger.repaired"
    name = record["evidence"]["torn"].removeprefix("torn/")
    assert record["evidence"] == {
        "torn": f"torn/{name}",
        "bytes": len(torn),
        "sha256": hashlib.sha256(torn).hexdigest(),
    }
    assert desk.torn[name] == torn
    assert json.loads(happened)["event_id"] == event.event_id
    verdict = desk.verify()
    assert verdict.whole and verdict.repaired == 1 and verdict.waiting == 0


def test_every_length_at_which_the_last_line_can_be_cut(swift: Desk) -> None:
    whole = LINES[0] + b"\n"
    for length in range(1, len(LAST) + 1):
        lay(swift, whole + LAST[:length])
        verdict = swift.verify()
        assert not verdict.whole
        (finding,) = verdict.findings
        assert finding.torn and (finding.line, finding.offset) == (2, len(whole))
        after_repair(swift, whole, LAST[:length])


@pytest.mark.parametrize("length", [1, 40, 200])
def test_the_very_first_line_torn(desk: Desk, length: int) -> None:
    lay(desk, chained(1)[0][:length])
    after_repair(desk, b"", chained(1)[0][:length])
    assert desk.records[0]["prev"] == ZEROS


def test_the_first_line_of_a_later_segment_torn(desk: Desk) -> None:
    lines = chained(3)
    lay(desk, lines[:2], lines[2][:50])
    after_repair(desk, b"", lines[2][:50])
    assert desk.records[2]["prev"] == digest_in(lines[1])


LAST = LINES[1]

TORN: dict[str, bytes] = {
    "NUL without a newline": bytes(700),
    "NUL with a newline": bytes(700) + b"\n",
    "a record, then NUL": LAST + bytes(100),
    "a record, then NUL and a newline": LAST + bytes(100) + b"\n",
    "NUL, then a record": bytes(100) + LAST + b"\n",
    "two records fused": LAST + LAST + b"\n",
    "two records fused without a newline": LAST + LAST,
    "an empty line": b"\n",
    "a blank": b" ",
    "junk": b"junk\n",
    "not UTF-8": b"\xff\xfe\n",
    "half a record with a newline": LAST[:120] + b"\n",
    "a record with another hash": LAST.replace(b"arc_1", b"arc_2") + b"\n",
    "a record of another version": sealed(v=2) + b"\n",
    "a record with a carriage return": LAST + b"\r\n",
    "a record spelled with a blank": LAST.replace(b'"v":1', b'"v": 1') + b"\n",
    "a surrogate as a key, twice": b'{"\\ud800":1,"\\ud800":2}\n',
    "control signs as a key, twice": b'{"\\u001b[2J":1,"\\u001b[2J":2}\n',
    "nested without end": b"[" * 100_000 + b"\n",
    "a line longer than any record": b"x" * (LINE_LIMIT + 5) + b"\n",
    "much without a newline": b"x" * (3 * LINE_LIMIT),
    "a record of one byte too many": sealed(
        digest_in(chained(1)[0]), evidence={"text": "x" * (LINE_LIMIT - len(sealed(evidence={"text": ""})))}
    )
    + b"\n",
}


@pytest.mark.parametrize("name", TORN)
def test_ends_that_are_no_record(desk: Desk, name: str) -> None:
    whole = chained(1)[0] + b"\n"
    lay(desk, whole + TORN[name])
    verdict = desk.verify()
    assert not verdict.whole and [finding.torn for finding in verdict.findings] == [True]
    assert verdict.findings[0].why.isprintable() and len(verdict.findings[0].why) <= 200
    after_repair(desk, whole, TORN[name])


def test_an_end_larger_than_what_is_read_of_a_small_file(desk: Desk) -> None:
    """NUL as a crash leaves them where the file grew and the bytes never came; read in flat memory."""
    lay(desk, chained(1))
    size = desk.segments[0].stat().st_size
    os.truncate(desk.segments[0], size + (80 << 20))
    desk.fill(1)
    (torn,) = (desk.folder / "torn").iterdir()
    assert torn.stat().st_size == 80 << 20
    assert desk.verify().whole


def test_an_empty_segment_is_gone_on_with(desk: Desk) -> None:
    lines = chained(2)
    lay(desk, lines, b"")
    assert desk.verify().whole
    desk.fill(1)
    assert [len(path.read_bytes().splitlines()) for path in desk.segments] == [2, 1]
    assert desk.records[2]["prev"] == digest_in(lines[1])
    assert desk.verify().whole


def test_an_empty_first_segment_is_begun(desk: Desk) -> None:
    lay(desk, b"")
    desk.fill(1)
    assert len(desk.segments) == 1 and desk.verify().whole


# Killed on the way.


def test_an_end_set_aside_that_nobody_named(desk: Desk) -> None:
    """The process was killed after it cut the segment back and before it wrote the record."""
    lay(desk, chained(1))
    (desk.folder / "torn").mkdir()
    (desk.folder / "torn" / f"{ULID}.pending").write_bytes(b"torn")
    assert desk.verify().waiting == 1
    after_repair(desk, chained(1)[0] + b"\n", b"torn")
    assert set(desk.torn) == {ULID}


def test_foreign_names_beside_the_ends_set_aside_are_left_alone(desk: Desk) -> None:
    lay(desk, chained(1))
    folder = desk.folder / "torn"
    folder.mkdir()
    for name in (b"note.pending", b"\xff.pending", b".pending", ULID.lower().encode() + b".pending"):
        (folder / os.fsdecode(name)).write_bytes(b"x")
    (folder / f".muniment-{'0' * 16}.tmp").write_bytes(b"half")
    desk.fill(1)
    assert desk.verify().whole and desk.verify().repaired == 0
    assert len(desk.torn) == 5


class Killer:
    """Ends the process by SIGKILL at its so-and-so-manieth call into the operating system."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, happened: str, called: Any) -> None:
        if happened == "c_call" and getattr(called, "__module__", "") in ("posix", "fcntl"):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def killed_at(path: Path, number: int) -> bool:
    """Append in a child that is killed at a call; whether it was, and not done before."""
    child = os.fork()
    if not child:
        status = 1
        try:
            with Root.open(path) as root:
                ledger = Desk(root).ledger(segment_bytes=900, clock=lambda: START)
                sys.setprofile(Killer(number))
                ledger.append_many([draft(1, killed=number), draft(2, killed=number)])
                sys.setprofile(None)
                status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("torn", [b"", b'{"begun'], ids=["whole", "torn"])
def test_killed_between_any_two_calls(swift: Desk, torn: bytes) -> None:
    """Whatever was acknowledged is there, what was torn is kept, and the next append goes on."""
    number = kills = 0
    while True:
        number += 1
        lay(swift, b"".join(line + b"\n" for line in LINES[:2]) + torn)
        killed = killed_at(Path(swift.root.path), number)
        (event,) = swift.fill(1, swift.ledger(segment_bytes=900))
        verdict = swift.verify()
        assert verdict.whole and verdict.waiting == 0, (number, verdict)
        there = [record["event_id"] for record in swift.records if record["kind"] != "ledger.repaired"]
        assert there[:2] == [json.loads(line)["event_id"] for line in LINES[:2]]
        # Of the batch nothing stands, or all of it: one write makes it.
        batch = [record["subject"] for record in swift.records if record["evidence"].get("killed") == number]
        assert batch in ([], ["arc_1", "arc_2"])
        assert there[2 + len(batch) :] == [event.event_id]
        # A kill may also leave an unfinished file there, which means nothing.
        aside = {data for name, data in swift.torn.items() if not is_scratch(name)}
        assert aside == ({torn} if torn else set())
        if not killed:
            assert batch
            break
        kills += 1
        shutil.rmtree(swift.folder)
    assert kills > (60 if torn else 25)


# Damage before the end.


def bad_members(line: bytes) -> dict[str, bytes]:
    """A record, bad in each of its members, with the digest it had."""
    record = json.loads(line)
    other: dict[str, Any] = {
        "v": 2,
        "event_id": ULID[:-1] + "1",
        "at": "2026-11-30T14:28:00.000001Z",
        "actor": "somebody",
        "kind": "test.unhappened",
        "subject": "arc_x",
        "context": {},
        "evidence": {"number": 7},
        "prev": "1" * 64,
        "sha256": "2" * 64,
    }
    assert set(other) == set(record)
    changed = {name: {**record, name: value} for name, value in other.items()}
    without = {f"no {name}": {key: record[key] for key in record if key != name} for name in record}
    more = {"one more": {**record, "z": 1}}
    return {
        name: json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        for name, value in (changed | without | more).items()
    }


BAD = bad_members(LINES[2])


def named(desk: Desk, segment: str, offset: int) -> None:
    """The newest segment begins a new chain and names that damage, once, for good."""
    first = json.loads(desk.segments[-1].read_bytes().splitlines()[0])
    assert (first["kind"], first["prev"]) == ("ledger.segment_after_damage", ZEROS)
    assert [(one["segment"], one["offset"]) for one in first["evidence"]["damage"]] == [(segment, offset)]
    assert first["evidence"]["count"] == 1
    verdict = desk.verify()
    assert not verdict.whole and verdict.named_damage == 1
    assert (segment, offset) in [finding.place for finding in verdict.findings]
    assert name_damage(desk.ledger(), verdict) is None


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_right_before_the_last_is_named_by_the_next_append(desk: Desk, name: str) -> None:
    lines = [*LINES[:2], BAD[name], LINES[3]]
    lay(desk, lines)
    before = desk.segments[0].read_bytes()
    desk.fill(2)
    assert desk.segments[0].read_bytes() == before
    assert len(desk.segments) == 2
    named(desk, "000001.jsonl", len(b"\n".join(lines[:2])) + 1)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_further_up_is_named_by_a_whole_reading(desk: Desk, name: str) -> None:
    lines = [*LINES[:2], BAD[name], *LINES[3:]]
    lay(desk, lines)
    before = desk.segments[0].read_bytes()
    desk.fill(1)
    assert len(desk.segments) == 1
    verdict = desk.verify()
    assert not verdict.whole
    (finding,) = verdict.findings
    assert (finding.line, finding.offset) == (3, len(b"\n".join(lines[:2])) + 1)
    event = name_damage(desk.ledger(), verdict)
    assert event is not None and event.kind == "ledger.segment_after_damage"
    desk.fill(2)
    assert desk.segments[0].read_bytes().startswith(before)
    assert len(desk.segments) == 2
    named(desk, "000001.jsonl", finding.offset)


def test_a_record_left_out_right_before_the_last_is_named(desk: Desk) -> None:
    lay(desk, [*LINES[:3], LINES[4]])
    desk.fill(1)
    named(desk, "000001.jsonl", len(b"\n".join(LINES[:3])) + 1)


def test_a_bad_record_before_a_torn_one_is_named_and_the_end_set_aside(desk: Desk) -> None:
    lay(desk, b"\n".join([*LINES[:2], b"bad", b"torn"]))
    desk.fill(1)
    assert list(desk.torn.values()) == [b"torn"]
    assert [record["kind"] for record in desk_after(desk)] == [
        "ledger.segment_after_damage",
        "ledger.repaired",
        "test.happened",
    ]
    named(desk, "000001.jsonl", len(b"\n".join(LINES[:2])) + 1)


def desk_after(desk: Desk) -> list[dict[str, Any]]:
    """The records of the newest segment."""
    return [json.loads(line) for line in desk.segments[-1].read_bytes().splitlines()]


def test_a_torn_end_that_a_segment_follows_is_damage(desk: Desk) -> None:
    """It was whole when its successor was made."""
    lay(desk, LINES[0] + b"\n" + LINES[1][:30], b"")
    desk.fill(1)
    named(desk, "000001.jsonl", len(LINES[0]) + 1)
    assert not desk.torn


def test_damage_whose_words_no_record_could_hold(desk: Desk) -> None:
    """The text of a finding may quote the bytes it found; it must never block the ledger."""
    hostile = b'{"\\ud800' + b"\\u001b[2J" * 1000 + b'":1,"\\ud800' + b"\\u001b[2J" * 1000 + b'":2}'
    lay(desk, [LINES[0], hostile, LINES[1]])
    desk.fill(2)
    named(desk, "000001.jsonl", len(LINES[0]) + 1)


def test_a_bad_record_hidden_behind_a_too_long_line_is_no_record(desk: Desk) -> None:
    """Read in pieces, the last of them would look like a record."""
    lay(desk, [LINES[0], b"x" * LINE_LIMIT + LINES[1], LINES[1]])
    assert [event.subject for event in desk.ledger().events()] == ["arc_0", "arc_1"]
    verdict = desk.verify()
    assert [finding.line for finding in verdict.findings] == [2] and verdict.lines == 3
