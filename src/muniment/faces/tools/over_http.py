"""Faces, tools: the MCP server over HTTP: many clients, one workspace (spec 6, MCP)."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from muniment.faces.tools.callers import Callers
from muniment.faces.tools.gate import BODY_MOST, LOG, Gate
from muniment.faces.tools.server import ForClient, build_server
from muniment.faces.web.answers import plain_refusal
from muniment.faces.web.guarded import Guarded
from muniment.faces.web.serving import GRACE_S, KEEP_ALIVE_S, Server

PATH = "/mcp"

SESSIONS = 256
"""Sessions of the older era at once."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def names_of(bound: tuple[str, int], more: Sequence[str]) -> list[str]:
    """The names by which a server may be called that listens at an address and a port.

    >>> names_of(("127.0.0.1", 8090), ["tools.example"])[-2:]
    ['tools.example', 'tools.example:*']
    """
    host, port = bound
    own = f"[{host}]" if ":" in host else host
    found = [f"{name}:{port}" for name in dict.fromkeys((*_LOOPBACK, own))]
    return [*found, *(form for name in more for form in (name, f"{name}:*"))]


def build_app(for_client: ForClient, callers: Callers, names: Sequence[str]) -> Gate:
    """The application; `names` are those by which it may be called, and no page may call it."""
    security = TransportSecuritySettings(allowed_hosts=list(names), allowed_origins=[])
    app = build_server(for_client).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=BODY_MOST,
        max_sessions=SESSIONS,
    )
    app.router.redirect_slashes = False
    app.add_exception_handler(HTTPException, _no_such_call)
    app.add_exception_handler(Exception, _unforeseen)
    return Gate(app, callers, security)


def log_the_library() -> None:
    """What the protocol's library logs goes where ours goes, in the same form: a line of it may hold
    what a caller sent."""
    library = logging.getLogger("mcp")
    library.handlers = logging.getLogger("muniment.serve").handlers
    library.propagate = False
    library.setLevel(logging.WARNING)


def serve_http(
    gate: Gate, listening: socket.socket, *, started: Callable[[Server], None] = lambda server: None
) -> None:
    """Answer calls until a signal ends it; those that are under way are answered first."""
    config = uvicorn.Config(
        gate,
        http=Guarded,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # which addresses are believed is ours to say
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )

    async def both() -> None:
        loop = asyncio.get_running_loop()
        server = Server(config, lambda: _soon(loop, gate.end_standing))
        started(server)
        await server.serve(sockets=[listening])

    # Otherwise every stream would be cut at the signal, also one on which an act still has to answer.
    AppStatus.enable_automatic_graceful_drain = False
    try:
        asyncio.run(both())
    finally:
        AppStatus.enable_automatic_graceful_drain = True
        listening.close()


def _soon(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """From a signal, which comes at any moment."""
    loop.call_soon_threadsafe(act)


async def _no_such_call(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return plain_refusal(error.status_code, "not_found", f"There is no such call; MCP is spoken at {PATH}.")


async def _unforeseen(request: Request, error: Exception) -> Response:
    LOG.error("unforeseen", exc_info=error, extra={"facts": {"method": request.method}})
    return plain_refusal(500, "unexpected", "Something went wrong that Muniment did not foresee.")
