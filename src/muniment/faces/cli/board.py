"""Faces, command line: `muniment board`: the central board: show, propose, apply."""

from __future__ import annotations

import json
from typing import Any

import click

from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, command, option
from muniment.faces.cli.handoff import read_input
from muniment.faces.cli.usage import strict_json, wrong
from muniment.handoff.central_board import Applied, CentralBoard
from muniment.handoff.settings import BOARD as WHERE
from muniment.handoff.worker import Worker
from muniment.message import say
from muniment.path import printable

_PATH = option("--path", metavar="FILE", about=say("Another board than the one that is set."))


def _board(call: Call, path: str | None) -> CentralBoard:
    return CentralBoard(
        call.house.workspace, call.house.root.relative(path or call.house.settings().get(WHERE))
    )


@command(rehearses=False, examples=("muniment board show --at Parser", "muniment board show --at /parser"))
@option(
    "--at", metavar="PLACE", default="", about=say("A heading, or a JSON pointer; the whole if not given.")
)
@_PATH
def show(call: Call, at: str, path: str | None) -> None:
    """Show the board, or one part of it, with its version."""
    found = _board(call, path).show(at)
    value: dict[str, Any] = {
        "path": found.path,
        "version": found.version,
        "sha256": found.sha256,
        "part": found.part,
    }

    def people() -> None:
        call.terminal.say(
            say("version {version} of {path}", version=found.version, path=printable(found.path))
        )
        part = (
            found.part
            if isinstance(found.part, str)
            else json.dumps(found.part, indent=2, ensure_ascii=False)
        )
        for line in part.splitlines():
            call.terminal.print(printable(line))

    call.terminal.result(value, people)


@command(
    rehearses=False,
    more=(
        say("Nothing is changed. Within a handoff the proposal carries the anchor and goes with the return."),
    ),
    examples=(
        "muniment board propose --handoff ho_… --heading Parser --text 'It reads all.'",
        "muniment board propose --handoff ho_… --patch patch.json",
    ),
)
@option("--handoff", metavar="HANDOFF", about=say("The handoff that owes it."))
@option("--heading", metavar="WORDS", about=say("Of a Markdown board: the section it belongs to."))
@option("--text", metavar="WORDS", about=say("What is added at the end of the section."))
@option(
    "--patch", metavar="FILE", about=say("Of a JSON board: operations of RFC 6902; - reads standard input.")
)
@_PATH
def propose(
    call: Call,
    handoff: str | None,
    heading: str | None,
    text: str | None,
    patch: str | None,
    path: str | None,
) -> None:
    """Propose a change; the board's one writer applies it."""
    if (patch is None) == (heading is None or text is None):
        raise wrong(say("give either --patch, or --heading and --text"), click.get_current_context())
    if handoff is not None and path is not None:
        raise wrong(say("give either --handoff or --path"), click.get_current_context())
    operations = strict_json(read_input(call, patch)) if patch is not None else None
    given: dict[str, Any] = {"operations": operations, "heading": heading or "", "text": text or ""}
    if handoff is not None:
        closure = Worker(call.house.handoffs()).propose(handoff, **given)
        value: dict[str, Any] = {"closure": closure, "proposal": closure["proposal"]}
    else:
        value = {"proposal": _board(call, path).propose(**given)}
    call.terminal.result(value, lambda: call.terminal.print(json.dumps(value["proposal"], ensure_ascii=True)))
    if handoff is not None:
        call.terminal.next_step(f"muniment handoff return {handoff} --conclusion WORDS")


@command(
    rehearses=False,
    more=(
        say(
            "Only the part that a proposal touches must be as it was; a proposal that stands there "
            "already is not applied again."
        ),
    ),
    examples=("muniment board apply --handoff ho_…", "muniment board apply --proposal proposal.json"),
)
@option("--handoff", metavar="HANDOFF", about=say("The handoff whose worker proposed it."))
@option("--proposal", metavar="FILE", about=say("A proposal as JSON; - reads standard input."))
@option(
    "--as",
    "writer",
    metavar="NAME",
    default="parent",
    about=say("Who writes: the one that the contract names."),
)
@_PATH
def apply(call: Call, handoff: str | None, proposal: str | None, writer: str, path: str | None) -> None:
    """Apply a proposal, open the board again and compare."""
    if (handoff is None) == (proposal is None):
        raise wrong(say("give either --handoff or --proposal"), click.get_current_context())
    if handoff is not None and path is not None:
        raise wrong(say("give either --handoff or --path"), click.get_current_context())
    if handoff is not None:
        done: Applied = call.house.handoffs().apply(handoff, writer)
    else:
        done = _board(call, path).apply(strict_json(read_input(call, proposal or "")))
    value: dict[str, Any] = {
        "version": done.version,
        "sha256": done.sha256,
        "proposal_sha256": done.proposal_sha256,
        "already": done.already,
    }
    words = say("applied; the board is at version {version}", version=done.version)
    if done.already:
        words = say("it stood there already; the board is at version {version}", version=done.version)
    call.terminal.result(value, lambda: call.terminal.say(words))
    if handoff is not None:
        call.terminal.next_step(f"muniment handoff check {handoff}")


BOARD = Group(
    table={
        "show": Entry("muniment.faces.cli.board:show", say("Show the board, or one part of it.")),
        "propose": Entry("muniment.faces.cli.board:propose", say("Propose a change.")),
        "apply": Entry("muniment.faces.cli.board:apply", say("Apply a proposal, as the board's one writer.")),
    },
)
