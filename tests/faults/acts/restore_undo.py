"""A restore undone: replaced files and a database with its log put back, made ones removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts import restore_apply
from tests.faults.acts.restores import everywhere, is_kept, mine, room, rows, standing, unfinished
from tests.faults.harness import Ended

from muniment.backup.errors import UndoIncomplete
from muniment.record.verify import verify

STAGES = ("one file system",)
LARGEST = 24_000


def prepare(place: Path) -> None:
    """A restore was applied."""
    restore_apply.prepare(place)
    restore_apply.run(place, lambda said: None)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Undo it."""
    with room(place) as one:
        (found,) = one.restores.undo_sets()
        undone = one.restores.undo(found.restore)
        if undone.kept:
            raise UndoIncomplete(where=undone.restore, count=len(undone.kept))
        acknowledge(undone.restore)


def check(place: Path, ended: Ended | None) -> None:
    """What was replaced is never gone; said is done; the next undo ends it."""
    folder = place / "to" / "ws"
    before, now = mine(place), standing(folder)
    lost = set(before.values()) - everywhere(folder)
    assert not lost, f"bytes that were replaced are gone: {lost}"
    with room(place) as one:
        if ended is not None and (ended.how == "done" or ended.said):
            assert now == before, "it was said, and is not so"
        if ended is None:
            assert now == before and not unfinished(folder), (now, unfinished(folder))
            assert not is_kept(folder) and rows(folder) == [1, 2]
            assert one.restores.undo_sets() == []
            assert verify(one.record.ledger).whole


def recover(place: Path) -> None:
    """It is undone once more, if there is anything to undo."""
    with room(place) as one:
        for found in one.restores.undo_sets():
            undone = one.restores.undo(found.restore)
            assert not undone.kept, undone.kept
