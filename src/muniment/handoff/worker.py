"""Handoff room: the acts of the worker: take its view, record its own work, return (spec 3, surface)."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.canonical import canonical
from muniment.clock import instant
from muniment.disk.errors import ReadbackFailed
from muniment.disk.locks import locked
from muniment.handoff import errors
from muniment.handoff.anchors import holds, without_anchors
from muniment.handoff.board import proposed_text
from muniment.handoff.central_board import CentralBoard
from muniment.handoff.documents import fit, parse
from muniment.handoff.model import OWN, NotApplicable, Packet, Required, Target
from muniment.handoff.receipts import Dispatch, Return
from muniment.handoff.shapes import CLOSURE, RETURN
from muniment.handoff.store import HANDOFFS, VIEW, Folder, append_durably
from muniment.handoff.team_journal import TeamJournal
from muniment.message import say
from muniment.path import RelPath

if TYPE_CHECKING:
    from muniment.handoff.service import Handoffs

RECORD_MAX = 8 << 20
"""Bytes of one record of work."""


@dataclass(frozen=True, slots=True)
class View:
    """What the recipient gets: the packet without nonces, the dispatch id, and finished anchors."""

    packet: Packet
    dispatch: Dispatch
    anchors: Mapping[Target, str]

    def to_json(self) -> dict[str, Any]:
        """The view as faces print it."""
        return {
            "packet": self.packet.to_json(),
            "dispatch_id": self.dispatch.dispatch_id,
            "effective_mode": self.dispatch.effective_mode.value,
            "anchors": {target.value: text for target, text in self.anchors.items()},
        }


@dataclass(frozen=True, slots=True)
class Returned:
    """A return that was stored: its digest, its number, and whether it superseded another one."""

    sha256: str
    number: int

    @property
    def superseded(self) -> bool:
        """Whether an earlier return is kept beside it."""
        return self.number > 1


class Worker:
    """One delegated piece of work, as its recipient acts on it."""

    def __init__(self, handoffs: Handoffs) -> None:
        self._papers = handoffs.papers
        self._workspace = handoffs.workspace

    def take(self, handoff_id: str) -> View:
        """The work and its anchors; `NotDispatched` before there is a receipt."""
        folder = self._papers.folder(handoff_id)
        packet, dispatch = self._papers.packet(folder), self._dispatch(folder)
        found = folder.document(f"views/{dispatch.dispatch_id}.json", VIEW)
        return View(packet, dispatch, {Target(name): text for name, text in found["anchors"].items()})

    def _dispatch(self, folder: Folder) -> Dispatch:
        outcome = self._papers.outcome(folder)
        if not isinstance(outcome, Dispatch):
            raise errors.NotDispatched(handoff=folder.handoff_id, where=folder.handoff_id)
        return outcome

    def record(
        self, handoff_id: str, target: Target, content: bytes, *, by: str = "muniment"
    ) -> dict[str, Any]:
        """Append the worker's own content with its anchor; gives the closure receipt of it.

        Only memory and worklog are recorded so.  The bytes are read back from where they lie before
        anything is said.  `by` is who writes it: Muniment on the worker's word, or the parent.
        """
        view = self.take(handoff_id)
        entry = view.packet.contract.targets[target] if view.packet.contract is not None else None
        if target not in OWN or not isinstance(entry, Required):
            why = say("it is owed by another way") if isinstance(entry, Required) else say("it is not owed")
            raise errors.TargetRefused(target=target.value, where=target.value, why=why)
        if not without_anchors(content).strip():
            raise errors.NothingToRecord(target=target.value, where=target.value)
        if len(content) > RECORD_MAX:
            why = say("{size} bytes; {most} is the most", size=len(content), most=RECORD_MAX)
            raise errors.TargetRefused(target=target.value, where=target.value, why=why)
        text = content if content.endswith(b"\n") else content + b"\n"
        written = text + view.anchors[target].encode() + b"\n"
        folder, root = self._papers.folder(handoff_id), self._workspace.root
        lock = HANDOFFS / f"append-{hashlib.sha256(entry.path.encode()).hexdigest()}"
        with folder.locked(), locked(root, lock):
            offset, found = append_durably(root, RelPath.parse(entry.path), written)
            if found != written:
                why = say("the entry is not there as it was written")
                raise ReadbackFailed(where=entry.path, why=why)
            digest = hashlib.sha256(found).hexdigest()
            document: dict[str, Any] = {
                "target": target.value,
                "offset": offset,
                "length": len(written),
                "sha256": digest,
                "at": instant(self._workspace.clock()),
                "by": by,
            }
            kept = folder.add("recorded", document)
            self._papers.note("handoff.recorded", handoff_id, kept, target=target.value)
        return {
            "target": target.value,
            "state": "updated",
            **self._ids(view),
            "evidence_anchor": view.anchors[target],
            "path": entry.path,
            "offset": offset,
            "length": len(written),
            "exit_code": 0,
            "sha256": digest,
        }

    def journal(self, handoff_id: str, text: str, *, by: str = "muniment") -> dict[str, Any]:
        """Append to the team's journal by its adapter; gives the closure receipt."""
        view = self.take(handoff_id)
        entry = self._owed(view, Target.TEAM_JOURNAL)
        if not without_anchors(text.encode("utf-8", "surrogatepass")).strip():
            raise errors.NothingToRecord(target="team_journal", where="team_journal")
        anchor = view.anchors[Target.TEAM_JOURNAL]
        journal = TeamJournal(self._workspace, RelPath.parse(entry.path), view.dispatch.recipient_id)
        done = journal.append(text, subject=handoff_id, anchor=anchor)
        folder = self._papers.folder(handoff_id)
        with folder.locked():
            document: dict[str, Any] = {
                "target": Target.TEAM_JOURNAL.value,
                "offset": done.position,
                "length": done.length,
                "sha256": done.line_sha256,
                "at": instant(self._workspace.clock()),
                "by": by,
            }
            kept = folder.add("recorded", document)
            self._papers.note("handoff.recorded", handoff_id, kept, target=Target.TEAM_JOURNAL.value)
        return self._close(view, Target.TEAM_JOURNAL, "updated", done.to_json())

    def propose(
        self, handoff_id: str, *, operations: list[Any] | None = None, heading: str = "", text: str = ""
    ) -> dict[str, Any]:
        """Propose a change of the central board; gives the closure receipt.

        Where the anchor does not stand in it yet, it is added.
        """
        view = self.take(handoff_id)
        entry = self._owed(view, Target.CENTRAL_BOARD)
        anchor = view.anchors[Target.CENTRAL_BOARD]
        board = CentralBoard(self._workspace, RelPath.parse(entry.path))
        proposal = board.propose(operations=operations, heading=heading, text=text)
        if not holds(proposed_text(proposal), anchor):
            text, operations = f"{text}\n\n{anchor}", _with_anchor(operations, anchor)
            proposal = board.propose(operations=operations, heading=heading, text=text)
        return self._close(view, Target.CENTRAL_BOARD, "proposed_for_parent", {"proposal": proposal})

    def _owed(self, view: View, target: Target) -> Required:
        entry = view.packet.contract.targets[target] if view.packet.contract is not None else None
        if not isinstance(entry, Required):
            raise errors.TargetRefused(target=target.value, where=target.value, why=say("it is not owed"))
        return entry

    def _close(self, view: View, target: Target, state: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a closure receipt, so that the return carries it."""
        head = {"target": target.value, "state": state, **self._ids(view)}
        closure = {**head, "evidence_anchor": view.anchors[target], **more}
        handoff_id = view.dispatch.handoff_id
        folder = self._papers.folder(handoff_id)
        with folder.locked():
            kept = folder.add("closures", closure)
            self._papers.note("handoff.closed", handoff_id, kept, target=target.value)
        return closure

    def _ids(self, view: View) -> dict[str, str]:
        found = {"handoff_id": view.dispatch.handoff_id, "dispatch_id": view.dispatch.dispatch_id}
        if view.dispatch.contract_id is not None:
            found["contract_id"] = view.dispatch.contract_id
        return found

    def compose(
        self,
        handoff_id: str,
        *,
        conclusion: str,
        evidence: Sequence[Any] = (),
        gaps: Sequence[str] = (),
        artifact_paths: Sequence[str] = (),
        closures: Sequence[Mapping[str, Any]] = (),
    ) -> bytes:
        """A return in the worker's own words, with the receipts of what it recorded.

        Receipts given in `closures` come first; targets that do not apply repeat their reason.
        """
        view, folder = self.take(handoff_id), self._papers.folder(handoff_id)
        answer: dict[str, Any] = {
            **self._ids(view),
            "execution_mode": view.dispatch.effective_mode.value,
            "conclusion": conclusion,
            "evidence": list(evidence),
            "gaps": list(gaps),
            "artifact_paths": list(artifact_paths),
        }
        contract = view.packet.contract
        if contract is not None:
            fitting = [fit(say("closure receipt"), CLOSURE, each) for each in closures]
            adapters = folder.all("closures")
            given = {each["target"]: each for each in (*adapters, *fitting)}
            recorded = {each["target"]: each for each in folder.all("recorded")}
            found: list[dict[str, Any]] = []
            for target in Target:
                entry = contract.targets[target]
                head = {"target": target.value, **self._ids(view)}
                if target.value in given:
                    found.append(given[target.value])
                elif isinstance(entry, NotApplicable):
                    found.append({**head, "state": "not_applicable", "reason": entry.reason})
                elif target.value in recorded:
                    last = {name: recorded[target.value][name] for name in ("offset", "length", "sha256")}
                    anchor = view.anchors[target]
                    done = {"state": "updated", "evidence_anchor": anchor, "path": entry.path, "exit_code": 0}
                    found.append({**head, **done, **last})
            answer["closures"] = found
        return canonical(answer)

    def give_back(self, handoff_id: str, data: bytes) -> Returned:
        """Store a return; an earlier one is superseded and kept.

        Refused when it has not its shape (`HandoffShape`) or belongs to another dispatch
        (`ReturnRefused`); whether it is true is the gate's business.
        """
        folder = self._papers.folder(handoff_id)
        with folder.locked():
            dispatch = self._dispatch(folder)
            document = parse(say("return"), RETURN, data)
            answer = Return.from_json(document)
            for name in ("handoff_id", "contract_id", "dispatch_id"):
                if getattr(answer, name) != getattr(dispatch, name):
                    why = say("{name} is not the one of this handoff", name=name)
                    raise errors.ReturnRefused(where=name, why=why)
            kept = folder.add("returns", document)
            self._papers.note("handoff.returned", handoff_id, kept)
            return Returned(kept.sha256, len(folder.names("returns")))


def _with_anchor(operations: list[Any] | None, anchor: str) -> list[Any] | None:
    """The operations with the anchor in the last of them that can hold it: behind a text, or as a
    member `evidence_anchor` of an object."""
    found = copy.deepcopy(operations)
    for operation in reversed(found or []):
        value = operation.get("value")
        if isinstance(value, str):
            operation["value"] = f"{value} {anchor}"
            return found
        if isinstance(value, dict):
            value["evidence_anchor"] = anchor
            return found
    if found:
        why = say("none of its operations brings a text or an object that could hold the anchor")
        raise errors.ProposalRefused(where="patch", why=why)
    return found
