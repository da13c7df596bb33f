"""Handoff room: the adapter `a2a`: an agent over A2A 1.0, whose tasks can be resumed (spec 3, adapters).

We choose the context id and write it down before the launch, so a launch of which nobody knows is found by
it.  The task id is asked for at once; a message to a task always names both ids.  The agent has no root of
ours: what it owes comes back as artifacts, which the parent writes.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, create_client
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as wire
from a2a.types.a2a_pb2 import Message as Said
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict

from muniment.canonical import canonical
from muniment.handoff.brought import Brought, Piece
from muniment.handoff.dispatch import A2A, Acknowledged, LaunchRefused, LookedUp, Order
from muniment.handoff.errors import AgentRefused, AgentSilent, BadAddress, SecretValue
from muniment.message import say
from muniment.path import printable

TIME_OUT_S = 30.0
ANSWER_MAX = 64 << 20
"""Bytes of one answer at the most."""
_STATES = {
    wire.TASK_STATE_SUBMITTED: "submitted",
    wire.TASK_STATE_WORKING: "working",
    wire.TASK_STATE_COMPLETED: "completed",
    wire.TASK_STATE_FAILED: "failed",
    wire.TASK_STATE_CANCELED: "canceled",
    wire.TASK_STATE_INPUT_REQUIRED: "input_required",
    wire.TASK_STATE_REJECTED: "rejected",
    wire.TASK_STATE_AUTH_REQUIRED: "auth_required",
}
T = TypeVar("T")


class _TooMuch(httpx.RequestError):
    """An answer of more bytes than are read."""


async def _bound(response: httpx.Response) -> None:
    """Stop reading an answer that has no end."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = _Counted(response.stream, response.request)


class _Counted(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, request: httpx.Request) -> None:
        self._inner, self._request = inner, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > ANSWER_MAX:
                raise _TooMuch(f"an answer of more than {ANSWER_MAX} bytes", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass(frozen=True, slots=True)
class A2aDispatcher:
    """Hands work to the agent at an address."""

    address: str
    name: str = A2A
    creates_tasks: bool = True

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.address)
            fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            fits = False
        if not fits:
            raise BadAddress(where=printable(self.address[:256]))
        if parts.username is not None or parts.password is not None:
            raise SecretValue(where="url")

    def launch(self, order: Order) -> Acknowledged:
        """Send the packet and take the task's ids as the receipt.

        `LaunchRefused` when the agent can not be reached or says no; any other failure may have come
        after it got the packet, and is `AgentSilent`.
        """
        return _run(lambda: self._launch(order))

    async def _launch(self, order: Order) -> Acknowledged:
        async with self._client() as (client, card):
            message = _message(f"{order.key}-1", order.key, canonical(order.packet.to_json()).decode())
            task = await self._send(client, message)
            return self._acknowledged(task, card.name, message.message_id)

    async def _send(self, client: Client, message: Said) -> wire.Task:
        """Send a message that starts or goes on with a task; its ids are asked for at once."""
        at_once = wire.SendMessageConfiguration(return_immediately=True)
        request = wire.SendMessageRequest(message=message, configuration=at_once)
        try:
            async for answer in client.send_message(request):
                if answer.HasField("task") and answer.task.id and answer.task.context_id:
                    return answer.task
        except (A2AError, httpx.HTTPError) as error:
            reason = _certain(error)
            if reason is None:
                raise AgentSilent(agent=self.address, why=say("{finding}", finding=error)) from error
            raise LaunchRefused(reason, say("{finding}", finding=error)) from error
        raise LaunchRefused("refused_by_host", say("the agent answered without a task"))

    def _acknowledged(self, task: wire.Task, agent: str, message_id: str) -> Acknowledged:
        provider = {
            "task_id": task.id,
            "context_id": task.context_id,
            "state": _state(task),
            "agent": agent or "?",
            "address": self.address,
            "message_id": message_id,
        }
        return Acknowledged(provider, task.id)

    def look_up(self, order: Order) -> LookedUp:
        """Ask the agent for the tasks of the context that the intent names.

        An agent that knows none may have lost the packet or may not have it yet, so only a person can
        say that nothing runs.
        """
        return self._ask(lambda: self._look_up(order))

    async def _look_up(self, order: Order) -> LookedUp:
        async with self._client() as (client, card):
            try:
                page = await client.list_tasks(wire.ListTasksRequest(context_id=order.key))
            except (A2AError, httpx.HTTPError) as error:
                raise AgentSilent(agent=self.address, why=say("{finding}", finding=error)) from error
            found = [task for task in page.tasks if task.context_id == order.key]
            if not found:
                return LookedUp()
            return LookedUp(self._acknowledged(found[0], card.name, f"{order.key}-1"))

    def fetch(self, provider: Mapping[str, Any]) -> Brought:
        """How the task stands, and what it has left so far."""
        return self._ask(lambda: self._fetch(provider))

    async def _fetch(self, provider: Mapping[str, Any]) -> Brought:
        async with self._client() as (client, _):
            try:
                task = await client.get_task(wire.GetTaskRequest(id=provider["task_id"]))
            except (A2AError, httpx.HTTPError) as error:
                raise AgentSilent(agent=self.address, why=say("{finding}", finding=error)) from error
        if task.id != provider["task_id"] or task.context_id != provider["context_id"]:
            raise AgentRefused(agent=self.address, why=say("it answered for another task"))
        return Brought(_state(task), _text(task.status.message.parts), tuple(_pieces(task)))

    def message(self, provider: Mapping[str, Any], message_id: str, text: str) -> dict[str, Any]:
        """Say something to a task that exists, by both of its ids; gives the agent's acknowledgement."""
        return self._ask(lambda: self._message(provider, message_id, text))

    async def _message(self, provider: Mapping[str, Any], message_id: str, text: str) -> dict[str, Any]:
        # With the task id alone the call fails, and some servers fail the task with it for good.
        message = _message(message_id, provider["context_id"], text, provider["task_id"])
        async with self._client() as (client, _):
            task = await self._send(client, message)
        if task.id != provider["task_id"]:
            raise AgentRefused(agent=self.address, why=say("it answered for another task"))
        return {"task_id": task.id, "context_id": task.context_id, "state": _state(task)}

    def _ask(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Ask about a task that exists: here a refusal is no undelivered launch."""
        try:
            return _run(make)
        except LaunchRefused as refused:
            kind = AgentSilent if refused.reason == "unreachable" else AgentRefused
            raise kind(agent=self.address, why=refused.why) from refused

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[tuple[Client, wire.AgentCard]]:
        """A client of the agent, by its card; an interface on another host is not used."""
        http = httpx.AsyncClient(
            event_hooks={"response": [_bound]},
            trust_env=not _is_loopback(self.address),
            timeout=TIME_OUT_S,
        )
        async with http:
            try:
                card = await A2ACardResolver(http, self.address).get_agent_card()
                same = [
                    each for each in card.supported_interfaces if _origin(each.url) == _origin(self.address)
                ]
                if not same:
                    raise LaunchRefused("refused_by_host", say("its card names no interface on its own host"))
                del card.supported_interfaces[:]
                card.supported_interfaces.extend(same)
                client = await create_client(
                    card, client_config=ClientConfig(streaming=False, httpx_client=http)
                )
            except (A2AError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                raise LaunchRefused("unreachable", say("{finding}", finding=error)) from error
            yield client, card


def _run(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run to its end; in a thread of its own, since the caller may be inside of a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(make())).result()


def _message(message_id: str, context_id: str, text: str, task_id: str = "") -> Said:
    part = wire.Part(text=text, media_type="text/plain" if task_id else "application/json")
    return Said(
        message_id=message_id, context_id=context_id, task_id=task_id, role=wire.ROLE_USER, parts=[part]
    )


def _state(task: wire.Task) -> str:
    return _STATES.get(task.status.state, "unspecified")


def _text(parts: Any) -> str:
    return "\n".join(part.text for part in parts if part.HasField("text")).strip()


def _pieces(task: wire.Task) -> list[Piece]:
    """The artifacts' bytes; what is only named by an address is not fetched."""
    found: list[Piece] = []
    for artifact in task.artifacts:
        data = b"".join(_bytes_of(part) for part in artifact.parts)
        name = artifact.name or next((part.filename for part in artifact.parts if part.filename), "")
        found.append(Piece(artifact.artifact_id, name or artifact.artifact_id, data))
    return found


def _bytes_of(part: wire.Part) -> bytes:
    if part.HasField("text"):
        return part.text.encode("utf-8", "surrogatepass")
    if part.HasField("data"):
        return canonical(MessageToDict(part.data))
    return part.raw


def _certain(error: BaseException) -> str | None:
    """Why a message certainly was not taken; none when it may have been, all the same."""
    cause = error.__cause__
    if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
        return "unreachable"
    if isinstance(cause, httpx.HTTPStatusError) and 400 <= cause.response.status_code < 500:
        return "refused_by_host"
    return None if isinstance(error, A2AClientError) else "refused_by_host"


def _origin(address: str) -> tuple[str, str, int | None]:
    """Scheme, host and port, whether the port is spelled out or not.

    >>> _origin("https://agents.example") == _origin("HTTPS://agents.example:443/a2a")
    True
    """
    parts = urlsplit(address)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", parts.port if parts.port is not None else usual


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
