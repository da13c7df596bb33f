"""Floor 3, `archive`: a half-done move as its journal tells it, believed only when it fits this room."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.archive import rules
from muniment.archive.entries import KEPT, PREFIX, UNDONE
from muniment.archive.model import ARCHIVES, PLAN_NAME, Address, Track
from muniment.digest import Digest
from muniment.disk.errors import HalfDone
from muniment.disk.journal import Act, Journal
from muniment.disk.move import aside_of
from muniment.disk.root import Root
from muniment.disk.tree import Measured, check_stamps
from muniment.errors import MunimentError
from muniment.evidence import unspell
from muniment.ids import is_ulid
from muniment.message import say
from muniment.path import RelPath, printable

KEEP_ACT = "archive.keep"
"""The kind under which the journal knows a move into the archive."""

UNDO_ACT = "archive.undo"
"""The kind under which the journal knows a move back out of the archive."""

_STAMP = re.compile(r"\d{4,}(?:-\d{2}){5}")


@dataclass(frozen=True, slots=True)
class HalfMove:
    """Both ends of a move, the digest of its content, and what the ledger is owed for it."""

    act_id: str
    kind: str
    begun: str
    source: RelPath
    target: RelPath
    tree: Digest
    reference: str
    track: Track | None = None
    name: str = ""
    mirror: RelPath | None = None

    @property
    def keeps(self) -> bool:
        """Whether it leads into the archive."""
        return self.kind == KEEP_ACT

    @property
    def event_kind(self) -> str:
        """The kind of event that says it is done."""
        return KEPT if self.keeps else UNDONE


def is_stamp(name: str) -> bool:
    """Whether a name is one of a timestamp.

    >>> is_stamp("2026-11-30-14-28-05"), is_stamp("report.md")
    (True, False)
    """
    return _STAMP.fullmatch(name) is not None


def mirror_token(act_id: str) -> str:
    """What names the unfinished copy of a scheduled run's mirror."""
    return f"{act_id}-mirror"


def stands_as_before(root: Root, source: RelPath, target: RelPath, token: str, measured: Measured) -> bool:
    """Whether a move that failed has left its source at its own name, so that nothing is half done.

    The source may have changed or gone meanwhile, which may be why the move failed; then nothing
    of it may stand at the target or beside.
    """
    try:
        check_stamps(root, source, measured)
    except MunimentError:
        try:
            return not any(root.exists(place) for place in (target, aside_of(source, token)))
        except MunimentError:
            return False
    return True


def let_go(journal: Journal, act: Act) -> None:
    """Remove the journal of an act that is over.

    One that can not be removed does no harm: whoever reads it finds the act over.  So the outcome
    of the act, not this, is what its caller hears of.
    """
    with contextlib.suppress(MunimentError):
        journal.end(act)


def read_half_move(act: Act) -> HalfMove:
    """Read a journal, which may come from anywhere; `HalfDone` when it is not one of this room.

    What it names must be places between which this room itself moves things: nothing that the
    rules refuse is ever touched because a file below `.muniment/` says so.
    """
    try:
        return _read(act)
    except (KeyError, TypeError, ValueError, MunimentError) as error:
        finding: object = error.why or error.message if isinstance(error, MunimentError) else error
        raise HalfDone(
            where=printable(act.act_id),
            why=say("the journal can not be believed: {finding}", finding=finding),
        ) from error


def _read(act: Act) -> HalfMove:
    source, target = _path(act.before["path"]), _path(act.after["path"])
    tree = Digest(_text(act.before["tree"]))
    reference = _text(act.after["reference"])
    if act.after["tree"] != tree.hex:
        raise ValueError("its two ends differ")
    if not reference.startswith(f"{PREFIX}_") or not is_ulid(reference.removeprefix(f"{PREFIX}_")):
        raise ValueError("its reference is none")
    if act.kind == UNDO_ACT:
        rules.judge_place(target)
        if source.parts[0].casefold() in rules.MANAGED:
            raise ValueError("it would take out Muniment's own state")
        return HalfMove(act.act_id, act.kind, act.begun, source, target, tree, reference)
    track = Track(act.after["track"])
    rules.judge_place(source)
    _judge_kept(target, track)
    mirror = _mirror(act.after)
    return HalfMove(
        act.act_id,
        act.kind,
        act.begun,
        source,
        target,
        tree,
        reference,
        track,
        _text(act.after["name"]),
        mirror,
    )


def _mirror(after: Mapping[str, Any]) -> RelPath | None:
    if after["mirror"] is None:
        return None
    mirror = _path(after["mirror"])
    _judge_kept(mirror, Track.FILE)
    return mirror


def _judge_kept(path: RelPath, track: Track) -> None:
    """An address is `archives/{id}/PLAN.md` or `archives/{id}/{timestamp}/{name}`, and nothing else."""
    if track is Track.PLAN:
        fits = len(path.parts) == 3 and path.name == PLAN_NAME
    else:
        fits = len(path.parts) == 4 and is_stamp(path.parts[2])
    if not fits or path.parts[0] != ARCHIVES:
        raise ValueError(f"no archive address: {path.posix!r}")
    rules.judge_address(Address(path.parts[1], path.parts[2] if len(path.parts) == 4 else None, path.name))


def _path(value: object) -> RelPath:
    path = RelPath.parse(unspell(_text(value)))
    if not path.parts:
        raise ValueError("it names the workspace itself")
    return path


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, found {type(value).__name__}")
    return value
