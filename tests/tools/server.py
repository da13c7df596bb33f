"""Starts the real server for a test: through the official client, or by hand over pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.session import ElicitationFnT, ListRootsFnT
from mcp_types import CallToolResult, TextContent

SOURCE = Path(__file__).parents[2] / "src"

PATIENCE_S = 900
"""After how long something that never comes is given up; nothing is measured by it."""

Era = Literal["legacy", "2026-07-28"]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")

T = TypeVar("T")


def variables(workspace: Path, **more: str) -> dict[str, str]:
    """The environment of a server: nothing of the machine's own set-up."""
    home = workspace.parent / "home"
    home.mkdir(exist_ok=True)
    return {"PYTHONPATH": str(SOURCE), "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **more}


def command(*arguments: str) -> list[str]:
    """The command line of the server."""
    return [sys.executable, "-m", "muniment", "mcp", *arguments]


@asynccontextmanager
async def connected(
    workspace: Path,
    era: Era,
    *arguments: str,
    roots: ListRootsFnT | None = None,
    person: ElicitationFnT | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Client]:
    """The official client, connected to a server of its own in the workspace."""
    program, *rest = command(*arguments)
    server = StdioServerParameters(
        command=program, args=rest, env=variables(workspace, **(environment or {})), cwd=workspace
    )
    async with Client(server, mode=era, list_roots_callback=roots, elicitation_callback=person) as client:
        yield client


def talk(
    workspace: Path,
    era: Era,
    say: Callable[[Client], Awaitable[T]],
    *arguments: str,
    roots: ListRootsFnT | None = None,
    person: ElicitationFnT | None = None,
    environment: Mapping[str, str] | None = None,
) -> T:
    """One conversation of the official client; `person` answers what it is asked."""

    async def whole() -> T:
        async with connected(
            workspace, era, *arguments, roots=roots, person=person, environment=environment
        ) as client:
            return await say(client)

    return anyio.run(whole)


def call(
    workspace: Path, era: Era, tool: str, given: dict[str, Any], *arguments: str, **more: Any
) -> CallToolResult:
    """One call of one tool; `meta` goes with the request."""
    meta = more.pop("meta", None)

    async def say(client: Client) -> CallToolResult:
        return await client.call_tool(tool, given, meta=meta)

    return talk(workspace, era, say, *arguments, **more)


def text_of(result: CallToolResult) -> str:
    """The one text of a result."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def content_of(result: CallToolResult) -> dict[str, Any]:
    """What a call gave for programs; where it gave nothing, the test fails with its words."""
    assert result.structured_content is not None, text_of(result)
    content: dict[str, Any] = result.structured_content
    return content


class Pipes:
    """A server spoken to by hand, a line of JSON at a time, in the older era."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self._next = 0

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def raw(self, line: bytes) -> None:
        """Write bytes that may be no message."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message of the server; every line has to be one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        self.lines.append(line)
        message = json.loads(line)
        assert isinstance(message, dict) and message["jsonrpc"] == "2.0", line
        return message

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request; other messages on the way are kept in `lines`."""
        while True:
            message = self.read()
            if message.get("id") == number and "method" not in message:
                return message

    def ask(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request and give its number."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def begin(self) -> None:
        """The handshake of the older era."""
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.answer(self.ask("initialize", about))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, given: Mapping[str, Any], **meta: Any) -> int:
        """Call a tool and do not wait."""
        return self.ask("tools/call", {"name": tool, "arguments": given, **({"_meta": meta} if meta else {})})

    def end(self) -> bytes:
        """Leave, and give all that still came."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.wait()
        return rest


@contextmanager
def piped(workspace: Path, *arguments: str, program: list[str] | None = None) -> Iterator[Pipes]:
    """A server over plain pipes; it is ended with the block."""
    process = subprocess.Popen(
        program or command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=workspace,
        env=variables(workspace, PATH=os.environ["PATH"]),
    )
    try:
        yield Pipes(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


class Talk:
    """A conversation in which every answer is held against the schema that its tool promises."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._schemas: dict[str, dict[str, Any]] = {}
        self.answers: list[tuple[str, CallToolResult]] = []

    async def __call__(self, tool: str, **given: Any) -> CallToolResult:
        """Call a tool."""
        if not self._schemas:
            for one in (await self._client.list_tools()).tools:
                assert one.output_schema is not None
                self._schemas[one.name] = one.output_schema
        result = await self._client.call_tool(tool, given)
        self.answers.append((tool, result))
        if result.structured_content is not None:
            Draft202012Validator(self._schemas[tool]).validate(result.structured_content)
        else:
            assert result.is_error, text_of(result)
        return result

    async def good(self, tool: str, **given: Any) -> dict[str, Any]:
        """Call a tool that does it."""
        result = await self(tool, **given)
        assert not result.is_error, text_of(result)
        found: dict[str, Any] = result.structured_content
        assert json.loads(text_of(result).removeprefix("```json\n").removesuffix("\n```")) == found
        return found

    async def refused(self, tool: str, **given: Any) -> str:
        """Call a tool that refuses; gives its words."""
        result = await self(tool, **given)
        assert result.is_error and result.structured_content is None, text_of(result)
        return text_of(result)
