"""Faces, web: request bodies: taken by threads that work, while the peer may be slow.

A peer that sends too little for too long is given up; so a body never lasts much longer than its
bytes need at `SLOWEST`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import anyio.from_thread
from starlette.requests import ClientDisconnect, Request

from muniment.message import say
from muniment.vault.errors import BadCall

BLOCK = 256 << 10
"""Bytes handed to a thread at once."""

SILENCE_S = 30.0
"""So long nothing may come."""

SLOWEST = 16 << 10
"""Bytes a second that a peer has to send on the whole, once `SILENCE_S` has passed."""


class TooSlow(Exception):
    """The peer sends too little: 408."""


class Body:
    """The body of one request; `taken` counts its bytes."""

    def __init__(self, request: Request) -> None:
        self._stream = request.stream().__aiter__()
        self._silence = SILENCE_S
        self._waits = request.headers.get("expect", "").lower() == "100-continue"
        self._begun = 0.0
        self.taken = 0
        self.ended = False
        length = request.headers.get("content-length")
        self.length = int(length) if length is not None and length.isdigit() else None

    async def block(self, least: int = BLOCK) -> bytes:
        """The next bytes, `least` of them where there are so many left; none at the end."""
        parts: list[bytes] = []
        size = 0
        while size < least and not self.ended:
            part = await self._next()
            parts.append(part)
            size += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _next(self) -> bytes:
        loop = asyncio.get_running_loop()
        self._begun = self._begun or loop.time()
        latest = self._begun + self._silence + self.taken / SLOWEST
        try:
            async with asyncio.timeout_at(min(latest, loop.time() + self._silence)):
                part = await anext(self._stream, b"")
        except TimeoutError as error:
            raise TooSlow from error
        if part:
            self.taken += len(part)
        else:
            self.ended = True
        return part

    def blocks(self) -> Iterator[bytes]:
        """The body for a thread of `anyio.to_thread`; it waits there until something has come."""
        while block := anyio.from_thread.run(self.block):
            yield block

    async def all(self, most: int) -> bytes:
        """The whole body, `BadCall` when it is longer."""
        parts: list[bytes] = []
        while part := await self.block():
            parts.append(part)
            if self.taken > most:
                raise BadCall(why=say("its body has more than {most} bytes", most=most))
        return b"".join(parts)

    async def drain(self, most: int) -> None:
        """Take and drop what still comes, so that a peer who sends first and reads then reads an answer.

        One that waits to be told to go on, or has very much to send, need not be waited for.
        """
        if self.ended or (self._waits and not self.taken) or (self.length or 0) - self.taken > most:
            return
        start = self.taken
        with contextlib.suppress(TooSlow, ClientDisconnect, RuntimeError):
            while not self.ended and self.taken - start <= most:
                await self._next()
