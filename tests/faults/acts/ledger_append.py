"""Ledger: single events, each acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.harness import Ended

from muniment.disk.root import Root
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.ledger import Ledger
from muniment.record.verify import verify

STAGES: Sequence[str] = ("one file system", "overlay, lower layer")
LARGEST = 1_900


def open_ledger(root: Root) -> Ledger:
    """The ledger under test; its clock stands still."""
    return Ledger(
        root, RelPath.parse("ledger"), clock=lambda: datetime(2026, 11, 30, tzinfo=UTC), segment_bytes=1500
    )


def prepare(place: Path) -> None:
    """Two events are there; a third goes into the same segment, a fourth into the next."""
    with Root.open(place / "to") as root:
        open_ledger(root).append_many([Draft("test.before", f"s{number}") for number in range(2)])


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Append, and say each id."""
    with Root.open(place / "to") as root:
        ledger = open_ledger(root)
        for number in range(3):
            acknowledge(ledger.append(Draft("test.event", f"s{number}", {"n": number})).event_id)


def check(place: Path, ended: Ended | None) -> None:
    """What was said is there; nothing but the last line may be torn, and after recovery nothing."""
    with Root.open(place / "to") as root:
        ledger = open_ledger(root)
        there = {event.event_id for event in ledger.events()}
        verdict = verify(ledger)
        if ended is not None:
            assert set(ended.said) <= there, "an acknowledged event is gone"
            assert all(finding.torn for finding in verdict.findings), verdict.findings
            (place / "said").write_text("\n".join(ended.said))
        else:
            said = (place / "said").read_text().split()
            assert set(said) <= there, "an acknowledged event is gone after the recovery"
            assert verdict.whole, verdict
            assert len([e for e in ledger.events() if e.kind == "test.before"]) == 2


def recover(place: Path) -> None:
    """The next append repairs."""
    with Root.open(place / "to") as root:
        open_ledger(root).append(Draft("test.after", "s"))
