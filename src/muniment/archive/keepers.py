"""Floor 3, `archive`: what can be done with a deliverable afterwards: undo, copy, seal."""

from __future__ import annotations

from muniment.archive.addresses import drop_empty
from muniment.archive.check import may_be_edited, place_of
from muniment.archive.entries import COPIED, SEALED, UNDONE, is_recorded
from muniment.archive.errors import AlreadyUndone, EmptySource, InvalidInput, NotRecorded
from muniment.archive.halfmove import UNDO_ACT, let_go, stands_as_before
from muniment.archive.model import ARCHIVES, Entry
from muniment.archive.rules import MANAGED
from muniment.canonical import Json
from muniment.disk.copy import copy_verified, discard
from muniment.disk.errors import AlreadyThere, OutsideRoot, SourceChanged
from muniment.disk.journal import Act
from muniment.disk.move import move_verified
from muniment.disk.root import Root
from muniment.disk.tree import Measured, measure
from muniment.errors import MunimentError
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.event import Draft
from muniment.record.locate import path_text
from muniment.record.state import Workspace


def undo(workspace: Workspace, entry: Entry) -> RelPath:
    """Move a deliverable back to where it came from, and answer that path.

    Only when its bytes are those recorded and its old path is free: `SourceChanged`,
    `AlreadyThere`.  The ledger keeps both events.
    """
    with workspace.working():
        if entry.undone or is_recorded(workspace.ledger, UNDONE, entry.reference):
            raise AlreadyUndone(where=entry.reference)
        place = place_of(workspace, entry)
        workspace.claims.require_free(place)
        workspace.claims.require_free(entry.origin)
        measured = _as_recorded(workspace, entry, place)
        if workspace.root.exists(entry.origin):
            raise _taken(entry)
        ends: tuple[dict[str, Json], dict[str, Json]] = (
            {"path": path_text(place), "tree": entry.tree.hex},
            {"path": path_text(entry.origin), "tree": entry.tree.hex, "reference": entry.reference},
        )
        workspace.root.make_folders(entry.origin.parent)
        act = workspace.journal.begin(UNDO_ACT, *ends, workspace.clock(), workspace.entropy)
        try:
            move_verified(workspace.root, place, workspace.root, entry.origin, measured, token=act.act_id)
        except BaseException as error:
            if stands_as_before(workspace.root, place, entry.origin, act.act_id, measured):
                let_go(workspace.journal, act)
            if isinstance(error, AlreadyThere):
                raise _taken(entry) from error
            raise
        _record_undone(workspace, entry, place, measured, act)
        let_go(workspace.journal, act)
        drop_empty(workspace.root, place.parent)
    return entry.origin


def _taken(entry: Entry) -> AlreadyThere:
    return AlreadyThere(where=printable(entry.origin.posix), why=say("its old path is taken"))


def _record_undone(workspace: Workspace, entry: Entry, place: RelPath, measured: Measured, act: Act) -> None:
    """Write the event; where it can not be written, the deliverable goes back into the archive.

    An append that fails may have written all the same: then, or when nobody can tell, the journal
    stays for `doctor`.
    """
    try:
        workspace.ledger.append(undone_draft(entry.reference, place, entry.origin, measured))
    except BaseException as error:
        where = printable(f"{place.posix} → {entry.origin.posix}")
        try:
            written = is_recorded(workspace.ledger, UNDONE, entry.reference)
        except MunimentError as silent:
            raise NotRecorded(where=where, why=silent.message) from error
        if not written:
            move_verified(workspace.root, entry.origin, workspace.root, place, measured, token=act.act_id)
            let_go(workspace.journal, act)
        elif isinstance(error, MunimentError):
            raise NotRecorded(where=where, why=error.message) from error
        raise


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
    """Copy a deliverable to a free path of any root (else `AlreadyThere`); the archived one stays.

    The copy is read back; a deliverable that is not as recorded is not copied.
    """
    inside = _inside(workspace.root, target, target_rel)
    if inside is not None and inside.parts[0].casefold() in (ARCHIVES, *MANAGED):
        raise InvalidInput(
            where=printable(inside.posix), why=say("a copy leads out of the archive, not into it")
        )
    with workspace.working():
        place = place_of(workspace, entry)
        measured = _as_recorded(workspace, entry, place)
        copy_verified(workspace.root, place, target, target_rel, measured)
        evidence: dict[str, Json] = {
            "from": None,
            "to": path_text(inside) if inside is not None else None,
            "outside": inside is None,
            "tree": entry.tree.hex,
            "count": entry.count,
            "bytes": entry.size,
        }
        try:
            workspace.ledger.append(Draft(COPIED, entry.reference, evidence))
        except BaseException:
            # What was not reported shall not lie about.
            discard(target, target_rel)
            raise
    return measured


def _inside(own: Root, target: Root, target_rel: RelPath) -> RelPath | None:
    """A path of another root as one of the workspace; None when it lies outside."""
    try:
        return own.relative(f"{target.path}/{target_rel.posix}")
    except OutsideRoot:
        return None


def seal(workspace: Workspace, entry: Entry, mutable: tuple[str, ...] = ()) -> None:
    """Record a deliverable as it is now, for good: from now on any edit counts as a change.

    What nobody declared as editable must still be as recorded: a seal never makes a change good.
    """
    with workspace.working():
        if entry.undone or is_recorded(workspace.ledger, UNDONE, entry.reference):
            raise AlreadyUndone(where=entry.reference)
        place = place_of(workspace, entry)
        measured = measure(workspace.root, place, refuse_writers=True, cold=True)
        if measured.table.size == 0:
            raise EmptySource(where=printable(place.posix))
        if measured.table.digest != entry.tree and not may_be_edited(entry, mutable):
            raise SourceChanged(where=printable(place.posix), why=say("it is not what was archived"))
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


def _as_recorded(workspace: Workspace, entry: Entry, place: RelPath) -> Measured:
    measured = measure(workspace.root, place, refuse_writers=True)
    if measured.table.digest != entry.tree:
        raise SourceChanged(where=printable(place.posix), why=say("it is not what was archived"))
    return measured
