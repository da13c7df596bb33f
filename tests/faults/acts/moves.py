"""What all moves under faults have in common: how they run, what must hold, how they are ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.content import Entry, differs, remove, scratch, stands, tidy
from tests.faults.harness import Ended

from muniment.disk.move import aside_of, move_verified
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.path import RelPath

TOKEN = "the-act"
ASIDE = aside_of(RelPath.parse("work"), TOKEN).name


def move(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Measure and move `from/work` to `to/kept`."""
    with Root.open(place / "from") as source, Root.open(place / "to") as target:
        rel = RelPath.parse("work")
        measured = measure(source, rel, refuse_writers=True)
        moved = move_verified(source, rel, target, RelPath.parse("kept"), measured, token=TOKEN)
        acknowledge(str(moved.table.digest))


def check_move(place: Path, ended: Ended | None, wanted: dict[str, Entry]) -> None:
    """Every byte at the source, aside of it, or at the target; never half a thing at a name."""
    work, kept, aside = place / "from" / "work", place / "to" / "kept", place / "from" / ASIDE
    whole = [path for path in (work, aside, kept) if stands(path, wanted)]
    story = "; ".join(filter(None, (differs(path, wanted) for path in (work, aside, kept))))
    assert whole, f"the content is whole nowhere: {story}"
    assert not os.path.lexists(kept) or kept in whole, f"half a thing at the target: {story}"
    if work not in whole and os.path.lexists(work):
        # Only while a source that can not be renamed is being removed, after its copy was verified.
        assert kept in whole and (ended is None or ended.how != "done"), story
    if ended is not None and (ended.how == "done" or ended.said):
        assert kept in whole and not os.path.lexists(work) and not os.path.lexists(aside)
    if ended is not None and ended.code == "PUT_BACK_FAILED":
        assert ended.lasting, "one fault is no reason to put nothing back"
    elif ended is not None and ended.how == "refused" and ended.code != "SOURCE_NOT_REMOVED":
        assert work in whole, f"it was refused, and the source is not as before: {story}"
        assert ended.lasting or not os.path.lexists(kept), "it was refused, and something is at the target"
    if ended is not None and ended.how == "refused" and ended.code == "SOURCE_NOT_REMOVED":
        assert kept in whole
    if ended is None:
        assert len(whole) == 1 and not os.path.lexists(aside), f"it is not ended: {story}"
        assert not os.path.lexists(work) or work in whole
        assert scratch(place / "from") + scratch(place / "to") == []


def end_move(place: Path, wanted: dict[str, Entry]) -> None:
    """What `doctor` does: a whole target wins over whatever is left of the source."""
    work, kept, aside = place / "from" / "work", place / "to" / "kept", place / "from" / ASIDE
    tidy(place / "to")
    if stands(kept, wanted):
        remove(work)
        remove(aside)
    elif stands(aside, wanted):
        aside.rename(work)
