"""Floor 3, `archive`: ending moves that were killed half-way (spec 0, journal).

The journal names both ends and the digest of the content.  What is found there decides: the
act is finished, or called off, or, when neither fits, named and left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from muniment.archive.entries import KEPT, UNDONE
from muniment.archive.keepers import UNDO_ACT, drop_empty_folder, undone_draft
from muniment.archive.service import ACT
from muniment.canonical import Json
from muniment.digest import Digest
from muniment.disk.copy import staging_of
from muniment.disk.errors import HalfDone, NotThere
from muniment.disk.journal import Act
from muniment.disk.move import aside_of, move_verified
from muniment.disk.tree import Measured, measure, remove_tree
from muniment.evidence import unspell
from muniment.message import say
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.locate import path_text
from muniment.record.state import Workspace

ACTS = frozenset({ACT, UNDO_ACT})
"""The kinds of acts that this room can end."""


class Ending(StrEnum):
    """How a half-done act was ended."""

    FINISHED = "finished"
    CALLED_OFF = "called off"


def recover(workspace: Workspace, act: Act) -> Ending:
    """End a half-done move; `HalfDone` names both places when neither end is found.

    Call it while the workspace is held alone: a move that still goes on is not half done.
    """
    source, target = _path(act.before), _path(act.after)
    tree = Digest(str(act.before["tree"]))
    _clear_unfinished(workspace, act, target)
    aside = aside_of(source, act.act_id)
    at_source = _read(workspace, source)
    at_target = _read(workspace, target)
    set_aside = _read(workspace, aside)
    if set_aside is not None:
        if set_aside.table.digest != tree or at_source is not None:
            raise _neither(act, aside)
        if at_target is not None and at_target.table.digest == tree:
            remove_tree(workspace.root, aside)
        else:
            move_verified(workspace.root, aside, workspace.root, source, set_aside)
            at_source = set_aside
    if _is(at_source, tree):
        # Nothing was reported yet, so the copy that may stand at the target goes.
        if _is(at_target, tree):
            remove_tree(workspace.root, target)
        elif at_target is not None and act.kind == ACT:
            raise _neither(act, target)
        _drop_mirror(workspace, act, tree)
        drop_empty_folder(workspace.root, target.parent)
        workspace.journal.end(act)
        return Ending.CALLED_OFF
    if at_source is None and _is(at_target, tree):
        assert at_target is not None
        _record(workspace, act, source, target, at_target)
        workspace.journal.end(act)
        return Ending.FINISHED
    raise _neither(act, target if at_target is not None else source)


def _record(workspace: Workspace, act: Act, source: RelPath, target: RelPath, found: Measured) -> None:
    """Write the event that the act came to owe, unless the ledger has it already."""
    reference = str(act.after["reference"])
    kind = KEPT if act.kind == ACT else UNDONE
    known = workspace.ledger.events(containing=reference.encode())
    if any(event.kind == kind and event.subject == reference for event in known):
        return
    if act.kind == UNDO_ACT:
        workspace.ledger.append(undone_draft(reference, source, target, found))
        return
    evidence: dict[str, Json] = {
        "from": path_text(source),
        "to": path_text(target),
        "tree": found.table.digest.hex,
        "count": found.table.count,
        "bytes": found.table.size,
        "kind": found.kind.value,
        "track": str(act.after["track"]),
        "name": str(act.after["name"]),
        "archive_id": target.parts[1],
        "recovered_from": act.act_id,
    }
    if act.after.get("mirror"):
        evidence["mirrored"] = str(act.after["mirror"])
    workspace.ledger.append(Draft(KEPT, reference, evidence))


def _clear_unfinished(workspace: Workspace, act: Act, target: RelPath) -> None:
    """Copies that were still growing are nobody's content: their source is whole."""
    places = [staging_of(target, act.act_id)]
    mirror = act.after.get("mirror")
    if mirror:
        places.append(staging_of(RelPath.parse(unspell(mirror)), f"{act.act_id}-mirror"))
    for place in places:
        if _there(workspace, place):
            remove_tree(workspace.root, place)


def _drop_mirror(workspace: Workspace, act: Act, tree: Digest) -> None:
    mirror = act.after.get("mirror")
    if not mirror:
        return
    place = RelPath.parse(unspell(mirror))
    if _is(_read(workspace, place), tree):
        remove_tree(workspace.root, place)


def _there(workspace: Workspace, place: RelPath) -> bool:
    try:
        return workspace.root.exists(place)
    except NotThere:
        return False


def _read(workspace: Workspace, place: RelPath) -> Measured | None:
    try:
        return measure(workspace.root, place, cold=True)
    except NotThere:
        return None


def _is(found: Measured | None, tree: Digest) -> bool:
    return found is not None and found.table.digest == tree


def _path(end: Mapping[str, Any]) -> RelPath:
    return RelPath.parse(unspell(str(end["path"])))


def _neither(act: Act, odd: RelPath) -> HalfDone:
    return HalfDone(
        where=f"{act.before['path']} → {act.after['path']}",
        why=say(
            "{kind} of {at}; what lies at {odd} fits neither end", kind=act.kind, at=act.begun, odd=odd.posix
        ),
    )
