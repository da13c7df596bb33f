"""Handoff room: the acts of the parent: lint, issue, dispatch, check (spec 3, surface).

The worker's acts (take, record, return) stand in `worker`.  Each act writes a document, reads it back,
puts its digest into the ledger, and only then says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muniment.clock import instant
from muniment.disk import platform
from muniment.handoff import delivery, errors, lint, sending, shapes
from muniment.handoff.agents import remember
from muniment.handoff.anchors import new_nonce, nonce_digest
from muniment.handoff.central_board import Applied, CentralBoard
from muniment.handoff.codes import Code, Finding
from muniment.handoff.dispatch import Dispatcher, WorkerState
from muniment.handoff.documents import check_recipient, fit
from muniment.handoff.gather import TASK_ADAPTERS, Options, gather
from muniment.handoff.host import HostDispatcher
from muniment.handoff.model import (
    Contract,
    Draft,
    DraftTarget,
    Mode,
    NotApplicable,
    Packet,
    Required,
    Root,
    Target,
)
from muniment.handoff.nonces import Nonces
from muniment.handoff.papers import Papers, missing_targets
from muniment.handoff.reading import read_baselines
from muniment.handoff.receipts import Dispatch, Return, Undelivered
from muniment.handoff.roots import root_facts
from muniment.handoff.rules import anchors_of, judge
from muniment.handoff.store import VIEW, Folder, Kept
from muniment.handoff.trace import Trace, read_trace
from muniment.ids import new_reference
from muniment.message import Message, say
from muniment.path import RelPath
from muniment.record.state import Workspace

_REFUSED: Mapping[Code, type[errors.PacketRefused]] = {
    Code.SECRET_VALUE: errors.SecretValue,
    Code.INVALID_TARGET: errors.InvalidTarget,
    Code.WRITER_REFUSED: errors.WriterRefused,
    Code.CONTRACT_REQUIRED: errors.ContractRequired,
}


@dataclass(frozen=True, slots=True)
class Linted:
    """What a draft was found to be: what forbids it, and what it does better with."""

    refusals: tuple[Finding, ...]
    notes: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Issued:
    """A packet that was issued: its id, the packet as the recipient sees it, and notes on it."""

    handoff_id: str
    packet: Packet
    depth: int
    notes: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """A verdict, and the one before it when there is one."""

    trace: Trace
    before: Mapping[str, Any] | None


class Handoffs:
    """The handoffs of one workspace, as their parent acts on them."""

    def __init__(self, workspace: Workspace, nonces: Nonces, options: Options | None = None) -> None:
        self.workspace = workspace
        self.options = options or Options()
        self.papers = Papers(workspace)
        self.nonces = nonces

    # --- before anything runs

    def lint(self, value: object, recipient: str | None = None) -> Linted:
        """What is wrong with a draft, and what could be better; nothing is written."""
        draft = Draft.of(value)
        raw = value if isinstance(value, Mapping) else {}
        refused = tuple(lint.refusals(raw, draft, recipient, self.options.area))
        return Linted(refused, tuple(lint.notes(draft)))

    def new(self, value: object, *, recipient: str | None = None, parent: str | None = None) -> Issued:
        """Issue a packet: ids, fresh nonces, root facts; recorded, so that nobody can alter it later.

        Raises `SecretValue`, `InvalidTarget`, `WriterRefused`, `ContractRequired`, `NonceReused`,
        `DepthExceeded`, `ParentDiffers`, `RootNotGiven`.
        """
        found = self.lint(value, recipient)
        if found.refusals:
            raise _refusal(found.refusals[0])
        draft = Draft.of(value)
        chain = self.papers.chain(self.options.context.handoff_id)
        depth = delivery.check_depth(chain, parent)
        now = self.workspace.clock()
        handoff_id = new_reference("ho", now, self.workspace.entropy)
        contract = self._contract(draft, handoff_id) if draft.targets is not None else None
        packet = replace(draft.packet, handoff_id=handoff_id, contract=contract, version="1.3")
        initiators = [str(Folder(self.workspace.root, each).meta()["initiator"]) for each in chain]
        meta: dict[str, Any] = {
            "v": 1,
            "handoff_id": handoff_id,
            "depth": depth,
            "initiator": delivery.batch_owner(initiators, self.options.context.session or "parent"),
            "created": instant(now),
            "area": self.options.area,
            "contract": contract is not None,
        }
        meta |= {"parent": chain[-1]} if chain else {}
        meta |= {"recipient": recipient} if recipient is not None else {}
        folder = Folder(self.workspace.root, handoff_id)
        with folder.locked():
            folder.write("meta.json", meta)
            kept = folder.write("packet.json", packet.to_json())
            self.papers.note("handoff.issued", handoff_id, kept, depth=depth)
        return Issued(handoff_id, packet, depth, found.notes)

    def _contract(self, draft: Draft, handoff_id: str) -> Contract:
        """Fresh nonces for every owed target, kept before anything is said of them."""
        assert draft.targets is not None
        if self.options.found_by == "current":
            raise errors.RootNotGiven(where=self.workspace.root.path)
        entropy, now = self.workspace.entropy, self.workspace.clock()
        nonces: dict[Target, bytes] = {}
        targets: dict[Target, Required | NotApplicable] = {}
        for target, entry in draft.targets.items():
            if isinstance(entry, DraftTarget):
                nonce = entry.nonce if entry.nonce is not None else new_nonce(entropy)
                if nonce in nonces.values():
                    raise errors.NonceReused(where=target.value)
                nonces[target] = nonce
                digest = nonce_digest(nonce)
                targets[target] = Required(entry.path, entry.writer, entry.verification, digest, nonce)
            else:
                targets[target] = entry
        root = root_facts(self.workspace.root, self.options.found_by)
        contract = Contract(new_reference("ct", now, entropy), handoff_id, root, targets)
        self.nonces.issue(handoff_id, nonces)
        return contract

    # --- dispatch

    def intend(
        self,
        handoff_id: str,
        recipient: str,
        via: str,
        *,
        looked_up: bool = False,
        key: str | None = None,
        address: str = "",
    ) -> Kept:
        """Write down, before any launch, that one is about to happen; and how the targets are now.

        `AlreadyDispatched` when it was, or when nobody knows.  `looked_up` says that somebody
        looked and nothing runs.  By `key` and `address` the adapter finds the launch again.
        """
        check_recipient(recipient)
        folder = self.papers.folder(handoff_id)
        with folder.locked():
            packet = self.papers.packet(folder)
            outcome = self.papers.outcome(folder)
            why = delivery.may_dispatch(outcome, looked_up=looked_up) or self._exported(handoff_id)
            if why is not None:
                raise errors.AlreadyDispatched(handoff=handoff_id, where=handoff_id, why=why)
            if not self.papers.answered(folder):  # a launch of which somebody looked up that nothing runs
                self._fail(folder, "delivery_unknown")
            if packet.contract is not None:
                area = folder.meta()["area"]
                for fault in lint.target_faults(packet.contract.required, recipient, area):
                    raise _refusal(fault)
                found = read_baselines(self.workspace.root, packet.contract)
                document: dict[str, Any] = {target.value: each.to_json() for target, each in found.items()}
                self.papers.note("handoff.baseline", handoff_id, folder.add("baselines", document))
            intent: dict[str, Any] = {
                "v": 1,
                "at": instant(self.workspace.clock()),
                "recipient_id": recipient,
                "via": via,
                "boot_id": platform.boot_id() or "unknown",
                "pid": os.getpid(),
            }
            intent |= {"key": key} if key is not None else {}
            intent |= {"address": address} if address else {}
            kept = folder.add("intents", intent)
            self.papers.note("handoff.intended", handoff_id, kept, via=via)
            return kept

    def _exported(self, handoff_id: str) -> Message | None:
        if any(event.kind == "handoff.exported" for event in self.papers.events(handoff_id)):
            return say("its nonces were given away with an export")
        return None

    def deliver(
        self,
        handoff_id: str,
        provider: Mapping[str, Any],
        *,
        effective: Mode | None = None,
        degradation_reason: str | None = None,
        task_id: str | None = None,
        workspace: Root | None = None,
    ) -> Dispatch:
        """Record a provider's acknowledgement as the dispatch receipt; the anchors exist from here on.

        Modes that the packet does not allow are `DispatchRefused`; then nothing is recorded as
        delivered, and the intent stays open until `fail` closes it.
        """
        folder = self.papers.folder(handoff_id)
        with folder.locked():
            packet, intent = self.papers.packet(folder), self._open_intent(folder)
            now = self.workspace.clock()
            receipt = Dispatch(
                dispatch_id=new_reference("dp", now, self.workspace.entropy),
                recipient_id=intent["recipient_id"],
                dispatched_at=max(instant(now), intent["at"]),
                requested_mode=packet.mode,
                effective_mode=effective or packet.mode,
                provider_receipt=dict(provider),
                handoff_id=handoff_id,
                contract_id=packet.contract.contract_id if packet.contract is not None else None,
                degradation_reason=degradation_reason,
                task_id=task_id,
                workspace=workspace,
            )
            fit(say("dispatch receipt"), shapes.DISPATCH, receipt.to_json())
            for fault in delivery.mode_faults(packet, receipt, intent["via"] in TASK_ADAPTERS):
                raise errors.DispatchRefused(where=fault.where, why=fault.why)
            self._hand_out(folder, packet, receipt)
            remember(self.workspace.root, receipt)
            kept = folder.add("outcomes", receipt.to_json())
            self.papers.note("handoff.dispatched", handoff_id, kept, dispatch_id=receipt.dispatch_id)
            for entry in packet.contract.required.values() if packet.contract is not None else ():
                self.workspace.claims.make(RelPath.parse(entry.path), handoff_id)
            return receipt

    def _open_intent(self, folder: Folder) -> dict[str, Any]:
        intent = self.papers.intent_document(folder)
        if self.papers.answered(folder):
            why = say("the last launch has its outcome already")
            raise errors.AlreadyDispatched(handoff=folder.handoff_id, where=folder.handoff_id, why=why)
        return intent

    def _hand_out(self, folder: Folder, packet: Packet, receipt: Dispatch) -> None:
        """Finished anchors for the recipient, beside the dispatch id."""
        anchors: dict[str, str] = {}
        if packet.contract is not None:
            contract = packet.contract.with_nonces(self.nonces.of(folder.handoff_id))
            anchors = {key.value: text for key, text in anchors_of(contract, receipt.dispatch_id).items()}
        view: dict[str, Any] = {"dispatch_id": receipt.dispatch_id, "anchors": anchors}
        folder.write(f"views/{receipt.dispatch_id}.json", view)

    def fail(self, handoff_id: str, reason: str, *, why: Message | None = None) -> Undelivered:
        """Record that the intended dispatch did not happen, or that nobody knows (`delivery_unknown`).

        `why` is the adapter's own finding; it goes into the ledger beside the record.
        """
        folder = self.papers.folder(handoff_id)
        with folder.locked():
            self._open_intent(folder)
            return self._fail(folder, reason, why)

    def _fail(self, folder: Folder, reason: str, why: Message | None = None) -> Undelivered:
        packet, intent = self.papers.packet(folder), self.papers.intent_document(folder)
        record = Undelivered(
            intent["recipient_id"], instant(self.workspace.clock()), packet.mode, reason, why
        )
        fit(say("undelivered record"), shapes.UNDELIVERED, record.to_json())
        kept = folder.add("outcomes", record.to_json())
        more = {"why": str(why)[:1_024]} if why is not None else {}
        self.papers.note("handoff.undelivered", folder.handoff_id, kept, reason=reason, **more)
        return record

    def send(
        self, handoff_id: str, dispatcher: Dispatcher, recipient: str, *, looked_up: bool = False
    ) -> Dispatch | Undelivered:
        """Dispatch by an adapter: intent, launch, receipt, and only then the anchors."""
        return sending.send(self, handoff_id, dispatcher, recipient, looked_up=looked_up)

    def deliver_by_host(
        self, handoff_id: str, host: str, recipient: str, answer: bytes, *, looked_up: bool = False
    ) -> Dispatch | Undelivered:
        """Record a dispatch that the host made already; its answer must prove it (`HostAnswer`)."""
        return self.send(handoff_id, HostDispatcher(host, answer), recipient, looked_up=looked_up)

    # --- the board

    def apply(self, handoff_id: str, writer: str) -> Applied:
        """Apply the board proposal of a handoff, by the board's one writer.

        `NotTheWriter` for anybody else, and for a process that runs within this handoff.
        """
        folder = self.papers.folder(handoff_id)
        packet, outcome = self.papers.packet(folder), self.papers.outcome(folder)
        entry = packet.contract.required.get(Target.CENTRAL_BOARD) if packet.contract is not None else None
        proposal = self._proposal(folder)
        if entry is None or not isinstance(outcome, Dispatch) or proposal is None:
            raise errors.NoProposal(handoff=handoff_id, where=handoff_id)
        if writer != entry.writer or writer == outcome.recipient_id:
            raise errors.NotTheWriter(writer=writer, where=entry.path)
        if self.options.context.handoff_id == handoff_id:
            why = say("this process runs within the handoff that proposes it")
            raise errors.NotTheWriter(writer=writer, where=entry.path, why=why)
        view = folder.document(f"views/{outcome.dispatch_id}.json", VIEW)
        board = CentralBoard(self.workspace, RelPath.parse(entry.path))
        done = board.apply(proposal, anchor=view["anchors"][Target.CENTRAL_BOARD.value])
        with folder.locked():
            if done.proposal_sha256 not in [each["proposal_sha256"] for each in folder.all("applied")]:
                document: dict[str, Any] = {"writer": writer, "path": entry.path, "version": done.version}
                document["proposal_sha256"] = done.proposal_sha256
                self.papers.note("handoff.applied", handoff_id, folder.add("applied", document))
        return done

    def _proposal(self, folder: Folder) -> Mapping[str, Any] | None:
        """What the worker proposes: in its return, or before that in its adapter's receipt."""
        found = folder.last("returns")
        answer = Return.read(found.data, found.where) if found is not None else None
        said = [each.proposal for each in answer.closures if each.proposal] if answer is not None else []
        kept = [each["proposal"] for each in folder.all("closures") if "proposal" in each]
        return (kept + said)[-1] if kept or said else None

    # --- the gate

    def check(self, handoff_id: str, *, worker: WorkerState | None = None) -> Checked:
        """Read everything back and judge it; the trace is kept and its digest recorded.

        Whether the worker still runs, and how it ended, is looked up unless `worker` says it.
        """
        folder = self.papers.folder(handoff_id)
        with folder.locked():
            worker = worker or sending.worker_state(self.papers, folder)
            last = folder.last("traces")
            trace = judge(gather(self.papers, self.nonces, self.options, folder, worker))
            kept = folder.add("traces", trace.to_json())
            codes = sorted({finding.code.value for finding in trace.findings})
            self.papers.note("handoff.checked", handoff_id, kept, complete=trace.complete, codes=codes)
            if trace.complete:
                self.workspace.claims.end_all(handoff_id)
        return Checked(trace, read_trace(last.data, last.where) if last is not None else None)

    def look(self, handoff_id: str) -> tuple[tuple[str, ...], Trace | None]:
        """Read everything back and judge it, as `check` does, and keep nothing: the documents that are
        not those which the ledger recorded, and the verdict; none while nothing was returned."""
        folder = self.papers.folder(handoff_id)
        with folder.locked():
            worker = sending.worker_state(self.papers, folder)
            facts = gather(self.papers, self.nonces, self.options, folder, worker)
        return facts.altered, judge(facts) if facts.answer is not None else None


_NAMES: Mapping[Target, Message] = {
    Target.EMPLOYEE_MEMORY: say("the recipient's memory (employee_memory)"),
    Target.EMPLOYEE_WORKLOG: say("the recipient's worklog (employee_worklog)"),
    Target.TEAM_JOURNAL: say("the team's journal (team_journal)"),
    Target.CENTRAL_BOARD: say("the central board (central_board)"),
}
"""The targets as people call them; the word in brackets is the program's."""


def incomplete(trace: Trace) -> errors.HandoffIncomplete:
    """The error that a face raises for a trace that is not complete: every missing target is named."""
    return errors.HandoffIncomplete(handoff=trace.handoff_id, where=trace.handoff_id, why=shortfall(trace))


def shortfall(trace: Trace) -> Message:
    """In one line, what keeps a trace from being complete."""
    missing = missing_targets(trace.to_json())
    if missing:
        owed = sum(row.status.value != "not_applicable" for row in trace.rows)
        return say(
            "{done} of {owed} targets are verified; missing: {missing}",
            done=owed - len(missing),
            owed=owed,
            missing=tuple(_NAMES[Target(name)] for name in missing),
        )
    if not trace.findings:
        return say("nothing is proved yet")
    first: Sequence[Finding] = trace.findings
    return say("{code}: {reason}", code=first[0].code.value, reason=first[0].why)


def _refusal(finding: Finding) -> errors.PacketRefused:
    kind = _REFUSED.get(finding.code, errors.PacketRefused)
    return kind(where=finding.where, why=finding.why, target=finding.where)
