"""Tools: the official client, in both eras of the protocol, against the real server (spec 1, surface)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.client.session import ClientRequestContext
from mcp_types import CallToolResult, ListRootsResult, ListToolsResult, Root
from pydantic import FileUrl
from tests.tools.server import Era, call, content_of, talk, text_of

ARCHIVE_TOOLS = {"archive", "archive_list", "archive_verify", "archive_status"}
HANDOFF_TOOLS = {
    *("handoff_new", "handoff_lint", "handoff_send", "handoff_take", "handoff_record"),
    *("handoff_return", "handoff_check", "handoff_show", "handoff_list", "handoff_export"),
    *("handoff_dispatch", "handoff_look", "handoff_collect", "handoff_message"),
}
TEAM_TOOLS = {
    *("journal_append", "journal_tail", "journal_verify", "board_show", "board_propose", "board_apply"),
    *("inbox_send", "inbox_read", "inbox_ack"),
}
JOB_TOOLS = {
    *("job_init", "job_docs", "job_plan", "job_confirm", "job_revise", "job_submit", "job_poll"),
    *("job_finalize", "job_gap", "job_resolve_gap", "job_cancel", "job_show", "job_list"),
    *("job_verify", "job_import", "job_adopt", "job_pull", "job_run", "job_export"),
}
BACKUP_TOOLS = {
    "backup_plan",
    "backup_create",
    "backup_list",
    "backup_diff",
    "backup_restore_plan",
    "backup_restore",
    "backup_delete",
}
DESK_TOOLS = {"desk_status", "desk_show", "desk_find", "desk_verify", "desk_timeline"}
"""Specs 1, 3, 2 and 4, surface: the acts of each room; and the questions that go over all of them."""

READ_ONLY = {
    "archive_list",
    "archive_verify",
    "archive_status",
    "handoff_lint",
    "handoff_take",
    "handoff_show",
    "handoff_list",
    "journal_tail",
    "journal_verify",
    "board_show",
    "job_show",
    "job_list",
    "job_verify",
    "backup_list",
    "backup_diff",
    *DESK_TOOLS,
}
DESTRUCTIVE = {
    "backup_create",
    "backup_restore",
    "backup_delete",
    "archive",
    "job_revise",
    "job_submit",
    "job_cancel",
    "job_adopt",
}
"""What takes something away: a source, a confirmation, a run, the record as it was."""

CONTENT = "# Report\n\nAll sensors hold.\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    place.mkdir()
    (place / "report.md").write_text(CONTENT)
    return place


def everything(workspace: Path) -> dict[str, bytes]:
    """What lies in the workspace, beside Muniment's own state."""
    return {
        path.relative_to(workspace).as_posix(): path.read_bytes()
        for path in sorted(workspace.rglob("*"))
        if path.is_file() and ".muniment" not in path.parts
    }


def schema_of(workspace: Path, era: Era, tool: str) -> dict[str, Any]:
    async def ask(client: Client) -> ListToolsResult:
        return await client.list_tools()

    (found,) = (one for one in talk(workspace, era, ask).tools if one.name == tool)
    assert found.output_schema is not None
    return found.output_schema


def test_the_tools_are_listed_with_their_promises(workspace: Path, era: Era) -> None:
    async def ask(client: Client) -> ListToolsResult:
        return await client.list_tools()

    tools = {tool.name: tool for tool in talk(workspace, era, ask).tools}
    assert set(tools) == {*ARCHIVE_TOOLS, *HANDOFF_TOOLS, *TEAM_TOOLS, *JOB_TOOLS, *BACKUP_TOOLS, *DESK_TOOLS}
    archive = tools["archive"]
    assert archive.annotations is not None
    assert archive.annotations.destructive_hint is True
    assert archive.annotations.idempotent_hint is False
    assert set(archive.input_schema["properties"]) == {"kind", "sourcePath", "displayName"}
    assert archive.input_schema["required"] == ["kind", "sourcePath"]
    assert archive.input_schema["properties"]["kind"]["enum"] == ["plan", "file"]
    for tool in tools.values():
        assert tool.output_schema is not None
        Draft202012Validator.check_schema(tool.output_schema)
        Draft202012Validator.check_schema(tool.input_schema)
        if era != "legacy":
            assert tool.input_schema["additionalProperties"] is False
    for name, tool in tools.items():
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (name in READ_ONLY), name
        assert tool.annotations.destructive_hint is (name in DESTRUCTIVE), name


def test_archiving_gives_the_card_and_the_evidence(workspace: Path, era: Era) -> None:
    result = call(
        workspace, era, "archive", {"kind": "file", "sourcePath": "report.md", "displayName": "Bericht 归档"}
    )
    assert result.is_error is False
    kept = everything(workspace)
    (place,) = kept
    assert kept[place] == CONTENT.encode()
    first, archive_id, stamp, name = place.split("/")
    assert (first, name) == ("archives", "report.md")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d", stamp)
    card = (
        "```json\n"
        "{\n"
        '  "type": "archive_grid",\n'
        '  "data": {\n'
        '    "type": "file",\n'
        f'    "archive_root": "{workspace}/archives/{archive_id}",\n'
        f'    "subpath": "{stamp}/report.md",\n'
        '    "name": "Bericht 归档"\n'
        "  }\n"
        "}\n"
        "```"
    )
    assert text_of(result) == card
    structured = result.structured_content
    Draft202012Validator(schema_of(workspace, era, "archive")).validate(structured)
    (shown,), (evidence,) = structured["cards"], structured["evidence"]
    assert shown == json.loads(card.removeprefix("```json\n").removesuffix("```"))
    assert evidence["from"] == "report.md" and evidence["to"] == place
    assert evidence["bytes"] == len(CONTENT) and evidence["files"] == 1
    assert evidence["archive_id"] == archive_id and evidence["archive_id_source"] == "fallback"
    assert evidence["read_back"]["content_identical"] is True
    (event,) = (
        json.loads(line)
        for ledger in (workspace / ".muniment" / "ledger").glob("*.jsonl")
        for line in ledger.read_text().splitlines()
        if '"archive.kept"' in line
    )
    assert event["actor"] == "mcp" and event["subject"] == evidence["reference"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an invented session": (
        {"kind": "file", "sourcePath": "report.md", "sessionKey": "agent:main:made-up"},
        "Archive blocked: The call does not fit the archive's rules: sessionKey: "
        "archive takes no argument of this name (code: INVALID_INPUT)",
    ),
    "another unknown argument": (
        {"kind": "file", "sourcePath": "report.md", "archive_root": "/x"},
        "Archive blocked: The call does not fit the archive's rules: archive_root: "
        "archive takes no argument of this name (code: INVALID_INPUT)",
    ),
    "no source": (
        {"kind": "file"},
        "Archive blocked: The call does not fit the archive's rules: sourcePath: "
        "archive needs this argument (code: INVALID_INPUT)",
    ),
    "no kind": (
        {"sourcePath": "report.md"},
        "Archive blocked: The call does not fit the archive's rules: kind: "
        "archive needs this argument (code: INVALID_INPUT)",
    ),
    "another kind": (
        {"kind": "report", "sourcePath": "report.md"},
        "Archive blocked: The call does not fit the archive's rules: kind: "
        "one of plan, file was expected (code: INVALID_INPUT)",
    ),
    "a source that is a list": (
        {"kind": "file", "sourcePath": ["report.md"]},
        "Archive blocked: The call does not fit the archive's rules: sourcePath: "
        "a text was expected (code: INVALID_INPUT)",
    ),
    "a name that is nothing": (
        {"kind": "file", "sourcePath": "report.md", "displayName": ""},
        "Archive blocked: The call does not fit the archive's rules: displayName: "
        "a text of 1 to 255 characters was expected (code: INVALID_INPUT)",
    ),
    "a plan that is none": (
        {"kind": "plan", "sourcePath": "report.md"},
        "Archive blocked: The call does not fit the archive's rules: report.md: "
        "a plan is a file named PLAN.md (code: INVALID_INPUT)",
    ),
    "nothing there": (
        {"kind": "file", "sourcePath": "summary.md"},
        "Archive blocked: There is nothing to archive at this path: summary.md: "
        "there is no such file or directory (ENOENT) (code: MISSING_SOURCE)",
    ),
    "a step up": (
        {"kind": "file", "sourcePath": "../workspace/report.md"},
        "Archive blocked: This can not be archived: ../workspace/report.md: "
        "“..” stands in the path (code: INVALID_SOURCE)",
    ),
    "a dot": (
        {"kind": "file", "sourcePath": "./report.md"},
        "Archive blocked: This can not be archived: ./report.md: "
        "“.” stands in the path (code: INVALID_SOURCE)",
    ),
    "an empty segment": (
        {"kind": "file", "sourcePath": "a//report.md"},
        "Archive blocked: This can not be archived: a//report.md: "
        "an empty name stands in the path (code: INVALID_SOURCE)",
    ),
}


def calls(
    workspace: Path, era: Era, tool: str, given: list[dict[str, Any]], **more: Any
) -> list[CallToolResult]:
    """Several calls of a tool, one after the other, in one conversation."""

    async def ask(client: Client) -> list[CallToolResult]:
        return [await client.call_tool(tool, one) for one in given]

    return talk(workspace, era, ask, **more)


def test_a_refusal_is_an_error_with_its_exact_words(workspace: Path, era: Era) -> None:
    before = everything(workspace)
    results = calls(workspace, era, "archive", [given for given, _ in REFUSED.values()])
    told = {case: text_of(result) for case, result in zip(REFUSED, results, strict=True)}
    assert told == {case: wanted for case, (_, wanted) in REFUSED.items()}
    assert [(one.is_error, one.structured_content) for one in results] == [(True, None)] * len(REFUSED)
    assert everything(workspace) == before


def test_an_absolute_path_outside_is_refused(workspace: Path, era: Era) -> None:
    outside = workspace.parent / "other.md"
    outside.write_text("other")
    twin = workspace.parent / "workspace2"
    twin.mkdir()
    (twin / "report.md").write_text("other")
    paths = [
        "/etc/hostname",
        "/",
        "//etc/hostname",
        str(outside),
        f"{workspace}/../other.md",
        f"{twin}/report.md",
    ]
    given = [{"kind": "file", "sourcePath": path} for path in paths]
    for path, result in zip(paths, calls(workspace, era, "archive", given), strict=True):
        assert result.is_error and text_of(result).startswith("Archive blocked: "), path
        assert text_of(result).endswith(" (code: INVALID_SOURCE)"), path
    assert outside.read_text() == (twin / "report.md").read_text() == "other"


def test_an_absolute_path_inside_is_taken(workspace: Path, era: Era) -> None:
    result = call(workspace, era, "archive", {"kind": "file", "sourcePath": f"{workspace}/report.md"})
    assert not result.is_error and content_of(result)["evidence"][0]["from"] == "report.md"


def test_an_argument_that_does_not_exist_is_refused_by_every_tool(workspace: Path, era: Era) -> None:
    async def ask(client: Client) -> list[CallToolResult]:
        return [
            await client.call_tool(tool, {"sessionKey": "agent:main:x"})
            for tool in ("archive_list", "archive_verify", "archive_status")
        ]

    for result in talk(workspace, era, ask):
        assert result.is_error and text_of(result).endswith("(code: INVALID_INPUT)")


def test_a_tool_that_does_not_exist(workspace: Path, era: Era) -> None:
    async def ask(client: Client) -> str:
        try:
            await client.call_tool("archive_delete", {})
        except MCPError as error:
            return error.error.message
        return ""

    assert talk(workspace, era, ask) == "Unknown tool"


def test_list_verify_and_status_tell_what_is(workspace: Path, era: Era) -> None:
    (workspace / "notes.md").write_text("# Notes\n")

    async def ask(client: Client) -> dict[str, CallToolResult]:
        found = {"open": await client.call_tool("archive_status", {})}
        for name in ("report.md", "notes.md"):
            found[name] = await client.call_tool("archive", {"kind": "file", "sourcePath": name})
        found["done"] = await client.call_tool("archive_status", {})
        found["list"] = await client.call_tool("archive_list", {})
        found["none"] = await client.call_tool("archive_list", {"archiveId": "another"})
        found["good"] = await client.call_tool("archive_verify", {})
        (one,) = workspace.glob("archives/*/*/notes.md")
        one.write_text("# Nodes\n")
        found["bad"] = await client.call_tool("archive_verify", {})
        reference = content_of(found["report.md"])["evidence"][0]["reference"]
        found["one"] = await client.call_tool("archive_verify", {"reference": reference})
        found["unknown"] = await client.call_tool("archive_verify", {"reference": "arc_X"})
        return found

    found = talk(workspace, era, ask)
    schemas = {name: schema_of(workspace, era, f"archive_{name}") for name in ("list", "verify", "status")}
    assert found["open"].structured_content == {"not_archived": ["notes.md", "report.md"]}
    assert found["done"].structured_content == {"not_archived": []}
    Draft202012Validator(schemas["status"]).validate(found["open"].structured_content)
    Draft202012Validator(schemas["list"]).validate(found["list"].structured_content)
    assert [one["from"] for one in content_of(found["list"])["archived"]] == ["notes.md", "report.md"]
    assert found["none"].structured_content == {"total": 0, "archived": []}
    for name, failed in (("good", False), ("bad", True), ("one", False)):
        result = found[name]
        Draft202012Validator(schemas["verify"]).validate(result.structured_content)
        assert (result.is_error, content_of(result)["intact"]) == (failed, not failed)
        assert text_of(result).startswith("```json\n") and text_of(result).endswith("\n```")
        assert json.loads(text_of(result)[8:-4]) == result.structured_content
    standings = {one["path"]: one["standing"] for one in content_of(found["bad"])["verified"]}
    assert sorted(standings.values()) == ["changed", "intact"]
    assert found["unknown"].is_error
    assert text_of(found["unknown"]).endswith("(code: UNKNOWN_REFERENCE)")


def test_a_request_tells_its_session_and_an_environment_does_not(workspace: Path, era: Era) -> None:
    shared = {"MUNIMENT_SESSION_KEY": "agent:main:first"}
    result = call(
        workspace,
        era,
        "archive",
        {"kind": "file", "sourcePath": "report.md"},
        meta={"sessionKey": "agent:main:abc123"},
        environment=shared,
    )
    (evidence,) = content_of(result)["evidence"]
    assert (evidence["archive_id"], evidence["archive_id_source"]) == ("abc123", "host")
    (workspace / "report.md").write_text(CONTENT)
    result = call(workspace, era, "archive", {"kind": "file", "sourcePath": "report.md"}, environment=shared)
    assert content_of(result)["evidence"][0]["archive_id_source"] == "fallback"


def test_a_server_of_one_session_believes_its_environment(workspace: Path, era: Era) -> None:
    own = {"MUNIMENT_SESSION_KEY": "agent:main:first"}
    given = {"kind": "file", "sourcePath": "report.md"}
    other = call(
        workspace,
        era,
        "archive",
        given,
        "--one-session",
        meta={"sessionKey": "agent:main:other"},
        environment=own,
    )
    assert other.is_error and text_of(other).endswith("(code: INVALID_SESSION)")
    assert text_of(other).startswith("Archive blocked: invalid Session")
    assert "agent:main:first" in text_of(other) and "agent:main:other" in text_of(other)
    result = call(workspace, era, "archive", given, "--one-session", environment=own)
    (evidence,) = content_of(result)["evidence"]
    assert (evidence["archive_id"], evidence["archive_id_source"]) == ("first", "host")


def test_a_session_that_is_none_is_refused(workspace: Path, era: Era) -> None:
    before = everything(workspace)

    async def ask(client: Client) -> list[CallToolResult]:
        given = {"kind": "file", "sourcePath": "report.md"}
        keys: list[Any] = ["", "unknown", "abc", 7, ["agent:main:x"], {"a": 1}]
        metas: list[Any] = [{"sessionKey": key} for key in keys]
        return [await client.call_tool("archive", given, meta=meta) for meta in metas]

    for result in talk(workspace, era, ask):
        assert result.is_error and text_of(result).endswith("(code: INVALID_SESSION)")
    assert everything(workspace) == before


def test_on_openclaw_no_session_is_made_up(workspace: Path, era: Era) -> None:
    before = everything(workspace)
    result = call(
        workspace,
        era,
        "archive",
        {"kind": "file", "sourcePath": "report.md"},
        environment={"OPENCLAW_WORKSPACE_DIR": str(workspace)},
    )
    assert text_of(result) == (
        "Archive blocked: invalid Session: the host's session was not told (code: INVALID_SESSION)"
    )
    assert result.is_error and everything(workspace) == before


def test_the_clients_root_is_the_workspace(workspace: Path, tmp_path: Path, era: Era) -> None:
    root = tmp_path / "wörk 归档 #1"
    root.mkdir()
    (root / "report.md").write_text(CONTENT)

    async def roots(_: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(root.as_uri())), Root(uri=FileUrl(tmp_path.as_uri()))])

    result = call(workspace, era, "archive", {"kind": "file", "sourcePath": "report.md"}, roots=roots)
    (evidence,) = content_of(result)["evidence"]
    assert evidence["workspace_rule"] == "host"
    assert (root / evidence["to"]).read_text() == CONTENT
    assert everything(workspace) == {"report.md": CONTENT.encode()}


@pytest.mark.parametrize("uri", ["file:///no/such/folder", "file://elsewhere/folder", "file:///etc/hostname"])
def test_a_root_that_is_no_folder_here_is_refused(workspace: Path, era: Era, uri: str) -> None:
    async def roots(_: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(uri))])

    result = call(workspace, era, "archive", {"kind": "file", "sourcePath": "report.md"}, roots=roots)
    assert result.is_error and text_of(result).endswith("(code: WORKSPACE_MISSING)")
    assert everything(workspace) == {"report.md": CONTENT.encode()}


def test_a_client_without_roots_to_tell_is_served_where_the_server_is(workspace: Path, era: Era) -> None:
    async def roots(_: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[])

    result = call(workspace, era, "archive", {"kind": "file", "sourcePath": "report.md"}, roots=roots)
    assert not result.is_error and content_of(result)["evidence"][0]["workspace_rule"] == "current"


def test_calls_at_once_have_each_their_own_address(workspace: Path, era: Era) -> None:
    for number in range(8):
        (workspace / str(number)).mkdir()
        (workspace / str(number) / "report.md").write_text(f"# {number}\n")

    async def ask(client: Client) -> dict[int, CallToolResult]:
        found: dict[int, CallToolResult] = {}

        async def one(number: int) -> None:
            given = {"kind": "file", "sourcePath": f"{number}/report.md"}
            found[number] = await client.call_tool("archive", given)

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(one, number)
        found[-1] = await client.call_tool("archive_verify", {})
        return found

    found = talk(workspace, era, ask)
    assert content_of(found.pop(-1))["intact"] is True
    places = {number: content_of(result)["evidence"][0]["to"] for number, result in found.items()}
    assert len(set(places.values())) == 8
    for number, place in places.items():
        assert (workspace / place).read_text() == f"# {number}\n"


def test_a_large_folder_is_told_of_on_the_way(workspace: Path, era: Era) -> None:
    part, parts = 4 << 20, 10
    (workspace / "big").mkdir()
    for number in range(parts):
        (workspace / "big" / f"{number}.bin").write_bytes(bytes([number]) * part)
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def ask(client: Client) -> CallToolResult:
        given = {"kind": "file", "sourcePath": "big"}
        return await client.call_tool("archive", given, progress_callback=hear)

    result = talk(workspace, era, ask)
    assert content_of(result)["evidence"][0]["bytes"] == part * parts
    # once every 8 MiB, over the bytes read before the move
    assert told[:5] == [8 << 20, 16 << 20, 24 << 20, 32 << 20, 40 << 20]
