"""The team's journal: receipts that the gate believes, and writers that are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.handoff.conftest import CONCLUSION, WORKLOG, Place, dispatched, packet

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.handoff import errors
from muniment.handoff.team_journal import TeamJournal
from muniment.handoff.worker import Worker
from muniment.path import RelPath
from muniment.record.event import read_line
from muniment.record.state import open_workspace

REL = RelPath.parse("team/journal")
ENTRY = WORKLOG.decode()


def test_a_receipt_says_where_the_entry_lies(place: Place) -> None:
    workspace = place.reopen().workspace
    for number in range(1, 41):
        found = TeamJournal(workspace, REL).append(f"entry {number}")
        data = (place.path / "team/journal/000001.jsonl").read_bytes()
        assert data[: found.position].count(b"\n") + 1 == found.version == number
        event = read_line(data[found.position :].partition(b"\n")[0])
        assert (event.event_id, event.sha256) == (found.event_id, found.sha256)
        assert event.kind == "journal.entry" and event.evidence == {"text": f"entry {number}"}
    assert [each.evidence["text"] for each in TeamJournal(workspace, REL).tail(2)] == ["entry 39", "entry 40"]
    assert TeamJournal(workspace, REL).verify().whole
    with pytest.raises(errors.NothingToRecord):
        TeamJournal(workspace, REL).append(" \n")


def test_positions_go_on_over_segments(place: Place) -> None:
    workspace = place.reopen().workspace
    journal = TeamJournal(workspace, REL)
    journal.ledger._segment_bytes = 2_000
    found = [journal.append("x" * 300) for _ in range(12)]
    names = sorted(os.listdir(place.path / "team/journal"))
    whole = b"".join(
        (place.path / "team/journal" / name).read_bytes() for name in names if name.endswith("l")
    )
    assert len([name for name in names if name.endswith("l")]) > 2
    for each in found:
        assert read_line(whole[each.position :].partition(b"\n")[0]).event_id == each.event_id
        assert whole[: each.position].count(b"\n") + 1 == each.version


def test_the_gate_believes_an_honest_entry_also_after_a_torn_one(place: Place) -> None:
    """What a killed writer left is set aside by the next one; that is nobody's rewriting."""
    handoffs = place.reopen()
    TeamJournal(handoffs.workspace, REL).append("what stood there before")
    with open(place.path / "team/journal/000001.jsonl", "ab") as stream:
        stream.write(b'{"actor":"killed wh')
    handoff = dispatched(handoffs, packet("team_journal"))
    worker = Worker(handoffs)
    closure = worker.journal(handoff, ENTRY)
    assert closure["version"] == 3  # the repair is a record too
    worker.give_back(handoff, worker.compose(handoff, conclusion=CONCLUSION))
    trace = handoffs.check(handoff).trace
    assert [each.to_json() for each in trace.findings] == []
    assert trace.complete and trace.rows[2].written_by == "muniment"


def test_an_entry_that_is_not_owed_or_empty_is_refused(place: Place) -> None:
    handoffs = place.reopen()
    worker, owing = Worker(handoffs), dispatched(handoffs, packet("team_journal"))
    with pytest.raises(errors.TargetRefused):
        worker.journal(dispatched(handoffs), ENTRY)
    (anchor,) = worker.take(owing).anchors.values()
    with pytest.raises(errors.NothingToRecord):
        worker.journal(owing, anchor)


def _write_until_killed(path: Path, name: str, told: int) -> None:
    with Root.open(path) as root:
        journal = TeamJournal(open_workspace(root, clock=system_clock), REL, name)
        number = 0
        while True:
            number += 1
            found = journal.append(f"{name} {number}")
            os.write(told, f"{found.event_id} {found.position} {found.version} {found.sha256}\n".encode())


def writers(path: Path, generations: int, acknowledgements: int) -> list[str]:
    """Eight writers a generation, each killed as soon as so many entries of all were acknowledged."""
    said: list[str] = []
    for generation in range(generations):
        read_end, write_end = os.pipe()
        children = []
        for number in range(8):
            child = os.fork()
            if child == 0:
                try:
                    os.close(read_end)
                    _write_until_killed(path, f"w{generation}-{number}", write_end)
                finally:
                    os._exit(9)
            children.append(child)
        os.close(write_end)
        with os.fdopen(read_end) as stream:
            for _ in range(acknowledgements):
                said.append(stream.readline())
            for child in children:
                os.kill(child, signal.SIGKILL)
            said += stream.readlines()  # what was acknowledged before the kill came
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return [line for line in said if line.endswith("\n")]


def prove(path: Path, said: list[str]) -> None:
    with Root.open(path) as root:
        journal = TeamJournal(open_workspace(root, clock=system_clock), REL)
        journal.append("after all of them")
        verdict = journal.verify()
        assert verdict.whole, verdict.findings
    names = sorted(name for name in os.listdir(path / "team/journal") if name.endswith(".jsonl"))
    whole = b"".join((path / "team/journal" / name).read_bytes() for name in names)
    starts = {0}
    for at, sign in enumerate(whole):
        if sign == 10:
            starts.add(at + 1)
    assert len(set(said)) == len(said)
    for line in said:
        event_id, position, version, digest = line.split()
        assert int(position) in starts
        event = read_line(whole[int(position) :].partition(b"\n")[0])
        assert (event.event_id, event.sha256) == (event_id, digest)
        assert whole.count(b"\n", 0, int(position)) + 1 == int(version)


def test_eight_writers_under_sigkill_lose_nothing_that_was_acknowledged(place: Place) -> None:
    said = writers(place.path, generations=2, acknowledgements=60)
    assert len(said) >= 120
    prove(place.path, said)


@pytest.mark.long
def test_eight_writers_under_sigkill_for_longer(place: Place) -> None:
    said = writers(place.path, generations=25, acknowledgements=200)
    assert len(said) >= 5_000
    prove(place.path, said)
