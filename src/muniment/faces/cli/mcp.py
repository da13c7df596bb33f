"""Faces, command line: `muniment mcp`: the rooms as tools for an agent, over standard input and output."""

from __future__ import annotations

import anyio

from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command, option
from muniment.faces.tools.server import serve_stdio
from muniment.message import say


@command(
    more=(
        say(
            "An agent's host starts it and speaks MCP with it. The workspace is the first root that the "
            "client names; without one it is found as always."
        ),
    ),
    examples=("muniment mcp", "muniment mcp --one-session"),
    rehearses=False,
)
@option(
    "--one-session",
    is_flag=True,
    about=say("Believe MUNIMENT_SESSION_KEY: this process serves the one session that it names."),
)
def mcp(call: Call, one_session: bool) -> None:
    """Serve tools over MCP until the client leaves."""
    house = call.house
    anyio.run(serve_stdio, lambda root: house.for_client(root, one_session=one_session))
