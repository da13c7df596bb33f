"""Faces, command line: `muniment handoff send, run, look, collect`: work goes out and comes back."""

from __future__ import annotations

from typing import Any

import click

from muniment.errors import ExitCode, UsageError
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.handoff import draft_of, packet_options, read_input, show_findings, show_trace
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Word
from muniment.handoff import sending
from muniment.handoff.dispatch import Dispatcher
from muniment.handoff.host import HOSTS, HostDispatcher
from muniment.handoff.receipts import Dispatch, Undelivered
from muniment.handoff.service import incomplete
from muniment.message import Message, say

_COMMAND = argument(
    "words", nargs=-1, required=False, type=click.UNPROCESSED, about=say("After --: the command of an agent.")
)


def _refuse(why: Message) -> UsageError:
    return wrong(why, click.get_current_context())


def _dispatcher(call: Call, via: str | None, given: dict[str, Any]) -> Dispatcher:
    """The adapter that the options name; what belongs to another one is refused."""
    via = via or ("host" if given["host"] else "a2a" if given["url"] else "process")
    wanted = {"host": ("host", "answer"), "process": ("words",), "a2a": ("url",)}[via]
    spelled = {"host": "--host", "answer": "--answer", "words": "-- COMMAND", "url": "--url"}
    for name, spelling in spelled.items():
        if name in wanted and not given[name]:
            raise _refuse(say("--via {via} needs {option}", via=via, option=spelling))
        if name not in wanted and given[name]:
            raise _refuse(say("--via {via} takes no {option}", via=via, option=spelling))
    if via == "host":
        return HostDispatcher(given["host"], read_input(call, given["answer"]))
    return call.house.dispatcher(via, argv=given["words"], address=given["url"] or "")


@command(
    rehearses=False,
    more=(
        say(
            "By `process` a command of this machine gets the packet on standard input and in the file that "
            "MUNIMENT_PACKET names; it lives on when its parent ends. By `host` the host did it already and "
            "its answer is the receipt. By `a2a` an agent is asked over the network."
        ),
    ),
    examples=(
        "muniment handoff send ho_… --to mei -- claude -p",
        "muniment handoff send ho_… --host openclaw --to mei --answer answer.json",
        "muniment handoff send ho_… --url http://127.0.0.1:9000 --to mei",
    ),
)
@option("--via", type=Word("process", "host", "a2a"), about=say("How it goes out."))
@option("--host", type=Word(*HOSTS), about=say("Which host dispatched it."))
@option("--to", "recipient", metavar="NAME", required=True, about=say("Who gets the work."))
@option("--answer", metavar="FILE", about=say("The host's answer as it came; - is standard input."))
@option("--url", metavar="URL", about=say("Where the agent is."))
@option("--looked-up", is_flag=True, about=say("Somebody looked: of an unknown launch nothing runs."))
@argument("handoff", about=say("A handoff (ho_…)."))
@_COMMAND
def send(
    call: Call,
    handoff: str,
    via: str | None,
    host: str | None,
    recipient: str,
    answer: str | None,
    url: str | None,
    looked_up: bool,
    words: tuple[str, ...],
) -> ExitCode | None:
    """Dispatch a packet, or record that the host did."""
    given = {"host": host, "answer": answer, "url": url, "words": words}
    dispatcher = _dispatcher(call, via, given)
    found = call.house.handoffs().send(handoff, dispatcher, recipient, looked_up=looked_up)
    code = show_outcome(call, handoff, found)
    if code is None:
        call.terminal.next_step(f"muniment handoff check {handoff}")
    return code


def show_outcome(call: Call, handoff: str, found: Dispatch | Undelivered) -> ExitCode | None:
    """How a dispatch stands."""
    if isinstance(found, Undelivered):
        call.terminal.result(
            {"handoff_id": handoff, "undelivered": found.to_json()},
            lambda: call.terminal.say(say("NOT delivered: {reason}", reason=found.reason)),
        )
        if found.why is not None:
            call.terminal.note(found.why)
        return ExitCode.BLOCKED
    call.terminal.result(
        {"handoff_id": handoff, "dispatch": found.to_json()},
        lambda: call.terminal.say(
            say(
                "dispatched to {recipient} as {dispatch}",
                recipient=found.recipient_id,
                dispatch=found.dispatch_id,
            )
        ),
    )
    return None


@command(
    rehearses=False,
    more=(
        say(
            "The command gets the packet on standard input. Where it returns nothing itself, what it prints "
            "is its conclusion. When this call is interrupted, the worker goes on, and `check` can judge it."
        ),
    ),
    examples=("muniment handoff run --goal 'Count words.' --accept 'A number.' -- claude -p",),
)
@packet_options
@option("--parent", metavar="HANDOFF", about=say("The handoff this one is part of, as the context says."))
@_COMMAND
def run(
    call: Call,
    packet: str | None,
    recipient: str | None,
    parent: str | None,
    words: tuple[str, ...],
    **given: Any,
) -> ExitCode | None:
    """Issue a packet, run a command with it, wait, and read back what was owed."""
    if not words:
        raise _refuse(say("after -- a command was expected"))
    house, recipient = call.house, recipient or "worker"
    given["context"] = given["context"] or (f"The workspace is {house.root.path}.",)
    handoffs = house.handoffs()
    issued = handoffs.new(draft_of(call, packet, recipient, given), recipient=recipient, parent=parent)
    show_findings(call, issued.notes)
    handoff = issued.handoff_id
    sent = handoffs.send(handoff, house.dispatcher("process", argv=words), recipient)
    if isinstance(sent, Undelivered):
        return show_outcome(call, handoff, sent)
    call.terminal.note(
        say("{handoff} runs as process {pid}", handoff=handoff, pid=sent.provider_receipt["pid"])
    )
    sending.wait(handoffs, handoff)
    sending.collect(handoffs, handoff)
    trace = handoffs.check(handoff).trace
    value: dict[str, Any] = {"handoff_id": handoff, "dispatch": sent.to_json(), "trace": trace.to_json()}
    call.terminal.result(value, lambda: show_trace(call, trace))
    if not trace.complete:
        raise incomplete(trace)
    return None


@command(
    rehearses=False,
    more=(say("What is found becomes the receipt; what certainly is not there may be dispatched again."),),
    examples=("muniment handoff look ho_…",),
)
@argument("handoff", about=say("A handoff (ho_…)."))
def look(call: Call, handoff: str) -> ExitCode | None:
    """Look up what became of a launch of which nobody knows."""
    house = call.house
    found = sending.look(house.handoffs(), handoff, lambda via, at: house.dispatcher(via, address=at))
    assert found is not None
    code = show_outcome(call, handoff, found)
    if isinstance(found, Undelivered) and found.unknown:
        call.terminal.note(say("only a person can look there; then say so with `send --looked-up`"))
    return code


@command(
    rehearses=False,
    more=(
        say("The call is put on record with the agent's own acknowledgement; without that nobody was asked."),
    ),
    examples=(
        "muniment handoff message ho_… --text 'Use the second sample.'",
        "muniment handoff message ho_… --answer answer.json",
    ),
)
@option("--text", metavar="WORDS", about=say("What is said to an agent that was asked by a2a."))
@option("--answer", metavar="FILE", about=say("The host's answer when it spoke to its sub-agent."))
@argument("handoff", about=say("A handoff (ho_…)."))
def message(call: Call, handoff: str, text: str | None, answer: str | None) -> None:
    """Ask a worker again, or record that the host did."""
    if (text is None) == (answer is None):
        raise _refuse(say("give either --text or --answer"))
    handoffs = call.house.handoffs()
    if answer is not None:
        done = sending.message_by_host(handoffs, handoff, read_input(call, answer))
    else:
        agent = sending.agent_of(handoffs, handoff, call.house.agent)
        done = sending.message(handoffs, handoff, agent, text or "")
    call.terminal.result(
        {"handoff_id": handoff, "call": done},
        lambda: call.terminal.say(
            say("asked again; on record as {kind} of {at}", kind=done["kind"], at=done["at"])
        ),
    )
    call.terminal.next_step(f"muniment handoff collect {handoff}")


@command(
    rehearses=False,
    more=(say("A worker that returned by itself needs no collecting."),),
    examples=("muniment handoff collect ho_…",),
)
@argument("handoff", about=say("A handoff (ho_…)."))
def collect(call: Call, handoff: str) -> None:
    """Take in what a worker left as its result, where it returned nothing itself."""
    handoffs = call.house.handoffs()
    done = sending.collect(handoffs, handoff, sending.agent_of(handoffs, handoff, call.house.agent))
    value: dict[str, Any] = {"handoff_id": handoff, "collected": done is not None}
    if done is not None:
        value |= {"return_sha256": done.sha256, "number": done.number}
    told = (
        say("there was nothing to collect") if done is None else say("collected; read it back with `check`")
    )
    call.terminal.result(value, lambda: call.terminal.say(told))
    call.terminal.next_step(f"muniment handoff check {handoff}")
