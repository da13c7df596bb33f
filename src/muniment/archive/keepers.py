"""Floor 3, `archive`: what can be done with a deliverable afterwards: undo, copy, seal."""

from __future__ import annotations

from muniment.archive.check import place_of
from muniment.archive.entries import COPIED, SEALED, UNDONE
from muniment.archive.errors import AlreadyUndone, TargetExists
from muniment.archive.model import ARCHIVES, Entry
from muniment.canonical import Json
from muniment.disk.copy import copy_verified
from muniment.disk.errors import AlreadyThere, NotThere, ReadbackFailed, SourceChanged
from muniment.disk.move import move_verified
from muniment.disk.root import Root
from muniment.disk.tree import Measured, measure
from muniment.errors import MunimentError
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.event import Draft
from muniment.record.locate import path_text
from muniment.record.state import Workspace

UNDO_ACT = "archive.undo"
"""The kind under which the journal knows a move back out of the archive."""


def undo(workspace: Workspace, entry: Entry) -> RelPath:
    """Move a deliverable back to where it came from, and answer that path.

    Only when its bytes are those recorded and its old path is free: `SourceChanged`,
    `TargetExists`.  The ledger keeps both events.
    """
    if entry.undone:
        raise AlreadyUndone(where=entry.reference)
    with workspace.working():
        place = place_of(workspace, entry)
        workspace.claims.require_free(place)
        workspace.claims.require_free(entry.origin)
        measured = _as_recorded(workspace, entry, place)
        if workspace.root.exists(entry.origin):
            raise TargetExists(where=printable(entry.origin.posix), why=say("its old path is taken"))
        ends: tuple[dict[str, Json], dict[str, Json]] = (
            {"path": path_text(place), "tree": entry.tree.hex},
            {"path": path_text(entry.origin), "tree": entry.tree.hex, "reference": entry.reference},
        )
        workspace.root.make_folders(entry.origin.parent)
        act = workspace.journal.begin(UNDO_ACT, *ends, workspace.clock(), workspace.entropy)
        try:
            move_verified(workspace.root, place, workspace.root, entry.origin, measured, token=act.act_id)
        except AlreadyThere as error:
            workspace.journal.end(act)
            raise TargetExists(
                where=printable(entry.origin.posix), why=say("its old path is taken")
            ) from error
        try:
            workspace.ledger.append(undone_draft(entry.reference, place, entry.origin, measured))
        except ReadbackFailed:
            # The event may stand in the ledger all the same: `doctor` finds out, by the journal.
            raise
        except MunimentError:
            move_verified(workspace.root, entry.origin, workspace.root, place, measured, token=act.act_id)
            workspace.journal.end(act)
            raise
        workspace.journal.end(act)
        drop_empty_folder(workspace.root, place.parent)
    return entry.origin


def undone_draft(reference: str, place: RelPath, origin: RelPath, measured: Measured) -> Draft:
    """The event that says a deliverable went back."""
    evidence: dict[str, Json] = {
        "from": path_text(place),
        "to": path_text(origin),
        "tree": measured.table.digest.hex,
        "count": measured.table.count,
        "bytes": measured.table.size,
    }
    return Draft(UNDONE, reference, evidence)


def copy_out(workspace: Workspace, entry: Entry, target: Root, target_rel: RelPath) -> Measured:
    """Copy a deliverable to a free path of any root; the one in the archive stays.

    The copy is read back; a deliverable that is not as recorded is not copied.
    """
    with workspace.working():
        place = place_of(workspace, entry)
        measured = _as_recorded(workspace, entry, place)
        try:
            copy_verified(workspace.root, place, target, target_rel, measured)
        except AlreadyThere as error:
            raise TargetExists(where=printable(target_rel.posix)) from error
        evidence: dict[str, Json] = {
            "from": None,
            "to": path_text(target_rel) if target.path == workspace.root.path else None,
            "outside": target.path != workspace.root.path,
            "tree": entry.tree.hex,
            "count": entry.count,
            "bytes": entry.size,
        }
        workspace.ledger.append(Draft(COPIED, entry.reference, evidence))
    return measured


def seal(workspace: Workspace, entry: Entry) -> Entry:
    """Record a deliverable as it is now, for good: from now on any edit counts as a change."""
    with workspace.working():
        place = place_of(workspace, entry)
        measured = measure(workspace.root, place, refuse_writers=True, cold=True)
        tree = workspace.tables.keep(measured.table)
        evidence: dict[str, Json] = {
            "from": None,
            "to": path_text(place),
            "tree": tree.hex,
            "count": measured.table.count,
            "bytes": measured.table.size,
            "was": entry.tree.hex,
        }
        workspace.ledger.append(Draft(SEALED, entry.reference, evidence))
    return entry


def _as_recorded(workspace: Workspace, entry: Entry, place: RelPath) -> Measured:
    measured = measure(workspace.root, place, refuse_writers=True)
    if measured.table.digest != entry.tree:
        raise SourceChanged(where=printable(place.posix), why=say("it is not what was archived"))
    return measured


def drop_empty_folder(root: Root, folder: RelPath) -> None:
    """Give an empty timestamp back; folders of other depths are nobody's to remove."""
    try:
        if folder.parts[:1] == (ARCHIVES,) and len(folder.parts) == 3 and not root.names(folder):
            root.remove_folder(folder)
    except NotThere:
        return
