"""Floor 1, `record`: a witness: how long the ledger was and what its head was, kept elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muniment.canonical import Json
from muniment.ids import is_ulid
from muniment.message import say
from muniment.path import printable
from muniment.record.errors import LedgerDamaged
from muniment.record.event import FIRST, BadRecord, read_line
from muniment.record.ledger import Ledger
from muniment.record.segments import Line, count_lines, lines_of, segment_name

_HEX = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Witness:
    """The ledger of one workspace as somebody saw it: so many lines, the last of this hash.

    Snapshots, packets and exports carry one; whoever holds it can tell later whether the
    ledger was cut or replaced.
    """

    root_id: str
    count: int
    head: str
    event_id: str
    at: str

    def to_json(self) -> dict[str, Json]:
        """The witness as it travels."""
        return {
            "v": 1,
            "root_id": self.root_id,
            "count": self.count,
            "head": self.head,
            "event_id": self.event_id,
            "at": self.at,
        }

    @classmethod
    def from_json(cls, value: object) -> Witness:
        """Read a witness that travelled; a `ValueError` says what is wrong with it."""
        if not isinstance(value, Mapping) or value.get("v") != 1:
            raise ValueError("no witness of version 1")
        if set(value) != {"v", "root_id", "count", "head", "event_id", "at"}:
            raise ValueError("a witness has other members")
        root_id, count, head = value["root_id"], value["count"], value["head"]
        event_id, at = value["event_id"], value["at"]
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError("its count is no number of events")
        if not isinstance(head, str) or not _HEX.fullmatch(head):
            raise ValueError("its head is no hash")
        if not isinstance(root_id, str) or not is_ulid(root_id) or not isinstance(at, str):
            raise ValueError("its root or time is no text of the right form")
        if not isinstance(event_id, str) or not (is_ulid(event_id) or (event_id == "" and count == 0)):
            raise ValueError("its event id is none")
        return cls(root_id, count, head, event_id, at)


def bear_witness(ledger: Ledger, root_id: str) -> Witness:
    """See the ledger as it is now, as far as it is durable.

    Lines are counted, not read, save the last: a bad one further up is for `verify` to name.
    """
    extent = ledger.extent()
    count = 0
    last: Line | None = None
    for number in extent.segments:
        rel, end = ledger.folder / segment_name(number), extent.end_of(number)
        lines, begin = count_lines(ledger.root, rel, end)
        if lines:
            count += lines
            last = next(lines_of(ledger.root, rel, start=begin, end=end))
    if last is None:
        return Witness(root_id, 0, FIRST, "", "")
    try:
        if not last.ended:
            raise BadRecord("the line has no end")
        event = read_line(last.data)
    except BadRecord as error:
        raise LedgerDamaged(
            where=printable(str(ledger.folder)), why=say("{finding}", finding=error)
        ) from error
    return Witness(root_id, count, event.sha256, event.event_id, event.at)
