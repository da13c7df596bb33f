"""An agent over A2A with the public SDK, as a process of its own: `python a2a_agent.py PORT DATABASE`.

What it does is said by the goal of the packet: `asks` waits for an answer first, `works` stays at work for
ever, `talks` answers without a task, `rejects` says no, `fails` ends badly; any other goal is done at once.
A message to a waiting task is the answer it waits for.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import uvicorn
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as wire
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette

MEMORY = "A file without a header is read from its start; the offset of each record is kept.\n"
WORKLOG = "Read forty sample files, found two without a header and wrote a test for each.\n"
REPORT = b"sample 17: no header\nsample 31: no header\n"
SAID = {
    "conclusion": "All forty files are read; two of them have no header.",
    "gaps": ["Only samples were read."],
}


class Agent(AgentExecutor):
    """Does what the goal says."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        text = "".join(part.text for part in context.message.parts)
        task = context.current_task
        goal = json.loads(text)["goal"] if task is None else "answered"
        if goal == "talks":
            part = wire.Part(text="I would rather not.")
            talk = wire.Message(message_id="m", role=wire.ROLE_AGENT, parts=[part])
            await event_queue.enqueue_event(talk)
            return
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        if goal == "rejects":
            await updater.reject()
        elif goal == "fails":
            await updater.failed()
        else:
            await updater.start_work()
            if goal == "asks":
                question = wire.Part(text="Which sample shall I begin with?")
                await updater.requires_input(updater.new_agent_message([question]))
            elif goal != "works":
                await self._finish(updater, text if goal == "answered" else "")

    async def _finish(self, updater: TaskUpdater, answer: str) -> None:
        pieces: dict[str, Any] = {
            "employee_memory": wire.Part(text=MEMORY + answer),
            "employee_worklog": wire.Part(text=WORKLOG),
            "../report.txt": wire.Part(raw=REPORT, filename="report.txt"),
            "return": wire.Part(text=json.dumps(SAID)),
        }
        for name, part in pieces.items():
            await updater.add_artifact([part], name=name)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def main(port: int, database: str) -> None:
    """Serve on loopback; a line on standard output says when."""
    url = f"http://127.0.0.1:{port}"
    card = wire.AgentCard(
        name="sample reader",
        description="Reads samples.",
        version="1",
        supported_interfaces=[
            wire.AgentInterface(url=f"{url}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=wire.AgentCapabilities(streaming=False),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[wire.AgentSkill(id="read", name="read", description="Reads samples.", tags=["samples"])],
    )
    store = DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{database}"))
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=store, agent_card=card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, rpc_url="/a2a")]

    class Told(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print("ready", flush=True)

    Told(uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="error")).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
