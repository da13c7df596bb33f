"""Floor 3, `archive`: what the ledger knows of deliverables, folded from its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from muniment.archive.model import Entry, Track
from muniment.digest import Digest
from muniment.evidence import Kind, unspell
from muniment.path import RelPath
from muniment.record.event import Event
from muniment.record.ledger import Ledger

KEPT = "archive.kept"
UNDONE = "archive.undone"
SEALED = "archive.sealed"
COPIED = "archive.copied"
PREFIX = "arc"
"""What references of deliverables begin with."""


def fold(events: Iterable[Event]) -> dict[str, Entry]:
    """Every deliverable ever archived, by reference, oldest first."""
    found: dict[str, Entry] = {}
    for event in events:
        if event.kind == KEPT:
            found[event.subject] = _entry(event)
        elif event.subject in found and event.kind == UNDONE:
            found[event.subject] = replace(found[event.subject], undone=True)
        elif event.subject in found and event.kind == SEALED:
            found[event.subject] = replace(
                found[event.subject],
                sealed=True,
                tree=Digest(event.evidence["tree"]),
                count=event.evidence["count"],
                size=event.evidence["bytes"],
            )
    return found


def is_recorded(ledger: Ledger, kind: str, reference: str) -> bool:
    """Whether the ledger holds an event of this kind for a reference."""
    known = ledger.events(containing=reference.encode())
    return any(event.kind == kind and event.subject == reference for event in known)


def _entry(event: Event) -> Entry:
    evidence: Mapping[str, Any] = event.evidence
    return Entry(
        reference=event.subject,
        origin=RelPath.parse(unspell(evidence["from"])),
        path=RelPath.parse(unspell(evidence["to"])),
        archive_id=evidence["archive_id"],
        name=evidence["name"],
        track=Track(evidence["track"]),
        kind=Kind(evidence["kind"]),
        tree=Digest(evidence["tree"]),
        count=evidence["count"],
        size=evidence["bytes"],
        at=event.at,
        event_id=event.event_id,
    )
