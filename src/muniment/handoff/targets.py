"""Handoff room: steps 3 and 4 of the gate: the bytes of one target, read again.  Pure (spec 3)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from muniment.handoff import board
from muniment.handoff.anchors import find_anchors, holds, holds_any, without_anchors
from muniment.handoff.codes import Code, Finding
from muniment.handoff.facts import Baseline, Facts, TargetRead
from muniment.handoff.model import Required, Target
from muniment.handoff.receipts import Closure
from muniment.handoff.trace import Read, Row, Status
from muniment.handoff.verification import failing
from muniment.message import Message, say
from muniment.record.event import BadRecord, Event, read_line

JOURNAL_KIND = "journal.entry"
"""The kind of a team journal's record; its evidence holds `text` and, for a handoff, `anchor`."""


def judge_target(
    facts: Facts,
    target: Target,
    entry: Required,
    closure: Closure | None,
    anchors: Mapping[Target, str],
    durability: str | None,
) -> tuple[Row, Finding | None]:
    """One owed target: its row, and what was found against it.

    Without a closure receipt the whole addition is looked at; that proves only that the parent saw
    it.
    """
    read = facts.reads.get(target, TargetRead("missing"))
    if read.state != "file":
        if target is Target.CENTRAL_BOARD and read.state == "missing" and _waits(facts, closure):
            unapplied = _found(Code.BOARD_NOT_APPLIED, target, say("the proposal was not applied yet"))
            reason = str(unapplied.why)
            return Row(target, Status.PENDING, reason=reason, code=unapplied.code.value), unapplied
        return _unread(target, entry, read)
    seen = Read(entry.path, read.size, read.sha256, facts.at)
    row = Row(target, Status.VERIFIED, seen, durability=durability)
    others = [text for other, text in anchors.items() if other is not target]
    if target is Target.CENTRAL_BOARD:
        why = _board(facts, entry, closure, read, anchors[target], others)
        if why is not None and why.code is Code.BOARD_NOT_APPLIED:
            return replace(row, status=Status.PENDING, reason=str(why.why), code=why.code.value), why
        return replace(row, written_by="parent"), why
    why = _added(target, facts.baselines.get(target), read)
    if why is None and holds_any(read.added, others) is not None:
        why = _found(Code.ANCHOR_DUMP, target, say("the anchor of another target stands there too"))
    if why is not None:
        return row, why
    base = read.size - len(read.added)
    if target is Target.TEAM_JOURNAL:
        return _journal(facts, entry, closure, read, anchors[target], base, row)
    return _own(facts, target, entry, closure, read, anchors[target], base, row)


def _found(code: Code, target: Target, why: Message) -> Finding:
    return Finding(code, target.value, why)


def _waits(facts: Facts, closure: Closure | None) -> bool:
    """Whether a board that is not there yet has a proposal that nobody has applied."""
    return closure is not None and closure.proposal is not None and not facts.applied


def _unread(target: Target, entry: Required, read: TargetRead) -> tuple[Row, Finding]:
    if read.state == "missing":
        why = say("nothing is there at {path}", path=entry.path)
        return Row(target, Status.FAILED), _found(Code.TARGET_MISSING, target, why)
    why = read.why or say("it can not be read")
    return Row(target, Status.FAILED), _found(Code.TARGET_UNREADABLE, target, why)


def _added(target: Target, baseline: Baseline | None, read: TargetRead) -> Finding | None:
    """Whether what stood there at dispatch still begins the file, and something follows it."""
    if baseline is None:
        return _found(Code.BASELINE_REWRITTEN, target, say("no baseline was recorded at dispatch"))
    if baseline.exists and (read.prefix_sha256 is None or read.prefix_sha256 != baseline.sha256):
        why = say("what stood there at dispatch is no longer its beginning")
        return _found(Code.BASELINE_REWRITTEN, target, why)
    if not read.added:
        return _found(Code.NOTHING_ADDED, target, say("nothing was added since the dispatch"))
    return None


def _own(
    facts: Facts,
    target: Target,
    entry: Required,
    closure: Closure | None,
    read: TargetRead,
    wanted: str,
    base: int,
    row: Row,
) -> tuple[Row, Finding | None]:
    """Memory and worklog: the worker's own entry, cut out where the worker says it lies."""
    if closure is None:
        return row, _work_fault(target, entry, read.added, wanted, read)
    offset, length = closure.offset or 0, closure.length or 0
    if offset < base or offset + length > read.size:
        why = say("the entry said to lie at {offset} is not inside what was added", offset=offset)
        return row, _found(Code.ENTRY_OUTSIDE, target, why)
    own = read.added[offset - base : offset - base + length]
    digest = hashlib.sha256(own).hexdigest()
    if digest != closure.sha256:
        return row, _found(Code.ENTRY_CHANGED, target, say("the entry has another SHA-256 than its receipt"))
    seen = Read(entry.path, read.size, digest, facts.at, offset, length)
    written_by = _writer(facts, target, offset, length, digest, "recipient")
    row = replace(row, read=seen, written_by=written_by)
    return row, _work_fault(target, entry, own, wanted, read)


def _writer(facts: Facts, target: Target, offset: int, length: int, digest: str, else_: str) -> str:
    """Who wrote an entry, by the record that was made of writing it."""
    wanted = (target, offset, length, digest)
    found = [
        each for each in facts.recorded if (each.target, each.offset, each.length, each.sha256) == wanted
    ]
    return found[-1].by if found else else_


def _work_fault(
    target: Target, entry: Required, text: bytes, wanted: str, read: TargetRead
) -> Finding | None:
    """The anchor stands in the text, and what is left without anchors is the work that was agreed."""
    if not holds(text, wanted):
        return _found(Code.ANCHOR_MISSING, target, say("the anchor does not stand in what was added"))
    work = without_anchors(text)
    if not work.strip(b" \t\r\n#*-<>!/\"'`{}[]():,.;"):
        return _found(Code.ANCHOR_WITHOUT_WORK, target, say("beside the anchor there is no work"))
    why = failing(entry.verification, work, read.commands)
    return _found(Code.VERIFICATION_FAILED, target, why) if why is not None else None


def _journal(
    facts: Facts,
    entry: Required,
    closure: Closure | None,
    read: TargetRead,
    wanted: str,
    base: int,
    row: Row,
) -> tuple[Row, Finding | None]:
    """The journal: the record at the position that its adapter gave, and its place in the count."""
    target = Target.TEAM_JOURNAL
    found = _journal_line(closure, read, wanted, base)
    if isinstance(found, Message):
        return row, _found(Code.JOURNAL_RECORD, target, found)
    event, offset, line = found
    seen = row.read
    assert seen is not None
    digest = hashlib.sha256(line).hexdigest()
    seen = Read(seen.path, seen.size, digest, seen.at, offset, len(line))
    by = _writer(facts, target, offset, len(line), digest, "muniment")
    row = replace(row, read=seen, written_by=by)
    text, named = event.evidence.get("text"), event.evidence.get("anchor", "")
    if not isinstance(text, str) or not isinstance(named, str):
        return row, _found(Code.JOURNAL_RECORD, target, say("the record holds no text"))
    return row, _work_fault(target, entry, f"{text}\n{named}\n".encode(), wanted, read)


def _journal_line(
    closure: Closure | None, read: TargetRead, wanted: str, base: int
) -> tuple[Event, int, bytes] | Message:
    if closure is None:
        place = next((at for at, text in find_anchors(read.added) if text == wanted), None)
        start = 0 if place is None else read.added.rfind(b"\n", 0, place) + 1
    else:
        start = (closure.position or 0) - base
        if start < 0 or start >= len(read.added):
            return say("its position does not lie in what was added")
        if start > 0 and read.added[start - 1 : start] != b"\n":
            return say("no record begins at its position")
    end = read.added.find(b"\n", start)
    if end < 0:
        return say("the record at its position has no end")
    line = read.added[start:end]
    try:
        event = read_line(line)
    except BadRecord as error:
        return say("the record at its position is not whole: {finding}", finding=error)
    if event.kind != JOURNAL_KIND:
        return say("the record at its position is no entry of a journal")
    if closure is not None:
        version = read.prefix_lines + read.added.count(b"\n", 0, start) + 1
        if event.event_id != closure.event_id or event.sha256 != closure.sha256:
            return say("the record at its position is another one than the receipt names")
        if version != closure.version:
            return say("the record is number {version}, not the one the receipt names", version=version)
    return event, base + start, line


def _board(
    facts: Facts,
    entry: Required,
    closure: Closure | None,
    read: TargetRead,
    wanted: str,
    others: list[str],
) -> Finding | None:
    """Step 4: applied once, by the one writer; the board re-opened, the anchor and the change there."""
    target = Target.CENTRAL_BOARD
    if closure is None:
        return _work_fault(target, entry, read.added, wanted, read)
    proposal = closure.proposal or {}
    text = board.proposed_text(proposal)
    if holds_any(text, others) is not None or holds_any(read.added, others) is not None:
        return _found(Code.ANCHOR_DUMP, target, say("the anchor of another target stands there too"))
    fault = _work_fault(target, entry, text, wanted, read)
    if fault is not None:
        return fault
    digest = board.proposal_digest(proposal)
    applied = [each for each in facts.applied if each.proposal_sha256 == digest]
    if not applied:
        return _found(Code.BOARD_NOT_APPLIED, target, say("the proposal was not applied yet"))
    if len({each.path for each in applied}) > 1:
        return _found(Code.BOARD_TWICE, target, say("the proposal was applied to more than one board"))
    for each in applied:
        if each.writer != entry.writer:
            why = say(
                "{writer} applied it, the board's writer is {owner}", writer=each.writer, owner=entry.writer
            )
            return _found(Code.BOARD_WRITER, target, why)
        if each.path != entry.path:
            why = say("it was applied to {path}, which is not the board of the contract", path=each.path)
            return _found(Code.BOARD_TWICE, target, why)
    if not holds(read.added, wanted) or not board.stands(read.added, proposal):
        return _found(Code.BOARD_CHANGED, target, say("the re-opened board does not hold the proposal"))
    return None
