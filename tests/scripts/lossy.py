"""A wire that breaks: it hands bytes on between a client and a server, and cuts where it is told to.

It stands between, and plays neither of them: what arrives was really sent.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Lossy:
    """Listens on a port of its own.

    `cuts` says for each request whose first line holds a text what is lost: after so many bytes from
    the client the connection ends, or (None) all of it arrives and the answer is lost.
    """

    def __init__(self, port: int, cuts: list[tuple[bytes, int | None]]) -> None:
        self._target = port
        self._cuts = cuts
        self.lines: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """No further connections."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            first = client.recv(65536)
            line = first.partition(b"\r\n")[0]
            self.lines.append(line)
            cut = next((one for one in self._cuts if one[0] in line), None)
            if cut is not None:
                self._cuts.remove(cut)
            answering = threading.Thread(
                target=self._answer, args=(server, client, cut is not None and cut[1] is None), daemon=True
            )
            answering.start()
            left = None if cut is None else cut[1]
            data = first
            with contextlib.suppress(OSError):
                while data:
                    if left is not None and len(data) >= left:
                        server.sendall(data[:left])
                        server.shutdown(socket.SHUT_RDWR)
                        client.shutdown(socket.SHUT_RDWR)
                        return
                    left = None if left is None else left - len(data)
                    server.sendall(data)
                    data = client.recv(65536)
                server.shutdown(socket.SHUT_WR)
            answering.join(60)

    @staticmethod
    def _answer(server: socket.socket, client: socket.socket, lose: bool) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if lose:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)


@contextmanager
def lossy(port: int, *cuts: tuple[bytes, int | None]) -> Iterator[Lossy]:
    """A wire for the length of a block."""
    found = Lossy(port, list(cuts))
    try:
        yield found
    finally:
        found.close()
