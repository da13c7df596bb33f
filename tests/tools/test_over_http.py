"""Tools over HTTP: the official client in both eras, and callers who may not call (spec 6, MCP)."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextResourceContents,
)
from pydantic import FileUrl
from tests.tools.served import Served, held, served
from tests.tools.server import PATIENCE_S, Era, command, content_of, text_of, variables
from tests.vault.table_client import Answer, TableClient

from muniment.errors import ExitCode
from muniment.faces.tools.table import TOOLS


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    (place / "report.md").write_text("# Report\n")
    return place


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests that change nothing."""
    place = tmp_path_factory.mktemp("quiet") / "workspace"
    place.mkdir()
    (place / "report.md").write_text("# Report\n")
    with served(place) as server:
        yield server
        assert [one.name for one in place.iterdir()] == ["report.md"], "a refused call changed something"


@pytest.fixture(scope="module")
def alice(quiet: Served) -> str:
    return quiet.token("alice")


def events(workspace: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted((workspace / ".muniment/ledger").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


FILE = {"kind": "file", "sourcePath": "report.md"}


def test_tools_and_resources_are_the_same_over_http(workspace: Path, era: Era) -> None:
    with served(workspace) as server:

        async def say(client: Client) -> tuple[CallToolResult, CallToolResult, str]:
            assert {one.name for one in (await client.list_tools()).tools} == set(TOOLS)
            kept = await client.call_tool("archive", FILE)
            refused = await client.call_tool("archive", {**FILE, "sessionKey": "agent:main:x"})
            (one,) = (await client.list_resources()).resources
            (content,) = (await client.read_resource(one.uri)).contents
            assert isinstance(content, TextResourceContents)
            return kept, refused, content.text

        kept, refused, text = server.talk(era, server.token("alice"), say)
        (evidence,) = content_of(kept)["evidence"]
        assert (workspace / evidence["to"]).read_text() == "# Report\n"
        assert text_of(refused) == (
            "Archive blocked: The call does not fit the archive's rules: sessionKey: "
            "archive takes no argument of this name (code: INVALID_INPUT)"
        )
        assert text == server.muniment("show", evidence["reference"], "--json").stdout
    assert {one["actor"] for one in events(workspace)} == {"mcp:alice"}


def test_two_clients_at_once_are_kept_apart(workspace: Path, era: Era) -> None:
    for user in ("alice", "bob"):
        for number in range(6):
            (workspace / f"{user}-{number}.md").write_text(f"{user} {number}\n")
    found: dict[str, list[CallToolResult]] = {"alice": [], "bob": []}
    with served(workspace) as server:

        async def work(user: str) -> None:
            async with server.connected(era, server.token(user)) as client:

                async def one(number: int) -> None:
                    given = {"kind": "file", "sourcePath": f"{user}-{number}.md"}
                    found[user].append(await client.call_tool("archive", given))

                async with anyio.create_task_group() as group:
                    for number in range(6):
                        group.start_soon(one, number)

        async def both() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(work, "alice")
                group.start_soon(work, "bob")

        anyio.run(both)
    actors = {one["subject"]: one["actor"] for one in events(workspace)}
    ids: dict[str, set[str]] = {}
    for user, results in found.items():
        evidence = [content_of(one)["evidence"][0] for one in results]
        assert {one["from"] for one in evidence} == {f"{user}-{number}.md" for number in range(6)}
        assert {actors[one["reference"]] for one in evidence} == {f"mcp:{user}"}
        ids[user] = {one["archive_id"] for one in evidence}
        assert {one["archive_id_source"] for one in evidence} == {"fallback"}
    assert len(ids["alice"]) == len(ids["bob"]) == 1 and ids["alice"] != ids["bob"]


def test_a_request_tells_its_session(workspace: Path, era: Era) -> None:
    told: Any = {"sessionKey": "agent:main:abc123"}
    with served(workspace, MUNIMENT_SESSION_KEY="agent:main:first") as server:

        async def say(client: Client) -> CallToolResult:
            return await client.call_tool("archive", FILE, meta=told)

        (evidence,) = content_of(server.talk(era, server.token("alice"), say))["evidence"]
    assert (evidence["archive_id"], evidence["archive_id_source"]) == ("abc123", "host")


def test_a_command_that_tells_the_hosts_session_tells_none_of_a_caller(workspace: Path) -> None:
    with served(workspace, MUNIMENT_ARCHIVE_SESSION_COMMAND="echo agent:main:host") as server:

        async def say(client: Client) -> CallToolResult:
            return await client.call_tool("archive", FILE)

        (evidence,) = content_of(server.talk("legacy", server.token("alice"), say))["evidence"]
    assert evidence["archive_id_source"] == "fallback"


def test_the_workspace_stays_the_one_in_which_it_began(workspace: Path) -> None:
    with served(workspace) as server:
        (workspace.parent / ".muniment").mkdir(mode=0o700)

        async def say(client: Client) -> CallToolResult:
            return await client.call_tool("archive", FILE)

        (evidence,) = content_of(server.talk("legacy", server.token("alice"), say))["evidence"]
    assert (workspace / evidence["to"]).read_text() == "# Report\n"


def test_roots_of_a_client_do_not_lead_to_another_folder(workspace: Path, tmp_path: Path, era: Era) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "report.md").write_text("other")
    asked: list[int] = []

    async def roots(context: ClientRequestContext) -> ListRootsResult:
        asked.append(1)
        return ListRootsResult(roots=[Root(uri=FileUrl(other.as_uri()))])

    async def say(client: Client) -> CallToolResult:
        return await client.call_tool("archive", FILE)

    with served(workspace) as server:
        result = server.talk(era, server.token("alice"), say, roots=roots)
    (evidence,) = content_of(result)["evidence"]
    assert (workspace / evidence["to"]).read_text() == "# Report\n" and not asked
    assert [one.name for one in other.iterdir()] == ["report.md"]


PLAN: dict[str, Any] = {"name": "backup_plan", "arguments": {"mode": "full"}}


def test_the_person_is_asked_through_the_client(workspace: Path, tmp_path: Path, era: Era) -> None:
    questions: list[str] = []

    async def person(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"yes": True})

    async def say(client: Client) -> CallToolResult:
        plan = content_of(await client.call_tool("backup_plan", PLAN["arguments"]))["plan_id"]
        return await client.call_tool("backup_create", {"planId": plan, "personAgreed": "yes"})

    with served(workspace, MUNIMENT_VAULT=(tmp_path / "vault").as_uri()) as server:
        server.muniment("backup", "rules", "default")
        result = server.talk(era, server.token("alice"), say, person=person)
    assert content_of(result)["backup_id"] and len(questions) == 1


def test_a_yes_to_one_caller_is_none_for_another(workspace: Path, tmp_path: Path) -> None:
    with served(workspace, MUNIMENT_VAULT=(tmp_path / "vault").as_uri()) as server:
        server.muniment("backup", "rules", "default")
        alice, bob = server.token("alice"), server.token("bob")
        plan = server.ask(alice, "tools/call", PLAN)["result"]["structuredContent"]["plan_id"]
        create = {"name": "backup_create", "arguments": {"planId": plan, "personAgreed": "yes"}}
        asked = server.ask(alice, "tools/call", create)["result"]
        yes = {
            "inputResponses": {"yes": {"action": "accept", "content": {"yes": True}}},
            "requestState": asked["requestState"],
        }
        again = server.ask(bob, "tools/call", {**create, **yes})["result"]
        assert again["inputRequests"]["yes"] and again["requestState"] != asked["requestState"]
        # Bob has used it up, so that nobody can try it on.
        assert server.ask(alice, "tools/call", {**create, **yes})["result"]["inputRequests"]
        assert not (tmp_path / "vault").exists()


def test_a_session_of_somebody_else_is_none(quiet: Served, alice: str) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    begun = quiet.post(alice, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    assert quiet.post(alice, listing, session).status == 200
    assert quiet.post(quiet.token("bob"), listing, session).status == 404


# Who may not call


def is_refused(answer: Answer, status: int, code: str) -> bool:
    """Whether it is an error in the one shape."""
    told = answer.json
    assert (answer.status, told["error"]) == (status, code), answer
    assert set(told) == {"error", "message", "detail"} and told["message"]
    assert set(told["detail"]) == {"where", "why", "next", "retryable", "facts"}
    return answer.headers["content-type"] == "application/json"


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}


def test_without_a_good_token_nobody_calls(quiet: Served, alice: str) -> None:
    head, body, signature = alice.split(".")
    refused = {
        "none": {},
        "no bearer": {"Authorization": alice},
        "basic": {"Authorization": f"Basic {alice}"},
        "empty": {"Authorization": "Bearer "},
        "another": {"Authorization": "Bearer x"},
        "cut": {"Authorization": f"Bearer {alice[:-1]}"},
        "another signature": {"Authorization": f"Bearer {head}.{body}.{signature[::-1]}"},
        "no signature": {"Authorization": f"Bearer {head}.{body}."},
        "of one who keeps snapshots here": {"Authorization": f"Bearer {quiet.token('carol')}"},
        "of this machine's own client": {"Authorization": f"Bearer {quiet.token('local')}"},
        "very long": {"Authorization": f"Bearer {'x' * 20_000}"},
    }
    for case, headers in refused.items():
        answer = quiet.post(None, PING, headers)
        assert is_refused(answer, 401, "token_refused"), case
        assert answer.headers["www-authenticate"] == "Bearer"
        assert alice not in answer.body.decode()
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "TRACE"):
        assert is_refused(TableClient(quiet.port, None).call(method, "/mcp"), 401, "token_refused")
    assert is_refused(quiet.post(None, PING, {"Content-Type": "text/plain"}), 401, "token_refused")
    assert is_refused(TableClient(quiet.port, None).call("GET", "/nosuch"), 401, "token_refused")
    assert is_refused(TableClient(quiet.port, alice).call("GET", "/nosuch"), 404, "not_found")


def test_a_token_of_a_retired_key_is_none_any_more(workspace: Path) -> None:
    with served(workspace) as server:
        first = server.token("alice")
        made = json.loads(server.muniment("vault", "token", "--new-key", "--user", "alice", "--json").stdout)
        assert server.post(first, PING).status == 400  # ours is no `initialize`, so the library refuses it
        keys = json.loads(Path(made["keys"]).read_text())["keys"]
        server.muniment("vault", "token", "--retire", keys[0]["kid"])
        assert is_refused(server.post(first, PING), 401, "token_refused")
        assert server.post(made["token"], PING).status == 400
        Path(made["keys"]).write_text("{}")  # nobody is let in, and no caller is told why
        answer = server.post(made["token"], PING)
        assert is_refused(answer, 500, "keys_refused") and made["keys"] not in answer.body.decode()


def test_other_names_and_pages_may_not_call_even_with_a_token(quiet: Served, alice: str) -> None:
    for host in ("evil.example", f"evil.example:{quiet.port}", "127.0.0.1:1", f"127.0.0.1:{quiet.port}.evil"):
        assert is_refused(quiet.post(alice, PING, {"Host": host}), 421, "host_refused"), host
    for host in (f"127.0.0.1:{quiet.port}", f"localhost:{quiet.port}", f"[::1]:{quiet.port}"):
        assert quiet.post(alice, PING, {"Host": host}).status == 400, host
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{quiet.port}", "http://localhost:6274"):
        assert is_refused(quiet.post(alice, PING, {"Origin": origin}), 403, "origin_refused"), origin
    # Nobody learns whether a token is good by a name that may not be used.
    assert is_refused(quiet.post(None, PING, {"Host": "evil.example"}), 421, "host_refused")


def test_a_name_that_was_set_may_be_used(workspace: Path) -> None:
    with served(workspace, MUNIMENT_MCP_HOSTS="tools.example") as server:
        token = server.token("alice")
        for host in ("tools.example", "tools.example:443"):
            assert server.post(token, PING, {"Host": host}).status == 400
        for host in ("xtools.example", "tools.example.evil", "tools.examples:443"):
            assert server.post(token, PING, {"Host": host}).status == 421


MALFORMED = {
    "nothing": b"",
    "no JSON": b"this is no JSON",
    "not UTF-8": b"\xff\xfe",
    "a list": b"[]",
    "a number": b"1",
    "deep": b"[" * 100_000,
    "no message": b"{}",
    "another version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "no session": b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
    "a huge number": b'{"jsonrpc":"2.0","id":1' + b"0" * 10_000 + b',"method":"ping"}',
}


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28", "9999-99-99", "\x80"])
def test_malformed_bodies_are_refused(quiet: Served, alice: str, version: str) -> None:
    for case, body in MALFORMED.items():
        answer = quiet.post(alice, body, {"MCP-Protocol-Version": version})
        assert 400 <= answer.status < 500, (case, answer)
        assert len(answer.body) < 4000, f"{case}: what was sent is not repeated"
    answer = quiet.post(alice, PING, {"Content-Type": "text/plain"})
    assert is_refused(answer, 400, "bad_call")


def test_bodies_that_are_too_large_are_refused(quiet: Served, alice: str) -> None:
    most = 4 << 20
    assert is_refused(quiet.post(alice, b" " * (most + 1)), 413, "too_large")
    assert quiet.post(alice, b" " * most).status == 400
    told = TableClient(quiet.port, alice)
    huge = {"Content-Type": "application/json", "Content-Length": str(1 << 50), "Expect": "100-continue"}
    assert is_refused(told.call("POST", "/mcp", None, huge), 413, "too_large")
    chunked = b"".join(b"100000\r\n" + b" " * (1 << 20) + b"\r\n" for _ in range(5)) + b"0\r\n\r\n"
    headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    assert is_refused(told.call("POST", "/mcp", chunked, headers), 413, "too_large")
    # Without a token not even a small one is read.
    assert is_refused(quiet.post(None, b" " * (1 << 20)), 401, "token_refused")


def test_no_token_stands_in_what_is_said(workspace: Path) -> None:
    with served(workspace, "-v") as server:
        token = server.token("alice")
        server.post(token, PING)
        server.post(token, PING, {"Host": "evil.example\x1b[2J"})
        server.post(f"{token}x", PING)
        server.post(token, b"no JSON")
        assert server.end() == 0
        log = "".join(server.said)
    _, body, signature = token.split(".")
    assert body not in log
    assert signature not in log
    assert "\x1b" not in log
    calls = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [(one.get("user"), one["status"]) for one in calls if one["event"] == "call"] == [
        ("alice", 400), (None, 421), (None, 401), ("alice", 400),
    ]  # fmt: skip


# How it begins and ends


def started(workspace: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments, "--json"),
        env=variables(workspace, **more),
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["--http", "--one-session"], "USAGE", ExitCode.USAGE),
        (["--port", "8090"], "USAGE", ExitCode.USAGE),
        (["--host", "127.0.0.1"], "USAGE", ExitCode.USAGE),
        (["--http", "--port", "65536"], "USAGE", ExitCode.USAGE),
        (["--http", "-w", "/no/such/folder"], "WORKSPACE_MISSING", ExitCode.BLOCKED),
        (["--http", "--host", "0.0.0.0", "--port", "0"], "NO_KEYS", ExitCode.NOT_AUTHORISED),
    ],
)
def test_what_can_not_be_served_is_said_at_once(
    workspace: Path, arguments: list[str], code: str, exit_code: ExitCode
) -> None:
    done = started(workspace, *arguments)
    assert (json.loads(done.stdout)["error"], done.returncode) == (code, exit_code)
    assert not (workspace.parent / "home/.config/muniment/vault-keys.json").exists()


def test_a_workspace_may_not_say_who_may_call(workspace: Path) -> None:
    (workspace / ".muniment").mkdir()
    (workspace / ".muniment/config.toml").write_text('[mcp]\nusers = ["mallory"]\n')
    with served(workspace) as server:
        assert is_refused(server.post(server.token("mallory"), PING), 401, "token_refused")


def test_a_signal_ends_it_when_the_open_call_was_answered(workspace: Path, era: Era) -> None:
    fifo = workspace.parent / "fifo"
    os.mkfifo(fifo)
    with served(workspace, program=held(fifo)) as server:
        token = server.token("alice")
        found: list[CallToolResult] = []

        async def say(client: Client) -> None:
            await client.list_tools()  # the client wants to know what an answer looks like
            found.append(await client.call_tool("archive", FILE))

        caller = threading.Thread(target=server.talk, args=(era, token, say))
        caller.start()
        with fifo.open("wb", buffering=0) as pipe:  # opened once the act is under way
            server.process.terminate()
            while accepts(server.port):
                pass
            if era == "legacy":
                # What would have cut the answer, had it been let, has seen that the server is ending.
                assert server.looked.wait(PATIENCE_S)
            pipe.write(b"x")
        assert server.process.wait(PATIENCE_S) == 0
        caller.join(PATIENCE_S)
    (evidence,) = content_of(found[0])["evidence"]
    assert (workspace / evidence["to"]).read_text() == "# Report\n"
    assert [one["subject"] for one in events(workspace)] == [evidence["reference"]]


def accepts(port: int) -> bool:
    """Whether new calls still come in."""
    try:
        TableClient(port, None).call("GET", "/mcp")
    except OSError:
        return False
    return True


def test_clients_that_only_wait_do_not_keep_it(workspace: Path) -> None:
    with served(workspace) as server:
        token = server.token("alice")

        async def say(client: Client) -> int:
            await client.list_tools()
            server.process.terminate()
            return await anyio.to_thread.run_sync(lambda: server.process.wait(PATIENCE_S))

        assert server.talk("legacy", token, say) == 0
        assert not any("Cancel" in line or "trace" in line for line in server.said), server.said
