"""Starts the real server over HTTP for a test: the official client calls it, and plain requests do."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client
from mcp.client.session import ElicitationFnT, ListRootsFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from tests.tools.server import PATIENCE_S, Era, command, variables
from tests.vault.table_client import Answer, TableClient

T = TypeVar("T")

USERS = "alice,bob"

LOOKED = "looked\n"
"""What a `held` server says when the library that sends streams has seen that it is about to end."""


class Served:
    """`muniment mcp --http` as a process; what it says is kept."""

    def __init__(
        self, workspace: Path, *arguments: str, program: list[str] | None = None, **more: str
    ) -> None:
        self.environment = variables(workspace, MUNIMENT_MCP_USERS=USERS, **more)
        self.workspace = workspace
        self.process = subprocess.Popen(
            program or [*command("--http", "--port", "0"), *arguments],
            env=self.environment,
            cwd=workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if '"serving"' in line:
                break
        self.url = str(json.loads(self.said[-1])["url"])
        self.port = int(self.url.removesuffix("/mcp").rpartition(":")[2])
        self.looked = threading.Event()
        # Its log has to be read, or it would wait for a reader.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if line == LOOKED:
                self.looked.set()

    def muniment(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another command of the same person."""
        return subprocess.run(
            [*command()[:-1], *arguments],
            env=self.environment,
            cwd=self.workspace,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )

    def token(self, user: str) -> str:
        """A token for a user."""
        return self.muniment("vault", "token", "--user", user).stdout.strip()

    def end(self, sign: int = signal.SIGTERM) -> int:
        """End it; what it ended with."""
        if self.process.poll() is None:
            self.process.send_signal(sign)
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    @asynccontextmanager
    async def connected(
        self,
        era: Era,
        token: str,
        *,
        roots: ListRootsFnT | None = None,
        person: ElicitationFnT | None = None,
    ) -> AsyncIterator[Client]:
        """The official client with a token."""
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=PATIENCE_S) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(
                transport, mode=era, list_roots_callback=roots, elicitation_callback=person
            ) as client:
                yield client

    def talk(self, era: Era, token: str, say: Callable[[Client], Awaitable[T]], **more: Any) -> T:
        """One conversation of the official client."""

        async def whole() -> T:
            async with self.connected(era, token, **more) as client:
                return await say(client)

        return anyio.run(whole)

    def post(
        self, token: str | None, body: bytes | Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One plain request."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        return TableClient(self.port, token).call("POST", "/mcp", data, {**usual, **(headers or {})})

    def ask(self, token: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One plain request of the newer era, by a client that can ask a person."""
        meta = {
            PROTOCOL_VERSION_META_KEY: "2026-07-28",
            CLIENT_INFO_META_KEY: {"name": "t", "version": "1"},
            CLIENT_CAPABILITIES_META_KEY: {"elicitation": {"form": {}}},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        named = {"Mcp-Name": params["name"]} if "name" in params else {}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **named}
        found: dict[str, Any] = self.post(token, body, headers).json
        return found


@contextmanager
def served(workspace: Path, *arguments: str, **more: Any) -> Iterator[Served]:
    """A server that ends with the block."""
    server = Served(workspace, *arguments, **more)
    try:
        yield server
    finally:
        server.end(signal.SIGKILL)


def held(fifo: Path) -> list[str]:
    """The command line of a server whose archive waits, once it has begun an act, for a byte from a pipe."""
    program = f"""
import sys
import sse_starlette.sse as streams
asked = streams._get_uvicorn_server
def look():
    found = asked()
    if found is not None and found.should_exit:
        sys.stderr.write({LOOKED!r})
        sys.stderr.flush()
    return found
streams._get_uvicorn_server = look
import muniment.archive.service as service
real = service.Archive.keep
def keep(*arguments, **named):
    with open({str(fifo)!r}, "rb") as pipe:
        pipe.read(1)
    return real(*arguments, **named)
service.Archive.keep = keep
from muniment.app import main
sys.argv[1:] = ["mcp", "--http", "--port", "0"]
sys.exit(main())
"""
    return [sys.executable, "-c", program]
