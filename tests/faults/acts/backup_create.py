"""Backup: a confirmed plan becomes a snapshot beside an older one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.backups import (
    NEW,
    created,
    dress,
    followed,
    hold,
    noted,
    opened,
    snapshot,
    stored,
    untouched,
)
from tests.faults.harness import Ended

STAGES = ("one file system",)
LARGEST = 100_000


def prepare(place: Path) -> None:
    """One snapshot is kept; much has changed since, and a plan of it is confirmed."""
    dress(place)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Take the snapshot, and say what its receipt says."""
    with opened(place, hours=2) as backups:
        receipt = backups.create(noted(place, "plan"))
        faults = [fault.path for fault in receipt.faults]
        acknowledge(json.dumps([receipt.snapshot.id, receipt.partial, faults]))


def check(place: Path, ended: Ended | None) -> None:
    """The source as it was; only whole snapshots, or such that name what they lack; what was said is
    so; and in the end what a run without a fault gives."""
    untouched(place)
    said = place / "from" / "said"
    if ended is not None:
        said.write_text(ended.said[0] if ended.said else "")
    there = hold(place)
    assert there[noted(place, "old")] == set(), "the acknowledged snapshot is gone or lacks something"
    assert ended is None or ended.how != "killed" or not any(there.values())
    recorded = created(place)
    assert set(recorded) <= set(there) and len(set(recorded)) == len(recorded), (recorded, there)
    if said.read_text():
        snapshot_id, partial, faults = json.loads(said.read_text())
        assert snapshot_id in recorded, "it was said, and the ledger or the vault lacks it"
        assert bool(there[snapshot_id]) <= partial
        for path in there[snapshot_id]:
            assert any(f"{path}/".startswith(f"{one}/") for one in faults), f"{path} is not named: {faults}"
    if ended is None:
        followed(place)
        newest = stored(place)[0]
        assert not there[newest.id] and newest.label == NEW
        assert sorted(recorded) == sorted(there), "each is told once"


def recover(place: Path) -> None:
    """The list is looked at, and another snapshot taken."""
    with opened(place, hours=3) as backups:
        backups.list()
        snapshot(backups)
