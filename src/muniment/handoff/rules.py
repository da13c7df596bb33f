"""Handoff room: the parent's gate.  Facts in, verdict out: no I/O, no clock (spec 3, gate).

Step 0 reads what the worker says it made, 1 its closure receipts, 2 the stored receipt and the
root, 3 the bytes of the targets, 4 the board; 5 says whether the whole is complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from muniment.handoff.anchors import anchor, nonce_digest, same
from muniment.handoff.codes import Code, Finding
from muniment.handoff.delivery import (
    durability,
    mode_faults,
    root_difference,
    undelivered_fault,
    workspace_difference,
)
from muniment.handoff.facts import Facts
from muniment.handoff.made import made_faults
from muniment.handoff.model import Contract, Mode, NotApplicable, Required, Target
from muniment.handoff.receipts import Closure, Dispatch, Return, Undelivered
from muniment.handoff.targets import judge_target
from muniment.handoff.trace import ArtifactRow, Row, Status, Trace
from muniment.message import say

_EXPECTED = {
    Target.EMPLOYEE_MEMORY: "updated",
    Target.EMPLOYEE_WORKLOG: "updated",
    Target.TEAM_JOURNAL: "updated",
    Target.CENTRAL_BOARD: "proposed_for_parent",
}


def judge(facts: Facts) -> Trace:
    """The verdict: `complete` only if nothing at all was found and every row stands as it must.

    Every refusal is a finding with its code; a row that fails carries the code too.
    """
    findings: list[Finding] = [*_altered(facts), *_made(facts), *_return_faults(facts)]
    delivered = [*_delivery_faults(facts)]
    findings += delivered
    root = _root_fault(facts)
    findings += [root] if root is not None else []
    rows, faults = _rows(facts, blocked=root)
    findings += faults
    findings += _worker_faults(facts)
    complete = not findings and all(row.status in (Status.VERIFIED, Status.NOT_APPLICABLE) for row in rows)
    receipt = facts.receipt if isinstance(facts.receipt, Dispatch) else None
    return Trace(
        handoff_id=facts.packet.handoff_id or "",
        contract_id=facts.contract.contract_id if facts.contract is not None else None,
        dispatch_id=receipt.dispatch_id if receipt is not None else None,
        return_sha256=facts.return_sha256,
        at=facts.at,
        complete=complete and receipt is not None and facts.answer is not None,
        worker_alive=facts.worker_alive,
        rows=tuple(rows),
        artifacts=tuple(
            ArtifactRow(read.now or read.path, read.size, read.sha256, read.files, facts.at)
            for read in facts.artifacts
            if read.state == "read"
        ),
        findings=tuple(findings),
    )


def anchors_of(contract: Contract, dispatch_id: str) -> dict[Target, str]:
    """The anchors of all owed targets whose nonces are known."""
    return {
        target: anchor(
            entry.nonce,
            contract_id=contract.contract_id,
            dispatch_id=dispatch_id,
            handoff_id=contract.handoff_id,
            target=target.value,
        )
        for target, entry in contract.required.items()
        if entry.nonce is not None
    }


def _altered(facts: Facts) -> Iterator[Finding]:
    for name in facts.altered:
        why = say("its bytes are not those that the ledger recorded")
        yield Finding(Code.DOCUMENT_ALTERED, name, why)


def _made(facts: Facts) -> Iterator[Finding]:
    """Step 0."""
    if facts.answer is None:
        yield Finding(Code.RETURN_MISSING, "return", say("the worker has not returned"))
        return
    yield from made_faults(facts, facts.answer)


def _return_faults(facts: Facts) -> Iterator[Finding]:
    """Step 1, the return as a whole."""
    answer, receipt = facts.answer, facts.receipt
    if answer is None:
        return
    contract_id = facts.contract.contract_id if facts.contract is not None else None
    if answer.handoff_id != facts.packet.handoff_id:
        yield _foreign("return", "handoff_id")
    if answer.contract_id != contract_id:
        yield _foreign("return", "contract_id")
    if isinstance(receipt, Dispatch):
        if answer.dispatch_id != receipt.dispatch_id:
            yield _foreign("return", "dispatch_id")
        if answer.mode is None and facts.packet.version != "1.2":
            yield Finding(Code.RETURN_MODE, "return", say("the return does not say in which mode it ran"))
        elif answer.mode is not None and answer.mode is not receipt.effective_mode:
            why = say("the work ran as {mode}", mode=receipt.effective_mode.value)
            yield Finding(Code.RETURN_MODE, "return", why)
    owed = () if facts.contract is None else tuple(facts.contract.targets)
    for target, count in Counter(closure.target for closure in answer.closures).items():
        if target not in owed:
            yield Finding(Code.CLOSURE_EXTRA, target.value, say("no contract asks for this receipt"))
        elif count > 1:
            yield Finding(Code.CLOSURE_DOUBLED, target.value, say("{count} receipts close it", count=count))


def _foreign(where: str, name: str) -> Finding:
    return Finding(Code.FOREIGN_ID, where, say("{name} is not the one of this handoff", name=name))


def _delivery_faults(facts: Facts) -> Iterator[Finding]:
    """Step 2, the stored receipt against packet and contract."""
    receipt, contract = facts.receipt, facts.contract
    if contract is not None:
        if contract.handoff_id != facts.packet.handoff_id:
            yield _foreign("contract", "handoff_id")
        for target, entry in contract.required.items():
            if entry.nonce is None or nonce_digest(entry.nonce) != entry.nonce_sha256:
                why = say("the nonce kept is not the one of the contract")
                yield Finding(Code.NONCE_WRONG, target.value, why)
    elif facts.packet.mode is Mode.INDEPENDENT:
        yield Finding(Code.CONTRACT_REQUIRED, "packet", say("an independent task must carry a contract"))
    if isinstance(receipt, Undelivered):
        yield undelivered_fault(receipt, facts.intent)
        return
    if receipt is None:
        yield Finding(Code.NO_RECEIPT, "dispatch", say("there is no receipt, so nothing was dispatched"))
        return
    if receipt.handoff_id != facts.packet.handoff_id:
        yield _foreign("dispatch", "handoff_id")
    if receipt.contract_id != (contract.contract_id if contract is not None else None):
        yield _foreign("dispatch", "contract_id")
    if facts.intent is None or receipt.dispatched_at < facts.intent.at:
        why = say("the receipt is older than the intent to dispatch")
        yield Finding(Code.RECEIPT_TOO_EARLY, "dispatch", why)
    elif receipt.recipient_id != facts.intent.recipient_id:
        why = say("the work was meant for {recipient}", recipient=facts.intent.recipient_id)
        yield Finding(Code.RECIPIENT_DIFFERS, "dispatch", why)
    yield from mode_faults(facts.packet, receipt, facts.task_adapter)
    if contract is not None and receipt.workspace is not None:
        why_not = workspace_difference(contract.root, receipt.workspace)
        if why_not is not None:
            yield Finding(Code.WRONG_ROOT, "dispatch", why_not)


def _root_fault(facts: Facts) -> Finding | None:
    """Step 2, the root that was read."""
    if facts.contract is None:
        return None
    if facts.root is None:
        return Finding(Code.WRONG_ROOT, "root", say("the root can not be opened"))
    why = root_difference(facts.contract.root, facts.root)
    return Finding(Code.WRONG_ROOT, "root", why) if why is not None else None


def _rows(facts: Facts, blocked: Finding | None) -> tuple[list[Row], list[Finding]]:
    """Steps 1, 3 and 4: the four rows, in contract order."""
    contract = facts.contract
    if contract is None:
        return [], []
    receipt = facts.receipt if isinstance(facts.receipt, Dispatch) else None
    anchors = anchors_of(contract, receipt.dispatch_id) if receipt is not None else {}
    rows: list[Row] = []
    findings: list[Finding] = []
    for target in Target:
        entry = contract.targets[target]
        closure = _closure(facts.answer, target)
        if isinstance(entry, NotApplicable):
            found = _unneeded_fault(facts, target, entry, closure)
            row = Row(target, Status.NOT_APPLICABLE, reason=entry.reason)
        else:
            row, found = _owed(facts, target, entry, closure, anchors, blocked)
        if found is not None:
            if found is not blocked:
                findings.append(found)
            if row.status not in (Status.PENDING, Status.PARENT_VERIFIED):
                row = replace(row, status=Status.FAILED, reason=str(found.why), code=found.code.value)
        rows.append(row)
    return rows, findings


def _owed(
    facts: Facts,
    target: Target,
    entry: Required,
    closure: Closure | None,
    anchors: dict[Target, str],
    blocked: Finding | None,
) -> tuple[Row, Finding | None]:
    if blocked is not None:
        return Row(target, Status.FAILED), blocked
    if target not in anchors:
        return Row(target, Status.PENDING), None
    kept = durability(facts.root) if facts.root is not None else None
    fault = _closure_fault(facts, target, entry, closure, anchors[target])
    if fault is not None and closure is not None:
        return Row(target, Status.FAILED), fault
    row, found = judge_target(facts, target, entry, closure, anchors, kept)
    if closure is not None:
        return row, found
    if facts.answer is None:
        return Row(target, Status.PENDING, durability=kept), None
    missing = Finding(Code.CLOSURE_MISSING, target.value, say("no receipt closes it"))
    if found is None and row.status is Status.VERIFIED:
        # Seen by the parent alone: shown as that, and never enough.
        return Row(target, Status.PARENT_VERIFIED, row.read, str(missing.why), missing.code.value), missing
    return Row(target, Status.FAILED, row.read), missing


def _closure(answer: Return | None, target: Target) -> Closure | None:
    if answer is None:
        return None
    return next((closure for closure in answer.closures if closure.target is target), None)


def _closure_fault(
    facts: Facts, target: Target, entry: Required, closure: Closure | None, expected: str
) -> Finding | None:
    """Step 1, one closure receipt of a target that is owed."""
    if closure is None:
        return None
    foreign = _closure_ids(facts, closure)
    if foreign is not None:
        return foreign
    if closure.state != _EXPECTED[target]:
        why = say("a target that is owed can not close as {state}", state=closure.state)
        return Finding(Code.CLOSURE_STATE, target.value, why)
    if closure.path is not None and closure.path != entry.path:
        why = say("the contract names {path}", path=entry.path)
        return Finding(Code.PATH_DIFFERS, target.value, why)
    if closure.anchor is None or not same(closure.anchor, expected):
        why = say("the anchor is not the one of this target in this dispatch")
        return Finding(Code.ANCHOR_FOREIGN, target.value, why)
    return None


def _closure_ids(facts: Facts, closure: Closure) -> Finding | None:
    receipt, contract = facts.receipt, facts.contract
    if closure.handoff_id != facts.packet.handoff_id:
        return _foreign(closure.target.value, "handoff_id")
    if contract is not None and closure.contract_id != contract.contract_id:
        return _foreign(closure.target.value, "contract_id")
    if isinstance(receipt, Dispatch) and closure.dispatch_id != receipt.dispatch_id:
        return _foreign(closure.target.value, "dispatch_id")
    return None


def _unneeded_fault(
    facts: Facts, target: Target, entry: NotApplicable, closure: Closure | None
) -> Finding | None:
    """Step 1, one closure receipt of a target that is not owed."""
    if facts.answer is None:
        return None
    if closure is None:
        return Finding(Code.CLOSURE_MISSING, target.value, say("no receipt closes it"))
    foreign = _closure_ids(facts, closure)
    if foreign is not None:
        return foreign
    if closure.state != "not_applicable":
        why = say("the contract says that it does not apply, the worker says {state}", state=closure.state)
        return Finding(Code.CLOSURE_STATE, target.value, why)
    if closure.reason != entry.reason:
        return Finding(Code.REASON_CHANGED, target.value, say("the reason is not the one of the contract"))
    return None


def _worker_faults(facts: Facts) -> Iterator[Finding]:
    """Step 5, the worker itself."""
    if facts.worker_alive:
        yield Finding(Code.WORKER_ALIVE, "worker", say("the worker is still running"))
    elif facts.worker_exit:
        why = say("the worker ended with {code}", code=facts.worker_exit)
        yield Finding(Code.WORKER_FAILED, "worker", why)
