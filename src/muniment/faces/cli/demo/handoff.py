"""Faces, command line: the demo's chapter of handoffs: one honest worker, and three that are caught."""

from __future__ import annotations

import hashlib
import json
import shutil

from muniment.faces.cli.demo.stage import Stage
from muniment.message import say

_MEMORY = "Sensor C drifts most in cold weeks; read its November rows before trusting the mean."
_WORKLOG = "Read the four sensor files, compared the drift of each month, and wrote the report anew."
_DONE = "The report names the drift of all four sensors; the numbers come from the four files."
_REASON = "Nobody else works on this report."


def handoff_chapter(stage: Stage) -> None:
    """Four workers get the same work; only the one that did it is believed."""
    stage.tell(
        say("Work is delegated. It counts once the parent has read it back, not when the worker says so.")
    )
    honest = _send(stage, "mei")
    stage.run("handoff", "record", honest, "--target", "employee_memory", "--text", _MEMORY)
    stage.run("handoff", "record", honest, "--target", "employee_worklog", "--text", _WORKLOG)
    stage.run("handoff", "return", honest, "--conclusion", _DONE)
    stage.run("handoff", "check", honest)

    stage.tell(say("The second worker says the same and wrote nothing into its worklog."))
    _caught(stage, "ada", short=True)
    stage.tell(say("The third worker wrote the anchor, and no work."))
    _caught(stage, "bob", hollow=True)
    stage.tell(say("The fourth worker did its work, and then its folder was swept away."))
    _caught(stage, "cho", swept=True)


def _send(stage: Stage, name: str) -> str:
    """Issue the work to a worker, with the answer of a host that accepted it."""
    area = f"agents/{name}"
    owed = [f"employee_memory={area}/MEMORY.md", f"employee_worklog={area}/WORKLOG.md"]
    unneeded = [f"team_journal={_REASON}", f"central_board={_REASON}"]
    found = stage.ask(
        "handoff", "new", "--to", name,
        "--goal", "Write the drift report anew.",
        "--context", "The sensor files lie in data/.",
        "--accept", "The report names the drift of every sensor.",
        *(word for each in owed for word in ("--owe", each)),
        *(word for each in unneeded for word in ("--not-owed", each)),
    )  # fmt: skip
    handoff: str = found["handoff_id"]
    answer = {"status": "accepted", "runId": f"run-{name}", "childSessionKey": f"agent:{name}"}
    stage.write(f"answers/{name}.json", json.dumps(answer) + "\n")
    stage.run(
        "handoff", "send", handoff, "--host", "openclaw", "--to", name, "--answer", f"answers/{name}.json"
    )
    return handoff


def _caught(
    stage: Stage, name: str, *, short: bool = False, hollow: bool = False, swept: bool = False
) -> None:
    """A worker that lies, and the check that says where."""
    handoff = _send(stage, name)
    folder = stage.workspace / "agents" / name
    stage.ask("handoff", "record", handoff, "--target", "employee_memory", "--text", _MEMORY)
    if not short:
        stage.ask("handoff", "record", handoff, "--target", "employee_worklog", "--text", _WORKLOG)
    if hollow:
        _hollow(stage, handoff, name)
    else:
        stage.run("handoff", "return", handoff, "--conclusion", _DONE)
    if swept:
        shutil.rmtree(folder)
    stage.run("handoff", "check", handoff, expect=4)


def _hollow(stage: Stage, handoff: str, name: str) -> None:
    """The worklog holds its anchor alone, and a receipt that fits those bytes."""
    view = stage.ask("handoff", "take", handoff)
    anchor = view["anchors"]["employee_worklog"]
    worklog = stage.workspace / "agents" / name / "WORKLOG.md"
    worklog.write_text(f"{anchor}\n", encoding="utf-8")
    receipt = {
        "target": "employee_worklog",
        "state": "updated",
        "handoff_id": handoff,
        "contract_id": view["packet"]["persistence_contract"]["contract_id"],
        "dispatch_id": view["dispatch_id"],
        "evidence_anchor": anchor,
        "path": f"agents/{name}/WORKLOG.md",
        "offset": 0,
        "length": len(anchor) + 1,
        "exit_code": 0,
        "sha256": hashlib.sha256(worklog.read_bytes()).hexdigest(),
    }
    stage.write("answers/hollow.json", json.dumps(receipt) + "\n")
    stage.run("handoff", "return", handoff, "--conclusion", _DONE, "--closure", "answers/hollow.json")
