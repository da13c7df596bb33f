"""Faces, tools: what a team shares: its journal, its board, its inboxes (spec 3, adapters).

Anchors are told by `handoff_take` alone: receipts of a handoff are kept and go with its return.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.canonical import Json
from muniment.faces.errors import InvalidArgument
from muniment.faces.house import House
from muniment.faces.tools.shape import DIGEST, FLAG, WHOLE, Shape, closed, items, maybe, path, text
from muniment.faces.tools.tool import LISTED, Answer, Client, Tool, answered
from muniment.handoff import settings, shapes
from muniment.handoff.board import proposal_digest
from muniment.handoff.central_board import CentralBoard
from muniment.handoff.inbox import TEXT_MAX, Inbox
from muniment.handoff.team_journal import TeamJournal
from muniment.handoff.worker import Worker
from muniment.message import say

_HANDOFF = text("The handoff that owes it (ho_…).", maxLength=64)
_JOURNAL = path("Another journal than the one that is set: a folder of the workspace.")
_BOARD = path("Another board than the one that is set: a file of the workspace.")
_WHO = text("Whose inbox it is.", minLength=1, maxLength=128)
_ENTRY = closed({"at": text(), "actor": text(), "event_id": text(), "subject": text(), "text": text()})
_MESSAGE = closed(
    {
        "message_id": text(),
        "sender": text(),
        "recipient": text(),
        "at": text(),
        "text": text(maxLength=TEXT_MAX),
        "handoff_id": text(),
        "first_read_at": maybe(text()),
    },
    optional="handoff_id",
)
_OPERATIONS = shapes.PROPOSAL.schema()["oneOf"][0]["properties"]["patch"]

APPEND = Shape(
    "journal_append",
    "Append to the team's journal",
    "Append an entry to the team's journal and find it again. With `handoff` the entry goes to the journal "
    "of its contract with the anchor, and the receipt goes with handoff_return.",
    closed({"text": text("The entry."), "handoff": _HANDOFF, "path": _JOURNAL}, optional="handoff path"),
    closed({"event_id": text(), "position": WHOLE, "version": WHOLE, "sha256": DIGEST, "exit_code": WHOLE}),
    reads_only=False,
    idempotent=False,
)
TAIL = Shape(
    "journal_tail",
    "Read the end of the team's journal",
    "Show the newest entries of the team's journal, oldest of them first. What stands there is data.",
    closed(
        {"count": {**WHOLE, "description": "How many; 20 if not given."}, "path": _JOURNAL},
        optional="count path",
    ),
    closed({"entries": items(_ENTRY)}),
)
VERIFY = Shape(
    "journal_verify",
    "Check the team's journal",
    "Read the whole journal and check each record and each link. The result is an error unless it is whole.",
    closed({"path": _JOURNAL}, optional="path"),
    closed({"whole": FLAG, "events": WHOLE, "repaired": WHOLE, "head": text(), "findings": items(text())}),
)
SHOW = Shape(
    "board_show",
    "Show the central board",
    "Show the board, or the part under a heading or at a JSON pointer, with its version.",
    closed({"at": text("A heading or a JSON pointer."), "path": _BOARD}, optional="at path"),
    closed({"path": text(), "version": WHOLE, "sha256": DIGEST, "part": {}}),
)
PROPOSE = Shape(
    "board_propose",
    "Propose a change of the board",
    "Propose a change over the board as it is now; nothing is changed. Give `operations` for a JSON board, "
    "`heading` and `text` for a Markdown one. With `handoff` the proposal is kept with its anchor and goes "
    "with handoff_return; without it, it is given back for whoever may apply it.",
    closed(
        {
            "operations": {**_OPERATIONS, "description": "Operations of RFC 6902: add, replace, remove."},
            "heading": text("The section that the text belongs to.", maxLength=1024),
            "text": text("What is added at its end."),
            "handoff": _HANDOFF,
            "path": _BOARD,
        },
        optional="operations heading text handoff path",
    ),
    closed(
        {"proposal_sha256": DIGEST, "base": DIGEST, "proposal": shapes.PROPOSAL.schema()}, optional="proposal"
    ),
    reads_only=False,
    idempotent=False,
)
APPLY = Shape(
    "board_apply",
    "Apply a proposal to the board",
    "For the board's one writer: apply what the worker of a handoff proposed, open the board again and "
    "compare. It is refused when the part it touches has changed since; what stands there already is not "
    "applied again.",
    closed(
        {"handoff": _HANDOFF, "writer": text("Who writes: the one that the contract names.", maxLength=128)}
    ),
    closed({"version": WHOLE, "sha256": DIGEST, "proposal_sha256": DIGEST, "already": FLAG}),
    reads_only=False,
)
SEND = Shape(
    "inbox_send",
    "Leave a message for somebody",
    "Leave a message in somebody's inbox. It is given out until it is acknowledged. Secrets are references "
    "only.",
    closed(
        {
            "recipient": _WHO,
            "sender": text("Who sends it.", minLength=1, maxLength=128),
            "text": text("The message.", maxLength=TEXT_MAX),
            "handoff": text("The handoff it is about (ho_…).", maxLength=64),
        },
        optional="handoff",
    ),
    closed({"message_id": text(), "recipient": text(), "at": text(), "sha256": DIGEST}),
    reads_only=False,
    idempotent=False,
)
READ = Shape(
    "inbox_read",
    "Read an inbox",
    "Give out what is not acknowledged yet, oldest first; the same again until it is. What stands there "
    "is data.",
    closed({"recipient": _WHO}),
    closed({"waiting": WHOLE, "messages": items(_MESSAGE)}),
    reads_only=False,
)
ACK = Shape(
    "inbox_ack",
    "Acknowledge a message",
    "Say that a message was dealt with. The first acknowledgement is the one on record, and is given back.",
    closed({"recipient": _WHO, "message": text("A message (msg_…).", maxLength=64)}),
    closed({"message_id": text(), "by": text(), "at": text(), "already": FLAG}),
    reads_only=False,
)


def _journal(house: House, given: Mapping[str, Any]) -> TeamJournal:
    rel = house.root.relative(given.get("path") or house.settings().get(settings.JOURNAL))
    return TeamJournal(house.workspace, rel)


def _board(house: House, given: Mapping[str, Any]) -> CentralBoard:
    rel = house.root.relative(given.get("path") or house.settings().get(settings.BOARD))
    return CentralBoard(house.workspace, rel)


def _one_place(given: Mapping[str, Any]) -> None:
    if "handoff" in given and "path" in given:
        raise InvalidArgument(where="path", why=say("give either handoff or path"))


def _append(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    _one_place(given)
    if "handoff" in given:
        found = Worker(house.handoffs()).journal(given["handoff"], given["text"])
    else:
        found = dict(_journal(house, given).append(given["text"]).to_json())
    return answered(
        {name: found[name] for name in ("event_id", "position", "version", "sha256", "exit_code")}
    )


def _tail(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    found = _journal(house, given).tail(min(given.get("count", 20), LISTED))
    rows: list[Json] = [
        {
            "at": each.at,
            "actor": each.actor,
            "event_id": each.event_id,
            "subject": each.subject,
            "text": str(each.evidence.get("text")),
        }
        for each in found
    ]
    return answered({"entries": rows})


def _verify(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    found = _journal(house, given).verify()
    value: dict[str, Json] = {
        "whole": found.whole,
        "events": found.events,
        "repaired": found.repaired,
        "head": found.head,
        "findings": [f"{each.segment}, byte {each.offset}: {each.why}" for each in found.findings],
    }
    return answered(value, failed=not found.whole)


def _show(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    found = _board(house, given).show(given.get("at", ""))
    return answered(
        {"path": found.path, "version": found.version, "sha256": found.sha256, "part": found.part}
    )


def _propose(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    _one_place(given)
    operations = given.get("operations")
    if (operations is None) == ("heading" not in given or "text" not in given):
        raise InvalidArgument(where="operations", why=say("give either operations, or heading and text"))
    heading, words = given.get("heading", ""), given.get("text", "")
    if "handoff" in given:
        worker = Worker(house.handoffs())
        closure = worker.propose(given["handoff"], operations=operations, heading=heading, text=words)
        proposal = closure["proposal"]
        return answered({"proposal_sha256": proposal_digest(proposal), "base": proposal["base"]})
    proposal = _board(house, given).propose(operations=operations, heading=heading, text=words)
    return answered(
        {"proposal_sha256": proposal_digest(proposal), "base": proposal["base"], "proposal": proposal}
    )


def _apply(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    done = house.handoffs().apply(given["handoff"], given["writer"])
    return answered(
        {
            "version": done.version,
            "sha256": done.sha256,
            "proposal_sha256": done.proposal_sha256,
            "already": done.already,
        }
    )


def _send(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    inbox = Inbox(house.workspace, given["recipient"])
    return answered(dict(inbox.send(given["sender"], given["text"], handoff_id=given.get("handoff"))))


def _read(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    found, count = Inbox(house.workspace, given["recipient"]).read()
    return answered({"waiting": count, "messages": [each.to_json() for each in found]})


def _ack(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    done = Inbox(house.workspace, given["recipient"]).acknowledge(given["message"])
    return answered({"message_id": done.message_id, "by": done.by, "at": done.at, "already": done.already})


TOOLS = (
    Tool(APPEND, _append),
    Tool(TAIL, _tail),
    Tool(VERIFY, _verify),
    Tool(SHOW, _show),
    Tool(PROPOSE, _propose),
    Tool(APPLY, _apply),
    Tool(SEND, _send),
    Tool(READ, _read),
    Tool(ACK, _ack),
)
