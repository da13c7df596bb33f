"""Faces, command line: `muniment serve`: the vault for many users, over HTTP."""

from __future__ import annotations

import os

from muniment.clock import system_clock
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command, option
from muniment.faces.cli.values import Whole
from muniment.faces.web.logs import log_as_json
from muniment.faces.web.reception import LOG, Reception, Rules
from muniment.faces.web.serving import Server, listen
from muniment.faces.web.serving import serve as serve_until_ended
from muniment.message import say
from muniment.vault.access import is_loopback

PORT = 8080


@command(
    more=(
        say(
            "On this machine alone nothing has to be set up: the first key is made, and your own backups "
            "reach it with `MUNIMENT_VAULT=http://127.0.0.1:8080`. Elsewhere it begins only where there "
            "are keys. SIGTERM lets the calls under way come to their end."
        ),
        say("For each user `muniment vault token --user NAME` makes a token. Logs go to standard error."),
    ),
    examples=("muniment serve", "muniment serve --host 0.0.0.0 --port 8080"),
    rehearses=False,
)
@option("--host", metavar="ADDRESS", default="127.0.0.1", about=say("Listen at this address."))
@option(
    "--port",
    metavar="PORT",
    type=Whole(0, 65535),
    default=PORT,
    about=say("Listen at this port; 0 takes a free one."),
)
def serve(call: Call, host: str, port: int) -> None:
    """Keep snapshots for many users, over HTTP."""
    parts = call.house.served(loopback=is_loopback(host))
    listening = listen(host, port)
    log_as_json(system_clock, verbose=call.options.verbose)
    reception = Reception(
        parts.tenants,
        parts.ring,
        parts.audit,
        clock=system_clock,
        entropy=os.urandom,
        rules=Rules(parts.peers, parts.proxies, parts.claim),
    )
    name, bound = listening.getsockname()[:2]
    url = f"http://[{name}]:{bound}" if ":" in name else f"http://{name}:{bound}"

    def started(server: Server) -> None:
        call.terminal.note(say("Serving at {url}", url=url))
        LOG.info("serving", extra={"facts": {"url": url}})

    serve_until_ended(reception, listening, started=started)
    call.terminal.result({"url": url, "ended": True}, lambda: call.terminal.say(say("The server has ended.")))
