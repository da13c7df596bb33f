"""Floor 1, `record`: reading the whole ledger and saying what in it can not be believed.

A chain shows damage, not malice: whole records cut off its end leave a chain that holds.  Only
a witness kept elsewhere shows that (spec 0, ledger).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from muniment.record.damage import FINDINGS_KEPT, REPAIRED, Finding, begins_after_damage
from muniment.record.event import FIRST, BadRecord, Event, read_line
from muniment.record.ledger import Ledger
from muniment.record.segments import Line, lines_of, segment_name
from muniment.record.witness import Witness


@dataclass(slots=True)
class Verdict:
    """What a whole reading found.

    `events` counts the records that could be read, `lines` also those that could not; the count
    of a witness is one of lines.  Of very many faults, only the first are kept as findings.
    """

    events: int = 0
    lines: int = 0
    segments: int = 0
    bytes: int = 0
    head: str = FIRST
    last_event_id: str = ""
    repaired: int = 0
    waiting: int = 0
    faults: int = 0
    findings: list[Finding] = field(default_factory=list)
    named_damage: int = 0
    newest_witness: Witness | None = None
    contradicted: list[Witness] = field(default_factory=list)
    foreign: list[Witness] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether everything can be believed."""
        return not self.faults and not self.contradicted and not self.named_damage

    def add(self, finding: Finding) -> None:
        """One more fault."""
        self.faults += 1
        if len(self.findings) < FINDINGS_KEPT:
            self.findings.append(finding)


def verify(ledger: Ledger, witnesses: Iterable[Witness] = (), *, root_id: str | None = None) -> Verdict:
    """Read every byte of the ledger, check each record and each link, and compare with witnesses.

    Writers are kept out only while the end is looked up, not while it reads.  With `root_id`,
    witnesses of other workspaces are set apart: they say nothing of this ledger.
    """
    reading = _Reading(Verdict(waiting=len(ledger.waiting())))
    expected: list[Witness] = []
    for witness in sorted(witnesses, key=lambda witness: (witness.count, witness.at)):
        foreign = root_id is not None and witness.root_id != root_id
        (reading.verdict.foreign if foreign else expected).append(witness)
    reading.wanted = {witness.count for witness in expected}
    extent = ledger.extent()
    number = 0
    for each in extent.segments:
        if each != number + 1:
            reading.gap(number + 1, each)
        number = each
        reading.begin(segment_name(number))
        for line in lines_of(ledger.root, ledger.folder / reading.segment, end=extent.end_of(number)):
            reading.take(line)
    if extent.torn:
        reading.bad(reading.line + 1, extent.end, extent.torn, torn=True)
    verdict = reading.verdict
    verdict.repaired = len(reading.repairs)
    for witness in expected:
        if reading.heads.get(witness.count) != witness.head:
            verdict.contradicted.append(witness)
        verdict.newest_witness = witness
    return verdict


def name_damage(ledger: Ledger, verdict: Verdict) -> Event | None:
    """Name what a reading found, once, in a new segment; None when there is nothing to name.

    A torn end is not named: the next append sets it aside.  The ledger is not whole afterwards
    either, and never will be again (spec 0, ledger).
    """
    return ledger.name_damage([finding for finding in verdict.findings if not finding.torn])


@dataclass(slots=True)
class _Reading:
    """Where a reading stands.  `prev` is the hash that the next record must continue; None after
    a fault, where nobody can know it."""

    verdict: Verdict
    wanted: set[int] = field(default_factory=set)
    heads: dict[int, str] = field(default_factory=lambda: {0: FIRST})
    repairs: set[str] = field(default_factory=set)
    segment: str = ""
    line: int = 0
    prev: str | None = FIRST

    def begin(self, segment: str) -> None:
        self.segment, self.line = segment, 0
        self.verdict.segments += 1

    def gap(self, first: int, following: int) -> None:
        several = following > first + 1
        why = f"it and those before {following:06d} are missing" if several else "it is missing"
        self.verdict.add(Finding(segment_name(first), 0, 0, why))
        self.prev = None

    def bad(self, line: int, offset: int, why: object, *, torn: bool = False) -> None:
        self.verdict.add(Finding.at(self.segment, line, offset, why, torn=torn))
        self.prev = None

    def take(self, line: Line) -> None:
        verdict = self.verdict
        self.line += 1
        verdict.lines += 1
        verdict.bytes += line.length
        if not line.ended:
            return self.bad(self.line, line.offset, "the line has no end")
        try:
            event = read_line(line.data)
        except BadRecord as error:
            return self.bad(self.line, line.offset, error)
        if self.line == 1 and begins_after_damage(event):
            verdict.named_damage += 1
        elif self.prev is not None and event.prev != self.prev:
            self.bad(self.line, line.offset, "it does not continue the record before")
        self._believe(event)
        return None

    def _believe(self, event: Event) -> None:
        verdict = self.verdict
        self.prev = verdict.head = event.sha256
        verdict.events += 1
        verdict.last_event_id = event.event_id
        if event.kind == REPAIRED:
            # A kill between naming an end and renaming its file lets it be named twice.
            self.repairs.add(str(event.evidence.get("torn", event.event_id)))
        if verdict.lines in self.wanted:
            self.heads[verdict.lines] = event.sha256
