"""Backup: a snapshot deleted, confirmed, and told by the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.backups import (
    created,
    deleted,
    dress,
    followed,
    hold,
    noted,
    opened,
    snapshot,
    untouched,
)
from tests.faults.harness import Ended

from muniment.backup.service import picked_bytes
from muniment.record.consent import WitnessKind

STAGES = ("one file system",)
LARGEST = 100_000


def prepare(place: Path) -> None:
    """Two are kept, and the older one's deletion is confirmed."""
    dress(place)
    with opened(place, hours=2) as backups:
        snapshot(backups)
        goes = backups.open_vault().show(noted(place, "old"))
        backups.workspace.consents.give("delete", picked_bytes(goes), WitnessKind.TERMINAL)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Delete it, and say so."""
    goes = noted(place, "old")
    with opened(place, hours=3) as backups:
        shown = picked_bytes(backups.open_vault().show(goes))
        acknowledge(backups.delete(goes, goes, shown)[0].id)


def check(place: Path, ended: Ended | None) -> None:
    """The other one always; this one whole or gone, and gone when that was said."""
    untouched(place)
    goes, said = noted(place, "old"), place / "from" / "said"
    if ended is not None and (ended.said or ended.how == "done"):
        said.write_text("")
    there = hold(place)
    assert [one for one in there if one != goes] == [one for one in created(place) if one != goes]
    assert len(there) >= 1 and not any(there.values()), there
    if said.exists():
        assert goes not in there and deleted(place) == [goes]
    assert deleted(place) == [] or goes not in there, "the ledger says that it is gone"
    if ended is None:
        followed(place)
        assert deleted(place) == ([] if goes in there else [goes]), "what happened is told, once"


def recover(place: Path) -> None:
    """The list is looked at."""
    with opened(place, hours=4) as backups:
        backups.list()
