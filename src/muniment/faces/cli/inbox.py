"""Faces, command line: `muniment inbox`: directed delivery: send, read, ack."""

from __future__ import annotations

from typing import Any

import click

from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, argument, command, option
from muniment.faces.cli.handoff import read_input
from muniment.faces.cli.usage import wrong
from muniment.handoff.inbox import Inbox
from muniment.message import say, say_count
from muniment.path import printable

_FOR = option("--for", "recipient", metavar="NAME", required=True, about=say("Whose inbox it is."))


@command(rehearses=False, examples=("muniment inbox send --to mei --text 'The second sample was replaced.'",))
@option("--to", "recipient", metavar="NAME", required=True, about=say("Who shall get it."))
@option(
    "--from", "sender", metavar="NAME", default="parent", about=say("Who sends it; the parent if not given.")
)
@option("--text", metavar="WORDS", about=say("The message."))
@option("--file", metavar="FILE", about=say("The message, in a file; - reads standard input."))
@option("--handoff", metavar="HANDOFF", about=say("The handoff it is about."))
def send(
    call: Call, recipient: str, sender: str, text: str | None, file: str | None, handoff: str | None
) -> None:
    """Leave a message; it is given out until it is acknowledged."""
    if (text is None) == (file is None):
        raise wrong(say("give either --text or --file"), click.get_current_context())
    words = text if text is not None else read_input(call, file or "").decode("utf-8", "replace")
    found = Inbox(call.house.workspace, recipient).send(sender, words, handoff_id=handoff)
    call.terminal.result(
        {"receipt": found},
        lambda: call.terminal.say(
            say("left for {recipient}: {message}", recipient=recipient, message=found["message_id"])
        ),
    )


@command(rehearses=False, examples=("muniment inbox read --for mei",))
@_FOR
def read(call: Call, recipient: str) -> None:
    """Show what is not acknowledged yet, oldest first."""
    found, count = Inbox(call.house.workspace, recipient).read()

    def people() -> None:
        if not found:
            call.terminal.say(say("Nothing is waiting."))
        for each in found:
            message = each.message
            call.terminal.say(
                say(
                    "{message} from {sender}, {at}: {text}",
                    message=message["message_id"],
                    sender=printable(message["sender"]),
                    at=message["at"],
                    text=printable(message["text"]),
                )
            )
        if count > len(found):
            call.terminal.say(
                say_count("{count} more is waiting", "{count} more are waiting", count - len(found))
            )

    call.terminal.result({"waiting": count, "messages": [each.to_json() for each in found]}, people)
    if found:
        call.terminal.next_step(f"muniment inbox ack {found[0].message['message_id']} --for {recipient}")


@command(rehearses=False, examples=("muniment inbox ack msg_… --for mei",))
@_FOR
@option("--by", metavar="NAME", about=say("Who acknowledges, when it is not the recipient."))
@argument("message", about=say("A message (msg_…)."))
def ack(call: Call, message: str, recipient: str, by: str | None) -> None:
    """Say that a message was dealt with; the first who says so is on record."""
    done = Inbox(call.house.workspace, recipient).acknowledge(message, by)
    value: dict[str, Any] = {"message_id": message, "by": done.by, "at": done.at, "already": done.already}
    words = say("acknowledged by {by} at {at}", by=printable(done.by), at=done.at)
    call.terminal.result(value, lambda: call.terminal.say(words))


INBOX = Group(
    table={
        "send": Entry("muniment.faces.cli.inbox:send", say("Leave a message.")),
        "read": Entry("muniment.faces.cli.inbox:read", say("Show what is not acknowledged yet.")),
        "ack": Entry("muniment.faces.cli.inbox:ack", say("Acknowledge a message.")),
    },
)
