"""Faces, command line: `muniment tool`: one call of one tool, as a host's own plugin makes it."""

from __future__ import annotations

import click

from muniment.canonical import Json, NotJson, read_json
from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command
from muniment.faces.cli.usage import wrong
from muniment.faces.errors import named
from muniment.faces.tools.arguments import unfit
from muniment.faces.tools.one import tool_named
from muniment.faces.tools.shape import Shape
from muniment.faces.tools.tool import Answer, Client, Tool
from muniment.message import say
from muniment.path import printable

_ARGUMENTS_MAX = 8 << 20


@command(
    more=(
        say(
            "A plugin of a host starts it for one call of an agent: the arguments come as one JSON object on "
            "standard input, and are held to the same shape as over MCP. What the tool says goes to standard "
            "output; with --json beside it what programs read."
        ),
        say("The session is the one that the environment names, so the host has to set it for each call."),
    ),
    examples=("muniment tool archive < arguments.json",),
    rehearses=False,
)
@argument("name", metavar="TOOL", about=say("The tool, by the name that it has over MCP."))
def tool(call: Call, name: str) -> ExitCode | None:
    """Answer one call of a tool, and end."""
    wanted = tool_named(name)
    if wanted is None:
        raise wrong(say("there is no tool {tool}", tool=printable(name)), click.get_current_context())
    answer = _answer(call, wanted)
    told: dict[str, Json] = {"text": answer.text, "structured": answer.structured, "failed": answer.failed}
    call.terminal.result(told, lambda: call.terminal.print(answer.text))
    return ExitCode.BLOCKED if answer.failed else None


def _answer(call: Call, wanted: Tool) -> Answer:
    """What the tool answers; whatever goes wrong is a refusal in the exact words of its room."""
    try:
        found = wanted.answer(call.house, _arguments(call, wanted.shape), Client(lambda files, read: None))
    except Exception as error:  # noqa: BLE001 - the last door: whatever it is becomes one refusal
        return wanted.refusal(named(error))
    # Nobody can be asked here, and a tool that knows this asks nothing.
    assert isinstance(found, Answer)
    return found


def _arguments(call: Call, shape: Shape) -> dict[str, object]:
    data = call.terminal.streams.read_bytes(_ARGUMENTS_MAX + 1)
    if len(data) > _ARGUMENTS_MAX:
        raise unfit(shape, say("{size} bytes; {most} is the most", size=len(data), most=_ARGUMENTS_MAX))
    try:
        value = read_json(data)
    except NotJson as error:
        raise unfit(shape, say("the arguments are no JSON: {finding}", finding=error)) from error
    if not isinstance(value, dict):
        raise unfit(shape, say("an object was expected"))
    return value
