"""Handoff room: what comes back by an adapter, taken in by the parent (spec 3, adapters).

An agent elsewhere has no root of ours.  Its artifacts named after a target are written there by the parent,
with the anchor; `return` holds what it says at the end; all others are files, laid into its own area.
Each piece is taken in once, known by the artifact's id and its digest.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.canonical import NotJson, read_json
from muniment.clock import instant
from muniment.digest import sha256
from muniment.disk.errors import AlreadyThere
from muniment.disk.write import write_verified
from muniment.handoff.documents import fit
from muniment.handoff.errors import AgentRefused
from muniment.handoff.model import OWN, Required, Target
from muniment.handoff.receipts import Dispatch
from muniment.handoff.shape import Items, Text, closed
from muniment.handoff.store import Folder
from muniment.handoff.worker import Returned, Worker
from muniment.message import say
from muniment.path import RelPath

if TYPE_CHECKING:
    from muniment.handoff.service import Handoffs

RETURN = "return"
NAME_BYTES = 200
"""Bytes of an artifact's own name, its end, that its file keeps; twelve digits may come before it."""
ENDED = ("completed", "failed", "canceled", "rejected")
_PIECE = closed(artifact_id=Text(1_024), name=Text(4_096))
_SAID = closed("evidence gaps", conclusion=Text(), evidence=Items(Text(), 0, 500), gaps=Items(Text(), 0, 500))


@dataclass(frozen=True, slots=True)
class Piece:
    """One artifact: its id, its name, its bytes."""

    artifact_id: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Brought:
    """How the work stands elsewhere, what was said last, and the pieces of it."""

    state: str
    said: str = ""
    pieces: tuple[Piece, ...] = ()


def take_in(handoffs: Handoffs, handoff_id: str, brought: Brought) -> Returned | None:
    """Write what came back where it belongs; a return is stored once the work has ended well.

    Nothing is filled in: without words there is no conclusion, and without a conclusion no return.
    """
    papers, worker = handoffs.papers, Worker(handoffs)
    folder = papers.folder(handoff_id)
    dispatch = worker.take(handoff_id).dispatch
    for piece in brought.pieces:
        fit(say("artifact"), _PIECE, {"artifact_id": piece.artifact_id, "name": piece.name})
    with folder.locked():
        known = {(each.get("artifact_id"), each.get("sha256")) for each in folder.all("brought")}
        document: dict[str, Any] = {"at": instant(handoffs.workspace.clock()), "state": brought.state}
        papers.note("handoff.seen", handoff_id, folder.add("brought", document), state=brought.state)
    if brought.state != "completed":
        return None
    fresh = [each for each in brought.pieces if (each.artifact_id, sha256(each.data).hex) not in known]
    said: dict[str, Any] = {"conclusion": brought.said} if brought.said else {}
    for piece in fresh:
        if piece.name == RETURN:
            said = _said(piece)
        else:
            path = _written(handoffs, worker, dispatch, piece)
            _note(handoffs, folder, piece, path)
    paths = [each["path"] for each in folder.all("brought") if "path" in each]
    if not said or (not fresh and folder.names("returns")):
        return None
    stored = worker.give_back(handoff_id, worker.compose(handoff_id, artifact_paths=paths, **said))
    for piece in fresh:
        if piece.name == RETURN:
            _note(handoffs, folder, piece, None)
    return stored


def _said(piece: Piece) -> dict[str, Any]:
    """What the agent says at the end: an object with a conclusion, or plain words."""
    with suppress(NotJson):
        value = read_json(piece.data)
        if isinstance(value, dict):
            return fit(say("return"), _SAID, value)
    return {"conclusion": piece.data.decode("utf-8", "replace").strip()}


def _written(handoffs: Handoffs, worker: Worker, dispatch: Dispatch, piece: Piece) -> str | None:
    """Write a piece; gives its path when it is a file of its own."""
    handoff_id = dispatch.handoff_id
    target = Target(piece.name) if piece.name in list(Target) else None
    contract = worker.take(handoff_id).packet.contract
    if target is None or contract is None or not isinstance(contract.targets[target], Required):
        return _file(handoffs, dispatch, piece)
    if target in OWN:
        worker.record(handoff_id, target, piece.data, by="parent")
    elif target is Target.TEAM_JOURNAL:
        worker.journal(handoff_id, piece.data.decode("utf-8", "replace"), by="parent")
    else:
        try:
            value = read_json(piece.data)
        except NotJson as error:
            why = say("its proposal is no strict JSON: {finding}", finding=error)
            raise AgentRefused(agent=dispatch.recipient_id, why=why) from error
        if not isinstance(value, dict) or not set(value) <= {"operations", "heading", "text"}:
            why = say("its proposal has other members than operations, heading and text")
            raise AgentRefused(agent=dispatch.recipient_id, why=why)
        worker.propose(handoff_id, **value)
    return None


def _file(handoffs: Handoffs, dispatch: Dispatch, piece: Piece) -> str:
    """Lay a file into the recipient's own area, under a name that is one."""
    name = re.sub(r"[^\w.+-]", "_", piece.name).encode()[-NAME_BYTES:].decode(errors="ignore")
    name = name.lstrip(".") or "artifact"
    area = handoffs.options.area.replace("{recipient}", dispatch.recipient_id).strip("/")
    root, folder = handoffs.workspace.root, RelPath.parse(area) / "artifacts" / dispatch.dispatch_id
    root.make_folders(folder)
    digest = sha256(piece.data).hex
    for rel in (folder / name, folder / f"{digest[:12]}-{name}"):
        try:
            write_verified(root, rel, piece.data)
        except AlreadyThere:
            if sha256(root.read(rel)).hex != digest:
                continue
        return rel.posix
    raise AlreadyThere(where=(folder / name).posix)


def _note(handoffs: Handoffs, folder: Folder, piece: Piece, path: str | None) -> None:
    document: dict[str, Any] = {
        "at": instant(handoffs.workspace.clock()),
        "state": "completed",
        "artifact_id": piece.artifact_id,
        "name": piece.name,
        "sha256": sha256(piece.data).hex,
    }
    document |= {"path": path} if path is not None else {}
    with folder.locked():
        kept = folder.add("brought", document)
        handoffs.papers.note("handoff.brought", folder.handoff_id, kept)
