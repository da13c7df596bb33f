"""A restore applied: files replaced and made, a database with a live log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.restores import (
    everywhere,
    is_kept,
    mine,
    prepare_workspace,
    room,
    rows,
    standing,
    told,
    unfinished,
)
from tests.faults.harness import Ended

from muniment.backup.errors import RestoreFailed
from muniment.record.consent import WitnessKind
from muniment.record.verify import verify

STAGES = ("one file system",)
LARGEST = 24_000


def prepare(place: Path) -> None:
    """A changed workspace; the snapshot was fetched, planned and confirmed."""
    prepare_workspace(place)
    with room(place) as one:
        order, _ = one.order()
        one.record.consents.give("restore", order.shown, WitnessKind.TERMINAL)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Plan it again and apply it."""
    with room(place) as one:
        order, fetched = one.order()
        applied = one.restores.apply(order, fetched)
        if applied.troubles:
            raise RestoreFailed(where=applied.backup_id, count=len(applied.troubles))
        acknowledge(applied.restore)


def check(place: Path, ended: Ended | None) -> None:
    """No byte is lost, each file is the old or the new one, and the log tells the truth."""
    folder = place / "to" / "ws"
    before, now = mine(place), standing(folder)
    lost = set(before.values()) - everywhere(folder)
    assert not lost, f"bytes of the workspace are gone: {lost}"
    with room(place) as one:
        half = one.restores.half()
        if half is None:
            assert now == before or is_kept(folder), f"no log, and neither before nor after: {now}"
        elif half.done:
            assert is_kept(folder), "the log says that a section is done"
        if ended is not None and (ended.how == "done" or ended.said):
            assert is_kept(folder), "it was said, and is not so"
            if ended.how == "done":
                assert half is None and told(one) == 1
        if ended is None:
            assert half is None and not unfinished(folder), unfinished(folder)
            assert verify(one.record.ledger).whole
            assert told(one) == is_kept(folder)
            for found in one.restores.undo_sets():
                undone = one.restores.undo(found.restore)
                assert not undone.kept, undone.kept
            assert standing(folder) == before, "undo did not give back what stood there"
            assert rows(folder) == [1, 2]


def recover(place: Path) -> None:
    """The next run goes on; the next restore clears sets of which not even the journal stands."""
    with room(place) as one:
        one.restores.prune()
        if one.restores.half() is not None:
            applied = one.restores.go_on()
            assert not applied.troubles, applied.troubles
