"""Faces, tools: the gate of the tools over HTTP: who may come in, with how much, and who has to leave.

Before the protocol's library sees a call, its names are looked at (a page in a browser may have been
led here), then its token, and only then is its body taken.  What is refused here is refused in the one
shape of errors that all our HTTP has.
"""

from __future__ import annotations

import logging

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muniment.errors import MunimentError
from muniment.faces.house import Caller
from muniment.faces.tools.callers import Callers
from muniment.faces.tools.server import CALLER
from muniment.faces.web.answers import plain_refusal, refusal
from muniment.faces.web.bodies import Body, TooSlow
from muniment.faces.web.reception import KNOWN_MOST, UNKNOWN_MOST
from muniment.vault.errors import BadCall

LOG = logging.getLogger("muniment.serve.mcp")

BODY_MOST = DEFAULT_MAX_REQUEST_BODY_SIZE

_STRANGE = {
    400: ("bad_call", "The body has to be application/json."),
    403: ("origin_refused", "Pages of other origins may not call."),
    421: ("host_refused", "It may not be called by this name; mcp.hosts names others."),
}


class Gate:
    """The application in front of the library's own."""

    def __init__(self, app: ASGIApp, callers: Callers, security: TransportSecuritySettings) -> None:
        self._app = app
        self._callers = callers
        self._security = TransportSecurityMiddleware(security)
        self._standing: set[anyio.CancelScope] = set()
        self._draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call, or the beginning and end of the server."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, sending = Request(scope, receive), _Sending(send)
        body, most = Body(request), UNKNOWN_MOST
        facts: dict[str, str | int] = {"method": request.method}
        taken: bytes | Response
        try:
            taken = await self._strange(request, is_post=False) or b""
            if isinstance(taken, bytes):
                caller = self._caller(request)
                facts["user"], most = caller.name, KNOWN_MOST
                _introduce(scope, caller)
                # What is posted has a type: that is nobody's business who has no token.
                taken = await self._strange(request, is_post=request.method == "POST") or await _whole(body)
        except ClientDisconnect:
            return
        except MunimentError as error:
            facts["code"] = error.code
            taken = refusal(error)
            if taken.status_code >= 500:
                LOG.error("%s", error, exc_info=error, extra={"facts": facts})
        if isinstance(taken, bytes):
            await self._serve(scope, _Replayed(taken, receive), sending)
        else:
            await body.drain(most)
            await taken(scope, receive, sending)
        LOG.info("call", extra={"facts": {**facts, "status": sending.status, "received": body.taken}})

    def end_standing(self) -> None:
        """Let go of the streams that only wait for something to tell, since the server is about to end."""
        self._draining = True
        for one in self._standing:
            one.cancel()

    async def _strange(self, request: Request, *, is_post: bool) -> Response | None:
        """The refusal of a call by a name or from a page that is not ours, by the library's own rules."""
        found = await self._security.validate_request(request, is_post=is_post)
        if found is None:
            return None
        code, message = _STRANGE[found.status_code]
        return plain_refusal(found.status_code, code, message)

    def _caller(self, request: Request) -> Caller:
        client, headers = request.client, request.headers
        return self._callers.of(
            client.host if client else "",
            headers.getlist("x-forwarded-for"),
            headers.getlist("authorization"),
        )

    async def _serve(self, scope: Scope, receive: Receive, sending: _Sending) -> None:
        """Hand the call on; a stream that stands is ended when the server is to end."""
        if scope["method"] == "POST":
            await self._app(scope, receive, sending)
            return
        if self._draining:
            gone = plain_refusal(503, "draining", "The server is about to end.", {"retry-after": "5"})
            await gone(scope, receive, sending)
            return
        with anyio.CancelScope() as standing:
            self._standing.add(standing)
            try:
                await self._app(scope, receive, sending)
            finally:
                self._standing.discard(standing)
        if standing.cancelled_caught:
            await sending.end()


def _introduce(scope: Scope, caller: Caller) -> None:
    """Say in the scope of a call who makes it: for us, and for the library, whose sessions of the older
    era belong to whoever began them.  The token itself goes no further."""
    scope[CALLER] = caller
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.tenant, scopes=[]))


async def _whole(body: Body) -> bytes | Response:
    """The body, or the refusal of one that is too large or does not come."""
    try:
        if (body.length or 0) <= BODY_MOST:
            return await body.all(BODY_MOST)
    except TooSlow:
        return plain_refusal(408, "too_slow", "The body did not come in time.", {"connection": "close"})
    except BadCall:  # it has no length and was too large
        pass
    return plain_refusal(413, "too_large", f"A body may have {BODY_MOST} bytes.", {"connection": "close"})


class _Replayed:
    """Gives a body that was taken already, and then whatever comes."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        body, self._body = self._body, None
        if body is None:
            return await self._receive()
        return {"type": "http.request", "body": body, "more_body": False}


class _Sending:
    """Passes an answer on and knows how far it is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ended = False
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Bring a begun answer to its end."""
        if self.status and not self._ended:
            await self({"type": "http.response.body", "body": b"", "more_body": False})
