"""Ledger: a batch of events, acknowledged at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.ledger_append import check, open_ledger, prepare, recover

from muniment.disk.root import Root
from muniment.record.event import Draft

__all__ = ["STAGES", "check", "prepare", "recover", "run"]

STAGES = ("one file system",)
LARGEST = 40_000


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Append a batch, and say all ids at once."""
    with Root.open(place / "to") as root:
        drafts = [Draft("test.event", f"s{number}", {"n": number}) for number in range(64)]
        acknowledge("\n".join(event.event_id for event in open_ledger(root).append_many(drafts)))
