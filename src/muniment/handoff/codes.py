"""Handoff room: what the gate and the lint can find, each with its name.

A finding refuses; a note only speaks.  `docs/reference/handoff-codes.md` explains every code, and a
test holds the table there to this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muniment.message import Message


class Code(StrEnum):
    """The name of what was found."""

    # step 0: what the worker says it made
    ARTIFACT_MISSING = "ARTIFACT_MISSING"
    ARTIFACT_EMPTY = "ARTIFACT_EMPTY"
    ARTIFACT_UNREADABLE = "ARTIFACT_UNREADABLE"
    ARTIFACT_OUTSIDE = "ARTIFACT_OUTSIDE"
    PROGRESS_NOTE = "PROGRESS_NOTE"
    CLAIM_UNNAMED = "CLAIM_UNNAMED"
    REPOSITORY_MISSING = "REPOSITORY_MISSING"
    COMMIT_NOT_FOUND = "COMMIT_NOT_FOUND"
    COMMIT_LACKS_FILE = "COMMIT_LACKS_FILE"
    COMMIT_DIFFERS = "COMMIT_DIFFERS"
    NOT_PUSHED = "NOT_PUSHED"
    REMOTE_UNKNOWN = "REMOTE_UNKNOWN"
    VERIFIED_MISMATCH = "VERIFIED_MISMATCH"
    # step 1: targets against closure receipts
    RETURN_MISSING = "RETURN_MISSING"
    FOREIGN_ID = "FOREIGN_ID"
    RETURN_MODE = "RETURN_MODE"
    CLOSURE_MISSING = "CLOSURE_MISSING"
    CLOSURE_DOUBLED = "CLOSURE_DOUBLED"
    CLOSURE_EXTRA = "CLOSURE_EXTRA"
    CLOSURE_STATE = "CLOSURE_STATE"
    REASON_CHANGED = "REASON_CHANGED"
    PATH_DIFFERS = "PATH_DIFFERS"
    # step 2: the stored receipt and the root
    DOCUMENT_ALTERED = "DOCUMENT_ALTERED"
    NO_RECEIPT = "NO_RECEIPT"
    UNDELIVERED = "UNDELIVERED"
    DELIVERY_UNKNOWN = "DELIVERY_UNKNOWN"
    UNDELIVERED_UNPROVED = "UNDELIVERED_UNPROVED"
    RECEIPT_TOO_EARLY = "RECEIPT_TOO_EARLY"
    RECIPIENT_DIFFERS = "RECIPIENT_DIFFERS"
    MODE_DIFFERS = "MODE_DIFFERS"
    MODE_RAISED = "MODE_RAISED"
    DEGRADATION_REFUSED = "DEGRADATION_REFUSED"
    DEGRADATION_UNNAMED = "DEGRADATION_UNNAMED"
    DEGRADATION_INVENTED = "DEGRADATION_INVENTED"
    NOT_TASK_ADAPTER = "NOT_TASK_ADAPTER"
    TASK_RECEIPT_MISSING = "TASK_RECEIPT_MISSING"
    TASK_RECEIPT_INVENTED = "TASK_RECEIPT_INVENTED"
    CONTRACT_REQUIRED = "CONTRACT_REQUIRED"
    WRONG_ROOT = "WRONG_ROOT"
    # step 3: the bytes
    NONCE_WRONG = "NONCE_WRONG"
    ANCHOR_FOREIGN = "ANCHOR_FOREIGN"
    TARGET_MISSING = "TARGET_MISSING"
    TARGET_UNREADABLE = "TARGET_UNREADABLE"
    BASELINE_REWRITTEN = "BASELINE_REWRITTEN"
    NOTHING_ADDED = "NOTHING_ADDED"
    ENTRY_OUTSIDE = "ENTRY_OUTSIDE"
    ENTRY_CHANGED = "ENTRY_CHANGED"
    ANCHOR_MISSING = "ANCHOR_MISSING"
    ANCHOR_DUMP = "ANCHOR_DUMP"
    ANCHOR_WITHOUT_WORK = "ANCHOR_WITHOUT_WORK"
    VERIFICATION_FAILED = "VERIFICATION_FAILED"
    JOURNAL_RECORD = "JOURNAL_RECORD"
    # step 4: the board
    BOARD_NOT_APPLIED = "BOARD_NOT_APPLIED"
    BOARD_WRITER = "BOARD_WRITER"
    BOARD_TWICE = "BOARD_TWICE"
    BOARD_CHANGED = "BOARD_CHANGED"
    # step 5: the whole
    WORKER_ALIVE = "WORKER_ALIVE"
    WORKER_FAILED = "WORKER_FAILED"
    # lint: before anything is issued
    SECRET_VALUE = "SECRET_VALUE"
    INVALID_TARGET = "INVALID_TARGET"
    WRITER_REFUSED = "WRITER_REFUSED"
    CONTEXT_TOO_LONG = "CONTEXT_TOO_LONG"
    PITFALLS_MISSING = "PITFALLS_MISSING"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: its code, the place (a target, a field, a path), and the reason."""

    code: Code
    where: str
    why: Message

    def to_json(self) -> dict[str, str]:
        """The finding as a trace keeps it."""
        return {"code": self.code.value, "where": self.where, "reason": str(self.why)}
