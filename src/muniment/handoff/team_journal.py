"""Handoff room: the team's journal: a ledger of its own, which this adapter alone appends to (spec 3).

What makes an append whole under kills and full disks is the ledger's own way of writing.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from muniment.handoff.errors import NothingToRecord
from muniment.handoff.targets import JOURNAL_KIND
from muniment.message import say
from muniment.path import RelPath
from muniment.record.errors import NotInLedger
from muniment.record.event import Draft, Event
from muniment.record.ledger import Ledger
from muniment.record.segments import Line, count_lines, read_tail, segment_name, segment_numbers
from muniment.record.state import Workspace
from muniment.record.verify import Verdict, verify

_LINES = 16


@dataclass(frozen=True, slots=True)
class Entered:
    """An entry as it stands in the journal: its byte position and its number, counted from the
    journal's first record, which is number one.  `length` and `line_sha256` are of its line."""

    event_id: str
    position: int
    version: int
    sha256: str
    length: int
    line_sha256: str

    def to_json(self) -> dict[str, str | int]:
        """The receipt that goes into a closure."""
        return {
            "exit_code": 0,
            "event_id": self.event_id,
            "position": self.position,
            "version": self.version,
            "sha256": self.sha256,
        }


class TeamJournal:
    """One journal: a folder of segments below the workspace."""

    def __init__(self, workspace: Workspace, rel: RelPath, actor: str = "team_journal") -> None:
        self._root = workspace.root
        self._rel = rel
        self.ledger = Ledger(
            workspace.root, rel, clock=workspace.clock, entropy=workspace.entropy, actor=actor
        )

    def append(self, text: str, *, subject: str = "team", anchor: str | None = None) -> Entered:
        """Add an entry; it is durable, and was found again where the receipt says, when this returns."""
        if not text.strip():
            raise NothingToRecord(target="team_journal", where="team_journal")
        evidence = {"text": text} if anchor is None else {"text": text, "anchor": anchor}
        event = self.ledger.append(Draft(JOURNAL_KIND, subject, evidence))
        return self._placed(event)

    def _placed(self, event: Event) -> Entered:
        numbers = segment_numbers(self._root, self._rel)
        for number in reversed(numbers):
            line = self._line(number, event.event_id)
            if line is not None:
                before = [segment_name(each) for each in numbers if each < number]
                sizes = sum(self._root.stat(self._rel / name).st_size for name in before)
                lines = sum(count_lines(self._root, self._rel / name)[0] for name in before)
                lines += count_lines(self._root, self._rel / segment_name(number), line.offset)[0]
                digest = sha256(line.data).hexdigest()
                place = sizes + line.offset
                return Entered(event.event_id, place, lines + 1, event.sha256, len(line.data), digest)
        raise NotInLedger(where=event.event_id, why=say("the entry is not there as it was written"))

    def _line(self, number: int, event_id: str) -> Line | None:
        """The line of an entry; it was just written, so it is sought from the end."""
        wanted, count = event_id.encode(), _LINES
        while True:
            tail = read_tail(self._root, self._rel / segment_name(number), count)
            for line in reversed(tail.lines):
                if wanted in line.data:
                    return line
            if len(tail.lines) < count:
                return None
            count *= 4

    def tail(self, count: int) -> list[Event]:
        """The newest entries, oldest of them first."""
        return [each for each in self.ledger.last(count) if each.kind == JOURNAL_KIND]

    def verify(self) -> Verdict:
        """Read every byte and check each record and each link."""
        return verify(self.ledger)
