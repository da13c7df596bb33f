"""Faces, tools: the tools of delegated work as clients see them (spec 3, surface)."""

from __future__ import annotations

from muniment.faces.tools.shape import (
    DIGEST,
    FLAG,
    WHOLE,
    Schema,
    Shape,
    closed,
    flag,
    items,
    maybe,
    text,
    word,
)
from muniment.handoff import shapes
from muniment.handoff.host import ANSWER_MAX, HOSTS
from muniment.handoff.model import OWN
from muniment.handoff.worker import RECORD_MAX

_HANDOFF = text("A handoff (ho_…).", maxLength=64)
_RECIPIENT = text("Who gets the work.", minLength=1, maxLength=128)
_TARGET: Schema = {"enum": list(shapes.TARGETS)}
_FINDING = closed({"code": text(), "where": text(), "reason": text()})
_PACKET = shapes.PACKET.schema()
_TRACE = shapes.TRACE.schema()
_DISPATCH = shapes.DISPATCH.schema()
_UNDELIVERED = shapes.UNDELIVERED.schema()

_DRAFT = {
    **shapes.PACKET_DRAFT.schema(),
    "description": "The packet: goal, context_constraints, acceptance_criteria and known_pitfalls, none of "
    "them empty; and, where something must be durable afterwards, persistence_contract with all four "
    "targets. Secrets stand in it as references (secret://…) only.",
}

_RECEIPT = closed(
    {
        "target": {"enum": [target.value for target in OWN]},
        "state": {"const": "updated"},
        "handoff_id": text(),
        "dispatch_id": text(),
        "contract_id": text(),
        "path": text(),
        "offset": WHOLE,
        "length": WHOLE,
        "exit_code": {"const": 0},
        "sha256": DIGEST,
    }
)

_LISTED = closed(
    {
        "handoff_id": text(),
        "state": text(),
        "recipient": maybe(text()),
        "goal": text(),
        "created": text(),
        "missing": items(_TARGET),
    }
)

NEW = Shape(
    "handoff_new",
    "Issue a packet",
    "Issue a packet for delegated work, with its contract. A lone small job needs none. Nothing runs yet: "
    "dispatch it with the host's own means and record that with handoff_send.",
    closed({"packet": _DRAFT, "recipient": _RECIPIENT}, optional="recipient"),
    closed({"handoff_id": text(), "depth": WHOLE, "packet": _PACKET, "notes": items(_FINDING)}),
    reads_only=False,
    idempotent=False,
)

LINT = Shape(
    "handoff_lint",
    "Say what is wrong with a packet",
    "Read a packet as handoff_new would, and issue nothing. The result is an error when it would be refused.",
    closed({"packet": _DRAFT, "recipient": _RECIPIENT}, optional="recipient"),
    closed({"refused": items(_FINDING), "notes": items(_FINDING)}),
)

SEND = Shape(
    "handoff_send",
    "Record a dispatch that the host made",
    "Record that the host has dispatched the work, by its own answer. Without an answer that proves it there "
    "is no dispatch; accepted means delivered, never done.",
    closed(
        {
            "handoff": _HANDOFF,
            "host": word("Which host dispatched it.", *HOSTS),
            "recipient": _RECIPIENT,
            "answer": text("The host's answer, a JSON object, exactly as it came.", maxLength=ANSWER_MAX),
            "lookedUp": flag("Of a launch of which nobody knew, a person looked: nothing of it runs."),
        },
        optional="lookedUp",
    ),
    closed(
        {"handoff_id": text(), "dispatch": _DISPATCH, "undelivered": _UNDELIVERED},
        optional="dispatch undelivered",
    ),
    reads_only=False,
    idempotent=False,
)

DISPATCH = Shape(
    "handoff_dispatch",
    "Dispatch a packet to an agent",
    "Dispatch a packet to one of the agents that the person has set (handoff.agents): a command of this "
    "machine or an A2A agent. The packet chooses nothing of it. Delivered is not done.",
    closed(
        {
            "handoff": _HANDOFF,
            "agent": text("The agent's name in the settings.", minLength=1, maxLength=128),
            "recipient": _RECIPIENT,
            "lookedUp": flag("Of a launch of which nobody knew, a person looked: nothing of it runs."),
        },
        optional="lookedUp",
    ),
    closed(
        {"handoff_id": text(), "dispatch": _DISPATCH, "undelivered": _UNDELIVERED},
        optional="dispatch undelivered",
    ),
    reads_only=False,
    idempotent=False,
    reaches_out=True,
)

LOOK = Shape(
    "handoff_look",
    "Look up what became of a launch",
    "Look for a launch of which nobody knows what became of it. What is found becomes the receipt; what is "
    "certainly absent may be dispatched again; else only a person can say.",
    closed({"handoff": _HANDOFF}),
    closed(
        {"handoff_id": text(), "dispatch": _DISPATCH, "undelivered": _UNDELIVERED},
        optional="dispatch undelivered",
    ),
    reads_only=False,
    reaches_out=True,
)

COLLECT = Shape(
    "handoff_collect",
    "Take in what a worker left",
    "Take in what a dispatched worker left as its result, where it returned nothing itself. Nothing is "
    "filled in.",
    closed({"handoff": _HANDOFF}),
    closed(
        {"handoff_id": text(), "collected": FLAG, "return_sha256": DIGEST, "number": WHOLE},
        optional="return_sha256 number",
    ),
    reads_only=False,
    reaches_out=True,
)

MESSAGE = Shape(
    "handoff_message",
    "Ask a worker again, on record",
    "Say something to a worker that runs elsewhere, or record by its answer that the host did. Only then may "
    "anybody say that it was asked again. Give either text or answer.",
    closed(
        {
            "handoff": _HANDOFF,
            "text": text("What is said to an agent that was asked by a2a."),
            "answer": text("The host's answer, exactly as it came.", maxLength=ANSWER_MAX),
        },
        optional="text answer",
    ),
    closed({"handoff_id": text(), "kind": text(), "at": text()}),
    reads_only=False,
    idempotent=False,
    reaches_out=True,
)

TAKE = Shape(
    "handoff_take",
    "Take the work",
    "For the recipient: the packet, the dispatch id and the finished anchors of the targets it owes.",
    closed({"handoff": _HANDOFF}),
    closed(
        {
            "packet": _PACKET,
            "dispatch_id": text(),
            "effective_mode": {"enum": list(shapes.MODES)},
            "anchors": closed(dict.fromkeys(shapes.TARGETS, text()), optional=" ".join(shapes.TARGETS)),
        }
    ),
)

RECORD = Shape(
    "handoff_record",
    "Append one's own work with its anchor",
    "For the recipient: append its own content to its memory or worklog, with the anchor, and read it back. "
    "Give either text or file.",
    closed(
        {
            "handoff": _HANDOFF,
            "target": word("Which target.", *(target.value for target in OWN)),
            "text": text("The work, in words.", maxLength=RECORD_MAX),
            "file": text("The work, in a file of the workspace.", minLength=1, maxLength=4096),
        },
        optional="text file",
    ),
    closed({"closure": _RECEIPT}),
    reads_only=False,
    idempotent=False,
)

RETURN = Shape(
    "handoff_return",
    "Return the result",
    "For the recipient: say what came of the work. Receipts of what handoff_record appended are added. What "
    "is said here is a claim until handoff_check has read it back; an earlier return is superseded and kept.",
    closed(
        {
            "handoff": _HANDOFF,
            "conclusion": text("What came of the work."),
            "evidence": items(
                {"oneOf": [text(), shapes.CLAIM.schema()]},
                "What was observed, or a claim that can be checked.",
            ),
            "gaps": items(text(), "What is missing."),
            "artifactPaths": items(text(maxLength=4096), "Files and folders that were made."),
            "closures": items(shapes.CLOSURE.schema(), "Closure receipts of what was written otherwise."),
        },
        optional="evidence gaps artifactPaths closures",
    ),
    closed({"handoff_id": text(), "return_sha256": DIGEST, "number": WHOLE, "superseded": FLAG}),
    reads_only=False,
    idempotent=False,
)

CHECK = Shape(
    "handoff_check",
    "Read back what was owed",
    "For the parent: read every target, artifact and claim again and judge. The result is an error unless "
    "the handoff is complete; three of four targets are not.",
    closed(
        {"handoff": _HANDOFF, "again": flag("Give the verdict before this one as well.")}, optional="again"
    ),
    closed({"trace": _TRACE, "before": maybe(_TRACE)}, optional="before"),
    reads_only=False,
    idempotent=False,
    reaches_out=True,
)

SHOW = Shape(
    "handoff_show",
    "Show one handoff",
    "Show what is kept of a handoff: the packet, the receipt, the last verdict. Never nonces or anchors.",
    closed({"handoff": _HANDOFF}),
    closed(
        {
            "handoff_id": text(),
            "state": text(),
            "recipient": maybe(text()),
            "created": text(),
            "missing": items(_TARGET),
            "packet": _PACKET,
            "outcome": {"anyOf": [_DISPATCH, _UNDELIVERED, {"type": "null"}]},
            "calls": WHOLE,
            "returns": WHOLE,
            "return_sha256": maybe(DIGEST),
            "trace": maybe(_TRACE),
        }
    ),
)

LIST = Shape(
    "handoff_list",
    "List handoffs",
    "List handoffs, newest first.",
    closed(
        {"openOnly": flag("Only those that somebody still has to look at.")},
        optional="openOnly",
    ),
    closed({"total": WHOLE, "handoffs": items(_LISTED)}),
)

EXPORT = Shape(
    "handoff_export",
    "Write a folder that proves a handoff",
    "Write one folder inside the workspace by which a handoff can be judged elsewhere. Its nonces go with "
    "it, so it is never dispatched again.",
    closed(
        {
            "handoff": _HANDOFF,
            "folder": text(
                "The folder to write, in the workspace; it must not exist.", minLength=1, maxLength=4096
            ),
        }
    ),
    closed({"handoff_id": text(), "folder": text(), "files": WHOLE, "bytes": WHOLE}),
    reads_only=False,
    idempotent=False,
    reaches_out=True,
)
