"""Faces, web: a connection that is given up when its peer says too little or reads too little.

uvicorn waits for ever for the head of a request and for a reader who does not read; the time for a
body is kept in `bodies`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from muniment.faces.web.answers import plain_refusal

HEAD_S = 15.0
"""So long the head of a request may take, from its first byte or from the connection's begin."""

CONNECTIONS = 512
"""Connections at once."""

STUCK_S = 60.0
"""So long a reader may take no byte of what waits for it."""

_TOO_MANY = plain_refusal(503, "too_many", "There are too many connections.")
_NO_HTTP = plain_refusal(400, "no_http", "What was sent is not HTTP.")


class Guarded(H11Protocol):
    """uvicorn's own protocol, with two alarm clocks."""

    connections_most = CONNECTIONS
    head_s = HEAD_S
    stuck_s = STUCK_S

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The head has to come from now on.  Where there are too many connections, one that nobody uses
        is closed; when there is none, this one is refused."""
        super().connection_made(transport)
        # One that is being closed is counted until it is.
        most = self.connections_most
        if len(self.connections) > most < sum(not one.transport.is_closing() for one in self.connections):
            idle = next((one for one in self.connections if one is not self and _is_idle(one)), None)
            if idle is None:
                self._refuse(503, _TOO_MANY.body)
                return
            idle.transport.close()
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._quiet()
        if self._stuck is not None:
            self._stuck.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A head that is whole begins a call; one that is not has so long and no longer."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._quiet()
        elif self._head is None:
            self._watch_head()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets an error in the one shape as well."""
        self._refuse(400, _NO_HTTP.body)

    def _refuse(self, status: int, body: bytes | memoryview) -> None:
        head = [(b"content-type", b"application/json"), (b"connection", b"close")]
        head.append((b"content-length", str(len(body)).encode()))
        events = (
            h11.Response(status_code=status, headers=head),
            h11.Data(data=bytes(body)),
            h11.EndOfMessage(),
        )
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        """The next head may be on its way, in a part."""
        super().on_response_complete()
        self._quiet()

    def pause_writing(self) -> None:
        """More waits for the reader than is well."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.stuck_s, self._abort)

    def resume_writing(self) -> None:
        """The reader has read."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _watch_head(self) -> None:
        self._head = self.loop.call_later(self.head_s, self._abort)

    def _quiet(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _abort(self) -> None:
        self.transport.abort()


def _is_idle(connection: Any) -> bool:
    """Whether a connection is only kept for a call that may come."""
    used = connection.cycle is None or not connection.cycle.response_complete
    return not used and not connection.transport.is_closing()
