"""Floor 1, `record`: reading the whole ledger and saying what in it can not be believed.

A chain shows damage, not malice: whole records cut off its end leave a chain that holds.  Only
a witness kept elsewhere shows that (spec 0, ledger).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from muniment.disk.locks import locked
from muniment.record.event import FIRST, BadRecord, Event, read_line
from muniment.record.ledger import LOCK, Ledger
from muniment.record.segments import lines_of, segment_name, segment_numbers
from muniment.record.witness import Witness


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was written: segment, line (from 1), byte offset, and why."""

    segment: str
    line: int
    offset: int
    why: str
    torn: bool = False


@dataclass(slots=True)
class Verdict:
    """What a whole reading found."""

    events: int = 0
    segments: int = 0
    bytes: int = 0
    head: str = FIRST
    last_event_id: str = ""
    repaired: int = 0
    findings: list[Finding] = field(default_factory=list)
    named_damage: int = 0
    newest_witness: Witness | None = None
    contradicted: list[Witness] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether everything can be believed."""
        return not self.findings and not self.contradicted and not self.named_damage


def verify(ledger: Ledger, witnesses: Iterable[Witness] = ()) -> Verdict:
    """Read every byte of the ledger, check each record and each link, and compare with witnesses.

    Writers are kept out only while the end is looked up, not while it reads.
    """
    expected = sorted(witnesses, key=lambda witness: (witness.count, witness.at))
    verdict = Verdict()
    heads: dict[int, str] = {0: FIRST}
    wanted = {witness.count for witness in expected}
    prev = FIRST
    numbers, end = _extent(ledger)
    for position, number in enumerate(numbers):
        name = segment_name(number)
        verdict.segments += 1
        if number != (numbers[position - 1] + 1 if position else 1):
            verdict.findings.append(Finding(name, 0, 0, "a segment before this one is missing"))
        limit = end if number == numbers[-1] else None
        last_here = number == numbers[-1]
        line_number = 0
        for offset, line in lines_of(ledger.root, ledger.folder / name, end=limit):
            line_number += 1
            verdict.bytes += len(line)
            event, why = _read(line)
            if event is None:
                torn = last_here and limit is not None and offset + len(line) >= limit
                verdict.findings.append(Finding(name, line_number, offset, why, torn))
                continue
            fresh = event.kind == "ledger.segment_after_damage" and line_number == 1 and event.prev == FIRST
            if fresh:
                verdict.named_damage += 1
            elif event.prev != prev and not _follows_finding(verdict, name, line_number):
                verdict.findings.append(
                    Finding(name, line_number, offset, "it does not continue the record before")
                )
            prev = event.sha256
            verdict.events += 1
            verdict.repaired += event.kind == "ledger.repaired"
            verdict.last_event_id = event.event_id
            if verdict.events in wanted:
                heads[verdict.events] = event.sha256
    verdict.head = prev
    for witness in expected:
        if heads.get(witness.count) != witness.head:
            verdict.contradicted.append(witness)
        verdict.newest_witness = witness
    return verdict


def _extent(ledger: Ledger) -> tuple[list[int], int]:
    """The segments, and where the last one ends at this moment."""
    numbers = segment_numbers(ledger.root, ledger.folder)
    if not numbers:
        return [], 0
    with locked(ledger.root, ledger.folder / LOCK, shared=True):
        numbers = segment_numbers(ledger.root, ledger.folder)
        return numbers, ledger.root.stat(ledger.folder / segment_name(numbers[-1])).st_size


def _read(line: bytes) -> tuple[Event | None, str]:
    if not line.endswith(b"\n"):
        return None, "the line has no end"
    try:
        return read_line(line[:-1]), ""
    except BadRecord as error:
        return None, str(error)


def _follows_finding(verdict: Verdict, name: str, line_number: int) -> bool:
    """A link can not hold over a record that is bad; one finding is enough for one fault."""
    if not verdict.findings:
        return False
    latest = verdict.findings[-1]
    return latest.segment == name and latest.line == line_number - 1
