"""The adapter `a2a` with the real SDK on loopback: both sides are killed and go on."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.handoff.conftest import Place, killed, packet

pytest.importorskip("a2a.client")

from muniment.handoff import errors, sending
from muniment.handoff.a2a import A2aDispatcher
from muniment.handoff.codes import Code
from muniment.handoff.dispatch import Launched, Order
from muniment.handoff.host import HostDispatcher
from muniment.handoff.process import ProcessDispatcher
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.handoff.service import Handoffs
from muniment.handoff.trace import Status
from muniment.handoff.worker import Returned

HERE = Path(__file__).parent
REPORT = b"sample 17: no header\nsample 31: no header\n"
"""What `a2a_agent.py`, a program of its own, gives back."""


class AgentProcess:
    """The agent as a process that can be killed and started again, on the same address and database."""

    def __init__(self, place: Path) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.database = place / "tasks.db"
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> A2aDispatcher:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "a2a_agent.py"), str(self.port), str(self.database)],
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"
        return A2aDispatcher(self.url)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    found = AgentProcess(tmp_path)
    yield found
    found.kill()


def asked_until_it_ends(handoffs: Handoffs, handoff: str, there: A2aDispatcher) -> Returned | None:
    """Collect until the task is no longer at work; it needs moments, so this is bounded by far."""
    for _ in range(300):
        stored = sending.collect(handoffs, handoff, there)
        state = handoffs.papers.folder(handoff).all("brought")[-1]["state"]
        if stored is not None or state not in ("submitted", "working"):
            return stored
    raise AssertionError("the task does not end")


def issue(handoffs: Handoffs, goal: str, **more: Any) -> str:
    more = {"execution_mode": "independent_task", **more}
    return handoffs.new(packet(goal=goal, **more), recipient="mei").handoff_id


def test_out_killed_on_both_sides_resumed_by_its_ids_and_back(place: Place, agent: AgentProcess) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs, "asks", continuity_required=True)
    first = agent.start()
    sent = handoffs.send(handoff, first, "mei")
    assert isinstance(sent, Dispatch)
    receipt = sent.provider_receipt
    assert sent.task_id == receipt["task_id"] and sent.workspace is not None
    assert sent.workspace == handoffs.papers.packet(handoffs.papers.folder(handoff)).contract.root  # type: ignore[union-attr]
    intent = handoffs.papers.intent_document(handoffs.papers.folder(handoff))
    assert receipt["context_id"] == intent["key"]  # by this it would have been found

    # Killed any earlier, the agent would not have asked yet.
    assert asked_until_it_ends(handoffs, handoff, first) is None
    agent.kill()  # and the parent is another process from here on, as far as anything in memory goes
    again, there = place.reopen(), agent.start()
    assert sending.collect(again, handoff, there) is None
    assert again.papers.folder(handoff).all("brought")[-1]["state"] == "input_required"
    call = sending.message(again, handoff, there, "Begin with sample 17.\n")
    assert call["kind"] == "resume" and call["provider"]["task_id"] == sent.task_id
    assert call["provider"]["context_id"] == receipt["context_id"]

    last = place.reopen()
    stored = asked_until_it_ends(last, handoff, there)
    assert stored is not None and stored.number == 1
    trace = last.check(handoff).trace
    assert [each.to_json() for each in trace.findings] == []
    assert trace.complete and [row.written_by for row in trace.rows[:2]] == ["parent", "parent"]
    assert "Begin with sample 17." in (place.path / "agents/mei/MEMORY.md").read_text()
    [artifact] = trace.artifacts
    assert artifact.sha256 == hashlib.sha256(REPORT).hexdigest()
    assert artifact.path.startswith(f"agents/mei/artifacts/{sent.dispatch_id}/") and ".." not in artifact.path
    assert (place.path / artifact.path).read_bytes() == REPORT
    answer = last.papers.folder(handoff).last("returns")
    assert answer is not None and json.loads(answer.data)["gaps"] == ["Only samples were read."]
    assert sending.collect(last, handoff, there) is None  # nothing is taken in twice
    assert (place.path / "agents/mei/WORKLOG.md").read_text().count("Read forty sample files") == 1


@dataclass
class Killing:
    """The real adapter in a parent that is killed when the agent has the packet."""

    inner: A2aDispatcher
    name: str = "a2a"
    creates_tasks: bool = True
    look_up: Any = None

    @property
    def address(self) -> str:
        return self.inner.address

    def launch(self, order: Order) -> Launched:
        self.inner.launch(order)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def test_a_launch_of_which_nobody_knows_is_found_by_its_context(place: Place, agent: AgentProcess) -> None:
    handoffs = place.reopen()
    handoff, there = issue(handoffs, "works"), agent.start()
    killed(place, lambda: handoffs.send(handoff, Killing(there), "mei"))
    again = place.reopen()
    assert again.papers.summary(handoff).state == "unknown"
    with pytest.raises(errors.AlreadyDispatched):
        again.send(handoff, there, "mei")
    agent.kill()
    with pytest.raises(errors.AgentSilent):
        sending.look_up(again, handoff, there)
    assert again.papers.summary(handoff).state == "unknown"  # silence proves nothing
    found = sending.look_up(again, handoff, agent.start())
    assert isinstance(found, Dispatch) and found.task_id
    assert sending.collect(again, handoff, there) is None
    trace = again.check(handoff).trace
    assert trace.worker_alive and Code.WORKER_ALIVE in {each.code for each in trace.findings}


def test_an_agent_that_knows_of_nothing_leaves_it_to_a_person(place: Place, agent: AgentProcess) -> None:
    handoffs = place.reopen()
    handoff, there = issue(handoffs, "works"), agent.start()
    handoffs.intend(handoff, "mei", "a2a", key="01KDVDNA000000000000000009", address=agent.url)
    found = sending.look_up(handoffs, handoff, there)
    assert isinstance(found, Undelivered) and found.unknown
    assert isinstance(handoffs.send(handoff, there, "mei", looked_up=True), Dispatch)


def test_no_task_is_no_dispatch(place: Place, agent: AgentProcess) -> None:
    handoffs = place.reopen()
    sent = handoffs.send(issue(handoffs, "talks"), agent.start(), "mei")
    assert isinstance(sent, Undelivered) and sent.reason == "refused_by_host"


@pytest.mark.parametrize("goal", ["rejects", "fails"])
def test_a_task_that_ends_badly_is_seen_at_the_gate(place: Place, agent: AgentProcess, goal: str) -> None:
    handoffs = place.reopen()
    handoff, there = issue(handoffs, goal), agent.start()
    assert isinstance(handoffs.send(handoff, there, "mei"), Dispatch)
    assert asked_until_it_ends(handoffs, handoff, there) is None
    codes = {each.code for each in handoffs.check(handoff).trace.findings}
    assert {Code.RETURN_MISSING, Code.WORKER_FAILED} <= codes
    with pytest.raises(errors.AgentRefused):  # what has ended takes no message
        sending.message(handoffs, handoff, there, "Do go on.")
    assert handoffs.papers.folder(handoff).all("calls") == []


def test_nobody_there(place: Place, agent: AgentProcess) -> None:
    handoffs = place.reopen()
    sent = handoffs.send(issue(handoffs, "asks"), A2aDispatcher(agent.url), "mei")
    assert isinstance(sent, Undelivered) and sent.reason == "unreachable" and sent.why is not None


@pytest.mark.parametrize(
    "url",
    ["", "nonsense", "ftp://127.0.0.1/x", "http://[::1", "http://127.0.0.1:99999", "http://", "http://h:0"],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(errors.BadAddress):
        A2aDispatcher(url)


def test_an_address_holds_no_password() -> None:
    with pytest.raises(errors.SecretValue):
        A2aDispatcher("https://mei:hunter2hunter2@agents.example")


# --- modes: independent work goes only there


def test_independent_work_goes_only_through_an_adapter_that_makes_tasks(place: Place) -> None:
    handoffs = place.reopen()
    others = (ProcessDispatcher(("true",)), HostDispatcher("claude", b'{"agentId": "a1"}'))
    for other in others:
        refused = handoffs.send(issue(handoffs, "x"), other, "mei")
        assert isinstance(refused, Undelivered) and refused.reason == "no_task_adapter"
        tied = issue(handoffs, "x", allow_mode_degradation=True, continuity_required=True)
        assert isinstance(handoffs.send(tied, other, "mei"), Undelivered)
        degraded = handoffs.send(issue(handoffs, "x", allow_mode_degradation=True), other, "mei")
        assert isinstance(degraded, Dispatch) and degraded.task_id is None
        assert degraded.effective_mode.value == "bounded_subagent" and degraded.degradation_reason


def test_bounded_work_gets_no_task_of_its_own(place: Place, agent: AgentProcess) -> None:
    handoffs = place.reopen()
    handoff, there = issue(handoffs, "at once", execution_mode="bounded_subagent"), agent.start()
    sent = handoffs.send(handoff, there, "mei")
    assert isinstance(sent, Dispatch) and sent.task_id is None and sent.workspace is None
    assert asked_until_it_ends(handoffs, handoff, there) is not None
    trace = handoffs.check(handoff).trace
    assert trace.complete and trace.rows[0].status is Status.VERIFIED


def test_a_workspace_receipt_of_another_root_is_refused_at_the_gate(
    place: Place, agent: AgentProcess
) -> None:
    handoffs = place.reopen()
    handoff, there = issue(handoffs, "at once"), agent.start()
    sent = handoffs.send(handoff, there, "mei")
    assert isinstance(sent, Dispatch) and sent.workspace is not None
    assert asked_until_it_ends(handoffs, handoff, there) is not None
    assert handoffs.check(handoff).trace.complete
    other = replace(sent, workspace=replace(sent.workspace, inode=sent.workspace.inode + 1))
    file = place.path / ".muniment/handoff" / handoff / "outcomes/000001.json"
    file.write_text(json.dumps(other.to_json()))
    assert Code.WRONG_ROOT in {each.code for each in handoffs.check(handoff).trace.findings}
