"""`muniment handoff send|run|look|collect|message`, `journal`, `board`, `inbox`, by real processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.handoff.conftest import CONCLUSION, MEMORY, WORKLOG
from tests.handoff.test_cli import NEW, Shell

from muniment.errors import ExitCode

MUNIMENT = f"{sys.executable} -m muniment"
RUN = ("run", "--goal", "Read forty files.", "--accept", "A number.", "--not-owed", "team_journal=Alone.")
OWES = ("--owe", "employee_memory=agents/worker/M.md", "--owe", "employee_worklog=agents/worker/W.md",
        "--not-owed", "central_board=Alone.")  # fmt: skip


@pytest.fixture
def room(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


WORKER = f"""
set -e
cat > got.json
{MUNIMENT} handoff take > taken
{MUNIMENT} handoff record --target employee_memory --file memory.md > /dev/null
{MUNIMENT} handoff record --target employee_worklog --file worklog.md > /dev/null
{MUNIMENT} handoff return --conclusion '{CONCLUSION}' > /dev/null
"""
"""It names no handoff: the context says which one it runs within."""


def test_run_from_goal_to_verdict(room: Shell) -> None:
    (room.workspace / "memory.md").write_bytes(MEMORY)
    (room.workspace / "worklog.md").write_bytes(WORKLOG)
    done = room.ask(*RUN, *OWES, "--", "sh", "-c", WORKER)
    assert done["trace"]["complete"] is True
    assert {row["status"] for row in done["trace"]["rows"]} == {"verified", "not_applicable"}
    view = json.loads((room.workspace / "got.json").read_text())
    assert set(view["anchors"]) == {"employee_memory", "employee_worklog"}
    assert "evidence_nonce" not in json.dumps(view)
    room.ask("take", expect=2)  # here it runs within none


def test_run_of_a_worker_that_forgets(room: Shell) -> None:
    told = room.ask(*RUN, *OWES, "--", "sh", "-c", f"echo '{CONCLUSION}'", expect=4)
    assert told["error"] == "HANDOFF_INCOMPLETE"
    failed = room.ask(*RUN[:5], "--", "sh", "-c", f"echo '{CONCLUSION}'; exit 3", expect=4)
    assert [each["code"] for each in failed["result"]["trace"]["findings"]] == ["WORKER_FAILED"]


def test_run_of_nothing(room: Shell) -> None:
    room.ask(*RUN[:5], expect=2)
    gone = room.ask(*RUN[:5], "--", "no-such-command", expect=3)
    assert gone["undelivered"]["reason"] == "adapter_failed"


def test_send_by_process_and_collect(room: Shell) -> None:
    handoff = room.ask(*NEW)["handoff_id"]
    room.ask("send", handoff, "--to", "mei", "--via", "process", expect=2)
    room.ask("send", handoff, "--to", "mei", "--url", "http://h", "--", "true", expect=2)
    room.ask("send", handoff, "--to", "mei", "--url", "nonsense", expect=2)
    sent = room.ask("send", handoff, "--to", "mei", "--", "sh", "-c", f"echo '{CONCLUSION}'")
    assert sent["dispatch"]["provider_receipt"]["argv"][:2] == ["sh", "-c"]
    assert room.ask("look", handoff)["dispatch"]["dispatch_id"] == sent["dispatch"]["dispatch_id"]
    for _ in range(200):  # each look takes a while, and the worker has hardly anything to do
        if room.ask("collect", handoff)["collected"]:
            break
        assert room.ask("list")["handoffs"][0]["state"] == "dispatched"
    assert room.ask("list")["handoffs"][0]["state"] == "returned"
    again = room.ask("send", handoff, "--to", "mei", "--", "true", expect=5)
    assert again["error"] == "ALREADY_DISPATCHED"
    refused = room.ask("message", handoff, "--text", "Look again.", expect=3)
    assert refused["error"] == "NO_CALL_RECORD"


def test_asking_again_needs_the_host_s_word(room: Shell) -> None:
    handoff = room.ask(*NEW)["handoff_id"]
    answer = b'{"agentId": "a7", "status": "async_launched"}'
    room.ask("send", handoff, "--host", "claude", "--to", "mei", "--answer", "-", stdin=answer)
    assert room.ask("message", handoff, "--answer", "-", stdin=b'{"agentId": "b"}', expect=3)["error"] == (
        "NO_CALL_RECORD"
    )
    call = room.ask("message", handoff, "--answer", "-", stdin=answer)["call"]
    assert (call["kind"], call["provider"]["agentId"]) == ("message", "a7")
    assert room.ask("show", handoff)["calls"] == 1


def test_two_edges_are_the_most_and_the_context_says_where_one_is(room: Shell) -> None:
    """Parent, child and grandchild as real processes; the fourth is refused, and so is another parent."""
    run = f"{MUNIMENT} --json handoff run --accept Yes --goal"
    inner = f"{run} Deeper -- true > third.json; echo $? > code"
    middle = f"""
{run} Deep --parent ho_01KDVDNA000000000000000001 -- true > other.json
{run} Deep -- sh -c '{inner}; echo "It is not deeper than that."' > second.json
echo "The second edge was made, the third one refused."
"""
    first = room.ask(*RUN[:5], "--", "sh", "-c", middle)
    assert first["trace"]["complete"]
    found = room.workspace
    third = json.loads((found / "third.json").read_text())
    assert third["error"] == "DEPTH_EXCEEDED" and int((found / "code").read_text()) == ExitCode.BLOCKED
    assert json.loads((found / "other.json").read_text())["error"] == "PARENT_DIFFERS"
    second = json.loads((found / "second.json").read_text())
    assert second["trace"]["complete"]
    folder = found / ".muniment/handoff"
    meta = {
        each["handoff_id"]: each
        for each in (json.loads(p.read_text()) for p in folder.glob("ho_*/meta.json"))
    }
    assert len(meta) == 2
    assert meta[second["handoff_id"]]["parent"] == first["handoff_id"]
    assert meta[second["handoff_id"]]["depth"] == 2
    assert len({each["initiator"] for each in meta.values()}) == 1


def test_journal(room: Shell) -> None:
    entry = room.ask("journal", "append", "--text", "The parser reads all files.")["entry"]
    assert (entry["position"], entry["version"], entry["exit_code"]) == (0, 1, 0)
    [shown] = room.ask("journal", "tail")["entries"]
    assert shown["event_id"] == entry["event_id"]
    assert room.ask("journal", "verify")["whole"] is True
    room.ask("journal", "append", "--text", "next")
    file = room.workspace / "team/journal/000001.jsonl"
    file.write_bytes(file.read_bytes().replace(b"parser", b"reader"))
    damaged = room.ask("journal", "verify", expect=4)
    assert (damaged["whole"], damaged["findings"][0]["line"]) == (False, 1)
    room.ask("journal", "append", "--text", "next", "--path", "../out", expect=3)
    room.ask("journal", "append", expect=2)


def test_board(room: Shell) -> None:
    proposal = room.ask("board", "propose", "--heading", "Parser", "--text", "All forty files are read.")[
        "proposal"
    ]
    (room.workspace / "p.json").write_text(json.dumps(proposal))
    assert room.ask("board", "apply", "--proposal", "p.json")["version"] == 1
    assert room.ask("board", "apply", "--proposal", "p.json")["already"] is True
    shown = room.ask("board", "show", "--at", "Parser")
    assert shown["version"] == 1 and "All forty files" in shown["part"]
    stale = {**proposal, "text": "Something else altogether."}
    (room.workspace / "p.json").write_text(json.dumps(stale))
    assert room.ask("board", "apply", "--proposal", "p.json", expect=5)["error"] == "BOARD_CONFLICT"


def test_inbox(room: Shell) -> None:
    receipt = room.ask("inbox", "send", "--to", "mei", "--text", "The sample was replaced.")["receipt"]
    first, second = (room.ask("inbox", "read", "--for", "mei") for _ in range(2))
    assert first["messages"][0]["text"] == second["messages"][0]["text"] == "The sample was replaced."
    done = [room.ask("inbox", "ack", receipt["message_id"], "--for", "mei")["already"] for _ in range(2)]
    assert done == [False, True]
    assert room.ask("inbox", "read", "--for", "mei") == {"waiting": 0, "messages": []}
    assert room.ask("inbox", "ack", "msg_x", "--for", "mei", expect=7)["error"] == "MESSAGE_UNKNOWN"
