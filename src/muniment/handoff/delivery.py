"""Handoff room: rules of delivery: modes, degradation, undelivered work, depth.  Pure (spec 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muniment.handoff.codes import Code, Finding
from muniment.handoff.errors import DepthExceeded, ParentDiffers
from muniment.handoff.facts import Intent
from muniment.handoff.model import Mode, Packet, Root
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.message import Message, say

DEPTH_MAX = 2
"""Edges of delegation: parent to child to grandchild."""
EPHEMERAL = frozenset({"overlay", "tmpfs", "ramfs", "aufs"})
"""File systems that can vanish with the container or the boot that made them."""


def mode_faults(packet: Packet, receipt: Dispatch, task_adapter: bool) -> Iterator[Finding]:
    """What is wrong with the modes of a receipt (spec 3, two axes)."""
    requested, effective, reason = packet.mode, receipt.effective_mode, receipt.degradation_reason
    if receipt.requested_mode is not requested:
        yield _mode(Code.MODE_DIFFERS, say("the packet asks for {mode}", mode=requested.value))
        return
    if requested is Mode.BOUNDED and effective is Mode.INDEPENDENT:
        yield _mode(Code.MODE_RAISED, say("a bounded sub-agent never becomes an independent task"))
        return
    if requested is effective:
        if reason is not None:
            yield _mode(Code.DEGRADATION_INVENTED, say("nothing was degraded, yet a reason is given"))
    elif not packet.allow_mode_degradation:
        yield _mode(Code.DEGRADATION_REFUSED, say("the packet does not allow a bounded sub-agent instead"))
    elif packet.continuity_required:
        yield _mode(Code.DEGRADATION_REFUSED, say("the packet requires continuity"))
    elif reason is None:
        yield _mode(Code.DEGRADATION_UNNAMED, say("the mode was degraded without a reason"))
    yield from _task_faults(receipt, task_adapter)


def _task_faults(receipt: Dispatch, task_adapter: bool) -> Iterator[Finding]:
    if receipt.effective_mode is Mode.BOUNDED:
        if receipt.task_id is not None:
            yield _mode(Code.TASK_RECEIPT_INVENTED, say("a bounded sub-agent has no task of its own"))
        return
    if not task_adapter:
        why = say("independent tasks go only through an adapter that creates tasks")
        yield _mode(Code.NOT_TASK_ADAPTER, why)
    elif receipt.task_id is None or receipt.workspace is None:
        why = say("an independent task needs its task receipt and its workspace receipt")
        yield _mode(Code.TASK_RECEIPT_MISSING, why)


def _mode(code: Code, why: Message) -> Finding:
    return Finding(code, "dispatch", why)


def undelivered_fault(record: Undelivered, intent: Intent | None) -> Finding:
    """What an undelivered record says, and whether it may say so.

    A launch that was begun and never answered is unknown; nobody may call it undelivered for
    another reason.
    """
    if record.unknown:
        return Finding(Code.DELIVERY_UNKNOWN, "dispatch", say("nobody knows whether the work was delivered"))
    if intent is not None and not intent.answered:
        why = say("a launch was begun and never answered, so {reason} is not proved", reason=record.reason)
        return Finding(Code.UNDELIVERED_UNPROVED, "dispatch", why)
    return Finding(
        Code.UNDELIVERED, "dispatch", say("the work was not delivered: {reason}", reason=record.reason)
    )


def may_dispatch(last: Dispatch | Undelivered | None, *, looked_up: bool) -> Message | None:
    """Why a handoff can not be dispatched now, or none.

    A delivered one is never dispatched twice.  One whose delivery is unknown waits until it was
    looked up, or a person says so.
    """
    if isinstance(last, Dispatch):
        return say("it was dispatched to {recipient}", recipient=last.recipient_id)
    if last is not None and last.unknown and not looked_up:
        return say("a launch was begun and nobody knows what became of it")
    return None


def degradation_allowed(packet: Packet) -> bool:
    """Whether an independent task may become a bounded sub-agent where the host has no tasks."""
    return (
        packet.mode is Mode.INDEPENDENT and packet.allow_mode_degradation and not packet.continuity_required
    )


def check_depth(chain: Sequence[str], explicit_parent: str | None = None) -> int:
    """The number of the edge that a new handoff adds, counted from one.

    `chain` holds the handoffs this process runs under, the first one first.

    >>> check_depth([]), check_depth(["ho_a"], "ho_a")
    (1, 2)
    """
    parent = chain[-1] if chain else None
    if explicit_parent is not None and explicit_parent != parent:
        raise ParentDiffers(
            where=explicit_parent, why=say("the context says {parent}", parent=parent or "none")
        )
    depth = len(chain) + 1
    if depth > DEPTH_MAX:
        raise DepthExceeded(depth=depth, where=chain[-1])
    return depth


def batch_owner(initiators: Sequence[str], actor: str) -> str:
    """Who owns a batch: the first initiator, however deep the work was handed on.

    >>> batch_owner(["lead", "child"], "grandchild"), batch_owner([], "lead")
    ('lead', 'lead')
    """
    return initiators[0] if initiators else actor


def root_difference(recorded: Root, now: Root) -> Message | None:
    """Why the root that was read is not the one that was recorded, or none.

    Kinds of file systems are not judged, only differences.  Device, inode and mount id hold within
    one boot.
    """
    pairs: list[tuple[str, object, object]] = [
        ("root_id", recorded.root_id, now.root_id),
        ("real_path", recorded.real_path, now.real_path),
        ("fs_type", recorded.fs_type, now.fs_type),
        ("mount_root", recorded.mount_root, now.mount_root),
    ]
    if recorded.boot_id == now.boot_id:
        pairs += [
            ("device", recorded.device, now.device),
            ("inode", recorded.inode, now.inode),
            ("mount_id", recorded.mount_id, now.mount_id),
        ]
    return _first_difference(pairs)


def workspace_difference(recorded: Root, receipt: Root) -> Message | None:
    """Why a task's workspace receipt is not the authoritative root, item by item, or none."""
    pairs: list[tuple[str, object, object]] = [("boot_id", recorded.boot_id, receipt.boot_id)]
    return root_difference(recorded, receipt) or _first_difference(pairs)


def _first_difference(pairs: Sequence[tuple[str, object, object]]) -> Message | None:
    for name, expected, found in pairs:
        if expected != found:
            return say(
                "{name} is {found}, recorded was {expected}", name=name, found=found, expected=expected
            )
    return None


def durability(root: Root) -> str:
    """Whether what lies below a root outlives the container or boot: `durable` or `ephemeral`."""
    return "ephemeral" if root.fs_type in EPHEMERAL else "durable"
