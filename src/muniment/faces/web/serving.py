"""Faces, web: the server itself: where it listens, how it ends, and what it does between calls."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import anyio.to_thread
import uvicorn

from muniment.errors import MunimentError
from muniment.faces.web.app import build_app
from muniment.faces.web.guarded import Guarded
from muniment.faces.web.reception import LOG, Reception
from muniment.message import say
from muniment.vault.errors import BadCall

GRACE_S = 30
"""So long calls that are under way may go on once the server is told to end."""

TIDY_S = 3600.0
"""Garbage is collected so often."""

KEEP_ALIVE_S = 60


class Server(uvicorn.Server):
    """uvicorn's server that ends in order on SIGTERM, and leaves what comes after to its caller."""

    def __init__(self, config: uvicorn.Config, draining: Callable[[], None]) -> None:
        super().__init__(config)
        self._draining = draining

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals for as long as it serves; elsewhere than in the main thread there are none."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: object) -> None:
        """Take no more connections; a second signal ends it at once."""
        self._draining()
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(address)
            opened.listen(2048)
            opened.setblocking(False)
        except BaseException:
            opened.close()
            raise
    except OSError as error:
        raise BadCall(
            where=f"{host}:{port}", why=say("{finding}", finding=error.strerror or error)
        ) from error
    return opened


def serve(
    reception: Reception, listening: socket.socket, *, started: Callable[[Server], None] = lambda server: None
) -> None:
    """Answer calls until a signal, or `should_exit` of the server that `started` was given, ends it.

    Calls that are under way are answered first.
    """
    config = uvicorn.Config(
        build_app(reception),
        http=Guarded,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # which addresses are believed is ours to say
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )

    def drain() -> None:
        reception.draining = True

    server = Server(config, drain)

    async def both() -> None:
        tidying = asyncio.create_task(_tidy(reception))
        try:
            started(server)
            await server.serve(sockets=[listening])
        finally:
            tidying.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await tidying

    try:
        asyncio.run(both())
    finally:
        listening.close()
        reception.tenants.close()
        reception.audit.close()


async def _tidy(reception: Reception) -> None:
    """Collect the garbage of every tenant, again and again."""
    while True:
        for tenant in await anyio.to_thread.run_sync(reception.tenants.names):
            try:
                await anyio.to_thread.run_sync(reception.tenants.collect, tenant)
            except MunimentError as error:
                facts = {"tenant": tenant[:12], "code": error.code}
                LOG.error("%s", error, exc_info=error, extra={"facts": facts})
        await asyncio.sleep(TIDY_S)
