"""Faces, tools: delegated work: the parent's acts and the recipient's, one call of the room each.

Nonces never leave; anchors are told by `handoff_take` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment.archive.card import one_line
from muniment.canonical import Json
from muniment.faces.errors import InvalidArgument
from muniment.faces.house import House
from muniment.faces.tools import handoff_shapes as shapes
from muniment.faces.tools.tool import LISTED, Answer, Client, Tool, answered, refused
from muniment.handoff import sending
from muniment.handoff.export import export
from muniment.handoff.model import Target
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.handoff.service import incomplete
from muniment.handoff.subject import HandoffSubject
from muniment.handoff.worker import RECORD_MAX, Worker
from muniment.message import say
from muniment.record.state import FOLDER


def _new(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    issued = house.handoffs().new(given["packet"], recipient=given.get("recipient"))
    return answered(
        {
            "handoff_id": issued.handoff_id,
            "depth": issued.depth,
            "packet": issued.packet.to_json(),
            "notes": [dict(each.to_json()) for each in issued.notes],
        }
    )


def _lint(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    found = house.handoffs().lint(given["packet"], given.get("recipient"))
    value: dict[str, Json] = {
        "refused": [dict(each.to_json()) for each in found.refusals],
        "notes": [dict(each.to_json()) for each in found.notes],
    }
    return answered(value, failed=bool(found.refusals))


def _send(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    handoff = given["handoff"]
    found = house.handoffs().deliver_by_host(
        handoff,
        given["host"],
        given["recipient"],
        given["answer"].encode("utf-8"),
        looked_up=given.get("lookedUp", False),
    )
    return _outcome(handoff, found)


def _outcome(handoff: str, found: Dispatch | Undelivered) -> Answer:
    failed = isinstance(found, Undelivered)
    value: dict[str, Json] = {"handoff_id": handoff, "undelivered" if failed else "dispatch": found.to_json()}
    answer = answered(value, failed=failed)
    if isinstance(found, Undelivered) and found.why is not None:
        return Answer(f"{one_line(str(found.why))}\n{answer.text}", value, failed=True)
    return answer


def _dispatch(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    dispatcher = house.agent_named(given["agent"])
    looked_up = given.get("lookedUp", False)
    found = house.handoffs().send(given["handoff"], dispatcher, given["recipient"], looked_up=looked_up)
    return _outcome(given["handoff"], found)


def _look(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    handoff = given["handoff"]
    found = sending.look(house.handoffs(), handoff, lambda via, at: house.dispatcher(via, address=at))
    assert found is not None
    return _outcome(handoff, found)


def _collect(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    handoffs, handoff = house.handoffs(), given["handoff"]
    done = sending.collect(handoffs, handoff, sending.agent_of(handoffs, handoff, house.agent))
    value: dict[str, Json] = {"handoff_id": handoff, "collected": done is not None}
    if done is not None:
        value |= {"return_sha256": done.sha256, "number": done.number}
    return answered(value)


def _message(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    handoffs, handoff, words = house.handoffs(), given["handoff"], given.get("text")
    if (words is None) == ("answer" not in given):
        raise InvalidArgument(where="text", why=say("give either text or answer"))
    if words is None:
        done = sending.message_by_host(handoffs, handoff, given["answer"].encode("utf-8"))
    else:
        agent = sending.agent_of(handoffs, handoff, house.agent)
        done = sending.message(handoffs, handoff, agent, words)
    return answered({"handoff_id": handoff, "kind": done["kind"], "at": done["at"]})


def _take(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return answered(Worker(house.handoffs()).take(given["handoff"]).to_json())


def _record(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    words, file = given.get("text"), given.get("file")
    if words is not None and file is None:
        content = words.encode("utf-8")
    elif file is not None and words is None:
        content = house.root.read(house.root.relative(file), limit=RECORD_MAX)
    else:
        raise InvalidArgument(where="text", why=say("give either text or file"))
    closure = Worker(house.handoffs()).record(given["handoff"], Target(given["target"]), content)
    return answered({"closure": {name: closure[name] for name in closure if name != "evidence_anchor"}})


def _return(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    handoff, worker = given["handoff"], Worker(house.handoffs())
    data = worker.compose(
        handoff,
        conclusion=given["conclusion"],
        evidence=given.get("evidence", ()),
        gaps=given.get("gaps", ()),
        artifact_paths=given.get("artifactPaths", ()),
        closures=given.get("closures", ()),
    )
    done = worker.give_back(handoff, data)
    return answered(
        {
            "handoff_id": handoff,
            "return_sha256": done.sha256,
            "number": done.number,
            "superseded": done.superseded,
        }
    )


def _check(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    found = house.handoffs().check(given["handoff"])
    value: dict[str, Json] = {"trace": found.trace.to_json()}
    if given.get("again", False):
        value["before"] = dict(found.before) if found.before is not None else None
    answer = answered(value, failed=not found.trace.complete)
    if found.trace.complete:
        return answer
    # The refusal in its exact words, then what was read.
    line = refused(shapes.CHECK.room, incomplete(found.trace))
    return Answer(f"{line}\n{answer.text}", value, failed=True)


def _show(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    return answered(dict(HandoffSubject(house.handoffs()).papers(given["handoff"])))


def _list(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    papers = house.handoffs().papers
    found = list(reversed(papers.unfinished() if given.get("openOnly", False) else papers.every()))
    rows: list[Json] = [each.to_json() for each in found[:LISTED]]
    return answered({"total": len(found), "handoffs": rows})


def _export(house: House, given: Mapping[str, Any], _: Client) -> Answer:
    rel = house.root.relative(given["folder"])
    if not rel.parts or rel.parts[: len(FOLDER.parts)] == FOLDER.parts:
        why = say("a folder of the workspace was expected, outside {own}", own=FOLDER.posix)
        raise InvalidArgument(where="folder", why=why)
    with house.root.below(rel.parent):  # no link on the way leads out of the workspace
        done = export(house.handoffs(), given["handoff"], Path(house.root.path, *rel.parts))
    return answered(
        {"handoff_id": done.handoff_id, "folder": rel.posix, "files": done.files, "bytes": done.size}
    )


TOOLS = (
    Tool(shapes.NEW, _new),
    Tool(shapes.LINT, _lint),
    Tool(shapes.SEND, _send),
    Tool(shapes.DISPATCH, _dispatch),
    Tool(shapes.LOOK, _look),
    Tool(shapes.COLLECT, _collect),
    Tool(shapes.MESSAGE, _message),
    Tool(shapes.TAKE, _take),
    Tool(shapes.RECORD, _record),
    Tool(shapes.RETURN, _return),
    Tool(shapes.CHECK, _check),
    Tool(shapes.SHOW, _show),
    Tool(shapes.LIST, _list),
    Tool(shapes.EXPORT, _export),
)
