"""Archiving a folder: judged, moved, read back, recorded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.acts.content import TREE, differs, scratch, stands
from tests.faults.acts.content import put as put_tree
from tests.faults.harness import Ended

from muniment.archive.entries import KEPT
from muniment.archive.model import Request
from muniment.archive.service import Archive
from muniment.desk.doctor import Level, examine
from muniment.disk.root import Root
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.state import Workspace, open_workspace
from muniment.record.verify import verify

HALF_DONE = {"SOURCE_NOT_REMOVED", "PUT_BACK_FAILED", "NOT_RECORDED"}
"""Refusals that say themselves that the content is not at its source."""


def _open(root: Root) -> Workspace:
    return open_workspace(root, clock=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC))


def prepare(place: Path) -> None:
    """A folder of an agent, in a workspace that has a record already."""
    put_tree(place / "from" / "work", TREE)
    with Root.open(place) as root:
        _open(root).ledger.append(Draft("workspace.opened", "w"))


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Archive it, and say so."""
    with Root.open(place) as root:
        room = Archive(_open(root), lambda: Session("abc", SessionSource.HOST), local=lambda moment: moment)
        (receipt,) = room.keep([Request(RelPath(("from", "work")))])
        acknowledge(receipt.address.path.posix)


def check(place: Path, ended: Ended | None) -> None:
    """Every byte at the source, aside of it, or at the address; the ledger says what was said."""
    source = place / "from" / "work"
    kept = sorted(place.glob("archives/abc/*/[!.]*"))
    whole = [path for path in (source, *scratch(place / "from"), *kept) if stands(path, TREE)]
    assert whole, f"it is whole nowhere: {differs(source, TREE)}; {[differs(path, TREE) for path in kept]}"
    with Root.open(place) as root:
        workspace = _open(root)
        events = [event for event in workspace.ledger.events() if event.kind == KEPT]
        if ended is not None and (ended.how == "done" or ended.said):
            assert len(events) == 1 and kept == whole, "it was said, and is not so"
        if ended is not None and ended.how == "refused" and not ended.lasting and ended.code not in HALF_DONE:
            assert whole == [source] and not kept and not events, f"{ended.code} changed something"
        if ended is None:
            assert len(whole) == 1 and len(events) == (whole == kept), (whole, events)
            assert kept in ([], whole) and source.exists() == (not kept)
            assert not scratch(place / "from") and not workspace.journal.names()
            assert verify(workspace.ledger).whole
            assert not [path for path in place.glob("archives/abc/*") if not any(path.iterdir())]


def recover(place: Path) -> None:
    """`doctor`, once."""
    with Root.open(place) as root:
        wrong = [one for one in examine(_open(root), mend=True) if one.level is Level.WRONG]
        assert not wrong, wrong
