"""Floor 3, `vault`: the line to a vault that a server keeps: one call after the other, over HTTP.

The standard library's client does it: it streams both ways, follows no redirect that could carry a
token elsewhere, and is imported in a moment.  What the calls mean is known to whoever makes them.
"""

from __future__ import annotations

import hashlib
import http.client
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from muniment.canonical import NotJson, read_json
from muniment.message import Message, say
from muniment.path import printable
from muniment.vault.errors import SnapshotDamaged, VaultAnswer, VaultUnreachable
from muniment.vault.place import Address

SILENCE_S = 60.0
"""So long nothing may come."""

FRESH_S = 20.0
"""A connection that was idle for longer is not used again: the other side may just close it."""

CHUNK = 256 << 10

KEPT = 4
"""Connections that wait for later calls, where whoever makes them closes the line in the end."""

_LOST = (OSError, http.client.HTTPException)


class Line:
    """Calls to one address; safe from several threads.

    `token` is asked for the bearer token at each call, `note` is told what a person should know, and
    `pause` waits so many seconds before the one second try of a call that may be made twice.  So many
    connections as `kept` says wait for later calls.
    """

    def __init__(
        self,
        address: Address,
        token: Callable[[], str],
        *,
        note: Callable[[Message], None] = lambda message: None,
        pause: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        kept: int = 0,
    ) -> None:
        self._address = address
        self._token = token
        self._note = note
        self._pause = pause
        self._monotonic = monotonic
        self._kept = kept
        self._lock = threading.Lock()
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []

    @property
    def url(self) -> str:
        """Its address, as a person may read it."""
        return f"{'https' if self._address.secure else 'http'}://{self.shown}{self._address.base}"

    @property
    def shown(self) -> str:
        """Host and port, as errors name them."""
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        return f"{host}:{self._address.port}"

    def close(self) -> None:
        """Let all connections go."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    @contextmanager
    def call(
        self,
        method: str,
        path: str,
        body: Sequence[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        again: bool = False,
    ) -> Iterator[http.client.HTTPResponse]:
        """One call; the connection is kept when its answer was read to the end.

        With `again` a call that was lost on the way is made once more.
        """
        sent = {"authorization": f"Bearer {self._token()}", **(headers or {})}
        if body is not None:
            sent["content-length"] = str(sum(map(len, body)))
        try:
            connection, answer = self._send(method, path, body, sent, fresh=not again)
        except _LOST as error:
            if not again:
                raise self._unreachable(error) from error
            self._note(say("The vault did not answer ({error}); it is asked once more.", error=_told(error)))
            self._pause(random.uniform(0.2, 1.0))
            try:
                connection, answer = self._send(method, path, body, sent, fresh=True)
            except _LOST as second:
                raise self._unreachable(second) from second
        try:
            yield answer
        finally:
            # One that was cut short counts as closed as well, and has a length left.
            if self._kept and answer.isclosed() and answer.length == 0 and not answer.will_close:
                self._keep(connection)
            else:
                answer.close()  # it holds the socket, too
                connection.close()

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.append((self._monotonic(), connection))
            surplus = self._idle[: -self._kept]
            del self._idle[: -self._kept]
        for _, former in surplus:
            former.close()

    def _send(
        self,
        method: str,
        path: str,
        body: Sequence[bytes] | None,
        headers: Mapping[str, str],
        *,
        fresh: bool,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connection(fresh)
        try:
            connection.putrequest(method, self._address.base + path, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            try:
                for part in _joined(body or ()):
                    connection.send(part)
            except (BrokenPipeError, ConnectionResetError):
                # Refused before all of it was sent: the answer says why, if it is there.
                return connection, connection.getresponse()
            return connection, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _connection(self, fresh: bool) -> http.client.HTTPConnection:
        while not fresh:
            with self._lock:
                if not self._idle:
                    break
                since, found = self._idle.pop()
            if self._monotonic() - since < FRESH_S:
                return found
            found.close()
        one = self._address
        if one.secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(one.host, one.port, timeout=SILENCE_S, context=context)
        return http.client.HTTPConnection(one.host, one.port, timeout=SILENCE_S)

    # What is answered

    def whole(self, answer: http.client.HTTPResponse, most: int) -> bytes:
        """All that is answered, of at most so many bytes."""
        data = self.read(answer, most + 1)
        if len(data) > most:
            raise VaultAnswer(where=self.shown, why=say("it has more than {most} bytes", most=most))
        if answer.length:
            raise VaultUnreachable(where=self.shown, why=say("the answer was cut short"))
        return data

    def json(self, answer: http.client.HTTPResponse, most: int) -> Any:
        """The JSON value that is answered, in at most so many bytes."""
        data = self.whole(answer, most)
        try:
            return read_json(data)
        except NotJson as error:
            raise VaultAnswer(where=self.shown, why=say("{finding}", finding=error)) from error

    def snapshot(self, answer: http.client.HTTPResponse, name: str, sha256: str | None) -> Iterator[bytes]:
        """The bytes of a snapshot as they come; the last of them is followed by an error unless they
        were as many as the answer told and, where one is given, have that digest."""
        length = answer.length
        state, size = hashlib.sha256(), 0
        while block := self.read(answer, CHUNK):
            state.update(block)
            size += len(block)
            yield block
        if length is not None and size != length:
            raise VaultUnreachable(where=self.shown, why=say("the answer was cut short"))
        if sha256 is not None and state.hexdigest() != sha256:
            raise SnapshotDamaged(where=name, why=say("its bytes are not those of its digest"))

    def read(self, answer: http.client.HTTPResponse, most: int) -> bytes:
        """The next bytes of an answer; none at its end."""
        try:
            return answer.read(most)
        except _LOST as error:
            raise VaultUnreachable(where=self.shown, why=say("the answer was cut short")) from error

    @contextmanager
    def shaped(self) -> Iterator[None]:
        """What is said has to have the shape that a vault's answers have."""
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            finding = say("it has not the shape that it should have ({kind})", kind=type(error).__name__)
            raise VaultAnswer(where=self.shown, why=finding) from error

    def _unreachable(self, error: Exception) -> VaultUnreachable:
        return VaultUnreachable(where=self.shown, why=say("{finding}", finding=_told(error)))


def _told(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return printable(text or type(error).__name__)


def _joined(parts: Sequence[bytes]) -> Iterator[memoryview]:
    """The same bytes in parts of `CHUNK`, so that a small one costs no packet of its own and a large
    one is not sent at a stroke."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= CHUNK:
            yield from _cut(b"".join(waiting))
            waiting, size = [], 0
    if waiting:
        yield from _cut(b"".join(waiting))


def _cut(data: bytes) -> Iterator[memoryview]:
    for start in range(0, len(data), CHUNK):
        yield memoryview(data)[start : start + CHUNK]
