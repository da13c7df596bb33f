"""Faces, command line: `muniment handoff take, record, return, show, list`: the worker, and looking."""

from __future__ import annotations

import click

from muniment.canonical import Json
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.handoff import read_input
from muniment.faces.cli.usage import strict_json, wrong
from muniment.faces.cli.values import Word
from muniment.handoff.model import OWN, Target
from muniment.handoff.service import Handoffs
from muniment.handoff.subject import HandoffSubject
from muniment.handoff.worker import Worker
from muniment.message import say
from muniment.path import printable

_OWN = argument(
    "handoff", required=False, about=say("A handoff (ho_…); the one this runs within if not given.")
)


def own_handoff(handoffs: Handoffs, named: str | None) -> str:
    """The handoff that was named, or the one that this process runs within."""
    found = named or handoffs.options.context.handoff_id
    if found is None:
        raise wrong(say("name a handoff; this process runs within none"), click.get_current_context())
    return found


@command(rehearses=False, examples=("muniment handoff take ho_… --json",))
@_OWN
def take(call: Call, handoff: str | None) -> None:
    """Show the work as its recipient gets it: the packet, the dispatch id, finished anchors."""
    handoffs = call.house.handoffs()
    view = Worker(handoffs).take(own_handoff(handoffs, handoff))

    def people() -> None:
        terminal = call.terminal
        terminal.say(say("goal: {goal}", goal=printable(view.packet.goal)))
        for text in view.packet.acceptance_criteria:
            terminal.say(say("accepted when: {text}", text=printable(text)))
        for text in view.packet.known_pitfalls:
            terminal.say(say("mind: {text}", text=printable(text)))
        contract = view.packet.contract
        for target, anchor in view.anchors.items():
            path = contract.required[target].path if contract is not None else ""
            terminal.say(
                say(
                    "owed: {target} in {path}, anchor {anchor}", target=target.value, path=path, anchor=anchor
                )
            )

    call.terminal.result(view.to_json(), people)


@command(
    rehearses=False,
    examples=("muniment handoff record ho_… --target employee_worklog --text 'Read 40 …'",),
)
@option("--target", type=Word(*(target.value for target in OWN)), required=True, about=say("Which target."))
@option("--text", metavar="WORDS", about=say("The work, in words."))
@option("--file", metavar="FILE", about=say("The work, in a file; - reads standard input."))
@_OWN
def record(call: Call, handoff: str | None, target: str, text: str | None, file: str | None) -> None:
    """Append one's own work to a target, with its anchor, and read it back."""
    if (text is None) == (file is None):
        raise wrong(say("give either --text or --file"), click.get_current_context())
    content = text.encode("utf-8", "surrogateescape") if text is not None else read_input(call, file or "")
    handoffs = call.house.handoffs()
    closure = Worker(handoffs).record(own_handoff(handoffs, handoff), Target(target), content)
    call.terminal.result(
        {"closure": closure},
        lambda: call.terminal.say(
            say(
                "recorded {target}: {length} bytes at {offset} of {path}",
                target=target,
                length=closure["length"],
                offset=closure["offset"],
                path=closure["path"],
            )
        ),
    )


@command(
    rehearses=False,
    examples=("muniment handoff return ho_… --conclusion 'All forty files are read.'",),
)
@option("--file", metavar="FILE", about=say("The whole return as JSON; - reads standard input."))
@option("--conclusion", metavar="WORDS", about=say("What came of the work."))
@option("--evidence", metavar="WORDS", multiple=True, about=say("What was observed, or a claim as JSON."))
@option("--gap", metavar="WORDS", multiple=True, about=say("What is missing."))
@option("--artifact", metavar="PATH", multiple=True, about=say("A file or folder that was made."))
@option("--closure", metavar="FILE", multiple=True, about=say("A closure receipt as JSON."))
@_OWN
def give_back(
    call: Call,
    handoff: str | None,
    file: str | None,
    conclusion: str | None,
    evidence: tuple[str, ...],
    gap: tuple[str, ...],
    artifact: tuple[str, ...],
    closure: tuple[str, ...],
) -> None:
    """Return the result; an earlier return is superseded and kept."""
    handoffs = call.house.handoffs()
    worker, handoff = Worker(handoffs), own_handoff(handoffs, handoff)
    if file is not None:
        data = read_input(call, file)
    elif conclusion is None:
        raise wrong(say("give either --file or --conclusion"), click.get_current_context())
    else:
        closures = [strict_json(read_input(call, each)) for each in closure]
        data = worker.compose(
            handoff,
            conclusion=conclusion,
            evidence=[strict_json(each) if each.lstrip().startswith("{") else each for each in evidence],
            gaps=gap,
            artifact_paths=artifact,
            closures=closures,
        )
    done = worker.give_back(handoff, data)
    call.terminal.result(
        {"handoff_id": handoff, "return_sha256": done.sha256, "number": done.number},
        lambda: call.terminal.say(say("returned; the parent now reads it back")),
    )
    if done.superseded:
        call.terminal.note(say("an earlier return is superseded and kept"))


@command(rehearses=False)
@argument("handoff", about=say("A handoff (ho_…)."))
def show(call: Call, handoff: str) -> None:
    """Show everything kept of a handoff, except nonces and anchors."""
    shown = HandoffSubject(call.house.handoffs()).show(handoff)
    call.terminal.result(shown.value, lambda: call.terminal.lines(shown.lines))


@command(rehearses=False)
@option("--open", "only_open", is_flag=True, about=say("Only those that somebody still has to look at."))
def list_handoffs(call: Call, only_open: bool) -> None:
    """List handoffs, newest first."""
    papers = call.house.handoffs().papers
    found = list(reversed(papers.unfinished() if only_open else papers.every()))
    value: list[Json] = [each.to_json() for each in found]

    def people() -> None:
        if not found:
            nothing = say("No handoff is open.") if only_open else say("Nothing was handed over yet.")
            call.terminal.say(nothing)
            return
        rows: list[list[object]] = [
            [
                each.handoff_id,
                each.state,
                each.recipient or "–",
                printable(each.goal),
                tuple(each.missing),
            ]
            for each in found
        ]
        columns = [say("handoff"), say("state"), say("recipient"), say("goal"), say("missing")]
        call.terminal.table(columns, rows)

    call.terminal.result({"handoffs": value}, people)
