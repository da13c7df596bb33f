"""Handoff room: dispatching by an adapter, and looking up what became of a launch (spec 3, adapters).

Intent, launch, receipt, anchors: in this order, each durable before the next.  One lock is held over all
of it, so whoever finds it free and an intent without outcome knows that the launcher is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from muniment.clock import instant
from muniment.digest import sha256
from muniment.disk.root import Root
from muniment.handoff import delivery, process
from muniment.handoff.brought import ENDED, Brought, take_in
from muniment.handoff.dispatch import A2A, Dispatcher, Launched, LaunchRefused, Order, WorkerState
from muniment.handoff.errors import HandoffShape, NoCallRecord, NotDispatched, SecretValue
from muniment.handoff.host import ids_of, provider_receipt
from muniment.handoff.model import Mode, Packet
from muniment.handoff.model import Root as RootFacts
from muniment.handoff.papers import Papers
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.handoff.roots import root_facts
from muniment.handoff.secrets import secrets_in
from muniment.handoff.store import Folder
from muniment.handoff.worker import Returned, Worker
from muniment.ids import new_ulid
from muniment.message import say

if TYPE_CHECKING:
    from muniment.handoff.service import Handoffs

CONCLUSION_MAX = 65_536
"""Characters of what a worker printed that count as its conclusion; of more, the last ones."""


class Agent(Protocol):
    """An agent elsewhere whose tasks can be asked and spoken to."""

    def fetch(self, provider: Mapping[str, Any]) -> Brought:
        """How the task of a receipt stands, and what it has left."""

    def message(self, provider: Mapping[str, Any], message_id: str, text: str) -> dict[str, Any]:
        """Say something to the task of a receipt; gives the agent's acknowledgement."""


def send(
    handoffs: Handoffs, handoff_id: str, dispatcher: Dispatcher, recipient: str, *, looked_up: bool
) -> Dispatch | Undelivered:
    """Dispatch once; `Undelivered` when it certainly did not happen.

    Any other failure leaves the intent open: then nobody knows, and nothing is dispatched again before
    somebody has looked.
    """
    papers = handoffs.papers
    folder = papers.folder(handoff_id)
    with folder.launching():
        packet = papers.packet(folder)
        mode = _mode(packet, dispatcher)
        key = new_ulid(handoffs.workspace.clock(), handoffs.workspace.entropy)
        via, address = dispatcher.name, dispatcher.address
        handoffs.intend(handoff_id, recipient, via, looked_up=looked_up, key=key, address=address)
        if mode is None:
            return handoffs.fail(handoff_id, "no_task_adapter")
        with folder.below(f"run-{key}") as own:
            order = _order(handoffs, packet, recipient, mode, key, own)
            try:
                launched = dispatcher.launch(order)
            except LaunchRefused as refused:
                return handoffs.fail(handoff_id, refused.reason, why=refused.why)
            return _deliver(handoffs, order, dispatcher, launched)


def look_up(handoffs: Handoffs, handoff_id: str, dispatcher: Dispatcher) -> Dispatch | Undelivered | None:
    """Look for a launch of which nobody knows what became of it; gives how it stands afterwards.

    What is found becomes the receipt; what is certainly absent is undelivered and may be dispatched
    again; else nothing changes.
    """
    papers = handoffs.papers
    folder = papers.folder(handoff_id)
    with folder.launching():
        if papers.answered(folder):
            return papers.outcome(folder)
        packet, intent = papers.packet(folder), papers.intent_document(folder)
        mode, key = _mode(packet, dispatcher), intent.get("key")
        if mode is None:
            return handoffs.fail(handoff_id, "no_task_adapter")
        if key is None:
            return papers.outcome(folder)
        with folder.below(f"run-{key}") as own:
            order = _order(handoffs, packet, intent["recipient_id"], mode, key, own)
            found = dispatcher.look_up(order)
            if found.found is not None:
                return _deliver(handoffs, order, dispatcher, found.found)
        if found.absent:
            why = say("it was looked for, and nothing of it runs")
            return handoffs.fail(handoff_id, "adapter_failed", why=why)
        return papers.outcome(folder)


def look(
    handoffs: Handoffs, handoff_id: str, by: Callable[[str, str], Dispatcher]
) -> Dispatch | Undelivered | None:
    """As `look_up`, where the adapter can look; else how it stands by what is kept.  `by` makes the
    adapter of a name and an address."""
    folder = handoffs.papers.folder(handoff_id)
    intent = handoffs.papers.intent_document(folder)
    if intent["via"] in (process.NAME, A2A):
        return look_up(handoffs, handoff_id, by(intent["via"], intent.get("address", "")))
    return handoffs.papers.outcome(folder)


def _mode(packet: Packet, dispatcher: Dispatcher) -> Mode | None:
    """In which mode the work would run there; none when it may not (spec 3, two axes)."""
    if packet.mode is Mode.BOUNDED or dispatcher.creates_tasks:
        return packet.mode
    return Mode.BOUNDED if delivery.degradation_allowed(packet) else None


def _order(handoffs: Handoffs, packet: Packet, recipient: str, mode: Mode, key: str, own: Root) -> Order:
    assert packet.handoff_id is not None
    context = replace(handoffs.options.context, handoff_id=packet.handoff_id)
    workspace = handoffs.workspace.root.path
    return Order(packet.handoff_id, recipient, packet, mode, key, own, workspace, context)


def _deliver(handoffs: Handoffs, order: Order, dispatcher: Dispatcher, launched: Launched) -> Dispatch:
    """The provider has acknowledged: the receipt, and then the finished anchors."""
    with closing(launched):
        independent, degraded = order.mode is Mode.INDEPENDENT, order.mode is not order.packet.mode
        host = dispatcher.name.removeprefix("host:")
        receipt = handoffs.deliver(
            order.handoff_id,
            launched.provider,
            effective=order.mode,
            degradation_reason=f"{host} creates no independent tasks" if degraded else None,
            task_id=launched.task_id if independent else None,
            workspace=_workspace(handoffs) if independent else None,
        )
        launched.release(Worker(handoffs).take(order.handoff_id).to_json())
        return receipt


def _workspace(handoffs: Handoffs) -> RootFacts:
    """Where an independent task's targets lie: the parent writes them, below its own root."""
    return root_facts(handoffs.workspace.root, handoffs.options.found_by)


@contextmanager
def run_folder(papers: Papers, folder: Folder) -> Iterator[tuple[Dispatch, Root] | None]:
    """The receipt of a worker that runs as a process here, and the folder of its run."""
    outcome = papers.outcome(folder) if folder.names("intents") else None
    intent = papers.intent_document(folder) if outcome is not None else {}
    if not isinstance(outcome, Dispatch) or intent["via"] != process.NAME or "key" not in intent:
        yield None
        return
    with folder.below(f"run-{intent['key']}") as own:
        yield outcome, own


def worker_state(papers: Papers, folder: Folder) -> WorkerState:
    """Whether the worker of a handoff still runs, as far as this machine knows.

    Of a task elsewhere that is how it stood when it was last asked.
    """
    with run_folder(papers, folder) as run:
        if run is not None:
            return process.worker_state(run[1], run[0].provider_receipt)
    states = [each["state"] for each in folder.all("brought")]
    if not states:
        return WorkerState()
    if states[-1] in ENDED:
        return WorkerState(False, 0 if states[-1] == "completed" else 1)
    return WorkerState(True)


def wait(handoffs: Handoffs, handoff_id: str) -> WorkerState:
    """Wait until a worker that runs here has ended; at once for any other."""
    folder = handoffs.papers.folder(handoff_id)
    with run_folder(handoffs.papers, folder) as run:
        if run is None:
            return WorkerState()
        return process.wait(run[1], run[0].provider_receipt)


def collect(handoffs: Handoffs, handoff_id: str, agent: Agent | None = None) -> Returned | None:
    """Take in what a worker left as its result; none when there is nothing new.

    Of a command here that is what it printed, when it ended and returned nothing itself: a whole return
    document is taken as it is, other text is the conclusion, word for word.  Of a task elsewhere (`agent`)
    it is its artifacts.
    """
    folder = handoffs.papers.folder(handoff_id)
    if agent is not None:
        return take_in(handoffs, handoff_id, agent.fetch(_receipt(handoffs, folder).provider_receipt))
    with run_folder(handoffs.papers, folder) as run:
        if run is None or folder.names("returns"):
            return None
        if process.worker_state(run[1], run[0].provider_receipt).alive:
            return None
        said = process.said(run[1])
    if not said:
        return None
    worker = Worker(handoffs)
    with suppress(HandoffShape):
        return worker.give_back(handoff_id, said.encode())
    return worker.give_back(handoff_id, worker.compose(handoff_id, conclusion=said[-CONCLUSION_MAX:]))


def agent_of(handoffs: Handoffs, handoff_id: str, at: Callable[[str], Agent]) -> Agent | None:
    """The agent elsewhere that has the work, if one has; `at` makes it of its address."""
    intent = handoffs.papers.intent_document(handoffs.papers.folder(handoff_id))
    return at(intent["address"]) if intent["via"] == A2A else None


def message(handoffs: Handoffs, handoff_id: str, agent: Agent | None, text: str) -> dict[str, Any]:
    """Say something to a task that exists; the call is on record before anything is said of it.

    Without an agent there is nobody to say it to, and it is `NoCallRecord`.
    """
    if agent is None:
        why = say("its adapter has no channel to a worker that runs")
        raise NoCallRecord(handoff=handoff_id, where=handoff_id, why=why)
    for place in secrets_in({"text": text}):
        raise SecretValue(where=place)
    folder = handoffs.papers.folder(handoff_id)
    receipt = _receipt(handoffs, folder)
    message_id = new_ulid(handoffs.workspace.clock(), handoffs.workspace.entropy)
    provider = agent.message(receipt.provider_receipt, message_id, text)
    stood = [each["state"] for each in folder.all("brought")][-1:]
    kind = "message" if stood == ["working"] else "resume"
    return _called(handoffs, folder, receipt, kind, {**provider, "message_id": message_id}, text)


def message_by_host(handoffs: Handoffs, handoff_id: str, answer: bytes) -> dict[str, Any]:
    """Record that the host has spoken to its sub-agent again; its answer must name the same agent."""
    folder = handoffs.papers.folder(handoff_id)
    receipt, via = _receipt(handoffs, folder), handoffs.papers.intent_document(folder)["via"]
    if not via.startswith("host:"):
        why = say("it was dispatched by {via}", via=via)
        raise NoCallRecord(handoff=handoff_id, where=handoff_id, why=why)
    found = provider_receipt(via.removeprefix("host:"), answer)
    if not set(ids_of(found)) & set(ids_of(receipt.provider_receipt)):
        why = say("the host's answer names another agent than the receipt")
        raise NoCallRecord(handoff=handoff_id, where=handoff_id, why=why)
    return _called(handoffs, folder, receipt, "message", found, None)


def _called(
    handoffs: Handoffs,
    folder: Folder,
    receipt: Dispatch,
    kind: str,
    provider: dict[str, Any],
    text: str | None,
) -> dict[str, Any]:
    call: dict[str, Any] = {
        "v": 1,
        "at": instant(handoffs.workspace.clock()),
        "kind": kind,
        "dispatch_id": receipt.dispatch_id,
        "provider": provider,
    }
    call |= {"text_sha256": sha256(text.encode("utf-8", "surrogatepass")).hex} if text is not None else {}
    with folder.locked():
        kept = folder.add("calls", call)
        handoffs.papers.note("handoff.called", folder.handoff_id, kept, call=kind)
    return call


def _receipt(handoffs: Handoffs, folder: Folder) -> Dispatch:
    outcome = handoffs.papers.outcome(folder) if folder.names("intents") else None
    if not isinstance(outcome, Dispatch):
        raise NotDispatched(handoff=folder.handoff_id, where=folder.handoff_id)
    return outcome
