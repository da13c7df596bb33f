"""The port `Dispatcher`: one suite that every adapter passes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.disk.processes import gather, start
from tests.handoff.conftest import Place, killed, packet

from muniment.handoff import errors, sending
from muniment.handoff.dispatch import Dispatcher, Launched, LaunchRefused, LookedUp, Order
from muniment.handoff.host import HostDispatcher
from muniment.handoff.process import ProcessDispatcher
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.handoff.service import Handoffs
from muniment.message import say

ADAPTERS = ("process", "host:openclaw", "host:claude", "host:codex", "a2a")
ANSWERS = {
    "host:openclaw": b'{"status": "accepted", "runId": "run-7", "childSessionKey": "agent:mei:7"}',
    "host:claude": b'{"agentId": "a7", "status": "async_launched"}',
    "host:codex": b'{"agent_id": "0198b2c5-0011-7d33-b222-1a2b3c4d5e6f"}',
}
IDS = {
    "process": ("pid", "start_time", "boot_id", "argv"),
    "host:openclaw": ("runId", "childSessionKey"),
    "host:claude": ("agentId",),
    "host:codex": ("agent_id",),
    "a2a": ("task_id", "context_id"),
}


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Dispatcher]:
    name: str = request.param
    if name == "a2a":
        pytest.importorskip("a2a.client")
        from tests.handoff.test_a2a import AgentProcess

        agent = AgentProcess(tmp_path)
        yield agent.start()
        agent.kill()
    elif name == "process":
        yield ProcessDispatcher(("sh", "-c", "cat > /dev/null"))
    else:
        yield HostDispatcher(name.removeprefix("host:"), ANSWERS[name])


def issue(handoffs: Handoffs) -> str:
    return handoffs.new(packet(goal="works"), recipient="mei").handoff_id


@dataclass
class Watching:
    """An adapter with somebody looking on: what is kept at the moment the provider has acknowledged."""

    inner: Dispatcher
    folder: Path
    then: Callable[[], None] = field(default=lambda: None)
    seen: list[set[str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def creates_tasks(self) -> bool:
        return self.inner.creates_tasks

    @property
    def address(self) -> str:
        return self.inner.address

    def launch(self, order: Order) -> Launched:
        launched = self.inner.launch(order)
        self.seen.append({path.parts[len(self.folder.parts)] for path in self.folder.rglob("*")})
        self.then()
        return launched

    def look_up(self, order: Order) -> LookedUp:
        return self.inner.look_up(order)


def folder_of(place: Place, handoff: str) -> Path:
    return place.path / ".muniment/handoff" / handoff


def test_accepted(place: Place, adapter: Dispatcher) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    watching = Watching(adapter, folder_of(place, handoff))
    sent = handoffs.send(handoff, watching, "mei")
    assert isinstance(sent, Dispatch)
    for name in IDS[adapter.name]:
        assert sent.provider_receipt[name]
    [seen] = watching.seen
    assert {"intents", "baselines"} <= seen  # written down before anything ran
    assert not {"outcomes", "views"} & seen  # no dispatch id and no anchor before the acknowledgement
    intent = handoffs.papers.intent_document(handoffs.papers.folder(handoff))
    assert (intent["via"], intent.get("address", "")) == (adapter.name, adapter.address)
    assert intent["at"] < sent.dispatched_at
    again = place.reopen()
    assert again.papers.outcome(again.papers.folder(handoff)) == sent
    assert again.papers.altered(handoff, [again.papers.folder(handoff).last("outcomes")]) == ()  # type: ignore[list-item]
    with pytest.raises(errors.AlreadyDispatched):
        again.send(handoff, adapter, "mei", looked_up=True)


def test_a_host_s_own_words_stand_verbatim(place: Place) -> None:
    for name, answer in ANSWERS.items():
        handoffs = place.reopen()
        sent = handoffs.send(issue(handoffs), HostDispatcher(name.removeprefix("host:"), answer), "mei")
        assert isinstance(sent, Dispatch) and sent.provider_receipt == json.loads(answer)


def test_refused(place: Place, adapter: Dispatcher) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)

    def refuse() -> None:
        raise LaunchRefused("refused_by_host", say("no"))

    sent = handoffs.send(handoff, Watching(adapter, folder_of(place, handoff), refuse), "mei")
    assert isinstance(sent, Undelivered) and sent.reason == "refused_by_host"
    assert not set(sent.to_json()) & {"dispatch_id", "provider_receipt", "effective_mode"}
    assert not (folder_of(place, handoff) / "views").exists()
    assert isinstance(place.reopen().send(handoff, adapter, "mei"), Dispatch)


def test_killed_after_the_launch(place: Place, adapter: Dispatcher) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)
    dying = Watching(adapter, folder_of(place, handoff), lambda: os.kill(os.getpid(), signal.SIGKILL))
    killed(place, lambda: handoffs.send(handoff, dying, "mei"))
    again = place.reopen()
    assert again.papers.summary(handoff).state == "unknown"
    with pytest.raises(errors.AlreadyDispatched):
        again.send(handoff, adapter, "mei")
    found = sending.look_up(again, handoff, adapter)
    if adapter.name == "a2a":  # it is there, and found
        assert isinstance(found, Dispatch)
    elif adapter.name == "process":  # no work without a receipt: certainly not there
        assert isinstance(found, Undelivered) and found.reason == "adapter_failed"
        assert isinstance(again.send(handoff, adapter, "mei"), Dispatch)
    else:  # only a person can look there
        assert isinstance(found, Undelivered) and found.unknown
        with pytest.raises(errors.AlreadyDispatched):
            again.send(handoff, adapter, "mei")
        assert isinstance(again.send(handoff, adapter, "mei", looked_up=True), Dispatch)


def test_a_fault_of_the_adapter_is_no_refusal(place: Place, adapter: Dispatcher) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)

    def break_down() -> None:
        raise OSError(5, "a fault after the launch")

    with pytest.raises(OSError, match="a fault"):
        handoffs.send(handoff, Watching(adapter, folder_of(place, handoff), break_down), "mei")
    assert place.reopen().papers.summary(handoff).state == "unknown"


def test_of_four_who_send_at_once_one_dispatches(place: Place, adapter: Dispatcher) -> None:
    handoffs = place.reopen()
    handoff = issue(handoffs)

    def one(number: int) -> Any:
        place.machine.drawn += 10_000 * (number + 1)
        sent = place.reopen().send(handoff, adapter, "mei")
        return sent.dispatch_id if isinstance(sent, Dispatch) else sent.reason

    ends = gather([start(partial(one, number)) for number in range(4)])
    assert sorted(end[:3] for end in ends if end not in ("LOCKED", "ALREADY_DISPATCHED")) == ["dp_"]
    assert len(list((folder_of(place, handoff) / "outcomes").iterdir())) == 1
