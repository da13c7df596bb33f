"""Floor 1, `record`: damage in the ledger: what was found where, and the record that names it.

Damage is never mended.  The record of the kind `ledger.segment_after_damage` is the first of a
new segment, begins a new chain, and names each place by its segment and byte offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muniment.canonical import Json
from muniment.path import printable
from muniment.record.event import FIRST, Draft, Event

AFTER_DAMAGE = "ledger.segment_after_damage"
REPAIRED = "ledger.repaired"

FINDINGS_KEPT = 1000
"""Findings that are kept and named one by one; further ones are only counted."""

_WHY_LENGTH = 200

Place = tuple[str, int]
"""A segment's name and a byte offset in it: by these a damage is known again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was written: segment, line (from 1; 0 when it was not counted),
    byte offset, and why.  `torn` is an end that the next writer sets aside."""

    segment: str
    line: int
    offset: int
    why: str
    torn: bool = False

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.segment, self.offset

    @classmethod
    def at(cls, segment: str, line: int, offset: int, why: object, *, torn: bool = False) -> Finding:
        """A finding whose words may quote hostile bytes: they are made short and printable."""
        return cls(segment, line, offset, printable(str(why))[:_WHY_LENGTH], torn)


def naming(findings: Sequence[Finding]) -> Draft:
    """The draft of the record that names damage."""
    named: list[Json] = [
        {"segment": finding.segment, "offset": finding.offset, "why": finding.why}
        for finding in findings[:FINDINGS_KEPT]
    ]
    return Draft(AFTER_DAMAGE, "ledger", {"count": len(findings), "damage": named})


def begins_after_damage(event: Event) -> bool:
    """Whether a record, if it is the first of its segment, may begin a new chain."""
    return event.kind == AFTER_DAMAGE and event.prev == FIRST


def named_by(event: Event) -> Iterable[Place]:
    """The places that a record names."""
    damage = event.evidence.get("damage")
    for item in damage if isinstance(damage, list) else ():
        if isinstance(item, dict):
            segment, offset = item.get("segment"), item.get("offset")
            if isinstance(segment, str) and isinstance(offset, int):
                yield segment, offset
