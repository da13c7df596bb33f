"""`muniment hook subagent-stop`, with both hosts' events, and a process that plays the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.children import SOURCE
from tests.handoff.conftest import CONCLUSION, WORKLOG, Place, packet

from muniment.handoff.model import Target
from muniment.handoff.service import Handoffs
from muniment.handoff.worker import Worker

HERE = Path(__file__).parent
HOSTS = ("claude", "codex")


def event_of(host: str, place: Place, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "events" / f"{host}.json").read_text())
    return {**found, "cwd": str(place.path), **more}


def answer_of(host: str) -> bytes:
    """What the host said when it took the work."""
    event: dict[str, Any] = json.loads((HERE / "events" / f"{host}.json").read_text())
    name = {"claude": "agentId", "codex": "agent_id"}[host]
    return json.dumps({name: event["agent_id"], "status": "async_launched"}).encode()


def dispatch(handoffs: Handoffs, host: str, *owed: str, **more: Any) -> str:
    handoff = handoffs.new(packet(*owed, **more), recipient="mei").handoff_id
    handoffs.deliver_by_host(handoff, host, "mei", answer_of(host))
    return handoff


def hook(event: Any, **environment: str) -> tuple[int, str, str]:
    """The hook as a process; gives its exit code, the reason with which it blocks, and what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "muniment", "hook", "subagent-stop"],
        input=event if isinstance(event, bytes) else json.dumps(event).encode(),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **environment},
        cwd="/",
        capture_output=True,
        check=False,
    )
    reason = json.loads(done.stdout)["reason"] if done.stdout else ""
    return done.returncode, reason, done.stderr.decode()


@pytest.mark.parametrize("host", HOSTS)
def test_it_names_what_is_missing_and_lets_go_when_nothing_is(place: Place, host: str) -> None:
    handoffs = place.reopen()
    handoff = dispatch(handoffs, host)
    code, reason, _ = hook(event_of(host, place))
    assert code == 0 and handoff in reason
    for named in ("employee_memory in agents/mei/MEMORY.md", "employee_worklog in", "- return:"):
        assert named in reason
    worker = Worker(handoffs)
    worker.record(handoff, Target.EMPLOYEE_MEMORY, WORKLOG)
    _, reason, _ = hook(event_of(host, place))
    assert "employee_memory" not in reason and "employee_worklog in agents/mei/WORKLOG.md" in reason
    worker.record(handoff, Target.EMPLOYEE_WORKLOG, WORKLOG)
    worker.give_back(handoff, worker.compose(handoff, conclusion=CONCLUSION))
    assert hook(event_of(host, place)) == (0, "", "")
    assert handoffs.check(handoff).trace.complete


def test_it_speaks_the_readers_language_and_the_commands_stay(place: Place) -> None:
    handoff = dispatch(place.reopen(), "claude")
    _, reason, _ = hook(event_of("claude", place), LANG="zh_CN.UTF-8")
    first, *owed, last = reason.split("\n")
    assert handoff in first and "交接" in first and "如实" in last
    assert f"`muniment handoff return {handoff} --conclusion …`" in owed[-1]
    assert "employee_memory" in owed[0] and "agents/mei/MEMORY.md" in owed[0]


@pytest.mark.parametrize("host", HOSTS)
def test_three_times_at_most_and_never_twice_without_a_change(place: Place, host: str) -> None:
    dispatch(place.reopen(), host)
    notes = place.path / "agents/mei/MEMORY.md"
    notes.parent.mkdir(parents=True)
    blocked = []
    for number in range(8):
        blocked.append(bool(hook(event_of(host, place))[1]))
        assert not hook(event_of(host, place))[1]  # nothing changed in between
        notes.write_text("x" * number)
    assert blocked == [True, True, True, False, False, False, False, False]


@pytest.mark.parametrize("host", HOSTS)
def test_it_never_blocks_an_agent_that_goes_on_because_of_a_hook(place: Place, host: str) -> None:
    dispatch(place.reopen(), host)
    assert hook(event_of(host, place, stop_hook_active=True)) == (0, "", "")
    assert hook(event_of(host, place))[1]


PHANTOMS: dict[str, dict[str, Any]] = {
    "another agent": {"agent_id": "a0", "agent_transcript_path": "/elsewhere.jsonl"},
    "nobody": {"agent_id": None, "agent_transcript_path": None},
    "blank": {"agent_id": "", "agent_transcript_path": ""},
    "a list": {"agent_id": ["a7c1e2f90"], "agent_transcript_path": 7},
    "a path": {"agent_id": "../../x", "agent_transcript_path": "\x00"},
    "the main agent": {"hook_event_name": "Stop"},
    "elsewhere": {"cwd": "/"},
    "no place": {"cwd": None},
}


@pytest.mark.parametrize("name", PHANTOMS)
@pytest.mark.parametrize("host", HOSTS)
def test_phantoms_are_none_of_ours(place: Place, host: str, name: str) -> None:
    """Also while a dispatch is open: it is never taken for the latest one."""
    dispatch(place.reopen(), host)
    assert hook(event_of(host, place, **PHANTOMS[name])) == (0, "", "")


def test_the_transcript_of_the_parent_says_nothing(place: Place) -> None:
    event = event_of("claude", place)
    handoffs = place.reopen()
    handoff = handoffs.new(packet(), recipient="mei").handoff_id
    answer = {"agentId": "another", "agentTranscriptPath": event["agent_transcript_path"]}
    handoffs.deliver_by_host(handoff, "claude", "mei", json.dumps(answer).encode())
    assert not hook({**event, "agent_id": "b", "agent_transcript_path": event["transcript_path"]})[1]
    assert hook({**event, "agent_id": "b"})[1]  # its own transcript does


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[]", b'"x"', b"null", b"[" * 100_000])
def test_bytes_that_are_no_event_block_nothing(place: Place, data: bytes) -> None:
    code, reason, said = hook(data)
    assert code in (0, 1) and reason == "" and "Traceback" not in said


def test_a_record_that_can_not_be_read_blocks_nothing(place: Place) -> None:
    handoff = dispatch(place.reopen(), "claude")
    (place.path / ".muniment/handoff" / handoff / "packet.json").write_text("{")
    code, reason, said = hook(event_of("claude", place))
    assert (code, reason) == (1, "") and "HOOK_BLIND" in said


def test_two_dispatches_to_one_agent_are_told_apart(place: Place) -> None:
    handoffs = place.reopen()
    one, two = (dispatch(handoffs, "claude", contract=False) for _ in range(2))
    assert one in hook(event_of("claude", place))[1]
    worker = Worker(handoffs)
    worker.give_back(one, worker.compose(one, conclusion=CONCLUSION))
    reason = hook(event_of("claude", place))[1]
    assert two in reason and one not in reason


def test_all_four_targets(place: Place) -> None:
    handoffs = place.reopen()
    handoff = dispatch(handoffs, "claude", *(target.value for target in Target))
    worker = Worker(handoffs)
    worker.record(handoff, Target.EMPLOYEE_MEMORY, WORKLOG)
    worker.record(handoff, Target.EMPLOYEE_WORKLOG, WORKLOG)
    reason = hook(event_of("claude", place))[1]
    assert "team_journal in team/journal" in reason and "central_board in team/BOARD.json" in reason
    worker.journal(handoff, WORKLOG.decode())
    worker.propose(handoff, operations=[{"op": "add", "path": "/parser", "value": WORKLOG.decode()}])
    assert hook(event_of("claude", place))[1].count("\n- ") == 1  # the return alone
    worker.give_back(handoff, worker.compose(handoff, conclusion=CONCLUSION))
    assert hook(event_of("claude", place)) == (0, "", "")


@pytest.mark.parametrize("host", HOSTS)
def test_a_process_plays_the_host(place: Place, host: str, tmp_path: Path) -> None:
    """The sub-agent forgets, is told, does it, is told of the rest in its next turn, and ends."""
    handoff = dispatch(place.reopen(), host)
    event = tmp_path / "event.json"
    event.write_text(json.dumps(event_of(host, place)))
    muniment = f"{sys.executable} -m muniment"
    record = f"{muniment} handoff record {handoff} --text '{WORKLOG.decode().strip()}' --target"
    turns = [
        ["true", f"{record} employee_memory"],
        ["true", f"{record} employee_worklog"],
        [f"{muniment} handoff return {handoff} --conclusion '{CONCLUSION}'", "false"],
    ]
    done = subprocess.run(
        [sys.executable, str(HERE / "playing_host.py"), str(event)],
        input="".join(json.dumps(turn) + "\n" for turn in turns).encode(),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "MUNIMENT_HANDOFF_NONCES": str(place.user),
            "HOME": str(tmp_path),
        },
        cwd=place.path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [turn["again"] for turn in told] == [None, None, None]
    first, second, third = (turn["blocked"] for turn in told)
    assert "employee_memory" in first and "employee_worklog" in first
    assert "employee_memory" not in second and "employee_worklog" in second
    assert third is None
    assert place.reopen().check(handoff).trace.complete


def test_it_loads_the_standard_library_alone() -> None:
    code = """
import sys
sys.argv = ["muniment", "hook", "subagent-stop"]
from muniment.__main__ import main
main()
print(sorted(name for name in sys.modules if name.startswith("muniment")))
files = {name: str(getattr(module, "__file__", "")) for name, module in sys.modules.items()}
print([name for name, file in files.items() if "site-packages" in file and not name.startswith("_")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"{}", capture_output=True, check=True,
        env={"PYTHONPATH": str(SOURCE)}, cwd="/",
    )  # fmt: skip
    ours, foreign = done.stdout.decode().splitlines()
    assert foreign == "[]"
    assert ours == str(
        ["muniment", "muniment.__main__", "muniment.faces", "muniment.faces.hooks",
         "muniment.faces.hooks.event", "muniment.faces.hooks.records",
         "muniment.faces.hooks.subagent_stop", "muniment.faces.hooks.words"]
    )  # fmt: skip
