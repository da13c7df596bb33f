"""Faces, tools: the MCP server, on the official SDK; how it is reached by HTTP stands in `over_http`.

Both eras of the protocol are served.  In the newer one a server asks nothing by itself: what it
needs of the client, its roots or the person's yes, it names in an interim result, and the client
calls again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio import from_thread, to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from muniment import __version__
from muniment.canonical import NotJson, canonical
from muniment.digest import Digest, sha256
from muniment.errors import Interrupted, MunimentError, NotFound, UsageError
from muniment.faces.errors import PersonNotAsked, named
from muniment.faces.house import Caller, House
from muniment.faces.tools import resources
from muniment.faces.tools.arguments import folder_of
from muniment.faces.tools.questions import Questions
from muniment.faces.tools.shape import Shape
from muniment.faces.tools.table import TOOLS
from muniment.faces.tools.tool import Answer, Client, Question, Reply, Tool, refused
from muniment.hosts.errors import WorkspaceMissing
from muniment.message import say
from muniment.path import printable

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")

ForClient = Callable[[str | None, Caller | None], House]
"""Builds the house of one call; gets the folder that the client says it works in, and who calls."""

_GONE = (CancelledError, anyio.ClosedResourceError, anyio.BrokenResourceError)
"""How it shows in a thread that the client waits no longer."""

CALLER = "muniment.caller"
"""Where the scope of an HTTP request says who makes it."""

_ROOTS = "roots"
_YES = "yes"
_ROOTS_WAIT_S = 30.0
_AT_ONCE = 4
"""Acts that run beside each other; more wait."""

_TOLD_EVERY = 8 << 20
"""Bytes between two notices of progress."""

INSTRUCTIONS = (
    "Muniment keeps deliverables. A task that writes files ends by archiving all of them with the tool "
    "archive; several files go as one folder made inside the workspace. An archived file is addressed only "
    "by archive_root and subpath of its card.\n"
    "Delegated work counts when handoff_check has read it back; without the host's own receipt, given to "
    "handoff_send, nothing was dispatched. A workflow runs as a job: job_plan, the person's yes through "
    "job_confirm, then job_submit; what the documents do not say is job_gap, never a guess.\n"
    "desk_find tells where bytes of a digest lie and where they came from, and desk_verify reads again "
    "whatever has a reference. The resource muniment://show/REF holds what is recorded of it.\n"
    "A result that begins with “Archive blocked”, “Handoff blocked” or “Job blocked” means: stop, quote it, "
    "wait."
)


def build_server(for_client: ForClient) -> Server[Any]:
    """The server with its tools; it touches nothing before a tool is called."""
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    questions = Questions()

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool.shape) for tool in TOOLS.values()])

    async def call_tool(
        ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message="Unknown tool")
        try:
            root = await _folder(ctx, params.input_responses)
            if isinstance(root, types.InputRequiredResult):
                return root
            caller = _caller(ctx)
            call, can_ask = _call_digest(params, root, caller), _can_ask(ctx)
            reply = _reply(questions, params, call)
            teller = _Teller(ctx, (*_GONE, anyio.get_cancelled_exc_class()))
            while True:
                client = Client(teller, can_ask, reply)
                work = partial(_work, partial(for_client, root, caller), tool, params, client)
                # Not abandoned when the client cancels: the act ends first, done or not begun.
                found = await to_thread.run_sync(work, limiter=limiter)
                if isinstance(found, Answer):
                    return _result(found)
                if not ctx.session.can_send_request:
                    return _asking(ctx, found, questions.put(call, found.shown))
                # No act is held while the person reads: it runs again with the answer.
                reply = Reply(found.shown, await _ask(ctx, found))
        except MunimentError as error:
            return _result(tool.refusal(error))

    async def look(ctx: Context, root: str | None, act: Callable[[House], T]) -> T:
        """Look at something in a house of its own, in a thread."""

        def work() -> T:
            house = for_client(root, _caller(ctx))
            try:
                return act(house)
            finally:
                house.close()

        return await to_thread.run_sync(work, limiter=limiter)

    async def list_resources(
        ctx: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        try:
            root = await _folder(ctx, None)
            if isinstance(root, types.InputRequiredResult):
                # A list can ask for nothing, and what lies in another folder is not the client's.
                return types.ListResourcesResult(resources=[])
            found = await look(ctx, root, resources.recent)
        except Exception as error:
            raise _unread(error) from error
        return types.ListResourcesResult(resources=[_resource(one) for one in found])

    async def list_templates(
        _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        found = [_template(one) for one in resources.TEMPLATES]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(
        ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        try:
            root = await _folder(ctx, params.input_responses)
            if isinstance(root, types.InputRequiredResult):
                return root
            text = await look(ctx, root, lambda house: resources.read(house, params.uri))
        except Exception as error:
            raise _unread(error, params.uri) from error
        content = types.TextResourceContents(uri=params.uri, mime_type=resources.MEDIA, text=text)
        return types.ReadResourceResult(contents=[content])

    return Server(
        "muniment",
        version=__version__,
        title="Muniment",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def serve_stdio(for_client: ForClient) -> None:
    """Serve one client over standard input and output until it leaves.

    Meanwhile descriptor 1 leads to standard error, so that nothing but the protocol reaches the
    client, whoever prints.
    """
    server = build_server(for_client)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _listed(shape: Shape) -> types.Tool:
    return types.Tool(
        name=shape.name,
        title=shape.title,
        description=shape.about,
        input_schema=shape.takes,
        output_schema=shape.gives,
        annotations=types.ToolAnnotations(
            title=shape.title,
            read_only_hint=shape.reads_only,
            destructive_hint=shape.destructive,
            idempotent_hint=shape.idempotent,
            open_world_hint=shape.reaches_out,
        ),
    )


def _resource(one: resources.Recent) -> types.Resource:
    return types.Resource(
        name=one.reference,
        title=one.template.title,
        uri=one.uri,
        description=f"Last event: {one.event.kind}, {one.event.at}.",
        mime_type=resources.MEDIA,
        annotations=types.Annotations(last_modified=one.event.at),
    )


def _template(one: resources.Template) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        name=one.name,
        title=one.title,
        uri_template=one.form,
        description=one.about,
        mime_type=resources.MEDIA,
    )


def _unread(error: Exception, uri: str = "") -> MCPError:
    """What a client gets in place of a resource: that there is none, or that it can not be read."""
    ours = named(error)
    missing = isinstance(ours, NotFound | UsageError)
    return MCPError(
        code=types.INVALID_PARAMS if missing else types.INTERNAL_ERROR,
        message=refused("desk", ours),
        data={"uri": printable(uri[: resources.URI_MOST]), "code": ours.code},
    )


def _caller(ctx: Context) -> Caller | None:
    """Who calls over HTTP; None where there is but the one client that started the server."""
    caller: Caller | None = None if ctx.request is None else ctx.request.scope[CALLER]
    return caller


Answers = Mapping[str, types.InputResponse]


async def _folder(ctx: Context, answers: Answers | None) -> str | types.InputRequiredResult | None:
    """The folder that the client works in, its first root; None when it does not tell any.

    Over HTTP nobody is asked: the roots of a client elsewhere are no folders of this machine, and a
    token is for the one workspace that is served.
    """
    if ctx.request is not None:
        return None
    roots = await _roots(ctx, answers)
    if isinstance(roots, types.InputRequiredResult):
        return roots
    return folder_of(str(roots[0].uri)) if roots else None


async def _roots(ctx: Context, answers: Answers | None) -> list[types.Root] | types.InputRequiredResult:
    """The folders that the client works in; none when it does not tell any."""
    able = ctx.session.client_capabilities
    if able is None or able.roots is None:
        return []
    if ctx.session.can_send_request:
        try:
            answer = await ctx.session.send_request(
                types.ListRootsRequest(), types.ListRootsResult, request_read_timeout_seconds=_ROOTS_WAIT_S
            )
        except (MCPError, ValueError) as error:
            raise WorkspaceMissing(
                where="MCP root", why=say("the client did not tell its roots: {finding}", finding=error)
            ) from error
        return answer.roots
    given = (answers or {}).get(_ROOTS)
    if given is None:
        return types.InputRequiredResult(input_requests={_ROOTS: types.ListRootsRequest()})
    if not isinstance(given, types.ListRootsResult):
        raise WorkspaceMissing(where="MCP root", why=say("the client answered something else than its roots"))
    return given.roots


def _can_ask(ctx: Context) -> bool:
    """Whether the client puts forms before a person; one that names no kind means forms."""
    able = ctx.session.client_capabilities
    found = able.elicitation if able is not None else None
    return found is not None and (found.form is not None or found.url is None)


def _call_digest(params: types.CallToolRequestParams, root: str | None, caller: Caller | None) -> Digest:
    """What a question belongs to: this tool with these arguments in this folder, and who called it."""
    tenant = None if caller is None else caller.tenant
    try:
        return sha256(canonical([params.name, dict(params.arguments or {}), root, tenant]))
    except NotJson:  # such arguments are refused, and nothing is asked
        return sha256(b"")


def _elicitation(question: Question) -> types.ElicitRequest:
    form = {
        "type": "object",
        "properties": {"yes": {"type": "boolean", "title": "Yes, exactly this", "default": False}},
        "required": ["yes"],
    }
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=question.text, requested_schema=form)
    )


def _said_yes(result: types.ElicitResult) -> bool:
    """Only an accepted form in which yes is true is a yes."""
    return result.action == "accept" and (result.content or {}).get("yes") is True


def _asking(ctx: Context, question: Question, token: str) -> types.InputRequiredResult:
    """The question in an interim result, with the roots: the client brings only its last answers."""
    requests: dict[str, types.InputRequest] = {_YES: _elicitation(question)}
    able = ctx.session.client_capabilities
    if ctx.request is None and able is not None and able.roots is not None:
        requests[_ROOTS] = types.ListRootsRequest()
    return types.InputRequiredResult(input_requests=requests, request_state=token)


def _reply(questions: Questions, params: types.CallToolRequestParams, call: Digest) -> Reply | None:
    """The answer that this call brings to a question that went out; any other one counts for nothing."""
    given = (params.input_responses or {}).get(_YES)
    if given is None:
        return None
    if not isinstance(given, types.ElicitResult):
        raise PersonNotAsked(why=say("the client answered something else"))
    shown = questions.take(params.request_state, call)
    return Reply(shown, _said_yes(given)) if shown is not None else None


async def _ask(ctx: Context, question: Question) -> bool:
    """Ask at once, in the older era; a person may take any time."""
    try:
        answer = await ctx.session.send_request(_elicitation(question), types.ElicitResult)
    except (MCPError, ValueError) as error:
        raise PersonNotAsked(why=say("{finding}", finding=error)) from error
    return _said_yes(answer)


def _work(
    build: Callable[[], House], tool: Tool, params: types.CallToolRequestParams, client: Client
) -> Answer | Question:
    """One act, in a thread of its own."""
    house: House | None = None
    try:
        house = build()
        meta: dict[str, Any] = dict(params.meta or {})
        session_id = meta.get("sessionId")
        house.use_session(
            meta_key=meta.get("sessionKey"),
            host_session_id=session_id if isinstance(session_id, str) else None,
        )
        return tool.answer(house, params.arguments or {}, client)
    except Exception as error:  # noqa: BLE001 - the last door: whatever it is becomes one refusal
        return tool.refusal(named(error))
    finally:
        if house is not None:
            house.close()


class _Teller:
    """Tells the client how much was read, and stops the act when the client has cancelled it."""

    def __init__(self, ctx: Context, gone: tuple[type[BaseException], ...]) -> None:
        self._ctx = ctx
        self._gone = gone
        self._read = 0
        self._told = 0

    def __call__(self, files: int, read: int) -> None:
        self._read += read
        try:
            from_thread.check_cancelled()
            if self._read - self._told >= _TOLD_EVERY:
                self._told = self._read
                from_thread.run(partial(self._ctx.session.report_progress, float(self._read)))
        except self._gone as error:
            # As an error of ours, so that what was moved already is put back.
            raise Interrupted() from error


def _result(answer: Answer) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=answer.structured,
        is_error=answer.failed,
    )
