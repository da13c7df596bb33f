"""Floor 3, `archive`: ending moves that were killed half-way (spec 0, journal).

The journal names both ends and the digest of the content.  What is found there decides: the
act is finished, or called off, or, when neither fits, named and left alone.  Ending an act may
be killed as well; the next look then finds a state from which it goes on.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from enum import StrEnum

from muniment.archive.addresses import drop_empty
from muniment.archive.entries import is_recorded
from muniment.archive.halfmove import KEEP_ACT, UNDO_ACT, HalfMove, is_stamp, mirror_token, read_half_move
from muniment.archive.keepers import undone_draft
from muniment.archive.model import ARCHIVES
from muniment.canonical import Json
from muniment.disk import platform
from muniment.disk.copy import staging_of
from muniment.disk.errors import HalfDone, NotThere, named
from muniment.disk.journal import Act
from muniment.disk.move import aside_of
from muniment.disk.tree import Measured, measure, remove_tree
from muniment.evidence import compare
from muniment.message import say
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.locate import moves, path_text
from muniment.record.state import Workspace

ACTS = frozenset({KEEP_ACT, UNDO_ACT})
"""The kinds of acts that this room can end."""


class Ending(StrEnum):
    """How a half-done act was ended."""

    FINISHED = "finished"
    CALLED_OFF = "called off"


class Look(StrEnum):
    """What stands at a place, compared with what was to be moved: nothing, the whole of it, only a
    part (and nothing else), something else."""

    NOTHING = "nothing"
    WHOLE = "whole"
    PART = "part"
    OTHER = "other"


_SEEN = {
    Look.NOTHING: say("nothing"),
    Look.WHOLE: say("all"),
    Look.PART: say("a part"),
    Look.OTHER: say("something else"),
}


class Step(StrEnum):
    """What ends the act."""

    RECORD = "record it"
    CLEAR_AND_RECORD = "remove the rest of the source, then record it"
    CALL_OFF = "leave the source, remove what was made"
    PUT_BACK = "give the source its name again, remove what was made"
    NOTHING_FITS = "touch nothing"


def judge(source: Look, aside: Look, target: Look) -> Step:
    """What ends an act, by what stands at the source, beside it where a copied source is set aside,
    and at the target.

    >>> judge(Look.WHOLE, Look.NOTHING, Look.NOTHING).name
    'CALL_OFF'
    >>> judge(Look.NOTHING, Look.NOTHING, Look.WHOLE).name
    'RECORD'
    """
    if source is not Look.NOTHING and aside is not Look.NOTHING:
        return Step.NOTHING_FITS
    if source is Look.WHOLE:
        return Step.CALL_OFF
    if target is Look.WHOLE:
        if source is aside is Look.NOTHING:
            return Step.RECORD
        # A source goes only once its copy was read back, and it goes entry by entry.
        if aside in (Look.WHOLE, Look.PART) or source is Look.PART:
            return Step.CLEAR_AND_RECORD
        return Step.PUT_BACK if aside is Look.OTHER else Step.NOTHING_FITS
    if target is Look.NOTHING:
        if aside in (Look.WHOLE, Look.OTHER):
            return Step.PUT_BACK
        if source is not Look.NOTHING:
            # Nothing was moved; what stands there now was written since, and is its writer's.
            return Step.CALL_OFF
    return Step.NOTHING_FITS


@dataclass(frozen=True, slots=True)
class _Found:
    """What stands at the three places."""

    source: Look
    aside: Look
    target: Look
    at_target: Measured | None


def recover(workspace: Workspace, act: Act) -> Ending:
    """End a half-done move; `HalfDone` names both places when neither end is found.

    Call it while the workspace is held alone: a move that still goes on is not half done.
    """
    half = read_half_move(act)
    if is_recorded(workspace.ledger, half.event_kind, half.reference):
        # It was done; only the journal is left.
        return _ended(workspace, act, half, Ending.FINISHED)
    found = _look(workspace, half)
    step = judge(found.source, found.aside, found.target)
    if step is Step.NOTHING_FITS and not (_all_gone(found) and _went_elsewhere(workspace, half)):
        raise _neither(half, found)
    _clear_unfinished(workspace, half)
    if step in (Step.RECORD, Step.CLEAR_AND_RECORD):
        # A part of it is still known for a part, should this be killed as well.
        for rest in (half.source, aside_of(half.source, half.act_id)):
            if workspace.root.exists(rest):
                remove_tree(workspace.root, rest)
        assert found.at_target is not None
        _record(workspace, half, found.at_target)
        return _ended(workspace, act, half, Ending.FINISHED)
    if step is Step.PUT_BACK:
        _rename(workspace, aside_of(half.source, half.act_id), half.source)
    if half.keeps:
        # Nothing was reported, so what this act made goes; what anybody else put there stays.
        _withdraw(workspace, half, half.target, half.act_id)
        if half.mirror is not None:
            _withdraw(workspace, half, half.mirror, mirror_token(half.act_id))
    return _ended(workspace, act, half, Ending.CALLED_OFF)


def _ended(workspace: Workspace, act: Act, half: HalfMove, ending: Ending) -> Ending:
    for place in (half.source, half.target, half.mirror):
        if place is not None:
            drop_empty(workspace.root, place.parent)
    workspace.journal.end(act)
    return ending


def _look(workspace: Workspace, half: HalfMove) -> _Found:
    at_target = _read(workspace, half.target)
    return _Found(
        _compare(workspace, half, _read(workspace, half.source)),
        _compare(workspace, half, _read(workspace, aside_of(half.source, half.act_id))),
        _compare(workspace, half, at_target),
        at_target,
    )


def _read(workspace: Workspace, place: RelPath) -> Measured | None:
    try:
        return measure(workspace.root, place, cold=True)
    except NotThere:
        return None


def _compare(workspace: Workspace, half: HalfMove, found: Measured | None) -> Look:
    if found is None:
        return Look.NOTHING
    if found.table.digest == half.tree:
        return Look.WHOLE
    difference = compare(workspace.tables.get(half.tree), found.table)
    return Look.OTHER if difference.changed or difference.extra else Look.PART


def _all_gone(found: _Found) -> bool:
    return found.source is found.aside is found.target is Look.NOTHING


def _went_elsewhere(workspace: Workspace, half: HalfMove) -> bool:
    """Whether the ledger says that another act has moved the source on since."""
    return any(
        move.source is not None and half.source.within(move.source) and move.event.at >= half.begun
        for move in moves(workspace.ledger)
    )


def _is_somebody_elses(workspace: Workspace, half: HalfMove, place: RelPath) -> bool:
    """Whether another deliverable was put at a place, or another half-done act may have put it there."""
    text = path_text(place)
    if any(
        other.act_id != half.act_id and text in (other.after.get("path"), other.after.get("mirror"))
        for other in workspace.journal.pending()
    ):
        return True
    return any(
        move.target == place and move.event.subject != half.reference for move in moves(workspace.ledger)
    )


def _record(workspace: Workspace, half: HalfMove, found: Measured) -> None:
    """Write the event that the act came to owe."""
    if not half.keeps:
        workspace.ledger.append(undone_draft(half.reference, half.source, half.target, found))
        return
    assert half.track is not None
    evidence: dict[str, Json] = {
        "from": path_text(half.source),
        "to": path_text(half.target),
        "tree": found.table.digest.hex,
        "count": found.table.count,
        "bytes": found.table.size,
        "kind": found.kind.value,
        "track": half.track.value,
        "name": half.name,
        "archive_id": half.target.parts[1],
        "recovered_from": half.act_id,
    }
    mirror = half.mirror
    if mirror is not None and _compare(workspace, half, _read(workspace, mirror)) is Look.WHOLE:
        evidence["mirrored"] = path_text(mirror)
    workspace.ledger.append(Draft(half.event_kind, half.reference, evidence))


def _clear_unfinished(workspace: Workspace, half: HalfMove) -> None:
    """Copies that were still growing are nobody's content: their source is whole."""
    places = [staging_of(half.target, half.act_id)]
    if half.mirror is not None:
        places.append(staging_of(half.mirror, mirror_token(half.act_id)))
    for place in places:
        if workspace.root.exists(place):
            remove_tree(workspace.root, place)


def _withdraw(workspace: Workspace, half: HalfMove, place: RelPath, token: str) -> None:
    """Remove what the act made at a place, under a name by which the next look knows it for
    unfinished: nobody may take a part of a folder for the folder."""
    made = _compare(workspace, half, _read(workspace, place)) in (Look.WHOLE, Look.PART)
    if made and not _is_somebody_elses(workspace, half, place):
        doomed = staging_of(place, token)
        _rename(workspace, place, doomed)
        remove_tree(workspace.root, doomed)


def _rename(workspace: Workspace, place: RelPath, to: RelPath) -> None:
    root = workspace.root
    with root.folder(place.parent) as fd, named(place):
        platform.rename_exclusive(fd, place.name, fd, to.name)
        platform.sync_folder(fd)


def _neither(half: HalfMove, found: _Found) -> HalfDone:
    return HalfDone(
        where=f"{path_text(half.source)} → {path_text(half.target)}",
        why=say(
            "{kind} of {at}; of what was to be moved there is {source} at the source, {target} at the target",
            kind=half.kind,
            at=half.begun,
            source=_SEEN[found.source],
            target=_SEEN[found.target],
        ),
    )


def empty_addresses(workspace: Workspace) -> list[RelPath]:
    """Timestamps that were claimed and never filled, by calls that were killed in between."""
    root, archives = workspace.root, RelPath((ARCHIVES,))
    found: list[RelPath] = []
    for archive_id in root.names(archives) if root.exists(archives) else ():
        folder = archives / archive_id
        if not stat.S_ISDIR(root.stat(folder).st_mode):
            continue
        stamps = [folder / name for name in root.names(folder) if is_stamp(name)]
        found += [each for each in stamps if stat.S_ISDIR(root.stat(each).st_mode) and not root.names(each)]
    return found
