"""Faces, command line: `muniment mcp`: the rooms as tools for an agent, over standard streams or HTTP."""

from __future__ import annotations

import click

from muniment.clock import system_clock
from muniment.errors import UsageError
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Whole
from muniment.faces.errors import ExtraMissing
from muniment.faces.tools.server import serve_stdio
from muniment.message import Message, say

HOST = "127.0.0.1"
PORT = 8090


@command(
    more=(
        say(
            "An agent's host starts it and speaks MCP with it. The workspace is the first root that the "
            "client names; without one it is found as always."
        ),
        say(
            "With --http it serves many clients until SIGTERM, all in the one workspace in which it was "
            "started. Each call needs a token: `muniment vault token --user local` makes one, and mcp.users "
            "names whose tokens count. Logs go to standard error."
        ),
    ),
    examples=("muniment mcp", "muniment mcp --one-session", "muniment mcp --http --port 8090"),
    rehearses=False,
)
@option(
    "--one-session",
    is_flag=True,
    about=say("Believe MUNIMENT_SESSION_KEY: this process serves the one session that it names."),
)
@option("--http", is_flag=True, about=say("Serve over HTTP instead of standard input and output."))
@option(
    "--host", metavar="ADDRESS", about=say("With --http: listen at this address; 127.0.0.1 if not given.")
)
@option(
    "--port",
    metavar="PORT",
    type=Whole(0, 65535),
    about=say("With --http: listen at this port; 8090 if not given, and 0 takes a free one."),
)
def mcp(call: Call, one_session: bool, http: bool, host: str | None, port: int | None) -> None:
    """Serve tools over MCP until the client leaves, or over HTTP until a signal."""
    house = call.house
    if http:
        if one_session:
            raise _wrong(say("--one-session does not go with --http, which serves many"))
        _serve_http(call, host or HOST, PORT if port is None else port)
        return
    if host is not None or port is not None:
        raise _wrong(say("--host and --port go with --http"))
    import anyio

    anyio.run(serve_stdio, lambda root, _: house.for_client(root, one_session=one_session))


def _wrong(why: Message) -> UsageError:
    return wrong(why, click.get_current_context())


def _serve_http(call: Call, host: str, port: int) -> None:
    try:
        from muniment.faces.tools.callers import Callers
        from muniment.faces.tools.gate import LOG
        from muniment.faces.tools.over_http import PATH, build_app, log_the_library, names_of, serve_http
        from muniment.faces.web.logs import log_as_json
        from muniment.faces.web.serving import Server, listen
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "muniment":
            raise
        raise ExtraMissing(
            feature="muniment mcp --http", extra="mcp,serve", where=error.name or ""
        ) from error
    from muniment.faces.tools.settings import HOSTS, USERS
    from muniment.vault.access import is_loopback, networks
    from muniment.vault.keys import KeyRing, add_key
    from muniment.vault.serve_settings import CLAIM_NAME, PEERS, PROXIES, keys_in

    # One that can not be opened is said now, not to every client; and what is found stays the workspace,
    # whatever appears around it while the server runs.
    workspace = str(call.house.root.path)
    house = call.build_house(workspace=workspace, environment=call.environment, note=call.terminal.note)
    settings = house.own_settings()
    keys = keys_in(settings)
    if is_loopback(host):
        add_key(keys, clock=system_clock, only_first=True)
    ring = KeyRing(keys)
    ring.keys()
    users, names, peers, proxies = map(settings.get, (USERS, HOSTS, PEERS, PROXIES))
    callers = Callers(
        ring,
        users,
        clock=system_clock,
        claim=settings.get(CLAIM_NAME),
        peers=networks(peers),
        proxies=networks(proxies),
    )
    listening = listen(host, port)
    log_as_json(system_clock, verbose=call.options.verbose)
    log_the_library()
    name, bound = listening.getsockname()[:2]
    url = f"http://[{name}]:{bound}{PATH}" if ":" in name else f"http://{name}:{bound}{PATH}"

    def started(_: Server) -> None:
        call.terminal.note(say("Serving at {url}", url=url))
        LOG.info("serving", extra={"facts": {"url": url}})

    gate = build_app(
        lambda root, caller: house.for_client(root, one_session=False, caller=caller),
        callers,
        names_of((name, bound), names),
    )
    serve_http(gate, listening, started=started)
    call.terminal.result({"url": url, "ended": True}, lambda: call.terminal.say(say("The server has ended.")))
